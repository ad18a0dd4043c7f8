package stories

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/summarize/offline"
)

// asked is the offline summariser under the name of a model.
type asked struct{ pivot.Summarizer }

func (asked) Name() string { return "p/scribe" }

// say is a message with one text.
func say(role session.Role, text string) session.Message {
	m := session.Message{MessageInfo: session.MessageInfo{Role: role},
		Parts: []session.Part{{Type: session.TextPart, Text: text}}}
	if role == session.Assistant {
		m.Finish = "stop"
	}
	return m
}

// A program that learns with the next request what a call gave back, as a gateway does, may let the
// past be folded before that request, where the result fills the window and no model is asked.
func TestBegin_foldsWhereTheNewestResultsFillTheWindow(t *testing.T) {
	for _, c := range []struct {
		name   string
		begins winnow.BeginOptions
		model  bool // writes summaries
		manual bool // compaction.auto is off
		small  bool // the result fits
		folds  bool
	}{
		{"it fills the window", winnow.BeginOptions{Fold: true}, false, false, false, true},
		{"it fits", winnow.BeginOptions{Fold: true}, false, false, true, false},
		{"the program has not said so", winnow.BeginOptions{}, false, false, false, false},
		{"nothing that was sent may change", winnow.BeginOptions{Fold: true, Held: true}, false, false, false, false},
		{"a model would be asked", winnow.BeginOptions{Fold: true}, true, false, false, false},
		{"compaction.auto is off", winnow.BeginOptions{Fold: true}, false, true, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := settings.Default()
			set.Compaction.Auto = !c.manual
			config := winnow.Config{Model: "p/m", Models: small(16_000, 4_000), Settings: &set,
				Summarizer: offline.New()}
			if c.model {
				config.Summarizer = asked{offline.New()}
			}
			e, err := winnow.Open(config)
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			ctx := context.Background()
			id, err := e.Create(ctx, session.Info{})
			if err != nil {
				t.Fatal(err)
			}
			size := 30_000
			if c.small {
				size = 100
			}
			said := []session.Message{say(session.User, "Fix the parser.")}
			for i := range 8 {
				said = append(said, say(session.Assistant,
					fmt.Sprintf("Step %d. ", i)+strings.Repeat("I think about the parser. ", 80)),
					say(session.User, "Go on."))
			}
			open := session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant, Finish: "tool-calls"},
				Parts: []session.Part{{Type: session.ToolPart, Tool: "read", CallID: "call_9",
					State: &session.ToolState{
						Status: session.Completed, Input: []byte(`{"filePath":"parser.go"}`),
						Output: strings.Repeat("a line of the parser\n", size/21),
					}}}}
			done := *open.Parts[0].State
			open.ID, open.Parts[0].State = "msg_open", &session.ToolState{Status: session.Running, Input: done.Input}
			if err := e.Append(ctx, id, append(said, open)...); err != nil {
				t.Fatal(err)
			}
			out, err := e.Observe(ctx, id, session.Usage{Input: 5_000, Output: 100})
			if err != nil || out.Compacted != nil {
				t.Fatalf("before the result: %+v, %v", out, err)
			}
			open.Parts[0].State = &done
			if err := e.Update(ctx, id, open); err != nil {
				t.Fatal(err)
			}
			out, err = e.Begin(ctx, id, c.begins)
			if err != nil {
				t.Fatal(err)
			}
			if folded := out.Compacted != nil; folded != c.folds {
				t.Fatalf("folded: %t, want %t; %+v", folded, c.folds, out.Refusals)
			}
			if c.folds {
				if out.Compacted.Kind != pivot.Compaction || out.Compacted.Trigger != "threshold" {
					t.Errorf("it is %+v", out.Compacted)
				}
				if again, err := e.Begin(ctx, id, c.begins); err != nil || again.Compacted != nil {
					t.Errorf("a second time: %+v, %v", again.Compacted, err)
				}
			}
		})
	}
}

// After a night all of a long session would be written to the cache anew: with compaction.coldFold it
// is folded before, also where a model is asked for the summary.
func TestBegin_foldsALongSessionAfterANight(t *testing.T) {
	for _, c := range []struct {
		name     string
		coldFold int
		wait     time.Duration
		held     bool
		folds    bool
	}{
		{"it is long enough", 50_000, 10 * time.Hour, false, true},
		{"nothing is set", 0, 10 * time.Hour, false, false},
		{"a minute later", 50_000, time.Minute, false, false},
		{"nothing that was sent may change", 50_000, 10 * time.Hour, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := settings.Default()
			set.Compaction.ColdFold = c.coldFold
			w := newWaited(t, func(config *winnow.Config) {
				config.Settings, config.Summarizer = &set, asked{offline.New()}
			})
			w.user("When is high water?")
			for i := range 10 {
				w.fetches(fmt.Sprintf("https://tides.example/%d", i), 8_000)
			}
			w.says("At noon.")
			if _, err := w.Observe(t.Context(), w.id, session.Usage{Input: 82_000, Output: 10}); err != nil {
				t.Fatal(err)
			}
			w.wait(c.wait)
			w.user("And tomorrow?")
			out, err := w.Begin(t.Context(), w.id, winnow.BeginOptions{Held: c.held})
			if err != nil {
				t.Fatal(err)
			}
			if folds := out.Compacted != nil; folds != c.folds {
				t.Fatalf("folds is %v, want %v: %+v", folds, c.folds, out.Refusals)
			}
			if c.folds && out.Compacted.TokensAfter*2 > out.Compacted.TokensBefore {
				t.Errorf("%d tokens became %d", out.Compacted.TokensBefore, out.Compacted.TokensAfter)
			}
		})
	}
}
