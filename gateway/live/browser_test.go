package live_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/gateway/live"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/internal/chromiumtest"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

var digits = regexp.MustCompile(`[0-9,]+`)

// figure is the first number that an element shows.
func figure(b *chromiumtest.Browser, selector string) int {
	b.T.Helper()
	text := ""
	b.Eval(fmt.Sprintf("document.querySelector(%q)?.textContent ?? ''", selector), &text)
	n, _ := strconv.Atoi(strings.ReplaceAll(digits.FindString(text), ",", ""))
	return n
}

// A session that goes through the gateway appears, grows, is pruned, is undone by a click, and the
// next request shows it. Then others come, in both schemes, on a wide screen and on a phone:
// make pictures
func TestBrowser_aSessionIsWatchedAndUndone(t *testing.T) {
	b := chromiumtest.Start(t)
	s := open(t, set{agents: three()})
	b.Screen(1280, 900, "light")
	b.Open(s.gateway.URL + "/")
	b.Until("document.getElementById('link').textContent === 'connected'")
	b.Until("!document.getElementById('empty').hidden && document.getElementById('rows').children.length === 0")

	s.ask("one", 1)
	b.Until("document.querySelectorAll('#rows > li').length === 1 && /1 request,/.test(document.getElementById('rows').textContent)")
	b.Until("!document.getElementById('one').hidden && document.querySelectorAll('#bills > div').length === 1 && document.querySelector('#strata svg')")

	s.ask("one", 59)
	b.Until("/60 requests,/.test(document.getElementById('rows').textContent) && document.querySelectorAll('#bills > div').length === 60")
	b.Until("document.querySelectorAll('#feed > li').length > 0 && document.querySelectorAll('#decisions > li').length > 0")
	b.Until("document.querySelectorAll('#strata .mark-head').length === document.querySelectorAll('#decisions > li').length")
	left := func() int {
		text := ""
		b.Eval("document.querySelector('#rows .left:not(.n)').textContent.match(/([0-9,]+) left out/)[1].replace(/,/g, '')", &text)
		return must(strconv.Atoi(text))
	}
	before := left()
	if before == 0 {
		t.Fatal("nothing is left out")
	}
	// The newest pruning is undone by a click on its button in the feed, and the next request shows it.
	feed := "#feed > li:has(.kind.pruning)"
	newest := ""
	b.Eval(fmt.Sprintf("document.querySelector('%s').textContent", feed), &newest)
	b.Click(feed + " button[data-do=undo]")
	b.Until("/Undone/.test(document.getElementById('said').textContent) && /next request/.test(document.getElementById('said').textContent)")
	b.Until(fmt.Sprintf("document.querySelector('%s .undone') && document.querySelector('%s button[data-do=redo]')", feed, feed))
	b.Until("document.querySelector('#decisions .undone') && document.querySelector('#strata .mark-head.undone')")
	sent := s.provider.Records()
	s.ask("one", 1)
	b.Until("/61 requests,/.test(document.getElementById('rows').textContent)")
	if now := left(); now >= before {
		t.Errorf("%d tokens are left out after %q was undone, and were %d", now, newest, before)
	}
	after := s.provider.Records()
	if a, b := len(sent[len(sent)-1].Body), len(after[len(after)-1].Body); b <= a {
		t.Errorf("the request after it has %d bytes, the one before %d", b, a)
	}

	t.Run("a part is restored and pinned with the keyboard", func(t *testing.T) {
		b.T = t
		list := "#decisions > li:not(:has(.undone)) details"
		b.Until(fmt.Sprintf("document.querySelector(%q)", list))
		b.Eval(fmt.Sprintf("document.querySelector(%q).open = true", list), nil)
		focus := func(selector string) {
			b.Eval(fmt.Sprintf("document.querySelector(%q).focus()", selector), nil)
			b.Press("Enter")
		}
		focus(list + " button[data-do^=restore]")
		b.Until("/Restored/.test(document.getElementById('said').textContent) && document.querySelector('#feed .kind.restore')")
		focus(list + " button[data-do^=pin]")
		b.Until("/Pinned/.test(document.getElementById('said').textContent) && document.querySelector('#feed .kind.pin')")
		b.Until("document.querySelector('#decisions button[data-do=unpin]')")
	})
	t.Run("a message is discarded at the second press, and undone", func(t *testing.T) {
		b.T = t
		b.Eval("document.querySelector('#turns details').open = true", nil)
		button := "#turns details button[data-do^='discardmessage']"
		b.Click(button)
		b.Until("/would leave the view.*Press again/.test(document.getElementById('said').textContent)")
		b.Click(button)
		b.Until("/Discarded/.test(document.getElementById('said').textContent) && /discarded: message/.test(document.getElementById('feed').textContent)")
		b.Click("#feed > li:first-child button[data-do=undo]")
		b.Until("/Undone/.test(document.getElementById('said').textContent)")
	})
	t.Run("it is filtered by client and project", func(t *testing.T) {
		b.T = t
		s.ask("two", 40)
		s.ask("three", 25)
		b.Until("document.querySelectorAll('#rows > li').length === 3 && document.querySelectorAll('#by-client option').length === 3")
		choose := func(id, value string) {
			b.Eval(fmt.Sprintf("(() => { const e = document.getElementById('%s'); e.value = '%s'; e.dispatchEvent(new Event('input', { bubbles: true })) })()", id, value), nil)
		}
		requests := func() int { return figure(b, "#sums div:nth-child(2) dd") }
		for _, c := range []struct {
			client, project string
			rows, requests  int
		}{
			{"", "", 3, 126}, {"claude-cli", "", 2, 86}, {"claude-cli", "/home/ann/site", 1, 25}, {"opencode", "/home/ann/shopd", 0, 0}, {"", "", 3, 126},
		} {
			choose("by-client", c.client)
			choose("by-project", c.project)
			rows := 0
			b.Eval("document.querySelectorAll('#rows > li').length", &rows)
			if n := requests(); rows != c.rows || n != c.requests {
				t.Errorf("%q %q: %d sessions with %d requests, want %d with %d", c.client, c.project, rows, n, c.rows, c.requests)
			}
		}
	})
	t.Run("the mode is switched", func(t *testing.T) {
		b.T = t
		b.Eval("document.getElementById('mode').value = 'observe'", nil)
		b.Click("#switch")
		b.Until("/Mode observe/.test(document.getElementById('said').textContent)")
		if len(s.modes) != 1 || s.modes[0] != "observe" {
			t.Errorf("switched to %q", s.modes)
		}
		b.Eval("document.getElementById('mode').value = 'full'", nil)
	})
	t.Run("every control has a name, and every region", func(t *testing.T) {
		b.T = t
		roles := b.Spoken(nil)
		for _, role := range []string{"main", "banner", "region", "search", "status", "heading", "button"} {
			if roles[role] == 0 {
				t.Errorf("there is no %s: %v", role, roles)
			}
		}
	})
	for _, scheme := range []string{"light", "dark"} {
		t.Run("what is written can be read, "+scheme, func(t *testing.T) {
			b.T = t
			b.Screen(1280, 900, scheme)
			readable(b)
			b.Eval("document.getElementById('said').textContent = ''; document.activeElement.blur(); scrollTo(0, 0)", nil)
			b.Shoot("live-"+scheme+".png", 0, 1280, 1080)
			b.Screen(390, 844, scheme)
			width := 0
			if b.Eval("document.documentElement.scrollWidth", &width); width > 390 {
				t.Errorf("on a phone the page is %d wide", width)
			}
			readable(b)
			if scheme == "light" {
				b.Shoot("live-phone.png", 0, 390, 1240)
			}
		})
	}
	b.T = t
	b.Quiet(s.gateway.URL)
}

