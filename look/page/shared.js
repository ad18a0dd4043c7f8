// What several pages do: charts that answer to pointer and keys, and commands that are copied.
const shared = (() => {
  // A chart: hover, arrow keys and the first tap tell a column's figures; a click leads to its message.
  function chartOf(chart, step) {
    const columns = [...chart.querySelectorAll('.hits > *')];
    if (!columns.length) return;
    const says = columns.map(a => { const t = a.querySelector('title'); t.remove(); return t.textContent; });
    let at = -1;
    const point = i => {
      columns[at]?.classList.remove('at');
      at = i;
      columns[at].classList.add('at');
      step.textContent = says[at];
    };
    step.hidden = false;
    step.textContent = says.at(-1);
    columns.forEach((a, i) => {
      a.addEventListener('pointerenter', e => { if (e.pointerType === 'mouse') point(i); });
      a.addEventListener('click', e => {
        if (e.pointerType === 'touch' && at !== i) e.preventDefault();
        point(i);
      });
    });
    chart.addEventListener('keydown', e => {
      const to = { ArrowRight: at + 1, ArrowLeft: at < 0 ? columns.length - 1 : at - 1, Home: 0, End: columns.length - 1 }[e.key];
      if (to !== undefined) { e.preventDefault(); point(Math.max(0, Math.min(columns.length - 1, to))); }
      const leads = columns[at]?.getAttribute('href');
      if (e.key === 'Enter' && leads && e.target === chart) location.hash = leads;
    });
  }
  for (const figure of document.querySelectorAll('figure.strata')) chartOf(figure.querySelector('svg'), figure.querySelector('.step'));

  // A command is copied by the button behind it, and selected where the browser does not let it be copied.
  function select(code) {
    const all = document.createRange();
    all.selectNodeContents(code);
    getSelection().removeAllRanges();
    getSelection().addRange(all);
  }
  async function copy(code, button) {
    let said = 'Copied';
    try { await navigator.clipboard.writeText(code.textContent); } catch {
      select(code);
      if (!document.execCommand('copy')) said = 'Selected';
    }
    button.textContent = said;
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
  }
  function copies(within) {
    for (const code of within.querySelectorAll('.undo code, .commands code')) {
      if (code.nextElementSibling?.classList.contains('copy')) continue;
      const button = document.createElement('button');
      button.type = 'button';
      button.className = 'copy';
      button.textContent = 'Copy';
      button.setAttribute('aria-label', 'Copy ' + code.textContent);
      button.onclick = () => copy(code, button);
      code.after(button);
    }
  }
  copies(document);
  return { copies };
})();
