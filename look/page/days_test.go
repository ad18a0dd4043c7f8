package page

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/chromiumtest"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/store/report"
)

// aWeek is a week of sessions, one of them with a hostile title.
func aWeek() report.Days {
	d := report.Days{Since: "2026-11-17", Until: "2026-11-23", Sessions: 4, Requests: 240, Cost: 31.5, Prompts: 9_000_000, Cached: 7_560_000, Uncosted: 2, Advised: 28,
		Products: []report.SpentOn{{Name: "claude-code", Sessions: 2, Cost: 22.05}, {Name: "codex", Sessions: 1, Cost: 9.45, Uncosted: 1},
			{Name: "opencode", Sessions: 1, Uncosted: 1}},
		Projects: []report.SpentOn{{Name: "/home/ann/larder", Sessions: 4, Cost: 31.5, Uncosted: 2}},
		Models:   []report.SpentOn{{Name: "anthropic/claude-opus-4-8", Sessions: 2, Cost: 22.05}, {Name: "", Sessions: 2, Cost: 9.45}},
		Gateway:  &report.Gain{Requests: 90, Billed: 9.5, Otherwise: bill.Estimate{Likely: 9.25}, Net: -0.25, Recalls: 2},
		Advice: []report.Finding{{Title: "Tools that nobody calls", Dollars: 4.2, Error: 1.1, Evidence: "12 tools in 90 requests",
			Command: "winnow config set gateway.tools.drop mcp__kiln__*"}},
	}
	for i, day := range []string{"17", "18", "19", "20", "21", "22", "23"} {
		cost := float64(i) * 1.5
		d.Days = append(d.Days, report.DayCost{Day: "2026-11-" + day, Cost: cost,
			ByProduct: map[string]float64{"claude-code": cost * 0.7, "codex": cost * 0.3}})
	}
	for _, title := range []string{"Expiry tracking", "<script>window.pwned=1</script>\x1b[31m", "key sk-ant-api03-" + strings.Repeat("abcdefghij", 9) + "AA"} {
		d.Dearest = append(d.Dearest, report.DearSession{Worked: report.Worked{Word: "claude-code:22a3379d", Title: title,
			Product: "claude-code", Project: "/home/ann/larder",
			Spent: []report.Spending{{Model: "anthropic/claude-opus-4-8"}}}, Requests: 80, Cost: 10.5})
	}
	return d
}