// readable wants each text to stand out from its ground as WCAG 2 AA asks for, as the browser
// computes both.
func readable(b *chromiumtest.Browser) {
	b.T.Helper()
	var poor []string
	b.Eval(`(() => {
	const of = c => (c.match(/[\d.]+/g) ?? []).map(Number);
	const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [.2126, .7152, .0722][i], 0);
	const poor = [];
	let n = 0;
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walk.nextNode()) {
		const e = walk.currentNode.parentElement;
		if (!walk.currentNode.data.trim() || !e.checkVisibility() || e.closest('noscript, :disabled, option')) continue;
		let ground = [0, 0, 0, 0], up = e;
		while (up && (ground.length === 4 && ground[3] === 0)) { ground = of(getComputedStyle(up).backgroundColor); up = up.parentElement; }
		const style = getComputedStyle(e), text = of(e instanceof SVGElement ? style.fill : style.color);
		const [x, y] = [light(text), light(ground)], contrast = (Math.max(x, y) + .05) / (Math.min(x, y) + .05);
		n++;
		if (contrast < 4.5) poor.push(contrast.toFixed(2) + ' ' + walk.currentNode.data.trim().slice(0, 40));
	}
	return n < 50 ? ['only ' + n + ' texts'] : [...new Set(poor)];
})()`, &poor)
	for _, text := range poor {
		b.T.Errorf("contrast below 4.5: %s", text)
	}
}

