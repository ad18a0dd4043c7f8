package page

import (
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/chromiumtest"
)

// aloud lists what a screen reader could not tell of a page: pictures, regions, tables and buttons
// without a name, landmarks that are missing, and headings that skip a level.
const aloud = `(() => {
	const wrong = [], name = e => e.getAttribute('aria-label') || e.getAttribute('aria-labelledby');
	for (const e of document.querySelectorAll('svg[role], [role=region], nav, main > section, figure[role]'))
		if (!name(e)) wrong.push('no name: ' + e.outerHTML.slice(0, 120));
	for (const id of [...document.querySelectorAll('[aria-labelledby]')].map(e => e.getAttribute('aria-labelledby')))
		if (!document.getElementById(id)) wrong.push('names ' + id + ', which is not there');
	for (const e of document.querySelectorAll('table:not(.bars)'))
		if (!e.caption && !e.closest('[role=region]')) wrong.push('a table without a caption: ' + e.textContent.slice(0, 80));
	for (const e of document.querySelectorAll('button, input, select'))
		if (!e.textContent.trim() && !name(e) && !e.labels?.length) wrong.push('no label: ' + e.outerHTML.slice(0, 120));
	for (const tag of ['header', 'main', 'footer', 'h1'])
		if (document.querySelectorAll('body > ' + tag + ', header > ' + tag).length !== 1) wrong.push('not one ' + tag);
	let level = 1;
	for (const h of document.querySelectorAll('main :is(h2, h3, h4, h5, h6)')) {
		if (h.closest('.prose, #messages')) continue;
		const n = Number(h.tagName[1]);
		if (n > level + 1) wrong.push('skips a level: ' + h.textContent.slice(0, 80));
		level = n;
	}
	for (const a of document.querySelectorAll('nav a'))
		if (!document.querySelector(a.getAttribute('href'))) wrong.push('leads nowhere: ' + a.textContent);
	return wrong.join('\n');
})()`

func TestBrowser_aScreenReaderCanTell(t *testing.T) {
	b := chromiumtest.Start(t)
	for name, path := range map[string]string{"a session": file(t, folded(t)), "a week": daysFile(t, aWeek()),
		"hostile":  file(t, hostileContent(t)),
		"a replay": replayFile(t, replayPage(t, hostileReplay(), ReplayDetails{Name: "x"}))} {
		b.Screen(1200, 800, "light")
		b.Open(path)
		wrong := ""
		b.Eval(aloud, &wrong)
		b.Eval("document.querySelectorAll('.statistics').forEach(d => d.open = true)", nil)
		roles := b.Spoken(func(role, name string) bool { return strings.HasPrefix(name, "The summary of pivot") })
		for _, role := range []string{"banner", "main", "contentinfo", "heading", "image"} {
			if roles[role] == 0 {
				t.Errorf("%s: there is no %s: %v", name, role, roles)
			}
		}
		for line := range strings.Lines(wrong) {
			t.Errorf("%s: %s", name, line)
		}
	}
}
