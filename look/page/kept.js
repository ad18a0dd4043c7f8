'use strict';
// What the page keeps as data: texts of a session, which become text nodes and never anything else, and drawings, which were escaped when they
// were written.
const kept = (() => {
  const chunks = document.getElementsByClassName('kept'); // they follow this script
  const known = [];

  const until = async ready => { while (document.readyState === 'loading' && !ready()) await new Promise(r => setTimeout(r, 10)); };

  // Texts are kept as base64 of deflated JSON lists.
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

  return { chunks, until, unpack, whole };
})();
