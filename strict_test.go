package winnow_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// What a compaction comes of where the offline summariser must not write in the place of a model,
// which no configuration says.

// scripted is a summariser that says what it is told.
type scripted struct {
	limit   int
	answers []any // pivot.Answer or error, one for each call, the last for all later ones
	asked   []pivot.Request
}

func (*scripted) Name() string { return "acme/scribe" }
func (s *scripted) Limit() int { return s.limit }

func (s *scripted) Summarize(_ context.Context, r pivot.Request) (pivot.Answer, error) {
	s.asked = append(s.asked, r)
	next := s.answers[min(len(s.asked), len(s.answers))-1]
	if err, ok := next.(error); ok {
		return pivot.Answer{Usage: session.Usage{Input: 10}, Cost: 0.5}, err
	}
	return next.(pivot.Answer), nil
}

func notes(text string) pivot.Answer {
	return pivot.Answer{Text: "## Goal\n\n" + text, Finish: "stop", Model: "acme/scribe",
		Usage: session.Usage{Input: 100, Output: 10}, Cost: 0.25}
}

// begun is an engine with a session of these messages, whose summaries a scripted one writes.
func begun(t *testing.T, models *model.Catalogue, s *scripted, said ...session.Message) (*winnow.Engine, string) {
	t.Helper()
	e, err := winnow.Open(winnow.Config{Model: "acme/small", Models: models, Summarizer: s, Counter: token.Chars4{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	id, err := e.Create(t.Context(), session.Info{})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Append(t.Context(), id, said...); err != nil {
		t.Fatal(err)
	}
	return e, id
}

// turns are four, each with a file that is read.
func turns() (all []session.Message) {
	for i := range 4 {
		all = append(all, say(session.User, fmt.Sprintf("Request number %d: change the parser.", i)),
			read(fmt.Sprint("call_", i), fmt.Sprintf("file%d.go", i), strings.Repeat("word", 800)),
			say(session.Assistant, fmt.Sprintf("Done with number %d.", i)))
	}
	return all
}

func viewJSON(t *testing.T, e *winnow.Engine, id string) []byte {
	t.Helper()
	v, err := e.View(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(v.Messages)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestCase06_aBadSummaryHidesNothing(t *testing.T) {
	bad := map[string]any{
		"empty": pivot.Answer{}, "reasoning only": pivot.Answer{ReasoningOnly: true},
		"cut": pivot.Answer{Text: "## a\nb", Finish: "length"}, "markup": pivot.Answer{Text: "## a\n<function_calls>"},
		"no heading": pivot.Answer{Text: "sure!"}, "an error": errors.New("boom"),
	}
	for name, answer := range bad {
		t.Run(name, func(t *testing.T) {
			e, id := begun(t, smallModels(), &scripted{answers: []any{answer}}, turns()...)
			e.ForbidOffline()
			before := viewJSON(t, e, id)
			if _, err := e.Compact(t.Context(), id, winnow.CompactOptions{}); winnow.CodeOf(err) != winnow.BadSummary {
				t.Errorf("the error is %v, want %s", err, winnow.BadSummary)
			}
			if after := viewJSON(t, e, id); !bytes.Equal(before, after) {
				t.Error("the history is not visible any more")
			}
		})
		t.Run(name+", then offline", func(t *testing.T) {
			e, id := begun(t, smallModels(), &scripted{answers: []any{answer}}, turns()...)
			r, err := e.Compact(t.Context(), id, winnow.CompactOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if r.Summarizer != "offline" || len(r.Notes) == 0 {
				t.Errorf("written by %q, notes %q", r.Summarizer, r.Notes)
			}
		})
	}
	t.Run("asked again with what was wrong", func(t *testing.T) {
		scribe := &scripted{limit: 100_000, answers: []any{pivot.Answer{Text: "sure!"}, notes("go on")}}
		e, id := begun(t, smallModels(), scribe, turns()...)
		if _, err := e.Compact(t.Context(), id, winnow.CompactOptions{}); err != nil {
			t.Fatal(err)
		}
		if len(scribe.asked) != 2 || !strings.Contains(scribe.asked[1].Instruction, "none of the headings") {
			t.Errorf("asked %d times, the last instruction ends %q", len(scribe.asked),
				scribe.asked[len(scribe.asked)-1].Instruction)
		}
	})
}

func TestCase20_failedCallsAreBilled(t *testing.T) {
	e, id := begun(t, smallModels(), &scripted{answers: []any{errors.New("boom")}}, turns()...)
	e.ForbidOffline()
	if _, err := e.Compact(t.Context(), id, winnow.CompactOptions{}); err == nil {
		t.Fatal("no error")
	}
	_, state, _ := e.Session(t.Context(), id)
	if len(state.Spent) != 1 || !state.Spent[0].Failed || state.Spent[0].Cost != 0.5 {
		t.Errorf("spent is %+v, want the failed call", state.Spent)
	}
}

func TestCompact_whatWasPaidInVainIsPartOfAPruning(t *testing.T) {
	scribe := &scripted{limit: 100_000, answers: []any{notes(strings.Repeat("many words ", 3000))}}
	models := smallModels()
	models.Models[0].Limits.Context = 400_000
	e, id := begun(t, models, scribe, say(session.User, "Read the log."),
		say(session.Assistant, strings.Repeat("I shall read it, for it is long. ", 40)),
		read("call_0", "huge.log", strings.Repeat("word", 90_000)),
		say(session.User, "And?"), say(session.User, "So?"), say(session.Assistant, "It is long."))
	e.ForbidOffline()
	events := e.Subscribe(0)
	r, err := e.Compact(t.Context(), id, winnow.CompactOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, state, _ := e.Session(t.Context(), id)
	n := len(scribe.asked)
	if r.Kind != pivot.Pruning || n == 0 || len(r.Usage) != n || r.Cost != 0.25*float64(n) || len(state.Spent) != n {
		t.Errorf("%s after %d calls: the receipt has %d for $%g, the store %d", r.Kind, n, len(r.Usage), r.Cost,
			len(state.Spent))
	}
	events.Close()
	recorded := 0
	for e := range events.C {
		if e.Type == winnow.UsageRecorded {
			recorded++
		}
	}
	if recorded != n {
		t.Errorf("%d calls were published", recorded)
	}
}