// After a day with many sessions the page shows a page of them, has as many elements as before, and
// the browser goes on from where it was when the connection breaks.
func TestBrowser_manySessionsAndABrokenConnection(t *testing.T) {
	b := chromiumtest.Start(t)
	s := open(t, set{})
	b.Screen(1280, 900, "light")
	b.Open(s.gateway.URL + "/")
	const sessions = 500
	for id := range sessions { // the newest is shown by itself
		must(s.engine.Create(t.Context(), session.Info{ID: fmt.Sprintf("live_%04d", id)}))
	}
	tell := func(id, request int) {
		s.hub.Watch(transport.Notice{Time: s.clock(), Session: fmt.Sprintf("live_%04d", id), Model: "anthropic/claude-sonnet-4-5",
			Title: fmt.Sprintf("task %d <b>bold</b>", id), From: transport.Origin{Client: "claude-cli/2", Project: fmt.Sprintf("/p/%d", id%20)},
			Spent: &store.Spend{Usage: session.Usage{Input: 1000 + request}, Live: &store.Live{Billed: .01, Otherwise: bill.Estimate{Likely: .02}}}})
	}
	for request := range 20 {
		for id := range sessions {
			tell(id, request)
		}
	}
	b.Until("/of 500/.test(document.getElementById('which').textContent)")
	b.Until("document.querySelector('#sums div:nth-child(2) dd').textContent === '10,000'")
	var at struct{ Elements, Rows, Bold int }
	count := `({ Elements: document.querySelectorAll('*').length, Rows: document.querySelectorAll('#rows > li').length, Bold: document.querySelectorAll('#rows b').length })`
	b.Eval(count, &at)
	if at.Rows != 20 || at.Elements > 1500 || at.Bold != 0 {
		t.Errorf("%+v", at)
	}
	// New figures come at the rate of a day's peak, and the page stays as quick as it was.
	for request := range 20 {
		for id := range sessions {
			tell(id, request)
		}
	}
	b.Until("document.querySelector('#sums div:nth-child(2) dd').textContent === '20,000'")
	took := 0.0
	b.Eval("(() => { const t = performance.now(); document.getElementById('older').click(); return performance.now() - t })()", &took)
	b.Until("/^21 to 40/.test(document.getElementById('which').textContent)")
	t.Logf("another page of %d sessions: %.1f ms", sessions, took)
	b.Quiet(s.gateway.URL) // what follows is a broken connection, of which a browser tells

	s.hub.End() // the streams end, and come again
	tell(7, 20)
	b.Until("document.querySelector('#sums div:nth-child(2) dd').textContent === '20,001'")
}

// Somebody who signed in signs out by a click; a client with a token has no such button.
func TestBrowser_signsOut(t *testing.T) {
	b := chromiumtest.Start(t)
	person, out := "ann@example.com", ""
	mux := http.NewServeMux()
	hub := live.NewHub(false, time.Now())
	mux.Handle("/", live.New(hub, live.Config{Person: func(*http.Request) string { return person }}))
	mux.HandleFunc("POST /~sign/out", func(w http.ResponseWriter, r *http.Request) {
		out = r.Header.Get("Origin")
		_, _ = w.Write([]byte("You have signed out.\n"))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	defer hub.Close()
	b.Open(server.URL + "/")
	b.Until("document.getElementById('link').textContent === 'connected' && /ann@example.com Sign out/.test(document.querySelector('header').textContent)")
	b.Click("#out")
	b.Until("/^\\s*You have signed out\\.\\s*$/.test(document.body.textContent)")
	if out != server.URL {
		t.Errorf("the page signs out with the origin %q, want %q", out, server.URL)
	}
	person = ""
	b.Open(server.URL + "/")
	b.Until("document.getElementById('link').textContent === 'connected' && !document.getElementById('out')")
}
