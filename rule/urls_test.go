package rule_test

import (
	"strings"
	"testing"

	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/rule/ruletest"
)

var page = strings.Repeat("A page about pebbles.\n", 40)

func TestURLs_anOlderFetchOfThePageGoes(t *testing.T) {
	for _, c := range []struct {
		name         string
		first, again ruletest.Args
		letter       bool
		goes         bool
	}{
		{"the same", ruletest.Args{"url": "https://a.example/x"}, ruletest.Args{"url": "https://a.example/x"}, false, true},
		{"a fragment, the default port and the case of the host", ruletest.Args{"url": "https://A.example:443/x/#top"}, ruletest.Args{"url": "https://a.example/x"}, false, true},
		{"another format", ruletest.Args{"url": "https://a.example/x", "format": "html"}, ruletest.Args{"url": "https://a.example/x", "format": "text"}, false, false},
		{"another question about it", ruletest.Args{"url": "https://a.example/x", "prompt": "who"}, ruletest.Args{"url": "https://a.example/x", "prompt": "when"}, false, false},
		{"another query of the address", ruletest.Args{"url": "https://a.example/x?p=1"}, ruletest.Args{"url": "https://a.example/x?p=2"}, false, false},
		{"by the letter only the address counts", ruletest.Args{"url": "https://a.example/x", "format": "html"}, ruletest.Args{"url": "https://a.example/x", "format": "text"}, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := ruletest.New()
			first, again := l.Call("webfetch", c.first, page), l.Call("webfetch", c.again, page)
			e, goes := l.Found(t, &rule.URLs{Letter: c.letter})[first]
			if goes != c.goes {
				t.Fatalf("it goes: %v, want %v", goes, c.goes)
			}
			if goes && (e.By != again || e.Field != rule.Output || e.Saves <= 0) {
				t.Errorf("got %+v, want the output elided because of %s", e, again)
			}
		})
	}
}
