'use strict';
(() => {
  const $ = id => document.getElementById(id);
  const chunks = document.getElementsByClassName('kept'); // they follow this script
  const known = [];
  const PIECE = 60000; // characters of a text that are set at once

  const until = async ready => { while (document.readyState === 'loading' && !ready()) await new Promise(r => setTimeout(r, 10)); };

  // Texts are kept as base64 of deflated JSON lists; they become text nodes and never anything else.
  const unpack = c => known[c] ??= (async () => {
    await until(() => chunks.length > c + 1);
    const packed = atob(chunks[c].textContent);
    const bytes = Uint8Array.from(packed, s => s.charCodeAt(0));
    let plain;
    try {
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
      plain = await new Response(stream).arrayBuffer();
    } catch {
      plain = inflate(bytes);
    }
    return JSON.parse(new TextDecoder().decode(plain));
  })();
  const whole = async ref => {
    const [c, i] = ref.split('.');
    return (await unpack(+c))[+i];
  };

  // For browsers without DecompressionStream (RFC 1951).
  function inflate(data) {
    let out = new Uint8Array(data.length * 6), size = 0, at = 0, bit = 0;
    const put = b => {
      if (size === out.length) { const more = new Uint8Array(size * 2); more.set(out); out = more; }
      out[size++] = b;
    };
    const bits = n => {
      let v = 0;
      for (let i = 0; i < n; i++) {
        v |= (data[at] >> bit & 1) << i;
        if (++bit === 8) { bit = 0; at++; }
      }
      return v;
    };
    const tree = lengths => {
      const count = new Uint16Array(16), first = new Uint16Array(16), symbols = new Uint16Array(lengths.length);
      for (const l of lengths) if (l) count[l]++;
      for (let l = 1; l < 16; l++) first[l] = first[l - 1] + (l > 1 ? count[l - 1] : 0);
      const next = first.slice();
      lengths.forEach((l, s) => { if (l) symbols[next[l]++] = s; });
      return { count, symbols };
    };
    const read = t => {
      let code = 0, start = 0, index = 0;
      for (let l = 1; l < 16; l++) {
        code |= bits(1);
        const n = t.count[l];
        if (code - start < n) return t.symbols[index + code - start];
        index += n; start = start + n << 1; code <<= 1;
      }
      throw new Error('damaged text');
    };
    const fixed = [tree([...Array(288).keys()].map(i => i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8)), tree(Array(30).fill(5))];
    for (let last = 0; !last;) {
      last = bits(1);
      const kind = bits(2);
      if (kind === 0) {
        if (bit) { bit = 0; at++; }
        const n = data[at] | data[at + 1] << 8;
        at += 4;
        for (let i = 0; i < n; i++) put(data[at++]);
        continue;
      }
      let [literals, distances] = fixed;
      if (kind === 2) {
        const nl = bits(5) + 257, nd = bits(5) + 1, nc = bits(4) + 4, cl = Array(19).fill(0);
        for (let i = 0; i < nc; i++) cl[[16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15][i]] = bits(3);
        const codes = tree(cl), lengths = [];
        while (lengths.length < nl + nd) {
          const s = read(codes);
          if (s < 16) lengths.push(s);
          else if (s === 16) { const p = lengths.at(-1); for (let n = 3 + bits(2); n--;) lengths.push(p); }
          else for (let n = s === 17 ? 3 + bits(3) : 11 + bits(7); n--;) lengths.push(0);
        }
        literals = tree(lengths.slice(0, nl));
        distances = tree(lengths.slice(nl));
      }
      for (;;) {
        const s = read(literals);
        if (s < 256) { put(s); continue; }
        if (s === 256) break;
        const l = s - 257, le = l < 8 || l === 28 ? 0 : (l >> 2) - 1;
        const length = l === 28 ? 258 : l < 8 ? l + 3 : (4 + (l & 3) << le) + 3 + bits(le);
        const d = read(distances), de = d < 4 ? 0 : (d >> 1) - 1;
        const distance = d < 4 ? d + 1 : (2 + (d & 1) << de) + 1 + bits(de);
        for (let i = 0; i < length; i++) put(out[size - distance]);
      }
    }
    return out.subarray(0, size);
  }

  // What a part holds stands in a noscript element: without a script it is there at once, with one it is a mere text, of which a long log has no
  // elements to make until a part is opened. It was escaped for a document when it was written, and is parsed as one.
  function unfold(details) {
    const folded = details.querySelector(':scope > noscript');
    folded?.replaceWith(...new DOMParser().parseFromString(folded.textContent, 'text/html').body.childNodes);
  }
  const entities = { lt: '<', gt: '>', amp: '&' };
  const plain = html => html.replace(/<[^>]*>/g, '\n').replace(/&(?:#(\d+)|(\w+));/g, (all, n, name) => n ? String.fromCodePoint(n) : entities[name] ?? all);

  // A part that is opened gets its texts, the first piece of a long one at once.
  async function fill(details) {
    unfold(details);
    const open = [...details.querySelectorAll('pre[data-t]')];
    await Promise.all(open.map(async pre => {
      const text = await whole(pre.dataset.t);
      const found = wanted ? text.search(wanted) : -1;
      pre.removeAttribute('data-t');
      pre.textContent = '';
      show(pre, text, 0, Math.max(PIECE, found + 2000));
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

  // The timeline: hover, arrow keys and the first tap tell a column's figures; a click leads to its message.
  const chart = $('strata'), step = $('step');
  if (chart) {
    const columns = [...chart.querySelectorAll('.hits a')];
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
      if (e.key === 'Enter' && at >= 0 && e.target === chart) location.hash = columns[at].getAttribute('href');
    });
  }

  // The filter.
  const form = $('filter'), q = $('q'), kind = $('kind'), elided = $('elided'), out = $('found');
  let wanted = null, parts = null, run = 0, waiting = 0;
  const list = () => parts ??= [...document.querySelectorAll('#messages [data-k]')].map(el => {
    const folded = el.querySelector(':scope > noscript');
    const html = folded ? folded.textContent : el.innerHTML;
    return {
      el, kind: el.dataset.k, elided: el.classList.contains('s-elided'),
      here: [...(el.querySelector('summary') ?? el).children].map(e => e.textContent).join(' ') + '\n' + plain(html),
      kept: [...html.matchAll(/ data-t="(\d+)\.(\d+)"/g)].map(([, c, i]) => [c, i]),
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
})();
