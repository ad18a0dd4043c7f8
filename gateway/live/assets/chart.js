'use strict';
// What is drawn: the window as strata, the bills as bars. Texts are set as text, never as markup.
const SVG = 'http://www.w3.org/2000/svg';
const svg = (name, attributes, ...children) => {
  const e = document.createElementNS(SVG, name);
  for (const [k, v] of Object.entries(attributes ?? {})) e.setAttribute(k, v);
  e.append(...children);
  return e;
};
const el = (name, className, ...children) => {
  const e = document.createElement(name);
  if (className) e.className = className;
  e.append(...children);
  return e;
};
const number = n => Math.round(n ?? 0).toLocaleString('en');
const short = n => n >= 1e6 ? (n / 1e6).toFixed(1) + 'M' : n >= 1e4 ? Math.round(n / 1e3) + 'k' : n >= 1e3 ? (n / 1e3).toFixed(1) + 'k' : String(n);
// Amounts as winnow prints them everywhere: cents, and four decimals of what is small.
const dollars = v => {
  if (v == null) return '–';
  const a = Math.abs(v), sign = v < 0 ? '−' : '';
  if (!a) return '$0';
  if (a < 0.0001) return sign + '<$0.0001';
  return sign + '$' + (a < 0.1 ? a.toFixed(4) : a.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 }));
};
const count = (n, one) => number(n) + ' ' + one + (n === 1 ? '' : 's');
const clock = t => new Date(t).toLocaleTimeString('en', { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false });

