package stories

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
)

// explained is an engine with one log, under settings in which small things may go.
func explained(t *testing.T, log *ruletest.Log, change func(*settings.Settings)) (*engine, string) {
	t.Helper()
	s := settings.Default()
	s.Compaction.Protect, s.Compaction.Minimum, s.Strategies.BalancedPruning.QuietSteps = 1_000_000, 0, 1
	if change != nil {
		change(&s)
	}
	e := open(t, winnow.Config{Settings: &s})
	for i := range log.Messages {
		log.Messages[i].Time.Created = session.Millis(1_000_000 + 60_000*i)
	}
	if err := e.Import(t.Context(), session.Session{Info: session.Info{ID: "ses_x"}, Messages: log.Messages},
		rule.Ledger{}, nil); err != nil {
		t.Fatal(err)
	}
	return e, "ses_x"
}

// numbered is a file of this number of lines as a tool prints it.
func numbered(lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "%6d\tlet there be line number %d\n", i+1, i+1)
	}
	return b.String()
}

func explain(t *testing.T, e *engine, id, part string) report.Explanation {
	t.Helper()
	x, err := e.Explain(t.Context(), id, part)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func wantIn(t *testing.T, what, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("%s is %q, which lacks %q", what, got, w)
		}
	}
}

func twice() (log *ruletest.Log, old, again string) {
	log = ruletest.New()
	args := ruletest.Args{"file_path": "/repo/a.go"}
	old = log.Call("Read", args, numbered(60))
	again = log.Call("Read", args, numbered(60))
	log.User("Now the next thing.")
	log.Step()
	log.User("And the next.")
	log.Step()
	return log, old, again
}

func TestExplain_aCandidateNamesWhatCoversIt(t *testing.T) {
	log, old, again := twice()
	e, id := explained(t, log, nil)
	x := explain(t, e, id, old)
	if x.Zone != report.Prunable || x.Rule != "files" || len(x.Candidates) != 1 {
		t.Fatalf("the read that was repeated is %s by %q with %d candidates, want prunable by files with one: %s",
			x.Zone, x.Rule, len(x.Candidates), x.Because)
	}
	c := x.Candidates[0]
	if len(c.Covering) != 1 || c.Covering[0].Part != again || c.Covering[0].Step != 2 || c.Covering[0].Handle == "" {
		t.Errorf("it is covered by %+v, want the read of step 2, %s", c.Covering, again)
	}
	if want := "strategies.balancedPruning.files"; c.Switch != want {
		t.Errorf("the switch is %q, want %q", c.Switch, want)
	}
	wantIn(t, "the sentence", x.Because, "files would leave it out: ",
		"Read /repo/a.go (step 2, "+c.Covering[0].Handle+")")
	y := explain(t, e, id, again)
	if len(y.WouldStandFor) != 1 || y.WouldStandFor[0].Part != old {
		t.Errorf("the newer read would stand for %+v, want %s", y.WouldStandFor, old)
	}
	piece := x.Pieces[len(x.Pieces)-1]
	if piece.Field != rule.Output || piece.Log != numbered(60) || piece.Shown != piece.Log || piece.Would != c.Shown {
		t.Errorf("the output is %q: shown %.40q, would be %.40q", piece.Field, piece.Shown, piece.Would)
	}
}

func TestExplain_anElisionSaysSinceWhenAndHowToUndoIt(t *testing.T) {
	log, old, again := twice()
	e, id := explained(t, log, nil)
	out, err := e.Prune(t.Context(), id, false)
	if err != nil || out.Pruned == nil {
		t.Fatalf("pruned %+v, %v", out, err)
	}
	x := explain(t, e, id, old)
	if x.Zone != report.Pruned || len(x.Elisions) != 1 {
		t.Fatalf("it is %s with %d elisions: %s", x.Zone, len(x.Elisions), x.Because)
	}
	r := x.Elisions[0]
	if r.Receipt != out.Pruned.ID || r.Undo != "winnow undo ses_x "+out.Pruned.ID || r.Together != out.Pruned.Parts() {
		t.Errorf("it came with %q of %d, undone by %q; want the receipt %s of %d", r.Receipt, r.Together, r.Undo,
			out.Pruned.ID, out.Pruned.Parts())
	}
	if r.Time == 0 || r.StepsSince != 0 || r.TurnsSince != 0 {
		t.Errorf("at %v, %d steps and %d turns ago; want a time, and nothing since", r.Time, r.StepsSince, r.TurnsSince)
	}
	if want := "winnow restore ses_x " + x.Handle; x.Undo != want || x.Handle == "" {
		t.Errorf("undo is %q, want %q", x.Undo, want)
	}
	if y := explain(t, e, id, again); len(y.StandsFor) != 1 || y.StandsFor[0].Part != old {
		t.Errorf("the read that covers it stands for %+v, want %s", y.StandsFor, old)
	}
	// The clock of the engine stands behind that of the log here, so that what follows is of a
	// later moment.
	later := r.Time + session.Millis(time.Hour/time.Millisecond)
	if err := e.Append(t.Context(), id,
		session.Message{MessageInfo: session.MessageInfo{Role: session.User, Time: session.MessageTime{Created: later}},
			Parts: []session.Part{{Type: session.TextPart, Text: "Go on."}}},
		session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant, Finish: "stop",
			Time: session.MessageTime{Created: later}}, Parts: []session.Part{{Type: session.TextPart, Text: "Done."}}},
	); err != nil {
		t.Fatal(err)
	}
	if r := explain(t, e, id, old).Elisions[0]; r.StepsSince != 1 || r.TurnsSince != 1 {
		t.Errorf("one step and one turn later it is %d steps and %d turns ago", r.StepsSince, r.TurnsSince)
	}
}

