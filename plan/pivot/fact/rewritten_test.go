package fact_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/plan/pivot/fact"
	"github.com/winnowhq/winnow/session"
)

// struckIn are the claims of a text that are taken for inventions.
func struckIn(text string, s *fact.Source) string {
	var got []string
	for _, claim := range fact.Check(text, s) {
		got = append(got, claim.Text)
	}
	return strings.Join(got, " · ")
}

// checked is a text with what is struck in it.
type checked struct{ text, struck string }

// strikes holds that of each text that is struck, and no more.
func strikes(t *testing.T, s *fact.Source, texts []checked) {
	t.Helper()
	for _, c := range texts {
		if diff := cmp.Diff(c.struck, struckIn(c.text, s)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, diff)
		}
	}
}

func TestCheck_readsNumbersAsTheyAreWritten(t *testing.T) {
	s := fact.NewSource()
	s.AddText("1468 rows, 12345678 bytes, 24.04 s, 62180ms, share 0.85714, took 245s; at 2026-01-17T23:05:12Z on 2025-12-22; node v23.4.0, x.ts(2268,19), pids 80 443 and 53; 85 passed")
	strikes(t, s, []checked{
		{"Es sind 1.468 Zeilen und 24,04 Sekunden.", ""},
		{"Il y a 1\u202f468 lignes, 12 345 678 octets.", ""},
		{"There are 1 469 rows.", "1 469"},
		{"80 443 are two.", ""},
		{"24.0 s, 62.2 s, 1.0 minutes, 4.1 minutes, 86%, 85.7%, 11.8 MiB, 12.3 MB", ""},
		{"24.1 s, 62.3 s, 4.3 minutes, 85.8%, 11.9 MiB", "24.1 · 62.3 · 4.3 · 85.8% · 11.9"},
		{"at 23:05, 11:05 PM", ""},
		{"at 23:06, 11:05 AM", "23:06 · 11:05"},
		{"22.12.2025, 2025/12/22, 20251222", ""},
		{"23.12.2025, 20251223", "23.12.2025 · 20251223"},
		{"Node 23.4.0, v23.4, 23.4.x", ""},
		{"Node 23.5.x", "23.5.x"},
		{"line 2268, `:2268`", ""},
		{"`:2269` and pull/2269", "2269 · 2269"},
		{"etwa 300, environ 300, 约300个, mehr als 300", ""},
		{"eighty-five passed", ""},
		{"eighty-six passed in twenty-four hours", "eighty-six"},
		{"## 41 tests\n## 13 Deployment\n## 3 more", "41"},
		{"react@19.1.0, express@^23.4.0", "react@19.1.0 · express@^23.4.0"},
	})
}

// A total, a difference or a percentage that the source does not state is not found, true or not.
func TestCheck_calculatesNothing(t *testing.T) {
	s := fact.NewSource()
	s.AddText("1468 before, 439 after; 850 ms, 249 ms; 60 by 52")
	strikes(t, s, []checked{
		{"From 1468 to 439, 1029 fewer (-70.1%), 1,907 in all.", "1029 · 70.1% · 1,907"},
		{"850 ms became 249 ms: 3.4x faster.", "3.4x"},
		{"A grid of 60 × 52, 3120 cells.", "3120"},
		{"| run | rows |\n|---|---|\n| old | 1468 |\n| new | 439 |\n| both | 1907 |", "1907"},
	})
}

