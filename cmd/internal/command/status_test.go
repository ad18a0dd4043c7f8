package command

import (
	"bufio"
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/mattn/go-runewidth"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/workday"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/store/sqlite"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/anthropic"
)

// gatewayed is a winnow serve that runs beside a scripted provider.
type gatewayed struct {
	*desk
	at     string
	cmd    *exec.Cmd
	lines  *bufio.Reader
	server *llmtest.Server
	log    []session.Message
	tools  jsontext.Value // that it declares
}

const chorePlace = "X-Chore-Place"

// relaying starts winnow serve in a mode, with more settings of the gateway's as JSON members, before
// a provider that says what is in a made-up session.
func relaying(t *testing.T, d *desk, mode string, steps int, more ...string) *gatewayed {
	t.Helper()
	g := &gatewayed{desk: d, log: workday.Make(7, steps).Messages}
	g.tools = jsontext.Value(`[{"name":"read","input_schema":{"type":"object"}}]`)
	g.server = llmtest.Start(t, llmtest.Script{Answer: func(r llmtest.Request) llmtest.Reply {
		at, err := strconv.Atoi(r.Header.Get(chorePlace))
		if err != nil {
			return llmtest.Reply{Text: "A title"}
		}
		return llmtest.Said(&g.log[at])
	}})
	d.configure(`{"gateway": {"listen": "127.0.0.1:0", "mode": "` + mode + `", "upstreams": {"anthropic": "` + g.server.URL + `"}` +
		strings.Join(more, "") + `}}`)
	g.start()
	return g
}

// start starts winnow serve.
func (g *gatewayed) start() {
	t := g.t
	t.Helper()
	g.cmd = g.command("serve")
	out, err := g.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cmd := g.cmd
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	g.lines = bufio.NewReader(out)
	line, _ := g.lines.ReadString('\n')
	found := regexp.MustCompile(`address=(http://\S+)`).FindStringSubmatch(line)
	if found == nil {
		t.Fatalf("it says %q", line)
	}
	g.at = found[1]
	go io.Copy(io.Discard, g.lines)
}

// chore plays the session as a client whose own id of it is this one.
func (g *gatewayed) chore(id string) {
	g.t.Helper()
	g.ask(id, g.log[:1], -1, nil) // a title
	g.part(id, 0, len(g.log))
}

// part plays a part of the session.
func (g *gatewayed) part(id string, from, to int) {
	g.t.Helper()
	for at := from; at < to; at++ {
		if g.log[at].Role == session.Assistant {
			g.ask(id, g.log[:at], at, g.tools)
		}
	}
}

func (g *gatewayed) ask(id string, messages []session.Message, at int, tools jsontext.Value) {
	g.t.Helper()
	body, err := anthropic.Encode(messages, wire.Options{Model: "claude-sonnet-4-5", System: "You write code.\nWorking directory: /src/kiln", MaxTokens: 1000,
		Tools: tools})
	if err != nil {
		g.t.Fatal(err)
	}
	body.Elements = anthropic.Cached(body.Elements)
	text, err := body.JSON()
	if err != nil {
		g.t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("{"), []byte(`{"stream":true,`), 1)
	r, err := http.NewRequest(http.MethodPost, g.at+"/anthropic/v1/messages", bytes.NewReader(text))
	if err != nil {
		g.t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {wrapKey}, "Anthropic-Version": {"2023-06-01"},
		"User-Agent": {"chore/1.2 (x)"}, "X-Claude-Code-Session-Id": {id}}
	if at >= 0 {
		r.Header.Set(chorePlace, strconv.Itoa(at))
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		g.t.Fatal(err)
	}
	defer answer.Body.Close()
	if said, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != 200 {
		g.t.Fatalf("%d, %v: %s", answer.StatusCode, err, said)
	}
}

// billed is what the provider billed so far.
func (g *gatewayed) billed() (sum float64) {
	m := model.Default().Lookup("anthropic/claude-sonnet-4-5")
	for _, r := range g.server.Records() {
		cost, _ := m.Cost(bill.Usage(r.Usage))
		sum += cost
	}
	return sum
}

func (g *gatewayed) ends() {
	g.t.Helper()
	g.cmd.Process.Signal(syscall.SIGTERM)
	wantExit(g.t, g.cmd, cli.ExitDone)
}

