'use strict';
(() => {
  const $ = id => document.getElementById(id);
  const meta = document.querySelector('meta[name=winnow-page]');
  const MOST = Number(meta.dataset.most), MOST_ENTRIES = 500, PAGE = 20, ENTRIES = 25;
  const sessions = new Map(), entries = new Map(), groups = new Map();
  let chosen = '', chose = false, at = 0, shown = ENTRIES, mode = '', seen = 0;

  // Changes come in pieces; what is shown follows at most every 200 ms, and only what is in sight has elements.
  let due = 0;
  const draw = () => { due ||= setTimeout(() => { due = 0; render(); }, 200); };

  function take(c) {
    if (c.reset) { sessions.clear(); entries.clear(); groups.clear(); }
    for (const s of c.sessions ?? []) sessions.set(s.id, s);
    for (const g of c.groups ?? []) groups.set(g.client + '\n' + g.project, g);
    for (const e of c.feed ?? []) entries.set(e.number, e);
    forget(sessions, MOST, (a, b) => a.last - b.last);
    forget(entries, MOST_ENTRIES, (a, b) => a.number - b.number);
    if (c.mode !== mode) {
      mode = c.mode;
      $('mode').value = mode;
      $('mode-says').textContent = { off: 'nothing is pruned, counted or kept', observe: 'requests pass untouched; possible savings are counted', safe: 'prunes only at no cost', full: '' }[mode] ?? '';
    }
    if (sessions.get(chosen)?.seq > seen) look();
    draw();
  }
  function forget(map, most, order) {
    if (map.size <= most) return;
    const old = [...map].sort((a, b) => order(a[1], b[1])).slice(0, map.size - most);
    for (const [key] of old) map.delete(key);
  }

  const source = new EventSource('~/events');
  source.onmessage = e => take(JSON.parse(e.data));
  source.onopen = () => { $('link').textContent = 'connected'; };
  source.onerror = () => {
    $('link').textContent = 'not connected: trying again…';
    if (source.readyState === EventSource.CLOSED) $('link').textContent = 'not connected: load the page again';
  };

  // What is chosen of clients, projects and words.
  const name = client => (client ?? '').split('/')[0];
  const wanted = s => (!$('by-client').value || name(s.client) === $('by-client').value) && (!$('by-project').value || (s.project ?? '') === $('by-project').value) &&
    (!$('find').value || [s.id, s.session, s.title, s.client, s.project, s.model].join(' ').toLowerCase().includes($('find').value.toLowerCase()));
  function options(select, values) {
    const all = [...new Set(values)].filter(Boolean).sort();
    if (all.join('\n') === select.dataset.all) return;
    select.dataset.all = all.join('\n');
    const was = select.value;
    select.replaceChildren(new Option('all', ''), ...all.map(v => new Option(v, v)));
    select.value = all.includes(was) ? was : '';
  }

  function render() {
    options($('by-client'), [...groups.values()].map(g => g.client));
    options($('by-project'), [...groups.values()].map(g => g.project));
    totals();
    const list = [...sessions.values()].filter(wanted).sort((a, b) => b.last - a.last || (a.id < b.id ? -1 : 1));
    at = Math.max(0, Math.min(at, Math.floor((list.length - 1) / PAGE)));
    const page = list.slice(at * PAGE, (at + 1) * PAGE);
    $('empty').hidden = list.length > 0;
    const newest = list.reduce((a, b) => a && a.first >= b.first ? a : b, null);
    if (!chose && mode !== 'off' && newest && newest.id !== chosen) choose(newest.id); // until somebody chooses, or does something with it
    keyed($('rows'), page, s => s.id, s => s.seq + (s.id === chosen ? '*' : ''), row);
    $('pages').hidden = list.length <= PAGE;
    $('which').textContent = `${at * PAGE + 1} to ${at * PAGE + page.length} of ${number(list.length)}`;
    $('newer').disabled = at === 0;
    $('older').disabled = (at + 1) * PAGE >= list.length;
    const news = [...entries.values()].filter(wanted).sort((a, b) => b.number - a.number);
    $('no-news').hidden = news.length > 0;
    keyed($('feed'), together(news.slice(0, shown), e => sessions.get(e.session)?.window), e => e.number ?? 'small', e => e.seq ?? JSON.stringify(e.small), e => e.small ? smaller(e.small, entry) : entry(e));
    $('more').hidden = news.length <= shown;
  }

  // Small change is folded: prunings below 1 % of the window are one item at the end, unless there is only one.
  function together(items, window) {
    const small = items.filter(x => x.kind === 'pruning' && !x.undone && Math.abs(x.tokens) * 100 < (window(x) ?? 0));
    return small.length < 2 || small.length === items.length ? items : [...items.filter(x => !small.includes(x)), { small }];
  }
  function smaller(list, make) {
    const tokens = list.reduce((sum, x) => sum + x.tokens, 0);
    return el('li', '', el('details', 'smaller', el('summary', '', `${count(list.length, 'smaller pruning')}, ${count(tokens, 'token')} left out`), el('ol', 'feed', ...list.map(make))));
  }

  // keyed gives a list the elements of its items: those that did not change stay as they are, with the focus and what is open in them.
  function keyed(into, items, key, version, make) {
    const old = new Map([...into.children].map(e => [e.dataset.key, e]));
    const open = document.activeElement?.closest?.('[data-key]');
    const focus = open && into.contains(open) ? [open.dataset.key, document.activeElement.dataset.do] : null;
    const made = items.map(item => {
      const k = String(key(item)), v = String(version(item)), was = old.get(k);
      if (was?.dataset.version === v) return was;
      const e = make(item);
      e.dataset.key = k; e.dataset.version = v;
      if (was?.querySelector('details')?.open) e.querySelector('details')?.setAttribute('open', '');
      if (!was && old.size) e.classList.add('fresh');
      return e;
    });
    if (made.length === into.children.length && made.every((e, i) => e === into.children[i])) return;
    into.replaceChildren(...made);
    if (focus && document.activeElement === document.body) {
      const item = made.find(e => e.dataset.key === focus[0]);
      (item?.querySelector(`[data-do="${CSS.escape(focus[1] ?? '')}"]`) ?? item?.querySelector('button'))?.focus({ preventScroll: true });
    }
  }

  function totals() {
    const sum = {};
    let client = $('by-client').value, project = $('by-project').value;
    for (const g of groups.values()) {
      if (client && g.client !== client || project && g.project !== project) continue;
      for (const [k, v] of Object.entries({ withoutLow: g.without, withoutHigh: g.without, ...g })) if (typeof v === 'number') sum[k] = (sum[k] ?? 0) + v;
    }
    const line = (label, text, tone) => { const d = el('dd', tone, text); return el('div', '', el('dt', '', label), d); };
    saved(sum);
    const all = [line('sessions', number(sum.sessions)), line('requests', number(sum.requests))];
    if (sum.observed && sum.net) all.push(line('could be saved', dollars(sum.toSave ?? 0), (sum.toSave ?? 0) < 0 ? 'over' : ''));
    if (sum.unpriced) all.push(line('of unknown cost, in no sum', number(sum.unpriced)));
    all.push(line('recalls', number(sum.recalls), sum.recalls ? 'going' : ''), line('errors', number(sum.failures), sum.failures ? 'over' : ''));
    $('sums').replaceChildren(...all);
  }

  // One large figure, its share, and how it comes about.
  function saved(sum) {
    const watching = sum.observed && !sum.net, net = (watching ? sum.toSave : sum.net) ?? 0, whole = (watching ? sum.billed : sum.without) ?? 0;
    $('saved').hidden = !(whole > 0);
    if (!(whole > 0)) { $('difference').textContent = ''; return; }
    const share = Math.round(net / whole * 100);
    $('saved').replaceChildren(el('b', net < 0 ? 'over' : 'fits', dollars(net)), watching ? ' could be saved' : ' saved', el('span', 'soft', ` · ${share < 0 ? '−' : ''}${Math.abs(share)}% of ${watching ? 'the bill' : 'the bill without winnow'}`));
    const less = [[sum.billed, 'billed'], [sum.missed, 'asked for again'], [sum.summaries, 'for summaries']].filter(x => x[0]);
    const range = dollars(sum.withoutLow) !== dollars(sum.withoutHigh) ? ` (${dollars(sum.withoutLow)} to ${dollars(sum.withoutHigh)})` : '';
    $('difference').textContent = watching ? `${dollars(sum.billed)} billed; requests pass untouched` : `${dollars(whole)} without winnow${range}${less.map(x => ` − ${dollars(x[0])} ${x[1]}`).join('')} = ${dollars(net)}`;
  }

  const called = s => s.title || s.id;
  function row(s) {
    const b = el('button', '');
    b.type = 'button';
    b.dataset.do = 'choose';
    b.setAttribute('aria-pressed', s.id === chosen);
    const net = s.observed === s.requests && s.observed ? [dollars(s.toSave), 'could be saved'] : s.net === null ? ['cost', 'unknown'] : [dollars(s.net) + (s.unpriced ? '*' : ''), 'saved'];
    b.append(el('span', 'name', called(s)), el('span', 'n ' + (s.net < 0 ? 'over' : ''), net[0] + ' ' + net[1]),
      el('span', 'what', [s.client, s.project, s.model].filter(Boolean).join(' · ')), el('span', 'n left', `${count(s.requests, 'request')}, ${s.billed === null ? 'of unknown cost' : dollars(s.billed)}${s.billed !== null && s.unpriced ? ` and ${s.unpriced} of unknown cost` : ''}`),
      el('span', 'left', `${number(s.prompt)} tokens sent${s.window ? ' of ' + number(s.window) : ''}, ${number(s.leftOut)} ${s.observed ? 'could be ' : ''}left out`),
      el('span', 'n left', [s.decisions && count(s.decisions, 'decision'), s.recalls && count(s.recalls, 'recall'), s.failures && count(s.failures, 'error'), clock(s.last)].filter(Boolean).join(', ')),
      drawGauge(s.prompt, s.leftOut, s.window));
    b.addEventListener('click', () => { chose = true; choose(s.id === chosen ? '' : s.id); });
    return el('li', '', b);
  }

  // Decisions, with buttons that do what they say.
  const button = (label, what, action) => {
    const b = el('button', '', label);
    b.type = 'button';
    b.dataset.do = action.do + (action.part ?? '');
    b.setAttribute('aria-label', what);
    b.addEventListener('click', () => act(b, action));
    return b;
  };
  const triggers = { pays: 'it pays', cold: 'the cache was cold', manual: 'asked for', step: 'after a step', turn: 'after a turn', threshold: 'the window was full', background: 'the window was nearly full', rejected: 'the request was too long', 'first-send': 'before it was sent first', restore: '', pin: '' };
  // What a decision is worth: "saves 12,000 tokens, $0.0036 a request; costs $0.02 once".
  const worth = e => e.kind === 'recall' ? count(e.tokens, 'token') : (e.tokens < 0 ? 'adds ' : e.observed ? 'would save ' : 'saves ') + count(Math.abs(e.tokens), 'token') +
    (e.step ? `, ${dollars(e.step)} a request` : '') + (e.once ? `; costs ${dollars(e.once)} once` : '');
  function entry(e) {
    const session = sessions.get(e.session), text = el('div', 'text' + (e.undone ? ' undone' : '')), buttons = el('div', 'buttons');
    const of = session ? called(session) : e.session, why = [e.rules?.map(r => r.rule).join(', '), triggers[e.trigger] ?? e.trigger].filter(Boolean).join('; ');
    text.append(e.reason ?? '', why ? el('span', 'soft', ` (${why})`) : '', e.tokens ? ': ' + worth(e) : '', of ? el('div', 'soft', of) : '');
    if (e.receipt) buttons.append(e.undone ? button('Redo', `Redo: ${e.reason} in ${of}`, { do: 'redo', session: e.session, receipt: e.receipt }) : button('Undo', `Undo: ${e.reason} in ${of}`, { do: 'undo', session: e.session, receipt: e.receipt }));
    if (e.pin && !e.undone) buttons.append(button('Unpin', `Unpin in ${of}`, { do: 'unpin', session: e.session, pin: e.pin }));
    const li = el('li', '', el('time', 'soft', clock(e.time)), el('span', 'kind ' + e.kind, kinds[e.kind] ?? e.kind), text, buttons);
    if ((e.kind === 'pruning' || e.kind === 'compaction') && e.parts?.length && !e.undone) li.append(parts(e.session, e.parts, e.more));
    return li;
  }
  function parts(session, list, more) {
    const ul = el('ul', '');
    for (const p of list) {
      const label = [p.tool, p.target].filter(Boolean).join(' ') || p.because || p.part;
      const buttons = el('span', 'buttons');
      if (p.stands !== false) buttons.append(button('Restore', 'Restore: ' + label, { do: 'restore', session, part: p.part }));
      buttons.append(p.pinned ? button('Unpin', 'Unpin: ' + label, { do: 'unpin', session, pin: p.pinned }) : button('Pin', 'Pin: ' + label, { do: 'pin', session, part: p.part }));
      ul.append(el('li', '', el('span', '', label, p.because && label !== p.because ? el('span', 'soft', ' ' + p.because) : '', el('span', 'soft', ` (${p.rule})`)), el('span', 'n', number(p.tokens) + ' tokens'), buttons));
    }
    if (more) ul.append(el('li', 'soft', `and ${number(more)} more: winnow inspect ${session}`));
    return el('details', '', el('summary', '', count(list.length + (more ?? 0), 'part')), ul);
  }

  // The first press tells what would leave and who quotes it, the second one discards it.
  function discarding(session, name) {
    const of = name.replace(':', ' '), b = button('Discard…', 'Discard ' + of, { do: 'foresee', session, name });
    b.dataset.do = 'discard' + name;
    return b;
  }
  function turn(session, t) {
    const li = el('li', '', el('span', 'soft', 'turn ' + t.number), el('span', 'kind', number(t.tokens)), el('div', 'text', t.title ?? ''), el('div', 'buttons', discarding(session, 'turn:' + t.number)));
    const ul = el('ul', '', ...t.messages.map(m => el('li', '', el('span', '', m.title || m.role, el('span', 'soft', ` (message ${m.number}, ${m.role})`)), el('span', 'n', number(m.tokens) + ' tokens'), el('span', 'buttons', discarding(session, 'message:' + m.number)))));
    if (t.more) ul.append(el('li', 'soft', `and ${number(t.more)} smaller`));
    li.append(el('details', '', el('summary', '', count(t.messages.length + (t.more ?? 0), 'message')), ul));
    return li;
  }

  async function act(b, action) {
    if (action.do === 'foresee' && b.dataset.sure) action = { ...action, do: 'discard' };
    b.setAttribute('aria-busy', 'true');
    try {
      const r = await fetch('~/act', { method: 'POST', headers: { 'Content-Type': 'application/json', 'X-Winnow-Page': meta.content }, body: JSON.stringify(action) });
      const said = await r.json();
      say(r.ok ? said.done : [said.error, said.hint].filter(Boolean).join(': '));
      if (r.ok && action.do === 'foresee') { b.dataset.sure = 'yes'; b.textContent = 'Discard'; }
    } catch { say('winnow did not answer'); }
    b.removeAttribute('aria-busy');
  }
  $('out')?.addEventListener('click', async () => {
    const r = await fetch('/~sign/out', { method: 'POST' }).catch(() => null);
    if (!r?.ok) { say('winnow did not sign you out'); return; }
    source.close();
    document.body.replaceChildren(el('main', '', el('p', '', await r.text())));
  });
  let quiet = 0;
  function say(text) {
    $('said').textContent = text;
    clearTimeout(quiet);
    quiet = setTimeout(() => { $('said').textContent = ''; }, 8000);
  }

  // One session. It is looked at again when it has changed, at most once a second.
  let looking = false, again = 0, last = null;
  addEventListener('resize', () => { if (last?.id === chosen && last.moments.length) drawStrata($('strata'), last, to); });
  function choose(id) {
    chosen = id; seen = 0;
    $('one').hidden = !id;
    for (const part of ['strata', 'legend', 'bills', 'turns', 'decisions']) $(part).replaceChildren();
    $('one-now').textContent = '';
    if (id) look();
    draw();
  }
  async function look() {
    if (looking || again || !chosen) return;
    looking = true;
    const id = chosen;
    try {
      const r = await fetch('~/session?id=' + encodeURIComponent(id)), d = await r.json();
      if (id === chosen && r.ok) { show(d); seen = d.seq; }
      if (id === chosen && !r.ok) { $('one-what').textContent = d.error; seen = sessions.get(id)?.seq ?? 0; } // until it changes
    } catch { seen = sessions.get(id)?.seq ?? 0; }
    looking = false;
    again = setTimeout(() => { again = 0; if (chosen !== id || sessions.get(chosen)?.seq > seen) look(); }, id === chosen ? 1100 : 0);
  }
  function show(d) {
    const s = sessions.get(d.id);
    $('one-h').textContent = s ? called(s) : d.id;
    $('one-what').textContent = [s?.client, s?.project, s?.model, d.id].filter(Boolean).join(' · ');
    drawStrata($('strata'), d, to);
    drawLegend($('legend'), d);
    $('one-now').textContent = `now ${number(d.now)} tokens` + (d.usable ? `, folded at ${number(d.usable)}` : '');
    const observed = d.bills.at(-1)?.observed;
    $('paid').textContent = observed ? 'pruned' : 'paid';
    $('other').textContent = observed ? 'paid' : 'without winnow';
    $('bills-what').textContent = d.bills.length ? `The newest first. ${observed ? 'Only observed: the bar is what it would have been, the outline was paid.' : 'The bar was paid; the outline is the same request without winnow.'}` : 'No request was billed yet.';
    last = d;
    drawBills($('bills'), d.bills);
    keyed($('turns'), d.turns, t => t.number, t => JSON.stringify(t), t => turn(d.id, t));
    keyed($('decisions'), together(d.decisions, () => d.usable), x => x.receipt ?? 'small', x => JSON.stringify(x), x => x.small ? smaller(x.small, y => decision(d.id, y)) : decision(d.id, x));
  }
  function decision(session, x) {
    const what = x.kind === 'compaction' ? count(x.folded ?? 0, 'message') + ' folded' : count((x.parts?.length ?? 0) + (x.more ?? 0), 'part') + (x.kind === 'pruning' ? ' left out' : ' shown again');
    const text = el('div', 'text' + (x.undone ? ' undone' : ''), what, el('span', 'soft', triggers[x.trigger] ?? x.trigger ? ` (${triggers[x.trigger] ?? x.trigger})` : ''), x.tokens ? ': ' + worth(x) : '');
    const li = el('li', '', el('time', 'soft', clock(x.time)), el('span', 'kind', kinds[x.kind] ?? x.kind), text,
      el('div', 'buttons', x.undone ? button('Redo', 'Redo: ' + what, { do: 'redo', session, receipt: x.receipt }) : button('Undo', 'Undo: ' + what, { do: 'undo', session, receipt: x.receipt })));
    li.id = 'd-' + x.receipt;
    if (x.parts?.length && !x.undone) li.append(parts(session, x.parts, x.more));
    return li;
  }
  function to(receipt) {
    const li = $('d-' + receipt);
    li?.closest('details')?.setAttribute('open', '');
    li?.scrollIntoView({ block: 'center' });
    li?.querySelector('button')?.focus({ preventScroll: true });
  }

  $('modes').addEventListener('submit', e => { e.preventDefault(); act($('switch'), { do: 'mode', mode: $('mode').value }); });
  $('filters').addEventListener('submit', e => e.preventDefault());
  $('filters').addEventListener('input', () => { at = 0; shown = ENTRIES; render(); });
  for (const doing of ['focusin', 'pointerdown']) $('one').addEventListener(doing, () => { chose = true; });
  $('newer').addEventListener('click', () => { at--; render(); });
  $('older').addEventListener('click', () => { at++; render(); });
  $('more').addEventListener('click', () => { shown += ENTRIES; render(); });
  render();
})();
