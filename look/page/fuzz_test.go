package page

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"golang.org/x/net/html"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// Whatever a session says, its page runs nothing but the page's own script, fetches nothing, and is
// told to be one.
func FuzzWrite(f *testing.F) {
	whole, err := json.Marshal(small(), session.ReadOptions())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole, "session.json", "cut")
	for _, seed := range []string{
		`{"info":{"id":"s","title":"</title><script>alert(1)</script>","directory":"\"><img src=x onerror=y>"},"messages":[{"info":{"id":"a\" onclick=\"x","role":"user"},"parts":[{"id":"p","type":"text","text":"<!-- </script><svg onload=x> javascript:y"}]}]}`,
		`{"info":{"id":"s"},"messages":[{"info":{"id":"a","role":"assistant"},"parts":[{"id":"c","callID":"c","type":"tool","tool":"<b>","state":{"status":"completed","input":{"url":"javascript:x","filePath":"</style>"},"output":"\u0000\u001b[2J\u202e","title":"]]>"}},{"id":"f","type":"file","mime":"image/svg+xml","url":"data:image/svg+xml,<svg onload=x>","filename":"a'b"}]}]}`,
	} {
		f.Add([]byte(seed), "</script>", "<x>")
	}
	f.Fuzz(func(t *testing.T, text []byte, name, reason string) {
		var s session.Session
		if len(text) > 1<<16 || json.Unmarshal(text, &s, session.ReadOptions()) != nil || s.Info.ID == "" {
			return
		}
		d := deskOf(t, s)
		if d == nil {
			return
		}
		c := d.content()
		c.Name, c.Source, c.Remark = name, name, reason
		c.Damaged = []format.Damage{{Line: 1, Bytes: 3, Reason: reason}}
		out := written(t, c)
		if !Is([]byte(out)) {
			t.Error("the page is not told to be one")
		}
		if out != written(t, c) {
			t.Error("the same session gives another page")
		}
		harmless(t, out)
	})
}

// deskOf is an engine with a session, nil if it cannot be imported.
func deskOf(t *testing.T, s session.Session) *desk {
	t.Helper()
	d := deskWith(t, session.Session{Info: session.Info{ID: "first"}}, rule.Ledger{})
	if d.engine.Import(t.Context(), s, rule.Ledger{}, nil) != nil {
		return nil
	}
	d.id = s.Info.ID
	return &d
}

// harmless reads a page as a browser does.
func harmless(t *testing.T, page string) {
	t.Helper()
	scripts, inScript := 0, false
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			break
		}
		token := z.Token()
		if kind == html.TextToken && inScript {
			if token.Data != script && strings.Trim(token.Data,
				"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") != "" {
				t.Fatalf("a script that is not the page's: %.300q", token.Data)
			}
		}
		inScript = kind == html.StartTagToken && token.Data == "script"
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		switch token.Data {
		case "script":
			scripts++
		case "iframe", "object", "embed", "base", "link", "img", "audio", "video":
			t.Fatalf("the page has <%s>", token.Data)
		}
		for _, a := range token.Attr {
			value := strings.ToLower(strings.TrimSpace(a.Val))
			if strings.HasPrefix(a.Key, "on") || a.Key == "src" || a.Key == "srcdoc" || a.Key == "action" ||
				a.Key == "formaction" ||
				(a.Key == "href" || a.Key == "xlink:href") && !strings.HasPrefix(value, "#") {
				t.Fatalf("<%s> has %s=%q", token.Data, a.Key, a.Val)
			}
		}
	}
	if scripts == 0 {
		t.Error("the page has no script at all")
	}
}
