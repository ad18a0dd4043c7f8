package rule_test

import (
	"strings"
	"testing"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

var pebbleTree = strings.Repeat("- button \"pebble\" [ref=e1]\n", 40)

// takeShot appends a call that gave an image back.
func takeShot(l *ruletest.Log, tool string, input any, output string, images int) string {
	id := l.Call(tool, input, output)
	for range images {
		l.Part(id).State.Attachments = append(l.Part(id).State.Attachments, session.Part{Type: session.FilePart, Mime: "image/png", URL: "data:image/png;base64,AAAA"})
	}
	return id
}

func TestSnapshots_ofOnePageTheNewestStays(t *testing.T) {
	type args = ruletest.Args
	for _, c := range []struct {
		name                  string
		tool, again           string
		first, second         args
		goes, goesByTheLetter bool
	}{
		{"a server's tool", "mcp__playwright__browser_snapshot", "mcp__playwright__browser_snapshot", nil, nil, true, true},
		{"in capitals", "takeScreenshot", "takeScreenshot", args{}, args{}, true, true},
		{"what does not say what is shown", "browser_snapshot", "browser_snapshot", args{"filename": "a"}, args{"filename": "b"}, true, true},
		{"another page", "screenshot", "screenshot", args{"url": "http://a.example"}, args{"url": "http://b.example"}, false, true},
		{"another tab", "screenshot", "screenshot", args{"tabId": 1}, args{"tabId": 2}, false, true},
		{"a piece of the page", "screenshot", "screenshot", args{}, args{"selector": "#pebble"}, false, true},
		{"not the whole page", "screenshot", "screenshot", args{"fullPage": true}, args{"fullPage": false}, false, true},
		{"said and unsaid", "screenshot", "screenshot", args{"fullPage": false}, args{}, true, true},
		{"another tool", "browser_snapshot", "browser_take_screenshot", args{}, args{}, false, true},
		{"no snapshot", "browser_click", "browser_click", args{}, args{}, false, false},
	} {
		for _, letter := range []bool{false, true} {
			l := ruletest.New()
			first := l.Call(c.tool, c.first, pebbleTree)
			again := l.Call(c.again, c.second, pebbleTree)
			want := c.goes
			if letter {
				want = c.goesByTheLetter
			}
			e, is := l.Found(t, formOf(letter, &rule.Snapshots{Keep: 1}))[first]
			if is != want {
				t.Errorf("%s, letter %v: it goes: %v, want %v", c.name, letter, is, want)
			}
			if is && (e.By != again || e.Field != rule.Output) {
				t.Errorf("%s, letter %v: got %+v, want the output elided because of %s", c.name, letter, e, again)
			}
		}
	}
}

func TestSnapshots_aNavigationInBetweenDoesNotMatter(t *testing.T) {
	l := ruletest.New()
	first := l.Call("browser_snapshot", nil, pebbleTree)
	l.Call("browser_navigate", ruletest.Args{"url": "http://b.example"}, pebbleTree)
	l.Call("browser_snapshot", nil, pebbleTree)
	onlyElides(t, l, &rule.Snapshots{Keep: 1}, first)
}

func TestSnapshots_soManyStay(t *testing.T) {
	l := ruletest.New()
	first, second := l.Call("snapshot", nil, pebbleTree), l.Call("snapshot", nil, pebbleTree)
	onlyElides(t, l, &rule.Snapshots{Keep: 2})
	third := l.Call("snapshot", nil, pebbleTree)
	onlyElides(t, l, &rule.Snapshots{Keep: 2}, first)
	onlyElides(t, l, &rule.Snapshots{Keep: 3})
	onlyElides(t, l, &rule.Snapshots{}, first, second)
	t.Run("the letter knows no such number", func(t *testing.T) { onlyElides(t, l, formOf(true, &rule.Snapshots{Keep: 3}), first, second) })
	t.Run("after what is left out settles, the newest covers all", func(t *testing.T) {
		for _, e := range rule.Resolve([]rule.Found{(&rule.Snapshots{}).Find(l.Window())}, rule.Ledger{}, func(string) bool { return false }).Elisions {
			if e.By != third {
				t.Errorf("%s goes because of %s, want %s", e.Part, e.By, third)
			}
		}
	})
}

func TestSnapshots_oneThatFailedReplacesNothing(t *testing.T) {
	l := ruletest.New()
	l.Call("snapshot", nil, pebbleTree)
	l.Fail("snapshot", nil, "the browser is gone")
	l.Call("snapshot", nil, "Error: the page is still loading")
	l.Running("snapshot", nil)
	onlyElides(t, l, &rule.Snapshots{Keep: 1})
}

func TestSnapshots_ofOneStepStay(t *testing.T) {
	for _, letter := range []bool{false, true} {
		l := ruletest.New()
		first := l.Call("snapshot", nil, pebbleTree)
		second := l.Beside("snapshot", nil, pebbleTree)
		onlyElides(t, l, formOf(letter, &rule.Snapshots{Keep: 1}))
		l.Call("snapshot", nil, pebbleTree)
		onlyElides(t, l, formOf(letter, &rule.Snapshots{Keep: 1}), first, second)
	}
}

func TestSnapshots_theImagesGo(t *testing.T) {
	for _, c := range []struct {
		name   string
		output string
		images int
		letter bool
		field  rule.Field
		shown  string // its end
	}{
		{"with a long text", pebbleTree, 1, false, rule.Output, ": take_screenshot, 40 lines left out; a newer one is below]"},
		{"under a short text", "Took it.", 1, false, rule.Attachments, ": take_screenshot, 1 image left out; a newer one is below]"},
		{"of no text", "", 2, false, rule.Attachments, ": take_screenshot, 2 images left out; a newer one is below]"},
		{"by the letter with a text", pebbleTree, 1, true, rule.Output, rule.Superseded},
		{"by the letter of no text", "", 1, true, rule.Attachments, rule.Superseded},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := ruletest.New()
			first := takeShot(l, "take_screenshot", nil, c.output, c.images)
			takeShot(l, "take_screenshot", nil, c.output, c.images)
			e := onlyElides(t, l, formOf(c.letter, &rule.Snapshots{Keep: 1}), first)[first]
			if e.Field != c.field || !strings.HasSuffix(e.Shown, c.shown) {
				t.Errorf("of the %s is shown %q, want of the %s …%q", e.Field, e.Shown, c.field, c.shown)
			}
			if least := c.images * (token.Image - 30); e.Saves < least {
				t.Errorf("it saves %d tokens, want at least %d", e.Saves, least)
			}
		})
	}
}
