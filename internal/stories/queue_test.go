package stories

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
)

// With Config.Queue an overflow under a policy by the letter is a marker in the log, at most one,
// and nothing else until it is executed (S001 loop, 2; S003 4.1). Under balanced it is folded at
// once.
func TestObserve_queuesByTheLetter(t *testing.T) {
	for _, policy := range []string{"classic", "aggressive", "balanced"} {
		l := newLab(t, winnow.Config{Settings: withPolicy(policy), Queue: true})
		l.work(4)
		l.reads("last.go", 5000)
		before := len(l.log())
		full := session.Usage{Input: 12_500, Output: 200}
		if policy == "balanced" { // which counts what the step's calls gave back
			full.Input = 7_600
		}
		out, err := l.Observe(t.Context(), l.id, full)
		if err != nil {
			t.Fatal(err)
		}
		if policy == "balanced" {
			if out.Compacted == nil || out.Queued != "" {
				t.Errorf("balanced: compacted %v, queued %q", out.Compacted, out.Queued)
			}
			continue
		}
		log := l.log()
		if out.Compacted != nil || len(log) != before+1 || log[before].ID != out.Queued || !log[before].Marker().Auto {
			t.Fatalf("%s: compacted %v, queued %q, %d messages were appended", policy, out.Compacted, out.Queued,
				len(log)-before)
		}
		if again, err := l.Observe(t.Context(), l.id, full); err != nil || again.Queued != out.Queued {
			t.Errorf("%s: a second report queues %q, %v; want the one that waits", policy, again.Queued, err)
		}
		r, err := l.Compact(t.Context(), l.id, winnow.CompactOptions{Waiting: true})
		if err != nil || r.Marker != out.Queued || r.Trigger != "threshold" {
			t.Errorf("%s: executed %+v, %v", policy, r, err)
		}
		if r, err := l.Compact(t.Context(), l.id, winnow.CompactOptions{Waiting: true}); r != nil || err != nil {
			t.Errorf("%s: there was nothing left to execute: %v, %v", policy, r, err)
		}
	}
}

func (l *lab) log() []session.Message {
	l.t.Helper()
	s, _, err := l.Session(context.Background(), l.id)
	if err != nil {
		l.t.Fatal(err)
	}
	return s.Messages
}

// A queued compaction that fails is withdrawn, but for a caller who has stopped: that one waits on.
func TestCompact_withdrawsWhatWaitsAndFails(t *testing.T) {
	refusal := errors.New("not now")
	stopped, stop := context.WithCancel(context.Background())
	defer stop()
	for name, test := range map[string]struct {
		ctx   context.Context
		fails func() error
		code  error
		waits bool
	}{
		"a hook cancels it": {context.Background(), func() error { return refusal }, refusal, false},
		"the caller stops":  {stopped, func() error { stop(); return nil }, context.Canceled, true},
	} {
		t.Run(name, func(t *testing.T) {
			hook := test.fails
			l := newLab(t, winnow.Config{Settings: withPolicy("classic"), Queue: true, Hooks: winnow.Hooks{
				Compacting: func(context.Context, winnow.Compacting) (winnow.CompactingResult, error) {
					return winnow.CompactingResult{}, hook()
				},
			}})
			l.work(4)
			view := l.text()
			marker, err := l.Schedule(t.Context(), l.id, true)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := l.Compact(test.ctx, l.id, winnow.CompactOptions{Waiting: true}); !errors.Is(err, test.code) {
				t.Errorf("the error is %v, want %v", err, test.code)
			}
			pending, err := l.Pending(t.Context(), l.id)
			if err != nil || (pending != nil) != test.waits || pending != nil && pending.ID != marker.ID {
				t.Errorf("%+v waits, %v; want %v", pending, err, test.waits)
			}
			if !test.waits && l.text() != view {
				t.Errorf("the view is not what it was before the marker:\n%s", l.text())
			}
			hook = func() error { return nil }
			if r, err := l.Compact(t.Context(), l.id, winnow.CompactOptions{}); err != nil ||
				(r.Marker == marker.ID) != test.waits {
				t.Errorf("the next compaction executes %+v, %v", r, err)
			}
		})
	}
}

