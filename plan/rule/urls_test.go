package rule_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
)

var page = strings.Repeat("A page about pebbles.\n", 40)

func TestURLs_anOlderFetchOfThePageGoes(t *testing.T) {
	type args = ruletest.Args
	for _, c := range []struct {
		name         string
		tool         string
		first, again args
		letter, goes bool
	}{
		{"the same", "webfetch", args{"url": "https://a.example/x"}, args{"url": "https://a.example/x"}, false, true},
		{"a fragment, the default port and the case of the host", "webfetch", args{"url": "https://A.example:443/x/#top"}, args{"url": "https://a.example/x"}, false, true},
		{"another limit of time", "webfetch", args{"url": "https://a.example/x"}, args{"url": "https://a.example/x", "timeout": 9}, false, true},
		{"an argument that is null", "webfetch", args{"url": "https://a.example/x", "format": nil}, args{"url": "https://a.example/x"}, false, true},
		{"another format", "webfetch", args{"url": "https://a.example/x", "format": "html"}, args{"url": "https://a.example/x", "format": "text"}, false, false},
		{"another question about it", "WebFetch", args{"url": "https://a.example/x", "prompt": "who"}, args{"url": "https://a.example/x", "prompt": "when"}, false, false},
		{"another query of the address", "webfetch", args{"url": "https://a.example/x?p=1"}, args{"url": "https://a.example/x?p=2"}, false, false},
		{"further on in the page", "mcp__net__fetch", args{"url": "https://a.example/x"}, args{"url": "https://a.example/x", "start_index": 5000}, false, false},
		{"by a server's tool", "mcp__net__fetch", args{"url": "https://a.example/x"}, args{"url": "https://a.example/x"}, false, true},
		{"by a server's tool, as other products name it", "net_fetch", args{"url": "https://a.example/x"}, args{"url": "https://a.example/x"}, false, true},
		{"what was sent something", "net_fetch", args{"url": "https://a.example/x", "method": "POST"}, args{"url": "https://a.example/x", "method": "POST"}, false, false},
		{"no address", "webfetch", args{"format": "text"}, args{"format": "text"}, false, false},
		{"a search for the same words", "websearch", args{"query": "sea  Pebbles"}, args{"query": "sea pebbles"}, false, true},
		{"a search with other options", "websearch", args{"query": "pebbles", "page": 1}, args{"query": "pebbles", "page": 2}, false, false},
		{"a search for other words", "ddg-search_search", args{"query": "pebbles"}, args{"query": "sand"}, false, false},
		{"a search of the code is none of the web", "codesearch", args{"query": "pebbles"}, args{"query": "pebbles"}, false, false},
		{"by the letter only the address counts", "webfetch", args{"url": "https://a.example/x", "format": "html"}, args{"url": "https://a.example/x", "format": "text"}, true, true},
		{"by the letter the address counts as it is written", "webfetch", args{"url": "https://a.example/x#top"}, args{"url": "https://a.example/x"}, true, false},
		{"by the letter only the words of a search count", "websearch", args{"query": "pebbles", "page": 1}, args{"query": "pebbles", "page": 2}, true, true},
		{"by the letter in another product's spelling", "WebFetch", args{"url": "https://a.example/x"}, args{"url": "https://a.example/x"}, true, true},
		{"by the letter no other search", "google_search", args{"query": "pebbles"}, args{"query": "pebbles"}, true, false},
		{"by the letter no browser", "browser_navigate", args{"url": "https://a.example/x"}, args{"url": "https://a.example/x"}, true, false},
		{"by the letter no server's tool", "net_fetch", args{"url": "https://a.example/x"}, args{"url": "https://a.example/x"}, true, false},
		{"by the letter no other argument", "webfetch", args{"uri": "https://a.example/x"}, args{"uri": "https://a.example/x"}, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := ruletest.New()
			first, again := l.Call(c.tool, c.first, page), l.Call(c.tool, c.again, page)
			e, goes := l.Found(t, formOf(c.letter, &rule.URLs{}))[first]
			if goes != c.goes {
				t.Fatalf("it goes: %v, want %v", goes, c.goes)
			}
			if goes && (e.By != again || e.Field != rule.Output || e.Saves <= 0) {
				t.Errorf("got %+v, want the output elided because of %s", e, again)
			}
		})
	}
}

func TestURLs_twoToolsAreTwoQuestions(t *testing.T) {
	l := ruletest.New()
	l.Call("webfetch", ruletest.Args{"url": "https://a.example"}, page)
	l.Call("browser_navigate", ruletest.Args{"url": "https://a.example"}, page)
	onlyElides(t, l, &rule.URLs{})
}

func TestURLs_aFailedFetchReplacesNothing(t *testing.T) {
	ask := ruletest.Args{"url": "https://a.example/x"}
	l := ruletest.New()
	l.Call("webfetch", ask, page)
	l.Fail("webfetch", ask, "503 Service Unavailable")
	l.Call("webfetch", ask, "Error: the server hung up"+page)
	l.Running("webfetch", ask)
	onlyElides(t, l, &rule.URLs{})
}

func TestURLs_aPageThatShrankDrasticallyReplacesNothing(t *testing.T) {
	ask := ruletest.Args{"url": "https://a.example/x"}
	l := ruletest.New()
	first := l.Call("webfetch", ask, page)
	notice := l.Call("webfetch", ask, "Please log in. "+page[:300])
	onlyElides(t, l, &rule.URLs{})
	half := l.Call("webfetch", ask, page[:len(page)/2])
	onlyElides(t, l, &rule.URLs{}, first, notice)

	t.Run("nor does one that shrank little by little", func(t *testing.T) {
		l.Call("webfetch", ask, page[:len(page)/3])
		found := onlyElides(t, l, &rule.URLs{}, first, notice)
		if found[first].By != half {
			t.Errorf("the first goes because of %s, want %s", found[first].By, half)
		}
	})
	t.Run("by the letter it does", func(t *testing.T) {
		l := ruletest.New()
		first := l.Call("webfetch", ask, page)
		l.Call("webfetch", ask, "Please log in.")
		onlyElides(t, l, formOf(true, &rule.URLs{}), first)
	})
}

