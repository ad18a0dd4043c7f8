package page

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/internal/chromiumtest"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
)

// file writes a page where a browser finds it.
func file(t testing.TB, c Content) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(f, c); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func folded(t testing.TB) Content {
	d := deskWith(t, example(t), rule.Ledger{})
	receipt, err := d.engine.Compact(t.Context(), d.id, winnow.CompactOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c := d.content()
	c.Done = receipt
	return c
}

func TestBrowser(t *testing.T) {
	b := chromiumtest.Start(t)
	content := folded(t)
	example := file(t, content)
	// What is kept as data is unpacked once no such reference is left in an open part, and open
	// parts are unfolded.
	const openAll = "document.querySelectorAll('details').forEach(d => d.open = true)"
	const allOpen = "!document.querySelector('#messages details > noscript, #messages pre[data-t]')"
	t.Run("a part that is opened shows its text", func(t *testing.T) {
		b.T = t
		b.Screen(1200, 800, "light")
		var added struct {
			ID string `json:"identifier"`
		}
		// Nothing is unfolded by itself here: the page is never idle.
		b.Call("Page.addScriptToEvaluateOnNewDocument",
			map[string]any{"source": "window.requestIdleCallback = () => {}"}, &added)
		defer b.Call("Page.removeScriptToEvaluateOnNewDocument", map[string]any{"identifier": added.ID}, nil)
		b.Open(example)
		b.Eval("(() => { window.part = [...document.querySelectorAll('#messages details')].find(d => /output<.*data-t=/s.test(d.querySelector('noscript').textContent)); part.open = true })()", nil)
		b.Until("!part.querySelector('noscript, pre[data-t]')")
		length, all := 0, 0
		b.Eval("Math.max(...[...part.querySelectorAll('pre')].map(p => p.textContent.length))", &length)
		b.Eval("document.querySelectorAll('#messages details').length", &all)
		if length <= 4000 || all < 180 {
			t.Errorf("the text that was opened has %d characters, the log %d parts", length, all)
		}
		b.Quiet(example)
	})
	t.Run("without DecompressionStream too", func(t *testing.T) {
		b.T = t
		var added struct {
			ID string `json:"identifier"`
		}
		b.Call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": "delete window.DecompressionStream"},
			&added)
		defer b.Call("Page.removeScriptToEvaluateOnNewDocument", map[string]any{"identifier": added.ID}, nil)
		b.Open(example)
		b.Eval(openAll, nil)
		b.Until(allOpen)
		same := false
		b.Eval("[...document.querySelectorAll('#messages pre')].some(p => p.textContent.includes('--- PASS') && p.textContent.length > 20000)", &same)
		if !same {
			t.Error("no long test log was unpacked")
		}
		b.Quiet(example)
	})
	t.Run("the filter finds text that is kept as data", func(t *testing.T) {
		b.T = t
		b.Open(example)
		shown := func() (n int) {
			b.Eval("[...document.querySelectorAll('#messages [data-k]')].filter(e => e.checkVisibility()).length", &n)
			return n
		}
		before := shown()
		find := func(script, want string) int {
			t.Helper()
			b.Eval("document.getElementById('found').textContent = ''", nil)
			b.Eval(script, nil)
			b.Until("/" + want + "/.test(document.getElementById('found').textContent)")
			return shown()
		}
		n := find("(() => { q.value = 'data  RACE'; q.dispatchEvent(new Event('input', {bubbles: true})) })()",
			`\d+ parts? in`)
		if n == 0 || n >= before {
			t.Errorf("%d of %d parts have the words", n, before)
		}
		if n := find("(() => { q.value = 'no such words (['; q.dispatchEvent(new Event('input', {bubbles: true})) })()",
			"^0 parts"); n != 0 {
			t.Errorf("%d parts have words that are nowhere", n)
		}
		n = find("(() => { q.value = ''; elided.checked = true; elided.dispatchEvent(new Event('input', {bubbles: true})) })()", `^\d+ parts`)
		if want := content.Done.Parts(); n != want {
			t.Errorf("%d parts are shown as elided, want %d", n, want)
		}
		n = find("(() => { elided.checked = false; kind.value = 'user'; kind.dispatchEvent(new Event('input', {bubbles: true})) })()", `^7 parts`)
		if n != 7 {
			t.Errorf("%d parts are the user's, want 7", n)
		}
		b.Eval("document.querySelector('.entries a').click()", nil) // leads to a part that is filtered out
		b.Until("document.activeElement.tagName === 'SUMMARY' && document.activeElement.parentElement.open && !document.activeElement.closest('[hidden]')")
		b.Quiet(example)
	})
	t.Run("the browser's own search reaches folded parts", func(t *testing.T) {
		b.T = t
		b.Open(example)
		b.Until("document.documentElement.classList.contains('whole')")
		found, opened, left := false, 0, 0
		b.Eval("document.querySelectorAll('#messages noscript, #messages pre[data-t]').length", &left)
		b.Eval("window.find('--- PASS: TestFeed', true)", &found)
		b.Eval("document.querySelectorAll('#messages details[open]').length", &opened)
		if left > 0 || !found || opened != 0 && opened != 1 {
			t.Errorf("%d texts are left folded, found %v with %d parts open", left, found, opened)
		}
		b.Quiet(example)
	})
	t.Run("the filter finds what is behind the beginning of a part that was opened", func(t *testing.T) {
		b.T = t
		s := small()
		s.Messages[1].Parts[2].State.Output = strings.Repeat("red to red, blue to blue\n", 4000) + "the needle"
		path := file(t, deskWith(t, s, rule.Ledger{}).content())
		b.Open(path)
		b.Until("document.documentElement.classList.contains('whole')")
		b.Eval("(() => { q.value = 'the needle'; q.dispatchEvent(new Event('input', {bubbles: true})) })()", nil)
		b.Until(`/^1 part /.test(document.getElementById('found').textContent)`)
		b.Eval("document.querySelector('#messages details:not([hidden])').open = true", nil)
		b.Until("document.querySelector('#messages details[open]').textContent.includes('the needle')")
		b.Quiet(path)
	})
	t.Run("the timeline answers to keys", func(t *testing.T) {
		b.T = t
		b.Open(example)
		b.Eval("document.getElementById('strata').focus()", nil)
		b.Press("Home")
		b.Press("ArrowRight")
		says := ""
		b.Eval("document.getElementById('step').textContent", &says)
		if !strings.HasPrefix(says, "Message 2, turn 1, assistant: ") ||
			!strings.Contains(says, "system, tools 15,335") {
			t.Errorf("the second column says %q", says)
		}
		b.Press("Enter")
		b.Until("location.hash === '#m2'")
		b.Quiet(example)
	})
	t.Run("nothing is wider than a phone, in either scheme", func(t *testing.T) {
		for name, path := range map[string]string{"example": example, "hostile": file(t, hostileContent(t))} {
			for _, width := range []int{360, 1200} {
				b.T = t
				b.Screen(width, 740, "dark")
				b.Open(path)
				b.Eval(openAll, nil)
				b.Until(allOpen)
				over := 0
				b.Eval("document.documentElement.scrollWidth - document.documentElement.clientWidth", &over)
				if over > 0 {
					t.Errorf("%s is %d pixels wider than the screen of %d", name, over, width)
				}
				b.Quiet(path)
			}
		}
	})
	t.Run("hostile text runs nothing and loads nothing", func(t *testing.T) {
		b.T = t
		b.Screen(1200, 800, "light")
		path := file(t, hostileContent(t))
		b.Open(path)
		b.Eval(openAll, nil)
		b.Until(allOpen)
		var pwned, strange, more int
		b.Eval("Number(window.pwned ?? 0)", &pwned)
		b.Eval("document.querySelectorAll('img, iframe, object, embed, link, base, audio, video, [onerror], [style], a:not([href^=\"#\"])').length", &strange)
		b.Eval("document.querySelectorAll('#messages button:not(.copy)').length", &more)
		if pwned != 0 || strange != 0 {
			t.Errorf("text became code (%d) or elements (%d)", pwned, strange)
		}
		if more != 1 {
			t.Errorf("%d buttons show more of a text, want 1 for the long line", more)
		}
		b.Eval("document.querySelector('#messages button:not(.copy)').click()", nil)
		title := ""
		b.Eval("document.title", &title)
		if !strings.HasPrefix(title, "</script></style><script>window.pwned=1") {
			t.Errorf("the title is %q", title)
		}
		b.Quiet(path)
		// What is put into the page by force does not run either.
		b.Eval("(() => { const s = document.createElement('script'); s.textContent = 'window.pwned = 3'; document.body.append(s) })()", nil)
		b.Eval("Number(window.pwned ?? 0)", &pwned)
		if pwned != 0 {
			t.Error("the policy lets a foreign script run")
		}
	})
	t.Run("without JavaScript the page still tells", func(t *testing.T) {
		b.T = t
		b.Call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
		defer b.Call("Emulation.setScriptExecutionDisabled", map[string]any{"value": false}, nil)
		b.Open(example)
		text := ""
		b.Eval("document.body.innerText", &text)
		for _, want := range []string{"Expiry tracking for larder", "Timeline", "output of bash",
			"Use of tokens", "Replaced messages", "Without JavaScript this page lacks the filter",
			"go test ./..."} {
			if !strings.Contains(text, want) {
				t.Errorf("without JavaScript the page does not say %q", want)
			}
		}
		if strings.Contains(text, "only left out") {
			t.Error("the filter is shown although it does not work")
		}
	})
}