const hatch = () => svg('defs', {}, svg('pattern', { id: 'hatch', width: 5, height: 5, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
  svg('rect', { width: 5, height: 5, class: 'hatch-ground' }), svg('line', { x1: 0, y1: 0, x2: 0, y2: 5, class: 'hatch-line' })));

// The window over the messages of a session; what was left out stands hatched on top of it. choose is told which decision was chosen.
function drawStrata(into, d, choose) {
  const W = Math.max(280, Math.min(1000, into.clientWidth || 640)), H = 200, L = 38, T = 16, B = 18, n = d.moments.length;
  const peak = Math.max(1, ...d.moments.map(m => m.tokens.reduce((a, b) => a + b, 0)));
  const top = d.usable && d.usable < peak * 1.6 ? Math.max(peak, d.usable) : peak;
  const x = i => L + (n > 1 ? i / (n - 1) : 1) * (W - L), y = v => T + (1 - v / top) * (H - T - B);
  const chart = svg('svg', { viewBox: `0 0 ${W} ${H}`, role: 'group', 'aria-label': `The window after each of ${d.moments.at(-1)?.message ?? 0} messages, now ${number(d.now)} tokens` }, hatch());
  for (const part of [0, .5, 1]) {
    chart.append(svg('line', { class: 'grid', x1: L, x2: W, y1: y(top * part), y2: y(top * part) }), svg('text', { x: L - 5, y: y(top * part) + 4, 'text-anchor': 'end' }, short(Math.round(top * part))));
  }
  const base = d.moments.map(() => 0);
  d.layers.forEach((layer, k) => {
    if (!d.moments.some(m => m.tokens[k] > 0)) return;
    const low = base.map((v, i) => `${x(i).toFixed(1)},${y(v).toFixed(1)}`).reverse();
    d.moments.forEach((m, i) => { base[i] += m.tokens[k]; });
    const high = base.map((v, i) => `${x(i).toFixed(1)},${y(v).toFixed(1)}`);
    if (n === 1) { high.unshift(`${L},${y(base[0])}`); low.push(`${L},${low[0].split(',')[1]}`); }
    chart.append(svg('polygon', { class: layer.class, points: [...high, ...low].join(' ') }, svg('title', {}, layer.name)));
  });
  if (d.usable && d.usable <= top) chart.append(svg('line', { class: 'limit', x1: L, x2: W, y1: y(d.usable), y2: y(d.usable) }, svg('title', {}, `folded at ${number(d.usable)} tokens`)));
  for (const m of d.marks) {
    const what = `${kinds[m.kind] ?? m.kind}: ${m.kind === 'restore' || m.kind === 'pin' ? 'shown again' : count(m.tokens, 'token') + ' saved'}${m.undone ? ', undone' : ''}`;
    const head = svg('a', { href: '#d-' + m.receipt, 'aria-label': what }, svg('circle', { class: 'mark-head' + (m.undone ? ' undone' : ''), cx: x(m.moment), cy: T - 6, r: 4.5 }), svg('title', {}, what));
    head.addEventListener('click', e => { e.preventDefault(); choose(m.receipt); });
    chart.append(svg('line', { class: 'mark', x1: x(m.moment), x2: x(m.moment), y1: T, y2: H - B }), head);
  }
  chart.append(svg('text', { x: L, y: H - 4 }, 'message 1'), svg('text', { x: W, y: H - 4, 'text-anchor': 'end' }, 'message ' + number(d.moments.at(-1)?.message)));
  into.replaceChildren(chart);
}

function drawLegend(into, d) {
  const now = d.moments.at(-1)?.tokens ?? [];
  into.replaceChildren(...d.layers.map((layer, k) => d.moments.some(m => m.tokens[k] > 0) ? el('li', '', svg('svg', { viewBox: '0 0 11 11', 'aria-hidden': 'true' }, svg('rect', { width: 11, height: 11, class: layer.class })), layer.name, el('span', 'soft', number(now[k]))) : null).filter(Boolean));
}

// One bar a request, the newest first: what was paid for, and under it, as an outline, what the request costs without winnow.
function drawBills(into, bills) {
  const most = Math.max(1e-9, ...bills.map(b => Math.max(b.pruned, b.whole)));
  into.replaceChildren(...bills.toReversed().map(b => {
    const bar = svg('svg', { viewBox: '0 0 100 15', preserveAspectRatio: 'none', 'aria-hidden': 'true' });
    let x = 0;
    const words = [];
    for (const [name, label] of [['read', 'from the cache'], ['write', 'written to the cache'], ['input', 'input'], ['output', 'output']]) {
      const w = b[name].dollars / most * 100;
      if (b[name].tokens) words.push(`${label} ${number(b[name].tokens)} tokens ${dollars(b[name].dollars)}`);
      if (w > 0) bar.append(svg('rect', { class: 'b-' + name, x: x.toFixed(2), y: 0, width: w.toFixed(2), height: 9 }));
      x += w;
    }
    bar.append(svg('rect', { class: 'b-whole', x: .2, y: 11, width: Math.max(0, b.whole / most * 100 - .4).toFixed(2), height: 3, 'vector-effect': 'non-scaling-stroke' }));
    const row = el('div', '', el('span', 'soft', clock(b.time)), bar, el('span', 'n', b.unpriced ? 'unknown' : dollars(b.pruned)), el('span', 'n soft', b.unpriced ? '' : dollars(b.whole)));
    row.setAttribute('role', 'listitem');
    row.title = `${b.observed ? 'observed only; pruned it would have been: ' : ''}${words.join(', ')}; without winnow ${dollars(b.whole)}; saved ${dollars(b.net)}; ${number(b.leftOut)} tokens left out`;
    row.setAttribute('aria-label', `${clock(b.time)}: ${b.unpriced ? 'cost unknown' : dollars(b.pruned) + ', without winnow ' + dollars(b.whole)}; ${words.join(', ')}`);
    return row;
  }));
}

// How full the window of a session is: sent, and hatched what was left out.
function drawGauge(prompt, left, window) {
  const all = Math.max(window || 0, prompt + left, 1);
  return svg('svg', { class: 'gauge', viewBox: '0 0 100 5', preserveAspectRatio: 'none', 'aria-hidden': 'true' }, svg('rect', { class: 'g-ground', width: 100, height: 5 }),
    svg('rect', { class: 'g-used', width: (prompt / all * 100).toFixed(2), height: 5 }), svg('rect', { class: 'g-left', x: (prompt / all * 100).toFixed(2), width: (left / all * 100).toFixed(2), height: 5 }));
}
const kinds = { pruning: 'pruned', compaction: 'compacted', restore: 'restored', pin: 'pinned', recall: 'recall', failure: 'error' };
