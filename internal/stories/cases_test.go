package stories

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/memory"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/token"
)

// The cases that users of another product reported and that its tests lack, each with its number in
// our list.

// scripted is a summariser that says what it is told.
type scripted struct {
	limit   int
	answers []any // pivot.Answer or error, one for each call, the last for all later ones
	asked   []pivot.Request
	before  func() // runs while the summary is "written"
}

func (*scripted) Name() string { return "p/scribe" }
func (s *scripted) Limit() int { return s.limit }

func (s *scripted) Summarize(ctx context.Context, r pivot.Request) (pivot.Answer, error) {
	s.asked = append(s.asked, r)
	if s.before != nil {
		s.before()
	}
	if err := ctx.Err(); err != nil {
		return pivot.Answer{}, err
	}
	next := s.answers[min(len(s.asked), len(s.answers))-1]
	if err, ok := next.(error); ok {
		return pivot.Answer{Usage: session.Usage{Input: 10}, Cost: 0.5}, err
	}
	return next.(pivot.Answer), nil
}

func notes(text string) pivot.Answer {
	return pivot.Answer{Text: "## Goal\n\n" + text, Finish: "stop", Model: "p/scribe",
		Usage: session.Usage{Input: 100, Output: 10}, Cost: 0.25}
}

// small is a catalogue with one model whose context has this number of tokens.
func small(contextTokens, output int) *model.Catalogue {
	return &model.Catalogue{
		Models: []model.Model{{Provider: "p", ID: "m", Limits: model.Limits{Context: contextTokens, Output: output}}}}
}

// lab is an engine with one session that is written by hand.
type lab struct {
	*engine
	t  testing.TB
	id string
	n  int
}

func newLab(t testing.TB, c winnow.Config) *lab {
	t.Helper()
	if c.Models == nil {
		c.Models = small(16000, 4000)
	}
	if c.Counter == nil {
		c.Counter = token.Chars4{} // so that sizes in tests can be told by hand
	}
	l := &lab{engine: open(t, c), t: t}
	id, err := l.Create(context.Background(), session.Info{Title: "lab"})
	if err != nil {
		t.Fatal(err)
	}
	l.id = id
	return l
}

func withPolicy(name string) *settings.Settings {
	s := settings.Default()
	s.Policy = name
	return &s
}

func (l *lab) append(m session.Message) session.Message {
	l.t.Helper()
	l.n++
	one := []session.Message{m}
	if err := l.Append(context.Background(), l.id, one...); err != nil {
		l.t.Fatal(err)
	}
	return one[0]
}

func (l *lab) user(text string) session.Message {
	return l.append(session.Message{
		MessageInfo: session.MessageInfo{Role: session.User, Agent: "build",
			Model: &session.ModelRef{ProviderID: "p", ModelID: "m", Variant: "high"}},
		Parts: []session.Part{{Type: session.TextPart, Text: text}},
	})
}

func (l *lab) says(text string) session.Message {
	return l.append(session.Message{
		MessageInfo: session.MessageInfo{Role: session.Assistant, ProviderID: "p", ModelID: "m", Finish: "stop"},
		Parts:       []session.Part{{Type: session.TextPart, Text: text}},
	})
}

// reads is a step with one call whose output has about this number of tokens.
func (l *lab) reads(file string, tokens int) session.Message {
	return l.append(session.Message{
		MessageInfo: session.MessageInfo{Role: session.Assistant, ProviderID: "p", ModelID: "m", Finish: "tool-calls"},
		Parts: []session.Part{{Type: session.ToolPart, Tool: "read", CallID: fmt.Sprintf("call_%d", l.n),
			State: &session.ToolState{
				Status: session.Completed, Input: []byte(`{"filePath":"` + file + `"}`),
				Output: strings.Repeat("word", tokens),
			}}},
	})
}

func (l *lab) view() winnow.View {
	l.t.Helper()
	v, err := l.View(context.Background(), l.id)
	if err != nil {
		l.t.Fatal(err)
	}
	return v
}

func (l *lab) text() string { return pivot.Transcript(l.view().Messages) }

