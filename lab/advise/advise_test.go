package advise

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
)

// of is the only finding of a kind, or of a kind whose title has a text.
func of(t *testing.T, found []Finding, kind, title string) Finding {
	t.Helper()
	for _, f := range found {
		if f.Kind == kind && strings.Contains(f.Title, title) {
			return f
		}
	}
	t.Fatalf("there is no finding %s %q among %+v", kind, title, found)
	return Finding{}
}

func dollars(t *testing.T, f Finding, cost, gain, off float64) {
	t.Helper()
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-6 }
	if !near(f.Cost, cost) || !near(f.Gain, gain) || !near(f.Error, off) {
		t.Errorf("%s: cost %v, gain %v ± %v, want %v, %v ± %v", f.Title, f.Cost, f.Gain, f.Error, cost, gain, off)
	}
}

// An output of 1,000 tokens is written to the cache by the next request, at 1.25 each, and read by the
// one after it, at 0.1: 1,350 dollars. Of its 100 lines 40 would be kept, so that 600 tokens of it are
// saved: 750 and 60.
func TestOutputs_costWhatCarryingThemDid(t *testing.T) {
	var d made
	d.user("run the tests")
	d.step(100, 0, 0, 10, bash("go test -v ./...", lines("out", 100)))
	d.step(0, 100, 1010, 10, bash("git push", "done"))
	d.step(0, 1110, 10, 10, say("All is well."))
	f := of(t, findOutputs(thrice(t, &d)), Outputs, "`go test`")
	dollars(t, f, 3*1350, 3*810, 0.05*3*1350)
	if f.Title != "3 of 3 outputs of `go test` were never quoted by a later step" || !strings.Contains(f.Line, "`go test … 2>&1 | tail -n 40`") {
		t.Errorf("%q: %q", f.Title, f.Line)
	}
	if got := f.Evidence[1]; got != "For example: go test -v ./... ($1,350.00)." {
		t.Errorf("the example is %q", got)
	}
	one := d.measure(t, "a")
	if r := Find(Input{Sessions: []Session{one}}); len(r.Findings) != 0 {
		t.Errorf("one session was enough for %+v", r.Findings)
	}
	if r := Find(Input{Sessions: thrice(t, &d)}); len(r.Findings) != 1 || r.Sessions != 3 {
		t.Errorf("three sessions say %+v", r)
	}
}

// An output of which a later step has a row of six words was quoted. Where that stands outside the
// lines that would be kept, the step would have had to ask again: the prompt at 0.1, 120 tokens at 5.
func TestOutputs_quotedOnesWouldBeAskedForAgain(t *testing.T) {
	early := strings.SplitN(lines("out", 100), "\n", 2)[0]
	late := strings.Split(lines("out", 100), "\n")[99]
	for quoted, penalty := range map[string]float64{early: 0.1*1110 + 120*5, late: 0} {
		var d made
		d.user("run the tests")
		d.step(100, 0, 0, 10, bash("go test -v ./...", lines("out", 100)))
		d.step(0, 100, 1010, 10, bash("go test ./...", lines("other", 100)))
		d.step(0, 1110, 1010, 10, say(quoted))
		f := of(t, findOutputs(thrice(t, &d)), Outputs, "`go test`")
		if f.Title[:6] != "3 of 6" {
			t.Errorf("%q", f.Title)
		}
		dollars(t, f, 3*1250, 3*(750-penalty), 0.05*3*1250)
	}
}