// TestBrowser_pictures makes the pictures of docs/ from the example: make pictures
func TestBrowser_pictures(t *testing.T) {
	if os.Getenv("WINNOW_SHOTS") == "" {
		t.Skip("WINNOW_SHOTS names no folder")
	}
	b := chromiumtest.Start(t)
	d := deskWith(t, example(t), rule.Ledger{})
	c := d.content()
	c.Name, c.Source = "long-session.json", "long-session.json"
	p, err := d.engine.Preview(t.Context(), d.id, winnow.CompactOptions{})
	if err != nil {
		t.Fatal(err)
	}
	of, err := winnow.Look(t.Context(), d.engine, d.id, func(s *report.Session) (model.Model, error) { return s.Model, nil })
	if err != nil {
		t.Fatal(err)
	}
	c.Compact = pivot.NewMoney(of, pivot.Change{Before: p.TokensBefore + p.Overhead, After: p.TokensAfter + p.Overhead,
		Rewritten: p.TokensAfter}, new(0.0))
	path := file(t, c)
	b.Screen(1100, 1240, "light")
	b.Open(path)
	b.Shoot("page-light.png", 0, 1100, 1240)
	b.Screen(360, 740, "light")
	b.Open(path)
	b.Eval("document.getElementById('timeline').scrollIntoView()", nil)
	y := 0.0
	b.Eval("scrollY", &y)
	b.Shoot("page-phone.png", int(y), 360, 740)
	b.Screen(1100, 1000, "light")
	b.Open(path)
	b.Eval("document.getElementById('money').getBoundingClientRect().top + scrollY", &y)
	b.Shoot("page-money.png", int(y)-20, 1100, 1060)
	week := aWeek()
	for i, title := range []string{"Expiry tracking for larder", "The parser refuses what it wrote", "Releases without a tag"} {
		week.Dearest[i].Title, week.Dearest[i].Cost = title, 10.5-float64(i)
	}
	weekPath := daysFile(t, week)
	b.Screen(1100, 1000, "dark")
	b.Open(weekPath)
	b.Shoot("page-week.png", 0, 1100, 1080)
	b.Quiet(weekPath)
}