// statusOf is the JSON document of status.
func (g *gatewayed) statusOf(args ...string) (doc report.Relayed) {
	g.t.Helper()
	o := g.process(append([]string{"status", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(o.stdout), &doc); err != nil || o.code != cli.ExitDone {
		g.t.Fatalf("exit code %d, %v: %s%s", o.code, err, o.stdout, o.stderr)
	}
	gains := []*report.Gain{&doc.Total}
	for i := range doc.Sessions {
		gains = append(gains, &doc.Sessions[i].Gain)
	}
	for _, sum := range gains {
		if a := sum.Amounts; a.Billed != nil {
			sum.Billed, sum.Otherwise.Likely, sum.Net = *a.Billed, *a.Without, *a.Net
		}
	}
	return doc
}

// While serve runs, and after it ended, another process says what the provider billed, and what it
// would have been without winnow.
func TestStatus_saysWhatTheProviderBilled(t *testing.T) {
	sequential(t)
	const id = "5e551011-0000-4000-8000-00000000aaaa"
	plain := relaying(t, newTeamDesk(t), "off", 60)
	plain.chore(id)
	plain.ends()
	for _, mode := range []string{"full", "observe"} {
		t.Run(mode, func(t *testing.T) {
			d := newTeamDesk(t)
			g := relaying(t, d, mode, 60)
			g.chore(id)
			asked := 0
			for _, m := range g.log {
				if m.Role == session.Assistant {
					asked++
				}
			}
			var running report.Relayed
			waitFor(t, "the newest request in the store", func() bool { // which it reaches within 50 ms
				running = g.statusOf()
				return running.Total.Requests == asked
			})
			scraped, err := http.Get(g.at + "/metrics")
			if err != nil {
				t.Fatal(err)
			}
			metrics, _ := io.ReadAll(scraped.Body)
			scraped.Body.Close()
			g.ends()
			doc := g.statusOf("--days", "2")
			if diff := gocmp.Diff(running.Total, doc.Total); diff != "" {
				t.Errorf("when serve had ended it was another one (-running +ended):\n%s", diff)
			}
			sum := doc.Total
			near := func(what string, got, want, within float64) {
				if math.Abs(got-want) > within*math.Abs(want) {
					t.Errorf("%s: %v, want %v", what, got, want)
				}
			}
			near("billed", float64(sum.Billed), g.billed(), 1e-9)
			near("otherwise", sum.Otherwise.Likely, plain.billed(), 0.05)
			near("net", sum.Net, sum.Otherwise.Over(sum.Billed)-sum.Missed-sum.Summaries, 1e-9)
			shown := fmt.Sprintf("winnow_net_dollars %v\n", sum.Net)
			if mode == "observe" {
				near("billed in observe", float64(sum.Billed), plain.billed(), 1e-9)
				if sum.Observed != sum.Requests || sum.Net != 0 || sum.ToSave <= 0 {
					t.Errorf("observed: %+v", sum)
				}
				shown = fmt.Sprintf("winnow_could_save_dollars %v\n", sum.ToSave)
			}
			if !strings.Contains(string(metrics), shown[:len(shown)-6]) || strings.Contains(string(metrics), id) || regexp.MustCompile("live_[0-9a-f]{8}").Match(metrics) {
				t.Errorf("the metrics do not have %q, or name a session:\n%s", shown, metrics)
			}
			if sum.Requests != 60 || sum.Beside != 1 || sum.Edited == 0 || len(doc.Sessions) != 1 || len(doc.Rules) == 0 {
				t.Errorf("%+v", doc)
			}
			one := doc.Sessions[0]
			if one.Client != "chore/1.2" || one.Session != id || one.LeftOut == 0 || one.Project != "/src/kiln" || one.Window != 200_000 {
				t.Errorf("the session is %+v", one)
			}
			line := d.runWith(t.Context(), strings.NewReader(`{"hook_event_name":"Status","session_id":"`+id+`"}`), new(bytes.Buffer), "status", "--line")
			if want := "winnow"; line.code != cli.ExitDone || strings.Count(line.stdout, "\n") != 1 || !strings.HasPrefix(line.stdout, want) ||
				!strings.Contains(line.stdout, "left out · window") {
				t.Errorf("the line is %q", line.stdout)
			}
			if text := everything(t, filepath.Join(d.dir, "..")); strings.Contains(text, "canary") {
				t.Error("the key was kept")
			}
		})
	}
}

// Tools that nobody called are named with what carrying them cost, and the list that is printed
// leaves them out of the next conversation.
func TestStatus_namesToolsThatNobodyCalls(t *testing.T) {
	sequential(t)
	d := newDesk(t)
	g := relaying(t, d, "full", 30)
	called := ""
	for i := range g.log {
		for _, p := range g.log[i].Parts {
			called = cmp.Or(called, p.Tool)
		}
	}
	g.tools = jsontext.Value(`[{"name":"` + called + `","input_schema":{"type":"object"}},{"name":"mcp__git__log","description":"` +
		strings.Repeat("one more word ", 100) + `","input_schema":{"type":"object"}}]`)
	g.chore("5e551011-0000-4000-8000-00000000aaaa")
	g.ends()
	doc := g.statusOf()
	if len(doc.Tools.Sets) != 1 || !slices.Equal(doc.Tools.Drop, []string{"mcp__git__*"}) {
		t.Fatalf("the tools are %+v", doc.Tools)
	}
	set := doc.Tools.Sets[0]
	with, without := 0, 0
	for _, r := range g.server.Records() {
		if len(r.ToolNames()) == 2 {
			with++
		}
	}
	if set.Client != "chore" || set.Server != "git" || set.Tools != 1 || set.Requests != 30 || with != 30 || set.Tokens < 200 ||
		set.Cost <= 0 || set.Cost >= float64(doc.Total.Billed) || set.Share <= 0 || set.Share >= 1 {
		t.Errorf("%d requests declared it: %+v of %v", with, set, doc.Total.Billed)
	}
	said := d.process("status", "--by", "tool").stdout
	command := regexp.MustCompile(`winnow config add gateway\.tools\.drop '(.*)'`).FindStringSubmatch(said)
	if command == nil {
		t.Fatalf("there is no command:\n%s", said)
	}
	if o := d.process("config", "add", "gateway.tools.drop", command[1]); o.code != cli.ExitDone {
		t.Fatalf("%s%s", o.stdout, o.stderr)
	}
	g.start()
	g.chore("5e551011-0000-4000-8000-00000000bbbb")
	g.ends()
	for _, r := range g.server.Records()[31:] {
		if len(r.ToolNames()) == 2 {
			without++
		}
	}
	if without != 0 {
		t.Errorf("%d requests declare it all the same", without)
	}
}

// statusStore is a store with what gateways did in made-up sessions.
func statusStore(t *testing.T, path string, now time.Time) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	row := func(ago time.Duration, prompt int, l store.Live) store.Spend {
		return store.Spend{Time: session.Millis(now.Add(-ago).UnixMilli()), Kind: "step", Model: "anthropic/claude-sonnet-4-5",
			Usage: session.Usage{Input: prompt, Output: 100}, Live: &l}
	}
	rules := func(idle, files int, net float64) map[string]store.Share {
		return map[string]store.Share{"idle": {Tokens: idle, Net: net}, "files": {Tokens: files, Net: net / 4}}
	}
	sessions := []struct {
		id, info string
		spent    []store.Spend
	}{
		{"live_0123456789abcdef0123", `{"client":{"name":"claude-cli/2.1.330","session":"aaaa-1"},"tools":{"declared":{"Read":640,"Bash":1310,` +
			`"NotebookEdit":430,"mcp__github__create_issue":420,"mcp__github__list_issues":380,"mcp__docs__search":250,"mcp__docs__it's":90},"called":["Read","Bash","mcp__docs__search"]}}`, []store.Spend{
			row(3*time.Hour, 40_000, store.Live{Billed: 0.31, Otherwise: bill.Estimate{Likely: 0.30}, Edited: true, Rewritten: 5000, Rules: rules(9000, 0, -0.01)}),
			row(5*time.Minute, 61_000, store.Live{Billed: 0.20, Otherwise: bill.Estimate{Likely: 0.95}, Missed: 0.05, Edited: true, Rules: rules(38_000, 112, 0.5),
				Again: []store.Again{{Part: "p", Rule: "idle", Tokens: 90}}}),
			{Time: session.Millis(now.Add(-4 * time.Minute).UnixMilli()), Kind: "summary", Cost: 0.0312, Model: "m/m"},
			{Time: session.Millis(now.Add(-4 * time.Minute).UnixMilli()), Kind: "left", Cost: 0.01, Live: &store.Live{Billed: 0.01, Otherwise: bill.Estimate{Likely: 0.01}, Beside: true}},
		}},
		{"live_fedcba98765432100123", `{"client":{"name":"claude-cli/2.1.330","session":"aaaa-1"}}`, []store.Spend{
			row(6*time.Minute, 12_000, store.Live{Billed: 0.04, Otherwise: bill.Estimate{Likely: 0.03}, Edited: true, Rules: rules(500, 0, -0.01)}),
		}},
		{"live_00000000000000000002", `{"client":{"name":"pi/0.87"}}`, []store.Spend{
			row(26*time.Hour, 9000, store.Live{Billed: 1, Otherwise: bill.Estimate{Likely: 0.75}, Observed: true, Edited: true, Rules: rules(800, 0, 0.2)}),
			row(25*time.Hour, 0, store.Live{Unpriced: true}),
			row(25*time.Hour, 9000, store.Live{Warm: true, Billed: 0.02, Rules: map[string]store.Share{store.KeepWarm: {Net: -0.02}}}),
			row(25*time.Hour, 9500, store.Live{Billed: 0.03, Otherwise: bill.Estimate{Likely: 0.35}, Bridged: 0.32, Rules: map[string]store.Share{store.KeepWarm: {Net: 0.32}}}),
		}},
		{"ses_imported", "", []store.Spend{{Time: session.Millis(now.UnixMilli()), Kind: "summary", Cost: 7}}},
	}
	for _, one := range sessions {
		info := session.Info{ID: one.id, Title: "Mend the cart that loses the discount of March whenever it is saved twice",
			Directory: "/src/shop", Unknown: []byte(one.info)}
		if one.info == "" {
			info.Unknown = nil
		}
		if _, err := s.Apply(t.Context(), one.id, store.Change{Create: &info, Spend: one.spent}); err != nil {
			t.Fatal(err)
		}
	}
}

var update = flag.Bool("update", false, "write the golden files anew")

// What status prints of made-up sessions, as it was looked at.
func TestStatus_prints(t *testing.T) {
	sequential(t)
	d := newDesk(t)
	now := time.Date(2026, 3, 4, 15, 0, 0, 0, time.UTC)
	statusStore(t, filepath.Join(d.dir, "s.db"), now)
	d.now = func() time.Time { return now }
	var said strings.Builder
	for _, args := range []string{"", "--days 2", "--by day --days 2", "--by rule", "--by rule --days 2", "--by tool", "--line",
		"--line --session aaaa-1", "--line --session live_fed", "--line --session live_0000", "--line --session nobody"} {
		o := d.run(append([]string{"status", "--store", "s.db"}, strings.Fields(args)...)...)
		fmt.Fprintf(&said, "== status %s\n%s%s", args, o.stdout, o.stderr)
		for line := range strings.Lines(o.stdout) {
			if n := runewidth.StringWidth(strings.TrimSpace(line)); n > 80 && !strings.Contains(line, "unknown cost") &&
				!strings.HasPrefix(args, "--by tool") {
				t.Errorf("status %s: a line has %d columns: %s", args, n, line)
			}
		}
		for _, id := range regexp.MustCompile(`(?m)^live_\w+`).FindAllString(o.stdout, -1) {
			if len(id) > len("live_01234567") {
				t.Errorf("status %s shows the long id %s", args, id)
			}
			if shown := d.run("inspect", id, "--store", "s.db", "--json").document(t)["id"]; !strings.HasPrefix(fmt.Sprint(shown), id) {
				t.Errorf("inspect %s shows %v", id, shown)
			}
		}
	}
	const golden = "testdata/status.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(said.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), said.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The session of a status line is the one that a client names on standard input, as Claude Code
// does; what is no JSON names none. It does not wait for a status bar that says nothing.
func TestStatus_lineOfTheSessionThatAClientNames(t *testing.T) {
	d := newDesk(t)
	now := time.Date(2026, 3, 4, 15, 0, 0, 0, time.UTC)
	statusStore(t, filepath.Join(d.dir, "s.db"), now)
	d.now = func() time.Time { return now }
	silent, w := io.Pipe()
	defer w.Close()
	newest := "winnow: saved $0.65 of $1.29 · 39k left out · window 31% · 1 recall\n"
	for stdin, want := range map[io.Reader]string{
		strings.NewReader(`{"session_id":"aaaa-1","cost":{"total_cost_usd":1}}`):  newest,
		strings.NewReader(`{"session_id":"bbbb-2"}`):                              "winnow: no requests yet\n",
		strings.NewReader(`{"session_id":7}`):                                     newest,
		strings.NewReader("not JSON"):                                             newest,
		io.MultiReader(strings.NewReader(`{"session_id":"live_fedcba"}`), silent): "winnow: saved −$0.0100 of $0.0300 · 500 left out · window 6%\n",
		silent: newest,
	} {
		o := d.runWith(t.Context(), stdin, new(bytes.Buffer), "status", "--store", "s.db", "--line")
		if o.stdout != want || o.code != cli.ExitDone {
			t.Errorf("exit code %d: %q, want %q", o.code, o.stdout, want)
		}
	}
}

func TestStatus_wrongUseAndNothing(t *testing.T) {
	d := newDesk(t)
	d.run("status").wants(t, cli.ExitNothing, "no request went through winnow today", "winnow wrap claude")
	d.run("status", "--days", "0").wants(t, cli.ExitUsage, "--days must be")
	d.run("status", "--by", "hour").wants(t, cli.ExitUsage, "session, day, person, rule or tool")
	d.run("status", "--line", "--json").wants(t, cli.ExitUsage, "cannot be combined")
	d.run("status", "--session", "x").wants(t, cli.ExitUsage, "needs --line")
	d.run("status", "more").wants(t, cli.ExitUsage)
	if o := d.run("status", "--line"); o.code != cli.ExitDone || o.stdout != "winnow: no requests yet\n" {
		t.Errorf("exit code %d: %q", o.code, o.stdout)
	}
	if o := d.run("status", "--json"); o.code != cli.ExitNothing || !strings.Contains(o.stdout, `"sessions": []`) {
		t.Errorf("exit code %d: %q", o.code, o.stdout)
	}
}