// What is read again in the same window is carried twice. Behind a fold it is a request that is spared,
// less what carrying the file would have cost.
func TestRereads_costWhatCarryingTheCopyDid(t *testing.T) {
	file := lines("code", 20)
	var d made
	d.user("look at it")
	d.step(100, 0, 0, 10, read("/work/app/a.go", file))
	d.step(0, 100, 210, 10, read("/work/app/a.go", file))
	d.step(0, 310, 210, 10, read("/work/app/a.go", strings.ToUpper(file))) // it has changed
	d.step(0, 520, 210, 10, say("Read."))
	found := findRereads(thrice(t, &d))
	if len(found) != 1 {
		t.Fatalf("%+v", found)
	}
	// The copy: 200 written at 1.25, then 200 read at 0.1.
	dollars(t, found[0], 3*270, 3*270, 0.05*3*270)
	if want := "Files were read again 3 times in 3 sessions, unchanged and still in the context"; found[0].Title != want {
		t.Errorf("%q, want %q", found[0].Title, want)
	}

	d.fold()
	d.step(50, 0, 0, 10, say("I look again."))
	d.step(0, 50, 10, 10, read("/work/app/a.go", file))
	d.step(0, 60, 210, 10, say("Read again."))
	f := of(t, findRereads(thrice(t, &d)), Refolds, "")
	// Carrying the copy: 200 at 1.25. The request that asked: 60 read at 0.1, 120 answered at 5. To
	// carry the file instead: in the first request of the window 50 of its tokens were paid at 1, that
	// is all there is to it; in the second 50 at 0.1 and 10 at 1.25.
	asked := 60*0.1 + 120*5
	dollars(t, f, 3*(250+asked), 3*(asked-50-5-12.5), 0.05*3*(250+asked))
}

// A file that stands in a fold's tail was not taken away.
func TestRereads_theTailIsStillThere(t *testing.T) {
	file := lines("code", 20)
	var d made
	d.user("look at it")
	d.step(100, 0, 0, 10, read("/work/app/a.go", file))
	d.add(session.User, session.Part{Type: session.CompactionPart, TailStartID: "m1"})
	m := d.add(session.Assistant, say("A summary."))
	m.Summary, m.Finish = []byte("true"), "stop"
	d.step(300, 0, 0, 10, read("/work/app/a.go", file))
	d.step(0, 300, 210, 10, say("Read."))
	found := findRereads(thrice(t, &d))
	if len(found) != 1 || found[0].Kind != Rereads {
		t.Errorf("%+v", found)
	}
}

// paused is a session with a pause of some minutes while tools ran, after which the cache was cold.
func paused(minutes int, hour bool) *made {
	var d made
	d.user("go")
	d.clock = 1e12
	d.step(0, 0, 1000, 10, bash("make", "made"))
	d.clock += session.Millis(minutes * 60_000)
	d.step(0, 0, 1010, 10, say("Done."))
	if hour {
		for i := range d.log {
			if u := d.log[i].Tokens; u != nil {
				u.Cache.Write1h = u.Cache.Write
			}
		}
	}
	return &d
}

// After ten minutes 1,000 tokens were written at 1.25 that could have been read at 0.1: 1,150. To keep
// them takes two requests, at 4:30 and 9:00, each 1,000 read at 0.1 and a token of an answer at 5: 210.
// For an hour all that is written costs 0.75 more: 1,010 tokens of it.
func TestPauses_costWhatTheCacheForgot(t *testing.T) {
	sessions := thrice(t, paused(10, false))
	if p := sessions[0].pauses; p.cold != 1 || p.longest != 10*time.Minute || math.Abs(p.cost-1150) > 1e-6 {
		t.Errorf("%+v", p)
	}
	p := sessions[0].pauses
	if want := 1150.0 - 210; math.Abs(p.warm-want) > 1e-6 {
		t.Errorf("kept warm it saves %v, want %v", p.warm, want)
	}
	if want := 1150 - 0.75*1010; math.Abs(p.hour-want) > 1e-6 {
		t.Errorf("kept for an hour it saves %v, want %v", p.hour, want)
	}
	found := findPauses(sessions, 0)
	if len(found) != 1 || found[0].Settings["gateway.keepWarm"] != "5" {
		t.Fatalf("%+v", found)
	}
	dollars(t, found[0], 3*1150, 3*940, 0)
	// Where the gateway does that already, an hour is worth what it saves beyond that.
	if found = findPauses(sessions, 5); len(found) != 1 || found[0].Gain > 0 {
		t.Fatalf("%+v", found)
	}
	// While the user is away nothing is kept, and an hour is all that helps.
	away := paused(10, false)
	away.log[1].Parts[0] = say("I am done.")
	if found = findPauses(thrice(t, away), 0); len(found) != 1 || !strings.Contains(found[0].Line, "ENABLE_PROMPT_CACHING_1H") {
		t.Fatalf("%+v", found)
	}
	dollars(t, found[0], 3*1150, 3*(1150-757.5), 0)
	// A pause that the cache outlives costs nothing, whatever its reason.
	if p := thrice(t, paused(4, false))[0].pauses; p.cold != 0 || p.cost != 0 || p.warm != 0 {
		t.Errorf("a pause of four minutes: %+v", p)
	}
}