// large is a session of about that many bytes: turns of forty steps, each with words, a read of
// 6,000 bytes and a command of 3,000.
func large(bytes int) session.Session {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("the keeper of tower north checks every lamp twice and writes down wind tide pressure fog horn signals boats seen error: retry ok func return if else for range nil")
	text := func(n int) string {
		var b strings.Builder
		for b.Len() < n {
			fmt.Fprintf(&b, "%s %d ", words[r.IntN(len(words))], r.IntN(10_000))
			if r.IntN(9) == 0 {
				b.WriteByte('\n')
			}
		}
		return b.String()
	}
	s := session.Session{Info: session.Info{ID: "ses_large", Title: "A long watch", Directory: "/home/keeper"}}
	ref := &session.ModelRef{ProviderID: "anthropic", ModelID: "claude-sonnet-4-5"}
	total := 0
	for n := 0; total < bytes; n++ {
		id := fmt.Sprintf("msg_%06d", n)
		m := session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.Assistant, Finish: "stop",
			Time: session.MessageTime{Created: session.Millis(1772438400000 + n*1000)}}}
		if n%41 == 0 {
			m.Role, m.Model, m.Finish = session.User, ref, ""
			m.Parts = []session.Part{{ID: id + "_t", Type: session.TextPart, Text: text(300)}}
			total += 300
		} else {
			call := func(suffix, tool, input, output string) session.Part {
				return session.Part{ID: id + suffix, Type: session.ToolPart, Tool: tool, CallID: id + suffix,
					State: &session.ToolState{Status: session.Completed, Input: []byte(input), Output: output}}
			}
			m.Parts = []session.Part{
				{ID: id + "_s", Type: session.TextPart, Text: text(200)},
				call("_r", "read", fmt.Sprintf(`{"filePath":"/home/keeper/log/%d.txt"}`, n%300), text(6000)),
				call("_b", "bash", fmt.Sprintf(`{"command":"grep -n fog log/%d.txt"}`, n), text(3000)),
			}
			total += 9300
		}
		s.Messages = append(s.Messages, m)
	}
	return s
}

