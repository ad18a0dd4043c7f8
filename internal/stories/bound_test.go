package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
)

// thinks is a step with reasoning before its call.
func (w *waited) thinks(url string, tokens int) session.Message {
	m := session.Message{
		MessageInfo: session.MessageInfo{Role: session.Assistant, ProviderID: "p", ModelID: "m", Finish: "tool-calls"},
		Parts: []session.Part{
			{Type: session.ReasoningPart, Text: fmt.Sprintf("Thought %d: the tide table says when.", w.n)},
			{Type: session.ToolPart, Tool: "webfetch", CallID: fmt.Sprintf("call_%d", w.n), State: &session.ToolState{
				Status: session.Completed, Input: []byte(`{"url":"` + url + `"}`),
				Output: strings.Repeat("tide", tokens),
			}},
		},
	}
	w.wait(time.Second)
	return w.append(m)
}

// reasoning are the thoughts that are shown, by their numbers.
func (w *waited) reasoning() []string {
	var shown []string
	for _, m := range w.view().Messages {
		for _, p := range m.Parts {
			if p.Type == session.ReasoningPart {
				shown = append(shown, strings.Fields(p.Text)[1])
			}
		}
	}
	return shown
}

func binding(bound bool) func(*winnow.Config) {
	return func(c *winnow.Config) {
		models := slices.Clone(c.Models.Models)
		for i := range models {
			models[i].BoundReasoning = bound
		}
		c.Models = &model.Catalogue{Models: models}
	}
}

// A model that binds its reasoning to the exact prompt before it is sent none that was made for
// another one: what stands behind the first change goes with it, what stands before stays.
func TestBoundReasoning_goesWithWhatStoodBeforeIt(t *testing.T) {
	for _, bound := range []bool{true, false} {
		w := newWaited(t, binding(bound))
		w.user("When is high water?")
		w.thinks("https://moon.example/", 100)
		w.thinks("https://tides.example/", 4000)
		w.thinks("https://tides.example/", 4000)
		for i := range 7 {
			w.thinks(fmt.Sprintf("https://other%d.example/", i), 50)
		}
		all := w.reasoning()
		if len(all) != 10 {
			t.Fatalf("%d thoughts are shown, want 10", len(all))
		}
		w.wait(time.Hour)
		out, err := w.Begin(t.Context(), w.id)
		if err != nil || out.Pruned == nil {
			t.Fatalf("nothing was committed where the cache is cold: %+v, %v", out, err)
		}
		want := all
		if bound {
			want = all[:2] // the second thought stands before the page that it asked for
		}
		if got := w.reasoning(); !slices.Equal(got, want) {
			t.Errorf("bound %t: thoughts %v are shown after the commit, want %v", bound, got, want)
		}
		if before, after := out.Pruned.TokensBefore-out.Pruned.TokensAfter,
			rule.Saves(out.Pruned.Committed); before != after {
			t.Errorf("bound %t: %d tokens less are shown, the elisions claim %d", bound, before, after)
		}
		w.thinks("https://new.example/", 50)
		if got := w.reasoning(); len(got) != len(want)+1 {
			t.Errorf("bound %t: %v: the next thought was made for this prompt and stays", bound, got)
		}
		r, err := w.Undo(t.Context(), w.id, out.Pruned.ID)
		if err != nil {
			t.Fatal(err)
		}
		back := 11
		if bound {
			back = 10 // the newest one was made behind what was pruned
		}
		if got := w.reasoning(); len(got) != back || r.Unbound != 11-back {
			t.Errorf("bound %t: after undo %v are shown, and %d were left out, want %d shown", bound, got, r.Unbound,
				back)
		}
	}
}

// What was thought behind a summary goes when that is undone, and comes back when it counts again;
// what was thought in between the other way round.
func TestBoundReasoning_goesAndComesWithUndoAndRedo(t *testing.T) {
	for _, bound := range []bool{true, false} {
		w := newWaited(t, binding(bound))
		for i := range 40 {
			w.user(fmt.Sprintf("Request %d.", i))
			w.thinks(fmt.Sprintf("https://page%d.example/", i), 1500)
		}
		before := w.reasoning()
		folded := w.compact(winnow.CompactOptions{})
		tail := w.reasoning()
		thought := func() string {
			w.user("And now?")
			w.thinks("https://new.example/", 50)
			shown := w.reasoning()
			return shown[len(shown)-1]
		}
		check := func(what string, r *pivot.Receipt, err error, unbound int, parts ...[]string) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			if !bound {
				unbound = 0
			}
			if got, want := w.reasoning(), slices.Concat(parts...); !slices.Equal(got, want) || r.Unbound != unbound {
				t.Errorf("bound %t, %s: %v are shown, %d were left out, want %v and %d", bound, what, got, r.Unbound,
					want, unbound)
			}
		}
		behind := []string{thought()}
		onlyUnbound := func(thoughts []string) []string {
			if bound {
				return nil
			}
			return thoughts
		}
		undone, err := w.Undo(t.Context(), w.id, folded.Marker)
		check("undone", undone, err, 1, before, onlyUnbound(behind))
		between := []string{thought()}
		again, err := w.Redo(t.Context(), w.id, "")
		check("redone", again, err, 1, tail, behind, onlyUnbound(between))
		newest := []string{thought()}
		undone, err = w.Undo(t.Context(), w.id, "")
		check("undone again", undone, err, 2, before, onlyUnbound(behind), between, onlyUnbound(newest))
	}
}

func TestBoundReasoning_ofTheTailGoesWithAPivot(t *testing.T) {
	for _, bound := range []bool{true, false} {
		w := newWaited(t, binding(bound))
		for i := range 40 {
			w.user(fmt.Sprintf("Request %d.", i))
			w.thinks(fmt.Sprintf("https://page%d.example/", i), 1500)
		}
		r := w.compact(winnow.CompactOptions{})
		if r.Tail == 0 {
			t.Fatalf("the fold keeps no tail: %+v", r)
		}
		if got := len(w.reasoning()); bound != (got == 0) {
			t.Errorf("bound %t: %d thoughts are shown behind the summary", bound, got)
		}
		w.thinks("https://new.example/", 50)
		if got := w.reasoning(); len(got) == 0 {
			t.Errorf("bound %t: the thought after the pivot is not shown", bound)
		}
	}
}

// For such a model only a cold cache and a pivot are moments to commit, whatever the schedule.
func TestBoundReasoning_waitsForAColdCache(t *testing.T) {
	for _, how := range []string{"eager", "economic"} {
		w := newWaited(t, binding(true), func(c *winnow.Config) {
			s := settings.Default()
			s.Schedule, s.Compaction.Minimum = how, 100
			c.Settings = &s
		})
		outdated(w)
		for range 200 {
			w.works(1)
			out, err := w.Observe(t.Context(), w.id,
				session.Usage{Output: 5, Cache: session.CacheUsage{Read: 8000, Write: 100}})
			if err != nil || out.Pruned != nil {
				t.Fatalf("%s: in the middle of a warm session %+v, %v", how, out.Pruned, err)
			}
		}
		if out, err := w.EndTurn(t.Context(), w.id); err != nil || out.Pruned != nil {
			t.Errorf("%s: at the end of a turn %+v, %v", how, out.Pruned, err)
		}
		w.wait(time.Hour)
		if out, err := w.Begin(t.Context(), w.id); err != nil || out.Pruned == nil {
			t.Errorf("%s: nothing was committed where the cache is cold: %v", how, err)
		}
	}
}