// A cache of an hour that no pause needs costs 0.75 more for each token that is written.
func TestPauses_anHourThatNobodyNeeds(t *testing.T) {
	found := findPauses(thrice(t, paused(1, true)), 0)
	if len(found) != 1 || !strings.Contains(found[0].Line, "FORCE_PROMPT_CACHING_5M") {
		t.Fatalf("%+v", found)
	}
	dollars(t, found[0], 3*0.75*2010, 3*0.75*2010, 0)
}

// What requests cost is that of three, of which each carried the declarations; a third of the tokens
// are of a tool that stays.
func TestTools_areWhatTheGatewaySaw(t *testing.T) {
	u := report.Uncalled{Drop: []string{"mcp__github__*", "Notebook"}, Sets: []report.Toolset{
		{Client: "claude-cli", Server: "github", Sessions: 3, Requests: 9, Tools: 2, Tokens: 300, Cost: 6, Costs: []float64{1, 2, 3},
			Uncalled: []report.UncalledTool{{Name: "mcp__github__a", Tokens: 200}, {Name: "mcp__github__b", Tokens: 100}}},
		{Client: "claude-cli", Sessions: 3, Requests: 9, Tools: 9, Tokens: 150, Cost: 3, Costs: []float64{1, 1, 1},
			Uncalled: []report.UncalledTool{{Name: "Notebook", Tokens: 100}, {Name: "Stays", Tokens: 50}}}}}
	found := findTools(u, []string{"mcp__old__*"})
	// 1.645 standard errors of 1, 2, 3: the variance is 1, of the sum 3.
	dollars(t, of(t, found, Tools, "of the MCP server github"), 6, 6, 1.645*math.Sqrt(3)+0.05*6)
	f := of(t, found, Tools, "of its own")
	dollars(t, f, 3, 2, 0.05*2)
	if want := `["mcp__old__*","Notebook"]`; f.Settings["gateway.tools.drop"] != want ||
		f.Line != "winnow config add gateway.tools.drop 'Notebook'" {
		t.Errorf("%v, %q", f.Settings, f.Line)
	}
	if found := findTools(u, []string{"mcp__github__*", "Notebook"}); len(found) != 0 {
		t.Errorf("what is dropped already is advised: %+v", found)
	}
}

// A title took 1,000 tokens at 1 and 20 at 5: 1,100. The small model asks a tenth of that.
func TestModels_titlesOfADearModel(t *testing.T) {
	small := toy
	small.ID, small.Price = "small", model.Price{Input: 0.1e6, Output: 0.5e6, CacheRead: 0.01e6, CacheWrite: 0.125e6}
	var asides []Aside
	ask := func(client, id string, prompt int, of model.Model) {
		asides = append(asides, Aside{Client: client, Session: id, Model: of, Small: small,
			Usage: session.Usage{Input: prompt, Output: 20}})
	}
	for _, id := range []string{"a", "b", "c"} {
		ask("opencode/1.18", id, 1000, toy)
		ask("opencode/1.18", id, 1000, small)  // as it should be
		ask("opencode/1.18", id, 100_000, toy) // no title
		ask("some-agent/1.0", id, 1000, toy)   // nobody knows what to write where
	}
	found := findModels(asides)
	if len(found) != 1 || found[0].Title != "opencode had titles and the like written by toy/toy" || found[0].Line != `"small_model": "toy/small"` {
		t.Fatalf("%+v", found)
	}
	dollars(t, found[0], 3*1100, 3*990, 0.05*3*1100)
	if found := findModels(asides[:4]); !math.IsInf(found[0].Error, 1) {
		t.Errorf("one session is enough for %+v", found)
	}
}

// replayed is a report of three sessions that cost 10 each and 9 in the replay, of which a choice on
// others saves a fifth.
func replayed(paid, baseline float64) *lab.Report {
	r := &lab.Report{Baseline: "compact", Policies: []lab.Standing{{Name: "compact"}, {Name: "balanced"}}}
	for range 3 {
		one := lab.Recorded{Product: "codex", Outcomes: []lab.Outcome{{}, {}}}
		one.Paid.Steps = bill.Bill{Requests: 1, Cost: paid}
		one.Outcomes[0].Bill.Write = baseline
		r.Sessions = append(r.Sessions, one)
	}
	held := lab.Choice{Ratio: 0.8, Within: lab.Range{Low: 0.7, High: 0.9}}
	r.Advice = &lab.Advice{Policy: "balanced", HeldOut: held}
	r.Products = []lab.ProductAdvice{{Product: "codex", Policy: "compact@100k", HeldOut: &held, File: "config.toml", Key: "limit",
		Value: "100000"}}
	return r
}