// TestBrowser_opensTwentyMegabytes measures and does not judge: how long a page takes depends on
// who else uses the machine. It fails when the page is not usable at all.
func TestBrowser_opensTwentyMegabytes(t *testing.T) {
	b := chromiumtest.Start(t)
	path := file(t, deskWith(t, large(20<<20), rule.Ledger{}).content())
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	// From the start of the navigation until the page listens, and until the text of the first long
	// part stands there, laid out.
	b.Call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `(async () => {
		const wait = () => new Promise(r => setTimeout(r, 1));
		while (!document.documentElement?.classList.contains('js')) await wait();
		window.usable = performance.now();
		const d = [...document.querySelectorAll('#messages details')].find(d => d.textContent.includes('data-t'));
		d.open = true;
		while (d.querySelector('noscript, pre[data-t]')) await wait();
		d.getBoundingClientRect();
		window.opened = performance.now();
	})()`}, nil)
	b.Call("Performance.enable", map[string]any{"timeDomain": "threadTicks"}, nil)
	for range 3 {
		b.Open("/dev/null")
		b.Open(path)
		b.Until("window.opened && performance.getEntriesByName('first-contentful-paint').length")
		var paint, usable, opened, loaded float64
		b.Eval("performance.getEntriesByName('first-contentful-paint')[0].startTime", &paint)
		b.Eval("window.usable", &usable)
		b.Eval("window.opened", &opened)
		b.Eval("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd", &loaded)
		var work struct {
			Metrics []struct {
				Name  string  `json:"name"`
				Value float64 `json:"value"`
			} `json:"metrics"`
		}
		b.Call("Performance.getMetrics", nil, &work)
		for _, m := range work.Metrics {
			if m.Name == "TaskDuration" {
				t.Logf("the page's thread worked for %.0f ms", 1000*m.Value)
			}
		}
		t.Logf("%d MB of HTML: first paint %.0f ms, listens %.0f ms, first part opened %.0f ms, all loaded %.0f ms",
			info.Size()>>20, paint, usable, opened, loaded)
		var search float64
		b.Eval(`(async () => {
			const from = performance.now();
			q.value = 'fog 9999'; q.dispatchEvent(new Event('input', {bubbles: true}));
			while (!/part/.test(found.textContent)) await new Promise(r => setTimeout(r, 1));
			return performance.now() - from;
		})()`, &search)
		t.Logf("searching all of it %.0f ms", search)
	}
	b.Quiet(path)
}
