(() => {
  const $ = id => document.getElementById(id);
  const view = $('view'), chooser = $('chooser');
  document.documentElement.classList.add('js');
  if (!view) return;
  const list = $('session'), shown = $('shown'), off = new Set();
  const unit = view.dataset.unit;
  const amount = v => {
    const digits = v >= 1000 ? 0 : v >= .1 ? 2 : 4;
    const text = v.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
    return unit === '$' ? '$' + text : text + ' ' + unit;
  };

  // Which policies are drawn.
  const keys = [], boxes = [];
  for (const li of shown.children) {
    const at = +li.dataset.at, label = document.createElement('label'), box = document.createElement('input');
    box.type = 'checkbox';
    box.checked = !li.classList.contains('off');
    if (!box.checked) off.add(at);
    label.append(box, ...li.childNodes);
    li.append(label);
    keys[at] = label.querySelector('b').textContent;
    boxes.push(box);
    box.addEventListener('change', () => {
      box.checked ? off.delete(at) : off.add(at);
      li.classList.toggle('off', !box.checked);
      apply();
    });
    const lit = on => view.querySelectorAll('path[data-at="' + at + '"]').forEach(p => p.classList.toggle('lit', on));
    li.addEventListener('pointerenter', () => lit(true));
    li.addEventListener('pointerleave', () => lit(false));
  }
  function apply() {
    for (const el of view.querySelectorAll('[data-at]')) el.toggleAttribute('hidden', off.has(+el.dataset.at));
    // Letters at the ends of lines do not stand on each other.
    const ends = [...view.querySelectorAll('.curves > text[data-at]')];
    for (const e of ends) e.y0 ??= +e.getAttribute('y');
    const drawn = ends.filter(e => !e.hasAttribute('hidden')).sort((a, b) => a.y0 - b.y0);
    let last = -99;
    const places = drawn.map(e => last = Math.max(e.y0, last + 13));
    let limit = drawn.length ? +drawn[0].parentElement.getAttribute('height') + 4 : 0;
    for (let i = drawn.length; i--;) { places[i] = Math.min(places[i], limit); limit = places[i] - 13; drawn[i].setAttribute('y', places[i]); }
    if (at >= 0) point(at);
  }

  // The figures of a step: where the pointer is, or by the arrow keys.
  let figure, says, charts, steps = 0, at = -1;
  function read() {
    figure = view.querySelector('.course');
    says = view.querySelector('.step');
    steps = +figure.dataset.steps;
    at = -1;
    charts = [...figure.querySelectorAll('.curves')].map(svg => ({
      svg, cursor: svg.querySelector('.cursor'),
      lines: [...svg.querySelectorAll('path')].map(p => {
        const n = p.getAttribute('d').match(/-?\d+/g).map(Number), points = [];
        for (let i = 0, x = 0, y = 0; i < n.length; i += 2) points.push([x += n[i], y += n[i + 1]]);
        return { at: +p.dataset.at, points, top: +svg.dataset.top };
      }),
    }));
    says.hidden = false;
    says.textContent = 'Point at the chart, or use the arrow keys, for the figures of a step.';
    for (const c of charts) {
      c.svg.addEventListener('pointermove', e => {
        const box = c.svg.getBoundingClientRect();
        point(Math.round((e.clientX - box.left) / box.width * (steps - 1)));
      });
    }
    figure.addEventListener('keydown', e => {
      const to = { ArrowRight: at + 1, ArrowLeft: at < 0 ? steps - 1 : at - 1, Home: 0, End: steps - 1 }[e.key];
      if (to !== undefined) { e.preventDefault(); point(to); }
    });
  }
  const value = (line, x) => {
    let i = line.points.findIndex(p => p[0] >= x);
    if (i < 0) i = line.points.length - 1;
    const [x1, y1] = line.points[i], [x0, y0] = line.points[Math.max(0, i - 1)];
    const y = x1 > x0 ? y0 + (y1 - y0) * Math.min(1, Math.max(0, (x - x0) / (x1 - x0))) : y1;
    return Math.max(0, (1 - y / 1000) * line.top);
  };
  const round = n => Number(n.toPrecision(3)); // the drawing is no finer
  function point(k) {
    at = Math.max(0, Math.min(steps - 1, k));
    const x = steps > 1 ? 1000 * at / (steps - 1) : 0;
    for (const c of charts) {
      c.cursor.setAttribute('visibility', 'visible');
      c.cursor.setAttribute('x1', x / 10 + '%');
      c.cursor.setAttribute('x2', x / 10 + '%');
    }
    const [costs, sizes] = charts.map(c => new Map(c.lines.map(l => [l.at, value(l, x)])));
    const figures = [...costs].filter(([i]) => !off.has(i)).map(([i, v]) =>
      keys[i] + ' ' + amount(v) + (sizes.has(i) ? ', ' + round(sizes.get(i)).toLocaleString('en') : ''));
    says.textContent = 'Step ' + (at + 1).toLocaleString('en') + ' (bill so far, prompt): ' + figures.join(' · ');
  }

  // Another session.
  let turn = 0;
  async function choose() {
    const mine = ++turn, markup = await whole(list.value);
    if (mine !== turn) return;
    const open = new Set([...view.querySelectorAll('details[open]')].map(d => d.dataset.at));
    view.replaceChildren(...new DOMParser().parseFromString(markup, 'text/html').body.childNodes);
    for (const d of view.querySelectorAll('details')) d.open = open.has(d.dataset.at);
    read();
    apply();
    $('before').disabled = list.selectedIndex === 0;
    $('after').disabled = list.selectedIndex === list.length - 1;
  }
  const { whole } = kept;
  const step = by => { list.selectedIndex = Math.max(0, Math.min(list.length - 1, list.selectedIndex + by)); choose(); };
  list.addEventListener('change', choose);
  chooser.addEventListener('submit', e => e.preventDefault());
  $('before').addEventListener('click', () => step(-1));
  $('after').addEventListener('click', () => step(1));
  document.addEventListener('click', e => {
    const link = e.target.closest?.('a[data-s]');
    if (link) { list.selectedIndex = +link.dataset.s; choose(); }
  });
  $('before').disabled = list.selectedIndex === 0;
  $('after').disabled = list.selectedIndex === list.length - 1;
  chooser.hidden = list.length < 2;
  read();
  apply();
})();