func TestReplay_savesOnWhatWasHeldOut(t *testing.T) {
	found := findReplay(replayed(10, 9), map[string]string{"compaction.threshold": `"economic"`})
	if len(found) != 2 {
		t.Fatalf("%+v", found)
	}
	dollars(t, found[0], 30, 0.2*27, 0.1*27)
	dollars(t, found[1], 30, 0.2*27, 0.1*27)
	if want := `winnow config set compaction.threshold '"economic"' && winnow wrap codex`; found[0].Line != want {
		t.Errorf("%q, want %q", found[0].Line, want)
	}
	if found[1].Line != "limit = 100000" || found[1].Where != "config.toml" || found[1].Settings != nil {
		t.Errorf("%+v", found[1])
	}
	// A replay that is dearer than what was paid may save what was never spent.
	dollars(t, findReplay(replayed(10, 14), nil)[0], 30, 0.2*42, 0.1*42+12)
	// Two sessions of a product say nothing of its others, nor does a choice without an interval.
	few := replayed(10, 9)
	few.Sessions[0].Product = "pi"
	if found := findReplay(few, nil); !math.IsInf(found[1].Error, 1) || math.IsInf(found[0].Error, 1) {
		t.Errorf("%+v", found)
	}
	few.Advice.HeldOut.Within = lab.Range{Low: 0.8, High: 0.8}
	if found := findReplay(few, nil); !math.IsInf(found[0].Error, 1) {
		t.Errorf("%+v", found)
	}
	if found := findReplay(nil, nil); found != nil {
		t.Errorf("%+v", found)
	}
}

// told is a session in which a rule is given in a message of its own, when work was under way.
func told(day int, first bool) *made {
	d := &made{clock: session.Millis(1e12 + day*86_400_000)}
	if first {
		d.user("Never commit to the main branch.")
	} else {
		d.user("fix it")
		d.step(100, 0, 0, 10, say("I commit."))
		d.user("Never commit to the main branch!")
	}
	d.step(0, 10000, 10, 10, say("I do not."))
	return d
}

// It took a request: 10,010 read at 0.1, 120 answered at 5. In AGENTS.md its tokens cost more in each.
func TestInstructions_costTheRequestsThatTheyTook(t *testing.T) {
	sessions := []Session{told(1, false).measure(t, "a"), told(2, false).measure(t, "b"), told(3, false).measure(t, "c")}
	nothing := func(string) string { return "" }
	found, repeated := findInstructions(sessions, nothing)
	if len(found) != 1 || len(repeated) != 0 {
		t.Fatalf("%+v %+v", found, repeated)
	}
	tokens := float64((len("Never commit to the main branch!") + 2) / 3)
	dollars(t, found[0], 3*1601, 3*(1601-tokens*(1+0.1)), 0.05*3*1601)
	if found[0].Line != "Never commit to the main branch!" || found[0].Where != "AGENTS.md" {
		t.Errorf("%+v", found[0])
	}
	for name, c := range map[string]struct {
		sessions []Session
		written  string
	}{
		"it is written there": {sessions, "# Rules\n\n- never commit to the main branch\n"},
		"two sessions":        {sessions[:2], ""},
		"all on one day":      {[]Session{sessions[0], told(1, false).measure(t, "b"), told(1, false).measure(t, "c")}, ""},
	} {
		if found, repeated := findInstructions(c.sessions, func(string) string { return c.written }); len(found)+len(repeated) != 0 {
			t.Errorf("%s: %+v %+v", name, found, repeated)
		}
	}
	// As the first words of a session it takes no request of its own: that is worth a line, not money.
	first := []Session{told(1, true).measure(t, "a"), told(2, true).measure(t, "b"), told(3, true).measure(t, "c")}
	found, repeated = findInstructions(first, nothing)
	if len(found) != 0 || len(repeated) != 1 || repeated[0] != (Repeated{"Never commit to the main branch.", "/work/app", 3, 3}) {
		t.Errorf("%+v %+v", found, repeated)
	}
}