func TestExplain_aHandleNamesAPart(t *testing.T) {
	log, old, _ := twice()
	e, id := explained(t, log, nil)
	byID := explain(t, e, id, old)
	if diff := cmp.Diff(byID, explain(t, e, id, "["+strings.ToUpper(byID.Handle)+"]")); diff != "" {
		t.Errorf("by id and by handle (-id +handle):\n%s", diff)
	}
	if _, err := e.Explain(t.Context(), id, "nosuch"); winnow.CodeOf(err) != winnow.NotFound {
		t.Errorf("an unknown handle gives %v", err)
	}
	if _, err := e.Prune(t.Context(), id, false); err != nil {
		t.Fatal(err)
	}
	if restored, err := e.Restore(t.Context(), id, byID.Handle, old); err != nil || len(restored.Replaced) != 1 {
		t.Errorf("restoring by handle, and the same by id, gives %d elisions and %v; want 1", len(restored.Replaced),
			err)
	}
	x := explain(t, e, id, old)
	if len(x.Candidates) != 1 || !x.Candidates[0].Restored {
		t.Errorf("a candidate that was taken back is not told from others: %+v", x.Candidates)
	}
}

func TestExplain_whatProtectsAPart(t *testing.T) {
	args := func(path string) ruletest.Args { return ruletest.Args{"file_path": path} }
	log := ruletest.New()
	first := log.Call("Read", args("/repo/AGENTS.md"), numbered(60))
	log.Call("Read", args("/repo/AGENTS.md"), numbered(60))
	skill := log.Call("skill", ruletest.Args{"name": "glaze"}, "Stir, then wait.")
	pinned := log.Call("Read", args("/repo/b.go"), numbered(30))
	newest := log.Call("Bash", ruletest.Args{"command": "make kiln"}, "hot")
	said := log.User("Now the next thing.")
	recent := log.Call("Read", args("/repo/c.go"), numbered(60))
	log.Call("Read", args("/repo/c.go"), numbered(60))
	log.User("And the next.")
	active := log.Call("Bash", ruletest.Args{"command": "make cold"}, "cold")
	e, id := explained(t, log, func(s *settings.Settings) { s.Strategies.BalancedPruning.QuietSteps = 5 })
	if _, err := e.Pin(t.Context(), id, rule.Pin{Part: pinned}); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		part    string
		kept    *report.Kept
		because string
	}{
		"a protected path": {first, &report.Kept{By: report.ByPath, What: "**/AGENTS.md",
			Switch: "compaction.protectedPaths"}, "files would leave it out, but /repo/AGENTS.md is protected"},
		"a protected tool": {skill, &report.Kept{By: report.ByTool, What: "skill", Switch: "compaction.protectedTools"},
			"the tool skill is protected (skill)"},
		"a pin": {pinned, &report.Kept{By: report.ByPin}, "it is pinned"},
		"newest output": {newest, &report.Kept{By: report.ByNewest, What: "", Switch: "compaction.protect"},
			"it is among the newest 1,000,000 tokens of tool output, which stay"},
		"something said": {said, &report.Kept{By: report.ByTurns, What: "", Switch: "compaction.protectTurns"},
			"it belongs to the last 2 turns, which stay whole"},
		"a recent read": {recent,
			&report.Kept{By: report.ByAge, What: "", Switch: "strategies.balancedPruning.quietSteps"},
			"files would leave it out, but too recent: it stays for 5 steps"},
		"the last turn": {active, &report.Kept{By: report.ByTurns, What: "", Switch: "compaction.protectTurns"},
			"it belongs to the last 2 turns, which stay whole"},
	} {
		x := explain(t, e, id, c.part)
		if diff := cmp.Diff(c.kept, x.Kept); diff != "" || x.Because != c.because {
			t.Errorf("%s (%s) stays because %q, want %q; kept (-want +got):\n%s", what, x.Zone, x.Because, c.because,
				diff)
		}
	}
}