func (l *lab) compact(o winnow.CompactOptions) *pivot.Receipt {
	l.t.Helper()
	r, err := l.Compact(context.Background(), l.id, o)
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

// work is a session of this number of turns.
func (l *lab) work(turns int) {
	for i := range turns {
		l.user(fmt.Sprintf("Request number %d: change the parser.", i))
		l.reads(fmt.Sprintf("file%d.go", i), 800)
		l.says(fmt.Sprintf("Done with number %d.", i))
	}
}

func TestCase01_attemptsAreBounded(t *testing.T) {
	scribe := &scripted{answers: []any{notes("go on")}}
	l := newLab(t, winnow.Config{Summarizer: scribe})
	l.work(4)
	// Whatever is folded, the next report is over the budget again: the overhead alone is.
	over := session.Usage{Input: 15900, Output: 10}
	var last error
	for range 6 {
		l.reads("big.go", 900)
		if _, err := l.Observe(context.Background(), l.id, over); err != nil {
			last = err
		}
	}
	if winnow.CodeOf(last) != winnow.NoProgress {
		t.Fatalf("the error is %v, want %s", last, winnow.NoProgress)
	}
	if !strings.Contains(last.Error(), "system") {
		t.Errorf("the error does not name the floor: %v", last)
	}
	if n := len(scribe.asked); n > 4 {
		t.Errorf("%d summaries were asked for, want no more than two compactions of two attempts", n)
	}
}

func TestCase02_aViewThatWouldNotShrinkIsRefused(t *testing.T) {
	long := notes(strings.Repeat("many words ", 3000))
	l := newLab(t, winnow.Config{Summarizer: &scripted{answers: []any{long}}})
	l.user("hi")
	l.says("hello")
	before := viewJSON(t, l.engine, l.id)
	if _, err := l.Compact(context.Background(), l.id, winnow.CompactOptions{}); err == nil {
		t.Fatal("a session of two words was folded into thousands")
	}
	if after := viewJSON(t, l.engine, l.id); !bytes.Equal(before, after) {
		t.Error("the refused compaction changed the view")
	}
}

func TestCase03_theSummaryRequestFitsItsModel(t *testing.T) {
	for _, limit := range []int{4000, 8000, 100000} {
		scribe := &scripted{limit: limit, answers: []any{notes("go on")}}
		l := newLab(t, winnow.Config{Summarizer: scribe, Models: small(400000, 4000)})
		l.work(30)
		l.reads("huge.txt", 60000)
		l.compact(winnow.CompactOptions{})
		for i, r := range scribe.asked {
			if n := r.Tokens(rule.NewFacts(l.config.Counter)); n > limit {
				t.Errorf("request %d has %d tokens, limit %d", i, n, limit)
			}
		}
	}
}

func TestCase04_theTailIsOfTheSessionsModel(t *testing.T) {
	// The summariser takes little; the session's model much. The tail follows the session's.
	l := newLab(t, winnow.Config{Summarizer: &scripted{limit: 4000, answers: []any{notes("go on")}},
		Models: small(200000, 4000)})
	l.work(300) // of which most lies idle
	if r := l.compact(winnow.CompactOptions{}); r.Tail < 20 {
		t.Errorf("the tail has %d messages, want what 15,000 tokens hold", r.Tail)
	}
}

func TestCase05_aRejectedTurnIsNeitherLostNorSentTwice(t *testing.T) {
	l := newLab(t, winnow.Config{Summarizer: &scripted{answers: []any{notes("go on")}}})
	l.work(3)
	rejected := l.user("Now look at the picture NEEDLE.")
	out, ok, err := l.Rejected(context.Background(), l.id, budget.Rejection{Status: 413})
	if err != nil || !ok || out.Compacted == nil {
		t.Fatalf("ok %v, receipt %v, error %v", ok, out.Compacted, err)
	}
	v := l.view()
	seen := 0
	for i := range v.Messages {
		if strings.Contains(v.Messages[i].Text(), "NEEDLE") && !v.Messages[i].IsSummary() {
			seen++
		}
		if v.Messages[i].ID == rejected.ID {
			t.Error("the rejected copy is in the view")
		}
	}
	if last := v.Messages[len(v.Messages)-1]; seen != 1 || !strings.Contains(last.Text(), "NEEDLE") {
		t.Errorf("the message stands %d times, the last says %q", seen, last.Text())
	}
}

func TestCase08_theTaskSurvivesManyCompactions(t *testing.T) {
	l := newLab(t, winnow.Config{})
	l.user("Port the shop to Go 1.26. Never touch the Store type.")
	l.reads("store.go", 900)
	l.says("I start.")
	for i := range 5 {
		l.work(6)
		l.compact(winnow.CompactOptions{})
		for _, want := range []string{"Port the shop to Go 1.26", "Never touch the Store type."} {
			if !strings.Contains(l.text(), want) {
				t.Fatalf("after compaction %d the view has no %q", i+1, want)
			}
		}
	}
}

func TestCase09_variantAgentAndModelStay(t *testing.T) {
	for _, auto := range []bool{false, true} {
		l := newLab(t, winnow.Config{})
		l.work(6)
		l.compact(winnow.CompactOptions{Auto: auto})
		log, _, _ := l.Session(context.Background(), l.id)
		for i := range log.Messages {
			if m := &log.Messages[i]; m.Marker() != nil || m.Companion() != "" {
				if m.Agent != "build" || m.Model == nil || m.Model.Variant != "high" || m.Model.String() != "p/m" {
					t.Errorf("auto %v: %s has agent %q, model %+v", auto, m.ID, m.Agent, m.Model)
				}
			}
		}
	}
}

func TestCase10_unknownLimitsNeverCompactAfterEveryStep(t *testing.T) {
	for name, limits := range map[string][2]int{"nothing known": {0, 0}, "no output limit": {16384, 0},
		"output larger than context": {8000, 32000}} {
		for _, p := range []string{policy.Classic, policy.Balanced} {
			l := newLab(t, winnow.Config{Models: small(limits[0], limits[1]), Settings: withPolicy(p)})
			l.user("hi")
			l.says("hello")
			events := l.Subscribe(0)
			l.Observe(context.Background(), l.id, session.Usage{Input: 900, Output: 100})
			out, err := l.Observe(context.Background(), l.id, session.Usage{Input: 1000, Output: 100})
			events.Close()
			told := 0
			for e := range events.C {
				if e.Type == winnow.BudgetWarning {
					told++
				}
			}
			if told != 1 {
				t.Errorf("%s, %s: the fallback was told %d times, want once", name, p, told)
			}
			if err != nil || out.Compacted != nil || out.Verdict.Overflow {
				t.Errorf("%s, %s: overflow %v (%s), error %v", name, p, out.Verdict.Overflow, out.Verdict.Reason, err)
			}
		}
	}
}

func TestCase11_cumulativeCacheReadsAreNotBelieved(t *testing.T) {
	l := newLab(t, winnow.Config{})
	l.user("hi")
	l.says("hello")
	out, err := l.Observe(context.Background(), l.id,
		session.Usage{Input: 100, Output: 10, Cache: session.CacheUsage{Read: 900_000}})
	if err != nil || out.Compacted != nil {
		t.Errorf("a session of two words was compacted (%v), error %v", out.Compacted, err)
	}
}

func TestCase12_pruningInsideOneLongTurn(t *testing.T) {
	l := newLab(t, winnow.Config{Models: small(200000, 8000)})
	l.user("Read everything.")
	for i := range 10 {
		l.reads(fmt.Sprint(i, ".go"), 9000)
	}
	out, err := l.EndTurn(context.Background(), l.id)
	if err != nil {
		t.Fatal(err)
	}
	if out.Pruned != nil {
		t.Error("the turn being worked on was pruned although the window has room")
	}
}

func TestCase13_orderIsPosition(t *testing.T) {
	l := newLab(t, winnow.Config{})
	// Ids and clocks that run backwards.
	for i := range 12 {
		m := session.Message{MessageInfo: session.MessageInfo{ID: fmt.Sprintf("msg_%03d", 900-i), Role: session.User,
			Time: session.MessageTime{Created: session.Millis(1000 - i)}},
			Parts: []session.Part{{Type: session.TextPart,
				Text: fmt.Sprint("request ", i, strings.Repeat(" word", 500))}}}
		if i%2 == 1 {
			m.Role, m.Finish = session.Assistant, "stop"
		}
		l.append(m)
	}
	r := l.compact(winnow.CompactOptions{})
	v := l.view()
	if v.Messages[0].ID != r.Marker || v.Messages[1].ID != r.Summary {
		t.Errorf("the view begins with %s, %s", v.Messages[0].ID, v.Messages[1].ID)
	}
	for i := 2; i+1 < len(v.Messages); i++ {
		if v.Messages[i].ID < v.Messages[i+1].ID {
			t.Errorf("the tail is ordered by id: %s before %s", v.Messages[i].ID, v.Messages[i+1].ID)
		}
	}
}

func TestCase14_undoRestoresExactly(t *testing.T) {
	l := newLab(t, winnow.Config{Models: small(200000, 4000)})
	l.work(30)
	var views [][]byte
	for range 3 {
		views = append(views, viewJSON(t, l.engine, l.id))
		l.work(3)
		l.compact(winnow.CompactOptions{Auto: true})
	}
	// What was appended since belongs to the view before, too: rebuild what it must be.
	for i := 2; i >= 0; i-- {
		if _, err := l.Undo(context.Background(), l.id, ""); err != nil {
			t.Fatal(err)
		}
		if got := viewJSON(t, l.engine, l.id); !bytes.HasPrefix(got, views[i][:len(views[i])-1]) {
			t.Errorf("after undoing compaction %d the view does not begin as it did before", i+1)
		}
	}
	if _, err := l.Undo(context.Background(), l.id, ""); winnow.CodeOf(err) != winnow.NotFound {
		t.Errorf("a fourth undo gives %v", err)
	}
}

func TestCase15_nobodyIsToldToGoOnWhileAQuestionWaits(t *testing.T) {
	for question, want := range map[string]bool{"Shall I delete the table?": false, "I go on with the tests.": true} {
		l := newLab(t, winnow.Config{})
		l.work(6)
		l.user("Clean up.")
		l.says(question)
		l.compact(winnow.CompactOptions{Auto: true})
		if got := strings.Contains(l.text(), pivot.ContinueText); got != want {
			t.Errorf("after %q the agent is told to go on: %v, want %v", question, got, want)
		}
	}
}

func TestCase17_sizesAreUTF16(t *testing.T) {
	e := open(t, winnow.Config{Settings: withPolicy(policy.Classic)})
	id, err := e.Create(t.Context(), session.Info{})
	if err != nil {
		t.Fatal(err)
	}
	p := session.Part{ID: "p", Type: session.TextPart, Text: strings.Repeat("😀", 100)} // 200 UTF-16 units
	got, err := winnow.Look(t.Context(), e.Engine, id,
		func(s *report.Session) (int, error) { return s.Facts.Size(&p).Text, nil })
	if err != nil || got != 50 {
		t.Errorf("100 emoji are %d tokens under classic, want 50 (%v)", got, err)
	}
}

func TestCase18_aByteLimitIsAnOverflowToo(t *testing.T) {
	l := newLab(t, winnow.Config{})
	l.work(3)
	l.user("and this")
	out, ok, err := l.Rejected(context.Background(), l.id,
		budget.Rejection{Status: 413, Message: "request entity too large"})
	if !ok || err != nil || out.Compacted == nil {
		t.Errorf("ok %v, error %v", ok, err)
	}
	if _, ok, _ := l.Rejected(context.Background(), l.id,
		budget.Rejection{Status: 429, Message: "rate limit: too many tokens"}); ok {
		t.Error("a rate limit was taken for an overflow")
	}
}

func TestCase19_aCancelledCompactionLeavesTheSessionAsItWas(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	l := newLab(t, winnow.Config{Summarizer: &scripted{answers: []any{notes("x")}, before: cancel}})
	l.work(4)
	before := viewJSON(t, l.engine, l.id)
	began := time.Now()
	if _, err := l.Compact(ctx, l.id, winnow.CompactOptions{}); winnow.CodeOf(err) != winnow.Cancelled {
		t.Errorf("the error is %v, want %s", err, winnow.Cancelled)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("aborting took %v", took)
	}
	if after := viewJSON(t, l.engine, l.id); !bytes.Equal(before, after) {
		t.Error("the view changed")
	}
	log, _, _ := l.Session(context.Background(), l.id)
	if at := view.Pending(log.Messages, nil); at >= 0 {
		t.Error("a marker was left behind")
	}
}

// A compaction that the caller stops says nothing about whether folding helps: however often it is
// stopped, the next one is made.
func TestObserve_aStoppedCompactionIsNoAttempt(t *testing.T) {
	stop := func() {}
	set := withPolicy(policy.Balanced)
	set.Strategies.BalancedPruning.IdleSteps = 10 // so that something can go where folding does not help
	l := newLab(t, winnow.Config{Settings: set,
		Summarizer: &scripted{answers: []any{notes("go on")}, before: func() { stop() }}})
	l.work(4)
	over := session.Usage{Input: 15900, Output: 10}
	for i := range 5 {
		l.reads("big.go", 900)
		ctx, cancel := context.WithCancel(context.Background())
		stop = cancel
		if i == 4 {
			stop = func() {}
		}
		out, err := l.Observe(ctx, l.id, over)
		cancel()
		if i < 4 && winnow.CodeOf(err) != winnow.Cancelled || i == 4 && (err != nil || out.Compacted == nil) {
			t.Fatalf("observation %d: %v, %v", i, out.Compacted, err)
		}
	}
}

func TestCompact_executesAMarkerThatWaits(t *testing.T) {
	l := newLab(t, winnow.Config{})
	l.work(6)
	first, err := l.Schedule(context.Background(), l.id, true)
	if err != nil {
		t.Fatal(err)
	}
	second, err := l.Schedule(context.Background(), l.id, true)
	if err != nil || second.ID != first.ID {
		t.Errorf("a second request gave %s, %v; want the pending %s", second.ID, err, first.ID)
	}
	r := l.compact(winnow.CompactOptions{})
	if r.Marker != first.ID {
		t.Errorf("executed %s, want %s", r.Marker, first.ID)
	}
	log, _, _ := l.Session(context.Background(), l.id)
	if at := view.Pending(log.Messages, nil); at >= 0 {
		t.Error("it is pending still")
	}
}

func TestCompact_keepsWhatWasAppendedWhileTheSummaryWasWritten(t *testing.T) {
	var l *lab
	scribe := &scripted{answers: []any{notes("go on")}}
	l = newLab(t, winnow.Config{Summarizer: scribe})
	l.work(6)
	scribe.before = func() { scribe.before = nil; l.user("One more thing: LATECOMER") }
	l.compact(winnow.CompactOptions{})
	if !strings.Contains(l.text(), "LATECOMER") {
		t.Error("the message that came meanwhile is gone from the view")
	}
}

func TestObserve_foldsByItselfAndPublishesEvents(t *testing.T) {
	l := newLab(t, winnow.Config{})
	events := l.Subscribe(0)
	l.work(4) // too few steps for anything to be idle
	l.reads("last.go", 5000)
	out, err := l.Observe(context.Background(), l.id,
		session.Usage{Input: 7600, Output: 200, Cache: session.CacheUsage{Write: 500}})
	if err != nil || out.Compacted == nil {
		t.Fatalf("receipt %v, error %v, verdict %+v", out.Compacted, err, out.Verdict)
	}
	if !strings.Contains(l.text(), pivot.ContinueText) {
		t.Error("the agent is not told to go on")
	}
	events.Close()
	seen := map[winnow.EventType]int{}
	for e := range events.C {
		seen[e.Type]++
	}
	for _, want := range []winnow.EventType{winnow.MessageAppended, winnow.UsageRecorded, winnow.BudgetOverflow,
		winnow.CompactionStarted, winnow.Compacted} {
		if seen[want] == 0 {
			t.Errorf("no event %s in %v", want, seen)
		}
	}
}

func TestObserve_doesNothingWhenAutoIsOff(t *testing.T) {
	settings := settings.Default()
	settings.Compaction.Auto = false
	l := newLab(t, winnow.Config{Settings: &settings})
	l.work(9)
	out, err := l.Observe(context.Background(), l.id, session.Usage{Input: 90000})
	if err != nil || out.Compacted != nil {
		t.Errorf("compacted %v, error %v", out.Compacted, err)
	}
	if _, ok, err := l.Rejected(context.Background(), l.id, budget.Rejection{Status: 413}); !ok ||
		winnow.CodeOf(err) != winnow.TooLong {
		t.Errorf("a rejection gives %v, want %s", err, winnow.TooLong)
	}
}

func TestSubscription_aSlowSubscriberLosesEventsAndHoldsNobodyUp(t *testing.T) {
	l := newLab(t, winnow.Config{})
	slow := l.Subscribe(2)
	l.work(3)
	if got := slow.Dropped(); got != 7 {
		t.Errorf("%d events were dropped, want 7 of 9", got)
	}
}

func TestHooks_takePart(t *testing.T) {
	t.Run("context lines reach the request", func(t *testing.T) {
		scribe := &scripted{answers: []any{notes("go on")}}
		l := newLab(t, winnow.Config{Summarizer: scribe,
			Hooks: winnow.Hooks{Compacting: func(context.Context, winnow.Compacting) (winnow.CompactingResult, error) {
				return winnow.CompactingResult{Context: []string{"The branch is main."}}, nil
			}}})
		l.work(4)
		l.compact(winnow.CompactOptions{})
		if !strings.HasSuffix(scribe.asked[0].Instruction, "The branch is main.") {
			t.Errorf("the instruction ends %q", scribe.asked[0].Instruction)
		}
	})
	t.Run("a result replaces the summariser", func(t *testing.T) {
		scribe := &scripted{answers: []any{notes("go on")}}
		own := notes("from the hook")
		l := newLab(t, winnow.Config{Summarizer: scribe,
			Hooks: winnow.Hooks{Compacting: func(context.Context, winnow.Compacting) (winnow.CompactingResult, error) {
				return winnow.CompactingResult{Answer: &own}, nil
			}}})
		l.work(4)
		l.compact(winnow.CompactOptions{})
		if len(scribe.asked) != 0 || !strings.Contains(l.text(), "from the hook") {
			t.Errorf("the summariser was asked %d times", len(scribe.asked))
		}
	})
	t.Run("an error cancels", func(t *testing.T) {
		l := newLab(t,
			winnow.Config{Hooks: winnow.Hooks{
				Compacting: func(context.Context, winnow.Compacting) (winnow.CompactingResult, error) {
					return winnow.CompactingResult{}, errors.New("not now")
				}}})
		l.work(4)
		if _, err := l.Compact(context.Background(), l.id,
			winnow.CompactOptions{}); winnow.CodeOf(err) != winnow.Cancelled {
			t.Errorf("the error is %v", err)
		}
	})
	t.Run("continue can be suppressed", func(t *testing.T) {
		l := newLab(t, winnow.Config{Hooks: winnow.Hooks{Continue: func(context.Context, string, session.Message) bool {
			return false
		}}})
		l.work(6)
		l.compact(winnow.CompactOptions{Auto: true})
		if strings.Contains(l.text(), pivot.ContinueText) {
			t.Error("the agent is told to go on")
		}
	})
}

func TestPin_survivesPruningAndFolding(t *testing.T) {
	l := newLab(t, winnow.Config{Models: small(400000, 4000)})
	l.user("Read it.")
	kept := l.append(session.Message{
		MessageInfo: session.MessageInfo{Role: session.Assistant, Finish: "tool-calls"},
		Parts: []session.Part{{Type: session.ToolPart, Tool: "read", CallID: "secret", State: &session.ToolState{
			Status: session.Completed, Input: []byte(`{"filePath":"plan.md"}`),
			Output: "THE PLAN IS 42\n" + strings.Repeat("word ", 30000),
		}}},
	})
	for range 4 {
		l.reads("other.go", 20000)
	}
	l.work(3)
	ctx := context.Background()
	pin, err := l.Pin(ctx, l.id, rule.Pin{Part: kept.Parts[0].ID})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Pin(ctx, l.id, rule.Pin{Text: "Ask before you push."}); err != nil {
		t.Fatal(err)
	}
	if out, err := l.Prune(ctx, l.id, false); err != nil || out.Pruned == nil {
		t.Fatalf("pruned %v, %v", out.Pruned, err)
	}
	x, err := l.Explain(ctx, l.id, "secret")
	if err != nil || x.Zone == report.Pruned || !x.Pinned || x.Because != "it is pinned" {
		t.Errorf("the pinned part is %+v, %v", x, err)
	}
	l.compact(winnow.CompactOptions{})
	for _, want := range []string{"THE PLAN IS 42", "Ask before you push."} {
		if !strings.Contains(l.text(), want) {
			t.Errorf("the view after folding has no %q", want)
		}
	}
	if err := l.Unpin(ctx, l.id, pin.ID); err != nil {
		t.Fatal(err)
	}
	if err := l.Unpin(ctx, l.id, pin.ID); winnow.CodeOf(err) != winnow.NotFound {
		t.Errorf("unpinning twice gives %v", err)
	}
}

func TestEngine_stateSurvivesARestart(t *testing.T) {
	kept := memory.New()
	l := newLab(t, winnow.Config{Store: kept, Models: small(400000, 4000)})
	l.work(90)
	if out, err := l.Prune(context.Background(), l.id, false); err != nil || out.Pruned == nil {
		t.Fatalf("pruned %v, %v", out.Pruned, err)
	}
	l.compact(winnow.CompactOptions{})
	l.work(2)
	before := viewJSON(t, l.engine, l.id)
	again := open(t, winnow.Config{Store: kept, Models: small(400000, 4000), Counter: token.Chars4{}})
	if after := viewJSON(t, again, l.id); !bytes.Equal(before, after) {
		t.Error("an engine that was opened anew shows another view")
	}
}

func TestEngine_twoEnginesOnOneStore(t *testing.T) {
	kept := memory.New()
	a := newLab(t, winnow.Config{Store: kept})
	b := &lab{engine: open(t, winnow.Config{Store: kept, Models: small(16000, 4000),
		Random: rand.NewChaCha8([32]byte{2})}), t: t, id: a.id}
	a.work(2)
	b.user("from the other one: HELLO")
	a.work(2)
	if !strings.Contains(a.text(), "HELLO") || a.text() != b.text() {
		t.Error("the two engines do not see the same session")
	}
	if _, err := b.Compact(context.Background(), a.id, winnow.CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	a.user("after")
	if a.text() != b.text() {
		t.Error("the two engines do not see the same session after one of them folded it")
	}
}

// Case 7, pairs at every cut, is TestFind_losesNothing in package pivot; case 16, odd exports, is
// in format/opencode; cases 6 and 20, where nobody writes in the place of a model, are in
// strict_test.go of the root.

func TestCompact_handsThePreviousSummaryOnOnce(t *testing.T) {
	scribe := &scripted{answers: []any{notes("FIRST"), notes("SECOND"), notes("THIRD")}}
	l := newLab(t, winnow.Config{Summarizer: scribe})
	l.work(6)
	l.compact(winnow.CompactOptions{})
	l.work(6)
	l.compact(winnow.CompactOptions{})
	r := scribe.asked[1]
	if !strings.Contains(r.Previous, "FIRST") || strings.Contains(r.Previous, "Kept from before") {
		t.Errorf("the previous summary is handed on as %q", r.Previous)
	}
	if strings.Contains(pivot.Transcript(r.Messages), "FIRST") {
		t.Error("the previous summary stands among the messages, too")
	}
	if !strings.HasPrefix(r.Instruction, "Earlier notes stand at the beginning") {
		t.Errorf("the second request does not ask for an update: %q", r.Instruction)
	}
	text := l.text()
	if strings.Contains(text, "FIRST") || strings.Count(text, "SECOND") != 1 {
		t.Error("the view does not have the second summary alone")
	}
}

func TestCompact_keepsRecentTurnsThroughTwoCompactions(t *testing.T) {
	keep := 2500
	settings := settings.Default()
	settings.Compaction.Keep = &keep
	l := newLab(t, winnow.Config{Settings: &settings, Summarizer: &scripted{answers: []any{notes("go on")}}})
	l.work(4)
	l.compact(winnow.CompactOptions{})
	l.reads("more.go", 800)
	for _, name := range []string{"u3", "u4"} {
		l.user(name)
		l.says("answer to " + name)
	}
	l.compact(winnow.CompactOptions{})
	text := l.text()
	for _, want := range []string{"[User]: u3", "[Assistant]: answer to u3", "[User]: u4",
		"[Assistant]: answer to u4"} {
		if !strings.Contains(text, want) {
			t.Errorf("the view has no %q", want)
		}
	}
	if strings.Contains(text, "[User]: report.Request number 0") {
		t.Error("the oldest turn is still there as it was")
	}
}

func TestCompact_splitsATurnThatIsTooBigAndSendsWhatIsFolded(t *testing.T) {
	keep := 1500
	settings := settings.Default()
	settings.Compaction.Keep = &keep
	scribe := &scripted{answers: []any{notes("go on")}}
	l := newLab(t, winnow.Config{Settings: &settings, Summarizer: scribe})
	l.user("One long turn.")
	l.reads("large.go", 6000)
	last := l.reads("small.go", 800)
	r := l.compact(winnow.CompactOptions{})
	if r.TailStart != last.ID {
		t.Errorf("the tail begins at %s, want the later step %s", r.TailStart, last.ID)
	}
	if names := pivot.Transcript(scribe.asked[0].Messages); !strings.Contains(names, "large.go") ||
		strings.Contains(names, "small.go") {
		t.Error("the summariser is not sent just what is folded")
	}
	if v := l.view(); v.Messages[2].ID != last.ID {
		t.Errorf("behind the summary stands %s", v.Messages[2].ID)
	}
}

func TestClassic_publishesTheSummaryAloneAndTheContinuation(t *testing.T) {
	l := newLab(t, winnow.Config{Settings: withPolicy(policy.Classic),
		Summarizer: &scripted{answers: []any{pivot.Answer{Text: "just words", Model: "p/scribe"}}}})
	l.work(4)
	r := l.compact(winnow.CompactOptions{Auto: true})
	v := l.view()
	if len(v.Messages) != 3 || r.Tail != 0 || r.Carried != (pivot.Carried{}) {
		t.Fatalf("the view has %d messages, tail %d, carried %+v", len(v.Messages), r.Tail, r.Carried)
	}
	marker, summary, next := v.Messages[0], v.Messages[1], v.Messages[2]
	if !marker.Marker().Auto || summary.ParentID != marker.ID || !summary.IsSummary() || summary.Mode != "compaction" ||
		summary.Agent != "compaction" {
		t.Errorf("marker %+v, summary %+v", marker.MessageInfo, summary.MessageInfo)
	}
	if p := next.Parts[0]; p.Text != pivot.ContinueText || !p.Synthetic {
		t.Errorf("the continuation is %+v", p)
	}
}

func TestEngine_manyAtOnce(t *testing.T) {
	l := newLab(t, winnow.Config{Models: small(60000, 4000)})
	l.work(10)
	ctx := context.Background()
	var all sync.WaitGroup
	for g := range 32 {
		all.Go(func() {
			for i := range 5 {
				text := fmt.Sprintf("goroutine %d message %d", g, i)
				if err := l.Append(ctx, l.id, session.Message{MessageInfo: session.MessageInfo{Role: session.User},
					Parts: []session.Part{{Type: session.TextPart, Text: text}}}); err != nil {
					t.Error(err)
				}
				switch (g + i) % 5 {
				case 0:
					if _, err := l.Compact(ctx, l.id, winnow.CompactOptions{}); err != nil &&
						winnow.CodeOf(err) != winnow.Busy && winnow.CodeOf(err) != winnow.NoProgress &&
						winnow.CodeOf(err) != winnow.NothingToFold {
						t.Error(err)
					}
				case 1:
					if _, err := l.Prune(ctx, l.id, false); err != nil {
						t.Error(err)
					}
				case 2:
					if _, err := l.Undo(ctx, l.id, ""); err != nil && winnow.CodeOf(err) != winnow.NotFound &&
						winnow.CodeOf(err) != winnow.Already {
						t.Error(err)
					}
				default:
					if _, err := l.View(ctx, l.id); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	log, _, err := l.Session(ctx, l.id)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]int{}
	for i := range log.Messages {
		said[log.Messages[i].Text()]++
	}
	for g := range 32 {
		for i := range 5 {
			if n := said[fmt.Sprintf("goroutine %d message %d", g, i)]; n != 1 {
				t.Errorf("message %d of goroutine %d stands %d times", i, g, n)
			}
		}
	}
}

func TestCompact_prunesWhereTooLittleIsLeftToFold(t *testing.T) {
	l := newLab(t, winnow.Config{Models: small(400000, 4000)})
	l.user("Read the log.")
	l.reads("huge.log", 90000)
	l.user("And?")
	l.user("So?")
	l.says("It is long.")
	before := l.view().Tokens
	r := l.compact(winnow.CompactOptions{})
	if r.Kind != pivot.Pruning || r.TokensAfter*100 > before || r.Marker != "" {
		t.Errorf("%s, %d → %d tokens, marker %q; want the huge output elided and nothing folded", r.Kind, before,
			r.TokensAfter, r.Marker)
	}
	if _, err := l.Undo(context.Background(), l.id, ""); err != nil || l.view().Tokens != before {
		t.Errorf("undone it has %d tokens, want %d (%v)", l.view().Tokens, before, err)
	}
}

func TestCompact_aSummaryIsPaidForOnceWhereOnlyTheCarryOverShrinks(t *testing.T) {
	settings := settings.Default()
	keep := 0
	settings.Compaction.Keep = &keep
	scribe := &scripted{limit: 100000, answers: []any{notes("go on")}}
	l := newLab(t, winnow.Config{Settings: &settings, Summarizer: scribe})
	// What is carried over word for word does not fit the budget the first time.
	for i := range 9 {
		l.user(fmt.Sprintf("%d ", i) + strings.Repeat("word for word ", 400))
		l.says("Yes.")
	}
	l.compact(winnow.CompactOptions{})
	if len(scribe.asked) != 1 {
		t.Errorf("the model was asked %d times", len(scribe.asked))
	}
}