// A marker has the agent and the model of the last user message unless others are named, and its
// model is asked for the summary (S001 create; process, 3).
func TestCompact_laterTakesAgentAndModel(t *testing.T) {
	small := small(16000, 4000)
	small.Models = append(small.Models,
		model.Model{Provider: "q", ID: "cheap", Limits: model.Limits{Context: 16000, Output: 2000}})
	for name, test := range map[string]struct {
		options             winnow.CompactOptions
		agent, model, asked string
	}{
		"nothing is named": {winnow.CompactOptions{Later: true}, "build", "p/m", "p/m"},
		"both are named": {winnow.CompactOptions{Later: true, Auto: true, Agent: "plan",
			Model: &session.ModelRef{ProviderID: "q", ModelID: "cheap"}}, "plan", "q/cheap", "q/cheap"},
	} {
		var asked []string
		l := newLab(t, winnow.Config{Models: small, Settings: withPolicy("classic"),
			SummarizerFor: func(m model.Model) (pivot.Summarizer, error) {
				asked = append(asked, m.String())
				return &scripted{answers: []any{notes("x")}}, nil
			}})
		l.work(6)
		events := l.Subscribe(0)
		for range 2 {
			if r, err := l.Compact(t.Context(), l.id, test.options); r != nil || err != nil {
				t.Fatalf("%s: %v, %v", name, r, err)
			}
		}
		events.Close()
		log := l.log()
		m := &log[len(log)-1]
		if m.Marker() == nil || m.Marker().Auto != test.options.Auto || m.Agent != test.agent ||
			m.Answers().String() != test.model {
			t.Errorf("%s: the marker is %+v", name, m.MessageInfo)
		}
		if e := <-events.C; e.Type != winnow.MessageAppended || e.Message != m.ID {
			t.Errorf("%s: the event is %+v", name, e)
		}
		if e, open := <-events.C; open {
			t.Errorf("%s: a second request did something: %+v", name, e)
		}
		l.compact(winnow.CompactOptions{Waiting: true})
		if !slices.Equal(asked, []string{test.asked}) {
			t.Errorf("%s: %q were asked, want %s", name, asked, test.asked)
		}
	}
}

// Both prompts of the summariser can be replaced, in the configuration and by the hook, whose word
// is the last.
func TestCompact_promptsCanBeReplaced(t *testing.T) {
	for _, policy := range []string{"classic", "balanced"} {
		for _, hooked := range []bool{false, true} {
			s := withPolicy(policy)
			s.Compaction.System, s.Compaction.Prompt = "SYSTEM OF THE FILE", "PROMPT OF THE FILE"
			scribe := &scripted{answers: []any{notes("x")}}
			c := winnow.Config{Settings: s, Summarizer: scribe}
			system, prompt := s.Compaction.System, s.Compaction.Prompt
			if hooked {
				system, prompt = "SYSTEM OF THE HOOK", "PROMPT OF THE HOOK"
				c.Hooks.Compacting = func(_ context.Context, told winnow.Compacting) (winnow.CompactingResult, error) {
					if told.Request.System != s.Compaction.System {
						t.Errorf("the hook is told %q", told.Request.System)
					}
					return winnow.CompactingResult{System: system, Prompt: prompt}, nil
				}
			}
			l := newLab(t, c)
			l.work(6)
			l.compact(winnow.CompactOptions{})
			if got := scribe.asked[0]; got.System != system || !strings.HasPrefix(got.Instruction, prompt) ||
				!got.OwnLength {
				t.Errorf("%s: asked %q, %q; want %q, %q", policy, got.System, got.Instruction, system, prompt)
			}
		}
	}
}