func TestExplain_severalElisionsOfOnePart(t *testing.T) {
	log, old, _ := twice()
	e, id := explained(t, log, nil)
	by := func(field rule.Field, name string) rule.Elision {
		return rule.Elision{Part: old, Message: "m2", Field: field, Rule: name, Because: "of " + name,
			Shown: `{"x":"` + name + `"}`, Saves: 7}
	}
	s, _, err := e.Session(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	s.Info.ID = "ses_two"
	gone := rule.NewLedger(by(rule.Output, "files"), by(rule.Input, "inputs"))
	if err := e.Import(t.Context(), s, gone, nil); err != nil {
		t.Fatal(err)
	}
	x := explain(t, e, "ses_two", old)
	if len(x.Elisions) != 2 || x.Because != "of files; of inputs" ||
		x.Elisions[1].Switch != "strategies.balancedPruning.inputs" {
		t.Errorf("%d elisions, because %q, the second governed by %q", len(x.Elisions), x.Because, x.Elisions[1].Switch)
	}
	for _, p := range x.Pieces {
		if p.Shown == p.Log {
			t.Errorf("the %s is shown as the log has it", p.Field)
		}
	}
}

func TestSwitch_everyRuleHasOne(t *testing.T) {
	for _, name := range []string{policy.Balanced, policy.Aggressive} {
		p, _ := policy.New(name, policy.Defaults())
		for _, r := range p.Rules {
			if report.Switch(r.Name(), name) == "" {
				t.Errorf("no key governs the rule %s under %s", r.Name(), name)
			}
		}
	}
	if got := report.Switch(rule.Mark, policy.Balanced); got != "" {
		t.Errorf("marks of other products are governed by %q", got)
	}
}

func TestTotals_addUpToTheLog(t *testing.T) {
	e, id := imported(t, winnow.Config{})
	if _, err := e.Prune(t.Context(), id, false); err != nil {
		t.Fatal(err)
	}
	parts, err := e.Parts(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	inspected, err := e.Inspect(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	zones, rules := report.Totals(parts)
	elided := []report.Reason{}
	for i := range parts {
		elided = append(elided, parts[i].Elisions...)
	}
	tokens, shown, saved := 0, 0, 0
	for _, z := range zones {
		tokens, shown = tokens+z.Tokens, shown+z.Shown
	}
	for _, r := range rules {
		saved += r.Saved
	}
	// A field that is counted with a learned factor is rounded on its own: one token for each
	// elision at most.
	if off := tokens - shown - saved; tokens != inspected.Tokens.Total || shown != inspected.Window.Tokens ||
		max(off, -off) > len(elided) {
		t.Errorf("the zones hold %d tokens and show %d, the rules saved %d; the log has %d, the window %d", tokens,
			shown, saved, inspected.Tokens.Total, inspected.Window.Tokens)
	}
	could := 0
	for _, s := range inspected.ByRule {
		could += s.Saves
	}
	if want := rule.Saves(elisionsOfCandidates(inspected.Candidates)); could != want {
		t.Errorf("by rule %d tokens could go, by part %d", could, want)
	}
}

func elisionsOfCandidates(all []report.Candidate) []rule.Elision {
	out := make([]rule.Elision, len(all))
	for i := range all {
		out[i] = all[i].Elision
	}
	return out
}

// BenchmarkParts explains every part of logs of two sizes: the time a part must be the same.
func BenchmarkParts(b *testing.B) {
	for _, messages := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("messages=%d", messages), func(b *testing.B) {
			log := ruletest.New()
			for i := range messages / 2 {
				if i%10 == 9 {
					log.User("Go on.")
				}
				log.Call("Read", ruletest.Args{"file_path": fmt.Sprintf("/repo/f%d.go", i%97)}, numbered(20))
				log.Call("Bash", ruletest.Args{"command": fmt.Sprintf("make t%d", i%13)}, "ok\n")
			}
			s := settings.Default()
			s.Compaction.Minimum = 0
			e := open(b, winnow.Config{Settings: &s})
			if err := e.Import(b.Context(), session.Session{Info: session.Info{ID: "ses_x"}, Messages: log.Messages},
				rule.Ledger{}, nil); err != nil {
				b.Fatal(err)
			}
			if _, err := e.Prune(b.Context(), "ses_x", false); err != nil {
				b.Fatal(err)
			}
			parts := 0
			for b.Loop() {
				all, err := e.Parts(b.Context(), "ses_x")
				if err != nil {
					b.Fatal(err)
				}
				parts = len(all)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(parts), "ns/part")
		})
	}
}
