package command

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/sqlite"
	"github.com/winnowhq/winnow/text/quantity"
)

// worksAt writes a session of Claude Code with a request of $3 at each of some moments.
func (d *desk) worksAt(id, project string, moments ...time.Time) {
	d.t.Helper()
	parent, text := "null", ""
	for i, at := range moments {
		common := fmt.Sprintf(`"sessionId":%q,"cwd":%q,"timestamp":%q`, id, project, at.UTC().Format(time.RFC3339Nano))
		text += fmt.Sprintf(`{"type":"user","uuid":"u%d","parentUuid":%s,%s,"message":{"role":"user","content":"Trim pear %d."}}`+"\n",
			i, parent, common, i)
		text += fmt.Sprintf(`{"type":"assistant","uuid":"a%[1]d","parentUuid":"u%[1]d",%[2]s,"requestId":"r%[1]d","message":`+
			`{"id":"m%[1]d","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"Done."}],`+
			`"usage":{"input_tokens":100000,"cache_read_input_tokens":100000,"output_tokens":0}}}`+"\n", i, common)
		parent = fmt.Sprintf(`"a%d"`, i)
	}
	home := filepath.Join(filepath.Dir(d.dir), "home")
	path := filepath.Join(home, ".claude", "projects", strings.ReplaceAll(project, "/", "-"), id+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
	last := moments[len(moments)-1]
	if err := os.Chtimes(path, last, last); err != nil {
		d.t.Fatal(err)
	}
}

// relays writes a store in which a gateway relayed a request of $0.20 at each of some moments.
func (d *desk) relays(path string, moments ...time.Time) {
	d.t.Helper()
	s, err := sqlite.Open(d.t.Context(), sqlite.Config{Path: path})
	if err != nil {
		d.t.Fatal(err)
	}
	defer s.Close()
	change := store.Change{Create: &session.Info{ID: "live_0"}}
	for _, at := range moments {
		change.Spend = append(change.Spend, store.Spend{Time: session.Millis(at.UnixMilli()), Kind: "step",
			Model: "anthropic/claude-sonnet-4-5", Usage: session.Usage{Input: 1000},
			Live: &store.Live{Billed: 0.2, Otherwise: bill.Estimate{Likely: 0.3}}})
	}
	if _, err := s.Apply(d.t.Context(), "live_0", change); err != nil {
		d.t.Fatal(err)
	}
}

// The sum of some days is the same wherever it is shown, in each time zone, and it is that of the
// requests of these days: a session that began before is cut at the day. advise looks at the same
// sessions, whole; status and the page say the same of what the gateway relayed.
func TestCost_oneSumEverywhere(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 10, 13, 30, 0, 0, time.UTC)
	ago := func(hours ...int) (moments []time.Time) {
		for _, h := range hours {
			moments = append(moments, now.Add(-time.Duration(h)*time.Hour))
		}
		return moments
	}
	sessions := map[string][]time.Time{
		"0a000000-0000-4000-8000-000000000001": ago(200, 50, 26, 14, 2), "0b000000-0000-4000-8000-000000000002": ago(30, 20),
		"0c000000-0000-4000-8000-000000000003": ago(500, 400),
	}
	d := newDesk(t)
	d.env = []string{"HOME=" + filepath.Join(filepath.Dir(d.dir), "home")}
	for id, moments := range sessions {
		d.worksAt(id, "/work/"+id[:2], moments...)
	}
	relayed := ago(400, 50, 26, 14, 2)
	d.relays(filepath.Join(d.dir, "s.db"), relayed...)
	const each = 0.1*3 + 0.1*0.3 // at the list price of claude-sonnet-4-5
	for _, zone := range []string{"UTC", "America/Los_Angeles", "Pacific/Auckland"} {
		place, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		d.now = func() time.Time { return now.In(place) }
		for _, days := range []int{1, 2, 3, 7, 30} {
			first := time.Date(2026, 3, now.In(place).Day()-days+1, 0, 0, 0, 0, place)
			requests, cut, whole, billed := 0, 0, 0, 0
			for _, at := range relayed {
				if !at.Before(first) {
					billed++
				}
			}
			for _, moments := range sessions {
				within := 0
				for _, at := range moments {
					if !at.Before(first) {
						within++
					}
				}
				requests += within
				if within > 0 {
					whole += len(moments)
				}
				if within > 0 && within < len(moments) {
					cut++
				}
			}
			since := fmt.Sprintf("%dd", days)
			page := fmt.Sprintf("page-%s-%d.html", strings.ReplaceAll(zone, "/", "-"), days)
			bill := d.run("cost", "--json", "--since", since, "--html", page, "--store", "s.db")
			bill.wants(t, cli.ExitDone)
			list := d.run("ls", "--json", "--since", since)
			list.wants(t, cli.ExitDone)
			doc, listed := bill.document(t), list.document(t)
			sum, _ := doc["cost"].(float64)
			if got := int(doc["requests"].(float64)); got != requests {
				t.Errorf("%s, %s: %d requests, want %d", zone, since, got, requests)
			}
			if perRequest := sum / float64(requests); math.Abs(perRequest-each) > 1e-9 {
				t.Errorf("%s, %s: a request costs %v, want %v", zone, since, perRequest, each)
			}
			sums := map[string]float64{"ls, total": listed["total"].(map[string]any)["cost"].(float64)}
			for name, rows := range map[string]any{"days": doc["days"], "products": doc["products"], "projects": doc["projects"],
				"models": doc["models"], "sessionList": doc["sessionList"], "ls": listed["sessions"],
				"ls, projects": listed["projects"], "ls, products": listed["products"]} {
				for _, row := range rows.([]any) {
					sums[name] += row.(map[string]any)["cost"].(float64)
				}
			}
			for name, got := range sums {
				if math.Abs(got-sum) > 1e-9 {
					t.Errorf("%s, %s: %s come to %v, cost says %v", zone, since, name, got, sum)
				}
			}
			if text := string(d.read(page)); !strings.Contains(text, quantity.Dollars(sum)+" for "+quantity.Count(requests, "request")) {
				t.Errorf("%s, %s: the page does not say %s", zone, since, quantity.Dollars(sum))
			}
			if shown := d.run("cost", "--since", since).stdout; !strings.HasPrefix(shown, quantity.Dollars(sum)+" ") {
				t.Errorf("%s, %s: the terminal shows %.60s, want %s", zone, since, shown, quantity.Dollars(sum))
			}
			advice := d.run("advise", "--json", "--days", fmt.Sprint(days)).document(t)
			if got := advice["cost"].(float64); math.Abs(got-each*float64(whole)) > 1e-9 {
				t.Errorf("%s, %s: advise looks at sessions of %v, want %v", zone, since, got, each*float64(whole))
			}
			status := d.run("status", "--json", "--days", fmt.Sprint(days), "--store", "s.db").document(t)
			total := status["total"].(map[string]any)
			if got := total["requests"].(float64); int(got) != billed {
				t.Errorf("%s, %s: status has %v requests, want %d", zone, since, got, billed)
			}
			for _, want := range []string{"<dt>billed</dt><dd>" + quantity.Dollars(total["billed"].(float64)),
				"winnow saved " + quantity.Net(total["net"].(float64))} {
				if text := string(d.read(page)); !strings.Contains(text, want) {
					t.Errorf("%s, %s: the page does not say %q, as status does", zone, since, want)
				}
			}
			if got, _ := doc["cut"].(float64); int(got) != cut {
				t.Errorf("%s, %s: %v sessions are cut, want %d", zone, since, got, cut)
			}
		}
	}
	d.run("cost", "--since", "2h").wants(t, cli.ExitDone)
	d.run("cost", "--since", "soon").wants(t, cli.ExitUsage, "7d, 4w, today, week or month")
	d.run("cost", "--by", "person").wants(t, cli.ExitUsage, "day, project, model")
	d.run("ls", "--since", "500d").wants(t, cli.ExitUsage, "366")
	d.run("ls", "--store", "--since", "7d").wants(t, cli.ExitUsage, "--since")
	if got := d.run("ls", "--project", "/work/0b").stdout; strings.Contains(got, "0a000000") || !strings.Contains(got, "0b000000") {
		t.Errorf("ls --project lists others:\n%s", got)
	}
}