// What a log tells of sub-agents is a cost of the session, unless their own sessions are there too.
func TestMeasure_subAgentsCostOnce(t *testing.T) {
	var d made
	d.user("go")
	d.step(100, 0, 0, 10, say("Done."))
	src := d.source("a")
	src.Doc.Beside = []bill.Request{{ID: "x", Kind: bill.Agent, Model: "toy/toy", Usage: &session.Usage{Input: 40}}}
	if s := Measure(src); s.Cost != 100+50+40 {
		t.Errorf("it cost %v", s.Cost)
	}
	src.Apart = true
	if s := Measure(src); s.Cost != 100+50 {
		t.Errorf("apart from its sub-agents it cost %v", s.Cost)
	}
}

// A session without a report of usage is counted, and nothing is said of it.
func TestFind_unreportedSessionsAreNotJudged(t *testing.T) {
	var d made
	d.user("run the tests")
	d.step(0, 0, 0, 0, bash("go test -v ./...", lines("out", 100)))
	d.step(0, 0, 0, 0, say("All is well."))
	r := Find(Input{Sessions: thrice(t, &d)})
	if r.Sessions != 3 || r.Unreported != 3 || r.Cost != 0 || len(r.Findings) != 0 || r.Dropped != 0 {
		t.Errorf("%+v", r)
	}
}

// Whatever sessions are like: nothing is advised whose gain is within its error, or is too small; the
// largest gain comes first, and there are ten at most.
func TestFind_nothingIsAdvisedWithinItsError(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.Float64Range(-5, 50)
		n := rapid.IntRange(0, 12).Draw(t, "sessions")
		in := Input{KeepWarm: rapid.IntRange(0, 1).Draw(t, "keepWarm")}
		for i := range n {
			s := Session{ID: fmt.Sprint(i), Product: "claude-code", Project: "/p", Day: fmt.Sprint(i), Requests: 1,
				Cost: rapid.Float64Range(0, 100).Draw(t, "cost"), base: rapid.Float64Range(0, 0.1).Draw(t, "base"),
				outputs: map[string]*outputs{}, rereads: map[string]*rereads{}}
			for k := range rapid.IntRange(0, 15).Draw(t, "commands") {
				s.outputs[fmt.Sprintf("go%d", k)] = &outputs{calls: 2, unquoted: 1, command: true, cost: max(0, amount.Draw(t, "cost")),
					gain: amount.Draw(t, "gain")}
			}
			s.rereads["/p/a.go"] = &rereads{again: 1, cost: max(0, amount.Draw(t, "copy")), after: 1, afterGain: amount.Draw(t, "fold")}
			s.pauses = pauses{cold: 1, cost: max(0, amount.Draw(t, "pause")), warm: amount.Draw(t, "warm"), hour: amount.Draw(t, "hour"),
				minutes: amount.Draw(t, "minutes"), hours: rapid.IntRange(0, 1).Draw(t, "hours"), usual: 1}
			s.said = []said{{key: "never", text: "never", tokens: 1, cost: max(0, amount.Draw(t, "said"))}}
			in.Sessions = append(in.Sessions, s)
		}
		if rapid.Bool().Draw(t, "replayed") {
			in.Replay = replayed(rapid.Float64Range(0, 20).Draw(t, "paid"), rapid.Float64Range(0, 20).Draw(t, "baseline"))
		}
		r := Find(in)
		if len(r.Findings) > Most {
			t.Fatalf("%d findings", len(r.Findings))
		}
		for i, f := range r.Findings {
			if !(f.Gain > f.Error) || f.Gain < Least*r.Cost || f.Error < 0 {
				t.Fatalf("advised: %s %q, gain %v ± %v of %v", f.Kind, f.Title, f.Gain, f.Error, r.Cost)
			}
			if f.Title == "" || f.Line == "" || f.Change == "" || len(f.Evidence) == 0 {
				t.Fatalf("it says too little: %+v", f)
			}
			if i > 0 && f.Gain > r.Findings[i-1].Gain {
				t.Fatalf("%v comes after %v", f.Gain, r.Findings[i-1].Gain)
			}
		}
	})
}