func TestDays_saysWhereTheMoneyWent(t *testing.T) {
	var out bytes.Buffer
	if err := Days(&out, aWeek(), 28, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"The week", "$31.50 this week", "About $4.20 ± $1.10 avoidable in 28 days", "▲ 13% from $28.00 in the 7 days before",
		"84% of the prompts", "100% of it in larder", "$31.50 for 240 requests in 4 sessions.", "Mon 23 Nov", "claude-code", "codex",
		"anthropic/claude-opus-4-8", "winnow inspect claude-code:22a3379d", "−$0.25", "it cost more than it saved", "≥$9.45", ">unknown<",
		"Tools that nobody calls", "saves $4.20:", "winnow config set gateway.tools.drop", "&lt;script&gt;window.pwned"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	for _, bad := range []string{"<script>window.pwned", "sk-ant-api03-abcdefghij", "\x1b"} {
		if strings.Contains(out.String(), bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	var kept, again bytes.Buffer
	if Days(&kept, aWeek(), 28, true) != nil || !strings.Contains(kept.String(), "sk-ant-api03-abcdefghij") {
		t.Error("a secret that is to be kept is not there")
	}
	if Days(&again, aWeek(), 28, false) != nil || again.String() != out.String() {
		t.Error("the same days give another page")
	}
	if !Is(out.Bytes()) {
		t.Error("the page is not known as one of winnow's")
	}
	var empty bytes.Buffer
	if err := Days(&empty, report.Days{Days: []report.DayCost{{Day: "2026-11-23"}}}, 28, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"No session worked on these days.", "No request went through it"} {
		if !strings.Contains(empty.String(), want) {
			t.Errorf("the empty page does not say %q", want)
		}
	}
}

// daysFile writes the page of a week where a browser finds it.
func daysFile(t testing.TB, d report.Days) string {
	t.Helper()
	var out bytes.Buffer
	if err := Days(&out, d, 28, false); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "week.html")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestBrowser_days(t *testing.T) {
	b := chromiumtest.Start(t)
	path := daysFile(t, aWeek())
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int{360, 390, 1280} {
			b.Screen(width, 800, scheme)
			b.Open(path)
			over := 0
			b.Eval("document.documentElement.scrollWidth - document.documentElement.clientWidth", &over)
			if over > 0 {
				t.Errorf("the page is %d pixels wider than the screen of %d", over, width)
			}
			broken, covered := []string{}, 0
			b.Eval(`[...document.querySelectorAll('.days th[scope=row], .tables .n, .days .n')].filter(e => {
				const r = document.createRange(); r.selectNodeContents(e)
				return new Set([...r.getClientRects()].map(x => Math.round(x.top))).size > 1 }).map(e => e.textContent)`, &broken)
			if len(broken) > 0 {
				t.Errorf("%d pixels wide: figures are broken over lines: %q", width, broken)
			}
			b.Eval(`[...document.querySelectorAll('.bills .grid-text')].filter(e => e.getBoundingClientRect().right >
				document.querySelector('.bills .stepped').getBoundingClientRect().left).length`, &covered)
			if covered > 0 {
				t.Errorf("%d pixels wide: %d labels of the axis lie over the bars", width, covered)
			}
			b.Quiet(path)
		}
	}
	var buttons, pwned int
	b.Eval("document.querySelectorAll('button.copy').length", &buttons)
	b.Eval("Number(window.pwned ?? 0)", &pwned)
	if buttons != 4 || pwned != 0 {
		t.Errorf("%d commands can be copied, want 4; hostile text ran: %d", buttons, pwned)
	}
	says := ""
	b.Eval("(() => { const c = document.querySelector('figure.strata svg'); c.focus(); c.dispatchEvent(new KeyboardEvent('keydown', {key: 'Home', bubbles: true})); return document.querySelector('.step').textContent })()", &says)
	if says != "Tue 17 Nov: $0" {
		t.Errorf("the first day says %q", says)
	}
}

// A command is copied by the button behind it, or selected where the browser does not allow that.
func TestBrowser_copiesCommands(t *testing.T) {
	b := chromiumtest.Start(t)
	path := file(t, folded(t))
	b.Screen(1200, 800, "light")
	b.Open(path)
	b.Eval("window.copied = ''; Object.defineProperty(navigator, 'clipboard', { configurable: true, value: { writeText: async t => { window.copied = t } } })", nil)
	b.Eval("document.querySelector('.commands button.copy').click()", nil)
	b.Until("document.querySelector('.commands button.copy').textContent === 'Copied'")
	copied, shown := "", ""
	b.Eval("window.copied", &copied)
	b.Eval("document.querySelector('.commands code').textContent", &shown)
	if copied == "" || copied != shown || !strings.HasPrefix(copied, "winnow compact -n ") {
		t.Errorf("copied %q, shown %q", copied, shown)
	}
	b.Quiet(path)
}

// The bill of each request answers to keys, and leads to its message.
func TestBrowser_billsAnswerToKeys(t *testing.T) {
	b := chromiumtest.Start(t)
	path := file(t, folded(t))
	b.Open(path)
	says, leads := "", ""
	b.Eval("(() => { const c = document.querySelector('.bills svg'); c.focus(); for (const key of ['Home', 'ArrowRight', 'Enter']) c.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true})); return document.querySelector('.bills .step').textContent })()", &says)
	b.Eval("location.hash", &leads)
	if !strings.HasPrefix(says, "Request 2, turn 1, claude-sonnet-4-5: $") || !strings.Contains(says, "cache read $") || leads != "#m3" {
		t.Errorf("the second request says %q and leads to %q", says, leads)
	}
	b.Quiet(path)
}
