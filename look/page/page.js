(() => {
  const $ = id => document.getElementById(id);
  const { chunks, until, unpack, whole } = kept;
  const { copies } = shared;
  const PIECE = 60000; // characters of a text that are set at once
  const MOST_PARTS = 3000, MOST_CHUNKS = 12; // of a log that is unfolded by itself, about 3 MB of long texts

  // What a part holds stands in a noscript element: without a script it is there at once, with one it is a mere text, of which a long log has no
  // elements to make until a part is opened. It was escaped for a document when it was written, and is parsed as one.
  function unfold(details) {
    const folded = details.querySelector(':scope > noscript');
    folded?.replaceWith(...new DOMParser().parseFromString(folded.textContent, 'text/html').body.childNodes);
    copies(details);
  }
  const entities = { lt: '<', gt: '>', amp: '&' };
  const plain = html => html.replace(/<[^>]*>/g, '\n').replace(/&(?:#(\d+)|(\w+));/g, (all, n, name) => n ? String.fromCodePoint(n) : entities[name] ?? all);

  // A part that is opened gets its texts, the first piece of a long one at once, and as much of it as what is looked for needs.
  const filling = new WeakSet();
  async function fill(details) {
    unfold(details);
    const open = [...details.querySelectorAll('pre[data-t], pre[data-all]')].filter(pre => !filling.has(pre));
    await Promise.all(open.map(async pre => {
      const { t, all } = pre.dataset;
      if (!t && !wanted) return;
      filling.add(pre);
      const text = await whole(t ?? all);
      const found = wanted ? text.search(wanted) : -1;
      if (t) {
        pre.dataset.all = t;
        pre.removeAttribute('data-t');
        pre.textContent = '';
      }
      const shown = pre.textContent.length, to = Math.max(PIECE, found + 2000);
      if (shown < Math.min(text.length, to)) {
        if (pre.nextElementSibling?.tagName === 'BUTTON') pre.nextElementSibling.remove();
        show(pre, text, shown, to);
      }
      filling.delete(pre);
    }));
    paint();
  }
  function show(pre, text, from, to) {
    if (to < text.length && /[\ud800-\udbff]/.test(text[to - 1])) to++;
    pre.append(text.slice(from, to));
    if (to >= text.length) return;
    const more = document.createElement('button');
    more.type = 'button';
    more.textContent = 'Show more: ' + (text.length - to).toLocaleString('en') + ' characters are left';
    more.onclick = () => { more.remove(); show(pre, text, to, to + PIECE * 4); };
    pre.after(more);
  }
  document.addEventListener('toggle', e => {
    if (e.target.open && e.target.closest('#messages')) fill(e.target);
  }, true);

  // A link to a part opens it, also when it is filtered out.
  function arrive() {
    const target = /^#[mp]\d+$/.test(location.hash) && $(location.hash.slice(1));
    if (!target) return;
    if (target.closest('[hidden]') || target.hidden) { form.reset(); filter(); }
    if (target.tagName === 'DETAILS') target.open = true;
    target.scrollIntoView({ block: 'start' });
    requestAnimationFrame(() => target.scrollIntoView({ block: 'start' })); // what came into view has its real height now
    (target.querySelector('summary') ?? target).focus({ preventScroll: true });
  }
  addEventListener('hashchange', arrive);
  document.addEventListener('click', e => {
    const link = e.target.closest?.('a[href^="#"]');
    if (link && link.getAttribute('href') === location.hash) arrive();
  });

  // The filter.
  const form = $('filter'), q = $('q'), kind = $('kind'), elided = $('elided'), out = $('found');
  let wanted = null, parts = null, run = 0, waiting = 0;
  const list = () => parts ??= [...document.querySelectorAll('#messages [data-k]')].map(el => {
    const folded = el.querySelector(':scope > noscript');
    const html = folded ? folded.textContent : el.outerHTML;
    return {
      el, kind: el.dataset.k, elided: el.classList.contains('s-elided'),
      here: [...(el.querySelector('summary') ?? el).children].map(e => e.textContent).join(' ') + '\n' + (folded ? plain(html) : el.textContent),
      kept: [...html.matchAll(/ data-(?:t|all)="(\d+)\.(\d+)"/g)].map(([, c, i]) => [c, i]),
    };
  });
  async function filter() {
    const turn = ++run, text = q.value;
    wanted = text ? new RegExp(text.replace(/[.*+?^${}()|[\]\\\/]/g, '\\$&').replace(/\s+/g, '\\s+'), 'iu') : null;
    const all = list();
    let texts = [];
    if (wanted) {
      out.textContent = 'Looking…';
      await until(() => false);
      texts = await Promise.all([...chunks].map((_, c) => unpack(c)));
      if (turn !== run) return;
    }
    const idle = !wanted && !kind.value && !elided.checked;
    let n = 0;
    const messages = new Set();
    for (const p of all) {
      const fits = idle || (!kind.value || p.kind === kind.value) && (!elided.checked || p.elided) &&
        (!wanted || wanted.test(p.here) || p.kept.some(([c, i]) => wanted.test(texts[c][i])));
      p.el.hidden = !fits;
      if (fits) { n++; messages.add(p.el.parentElement); }
    }
    for (const m of document.querySelectorAll('.m')) m.hidden = !idle && !messages.has(m);
    for (const t of document.querySelectorAll('.turn')) t.hidden = !idle && !t.querySelector('.m:not([hidden])');
    for (const f of document.querySelectorAll('.faultline')) f.hidden = !idle;
    $('none').hidden = idle || n > 0;
    out.textContent = idle ? '' : n.toLocaleString('en') + (n === 1 ? ' part in ' : ' parts in ') + messages.size.toLocaleString('en') + (messages.size === 1 ? ' message' : ' messages');
    paint();
  }
  // What was found is marked in the parts that are open; nothing is inserted.
  function paint() {
    if (!window.Highlight) return;
    CSS.highlights.delete('found');
    if (!wanted) return;
    const ranges = [], every = new RegExp(wanted.source, 'giu');
    for (const pre of document.querySelectorAll('#messages details[open] pre')) {
      for (const node of pre.childNodes) {
        for (const hit of node.data?.matchAll(every) ?? []) {
          if (ranges.length === 2000) break;
          const r = new Range();
          r.setStart(node, hit.index);
          r.setEnd(node, hit.index + hit[0].length);
          ranges.push(r);
        }
      }
    }
    CSS.highlights.set('found', new Highlight(...ranges));
  }
  form.addEventListener('submit', e => { e.preventDefault(); filter(); });
  form.addEventListener('input', () => { clearTimeout(waiting); waiting = setTimeout(filter, 150); });
  addEventListener('keydown', e => {
    if (e.key === '/' && !e.ctrlKey && !e.metaKey && !e.altKey && !/^(INPUT|SELECT)$/.test(e.target.tagName)) { e.preventDefault(); q.focus(); }
  });

  document.documentElement.classList.add('js');
  form.hidden = false;
  arrive();

  // The browser's own search reaches what is in the page, in folded parts too. A log of ordinary size is put there while nobody waits; one that
  // is larger has the filter.
  const idle = window.requestIdleCallback ?? (then => setTimeout(then, 50));
  const rested = () => new Promise(r => idle(r));
  addEventListener('load', async () => {
    const folded = document.querySelectorAll('#messages details');
    if (folded.length > MOST_PARTS || chunks.length > MOST_CHUNKS) return;
    await rested();
    for (const [n, details] of [...folded].entries()) {
      if (n % 20 === 19) await rested();
      await fill(details);
    }
    document.documentElement.classList.add('whole');
  });
})();