func TestURLs_ofOneStepBothStay(t *testing.T) {
	ask := ruletest.Args{"url": "https://a.example/x"}
	for _, letter := range []bool{false, true} {
		l := ruletest.New()
		first := l.Call("webfetch", ask, page)
		second := l.Beside("webfetch", ask, page)
		onlyElides(t, l, formOf(letter, &rule.URLs{}))
		l.Call("webfetch", ask, page)
		onlyElides(t, l, formOf(letter, &rule.URLs{}), first, second)
	}
}

func TestURLs_ofAChainTheOlderGoByTheNewest(t *testing.T) {
	ask := ruletest.Args{"url": "https://a.example/x"}
	l := ruletest.New()
	first, second, newest := l.Call("webfetch", ask, page), l.Call("webfetch", ask, page), l.Call("webfetch", ask, page)
	found := (&rule.URLs{}).Find(l.Window())
	got := map[string]string{}
	for _, e := range rule.Resolve([]rule.Found{found}, rule.Ledger{}, func(string) bool { return false }).Elisions {
		got[e.Part] = e.By
	}
	if diff := cmp.Diff(map[string]string{first: newest, second: newest}, got); diff != "" {
		t.Errorf("what goes because of what (-want +got):\n%s", diff)
	}
}

func TestURLs_whatIsProtectedStays(t *testing.T) {
	ask := ruletest.Args{"url": "https://a.example/x"}
	l := ruletest.New()
	first := l.Call("webfetch", ask, page)
	l.Call("webfetch", ask, page)
	for _, c := range []struct {
		name   string
		change func(w *rule.Window)
		age    rule.Age
		want   rule.Code
	}{
		{"by its tool", func(w *rule.Window) { w.Guard = &rule.Guard{Tools: []string{"web*"}} }, rule.Age{}, rule.Protected},
		{"by a pin", func(w *rule.Window) { w.Pins = []rule.Pin{{Part: first}} }, rule.Age{}, rule.Protected},
		{"by its age in steps", func(*rule.Window) {}, rule.Age{Steps: 2}, rule.Recent},
		{"by its age in turns", func(*rule.Window) {}, rule.Age{Turns: 1}, rule.Recent},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := l.Window()
			c.change(&w)
			found := (&rule.URLs{Age: c.age}).Find(w)
			if len(found.Elisions) != 0 || len(found.Refusals) != 1 || found.Refusals[0].Code != c.want || found.Refusals[0].Part != first {
				t.Errorf("got %+v, want %s refused as %s", found, first, c.want)
			}
		})
	}
	t.Run("only so long as it is new", func(t *testing.T) { onlyElides(t, l, &rule.URLs{Age: rule.Age{Steps: 1}}, first) })
}

func TestURLs_aShortAnswerStays(t *testing.T) {
	ask := ruletest.Args{"url": "https://a.example/x"}
	l := ruletest.New()
	l.Call("webfetch", ask, "pebbles")
	l.Call("webfetch", ask, "pebbles")
	for _, letter := range []bool{false, true} {
		found := formOf(letter, &rule.URLs{}).Find(l.Window())
		if len(found.Elisions) != 0 || len(found.Refusals) != 1 || found.Refusals[0].Code != rule.TooSmall {
			t.Errorf("letter %v: got %+v, want one refusal: %s", letter, found, rule.TooSmall)
		}
	}
}

func TestCanonicalURL(t *testing.T) {
	for _, c := range []struct{ address, want string }{
		{"HTTP://A.Example:80/x/", "http://a.example/x"},
		{"https://a.example:443", "https://a.example"},
		{"https://a.example/", "https://a.example"},
		{"https://a.example:8080/x", "https://a.example:8080/x"},
		{"https://a.example/x/../y/./z#part", "https://a.example/y/z"},
		{"https://a.example/at/https://b.example//x", "https://a.example/at/https://b.example//x"},
		{"https://a.example/a%2Fb", "https://a.example/a%2Fb"},
		{"https://a.example/X?q=A", "https://a.example/X?q=A"},
		{"https://a.example/#/users", "https://a.example#/users"},
		{"https://a.example/#!users", "https://a.example#!users"},
		{" https://a.example/x\n", "https://a.example/x"},
		{"pebbles", "pebbles"},
		{"https://a b/%zz", "https://a b/%zz"},
		{"", ""},
	} {
		if got := rule.CanonicalURL(c.address); got != c.want {
			t.Errorf("%q is canonically %q, want %q", c.address, got, c.want)
		}
	}
}

// onlyElides fails the test unless a rule elides exactly these parts, and returns the elisions.
func onlyElides(t *testing.T, l *ruletest.Log, r rule.Rule, parts ...string) map[string]rule.Elision {
	t.Helper()
	found := l.Found(t, r)
	for _, part := range parts {
		if _, is := found[part]; !is {
			t.Errorf("%s leaves %s alone, want it elided", r.Name(), part)
		}
	}
	for part, e := range found {
		wanted := false
		for _, p := range parts {
			wanted = wanted || p == part
		}
		if !wanted {
			t.Errorf("%s elides %s: %+v, want it left alone", r.Name(), part, e)
		}
	}
	return found
}