func TestCheck_knowsOtherNamesOfTheSame(t *testing.T) {
	s := fact.NewSource()
	s.AddFolder("/home/me/shop")
	s.AddMessage(call("edit", `{"file_path":"/home/me/shop/web/src/components/order-form.tsx","new_string":"parseOrder(OrderLine) $API_TOKEN is_open"}`, "see 0.0.0.0:8417/health, commit d530ed99c1c2a41bd530ed99c1c2a41bd530ed99"))
	s.AddMessage(call("edit", `{"file_path":"shop/tests/test_order.py","new_string":"def check_total(): pass"}`, ""))
	s.AddMessage(call("bash", `{"command":"python x.py"}`,
		"File \"/home/me/shop/order_form.py\", line 8, in __getattr__\n  raise\nclass OrderForm: pass\n"))
	s.AddMessage(call("bash", `{"command":"tar -x -z --directory out --no-same-owner --file a.tgz"}`, ""))
	strikes(t, s, []checked{
		{"`.../components/order-form.tsx`, web/…/order-form.tsx, `~/…/order-form.tsx`, …/order-form.tsx", ""},
		{"`.../components/order-list.tsx`, `web/…/order-list.tsx`, `api/…/order-form.tsx`",
			".../components/order-list.tsx · web/…/order-list.tsx · api/…/order-form.tsx"},
		{"`self.is_open`, `process.env.API_TOKEN`, `this.parseOrder()`, `.parseOrder`", ""},
		{"`self.is_shut`, `process.env.API_KEY`, `.parseOrders`", "self.is_shut · process.env.API_KEY · .parseOrders"},
		{"`parseOrder/is_open`", ""},
		{"`OrderForm.__getattr__`", ""},
		{"`OrderForm.__setattr__`", "OrderForm.__setattr__"},
		{"`parseOrder/is_shut`", "parseOrder/is_shut"},
		{"`tests.test_order`, tests.test_order.check_total", ""},
		{"`tests.test_orders`", "tests.test_orders"},
		{"http://localhost:8417/health, **http://127.0.0.1:8417**", ""},
		{"http://localhost:8418, http://example.org:8417", "http://localhost:8418 · http://example.org:8417"},
		{"commit d530ed9, `d530ed99c1c2`", ""},
		{"commit d530ed8", "d530ed8"},
		{"`tar -xz`, `tar -z -x`, `tar --no-same-owner --directory=out`", ""},
		{"`tar -xj`, `tar --directory=in`", "tar -xj · tar --directory=in"},
		{`__is_open__ and is\_open`, ""},
		{`__is_shut__ and is\_shut`, `is_shut · is\_shut`},
	})
}

// What was struck once is no source for the next summary: neither as the earlier summary, nor as
// the message that it is in the log.
func TestSource_hasNothingOfWhatAnEarlierSummaryMadeUp(t *testing.T) {
	earlier := "Read a/real.go and a/ghost.go, all 4711.\n\n- `see b/ghost.go first`, [notes](c/ghost.md)\n- ~~old~~ d/ghost.go, `e_ghost`\n\n```sh\nmake ghost-build\n```\n\nIt holds.\n"
	known := fact.NewSource()
	known.AddText("a/real.go real_name notes")
	marked := fact.Mark(earlier, fact.Check(earlier, known))
	if strings.Count(marked, "(unconfirmed") != 7 {
		t.Fatalf("marked:\n%s", marked)
	}
	asked := "a/real.go a/ghost.go 4711 `b/ghost.go` c/ghost.md d/ghost.go e_ghost `make ghost-build`"
	want := "a/ghost.go · 4711 · b/ghost.go · c/ghost.md · d/ghost.go · e_ghost · make ghost-build"
	text, message := fact.NewSource(), fact.NewSource()
	text.AddText(marked)
	message.AddMessage(&session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant,
		Summary: []byte("true")}, Parts: []session.Part{{Type: session.TextPart, Text: marked}}})
	for name, s := range map[string]*fact.Source{"text": text, "message": message} {
		if diff := cmp.Diff(want, struckIn(asked, s)); diff != "" {
			t.Errorf("as a %s (-want +got):\n%s\nmarked:\n%s", name, diff, marked)
		}
		if got := struckIn(marked, s); got != "" {
			t.Errorf("as a %s, what is marked is struck again: %s", name, got)
		}
	}
	// A listing that was only quoted stays what it is.
	quoted := fact.NewSource()
	quoted.AddMessage(call("read", `{"file_path":"x.md"}`, "~~a/ghost.go~~ (unconfirmed)"))
	if got := struckIn("a/ghost.go", quoted); got != "" {
		t.Errorf("of a file's words %s is struck", got)
	}
}
