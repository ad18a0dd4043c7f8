package stories

import (
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
)

const lamps = "\x1b[32mok\x1b[0m  a lamp on the pier\n"

// runs is a step, with reasoning before it, that runs a command.
func (w *waited) runs(command, output string) session.Message {
	m := w.thinks("https://tides.example/"+command, 1)
	m.Parts[1].Tool, m.Parts[1].State.Input = "bash", []byte(`{"command":"`+command+`"}`)
	m.Parts[1].State.Output = output
	if err := w.Update(w.t.Context(), w.id, m); err != nil {
		w.t.Fatal(err)
	}
	return m
}

// shown is the output of a step as the model sees it.
func (w *waited) shown(m session.Message) string {
	for _, seen := range w.view().Messages {
		if seen.ID == m.ID {
			return seen.Parts[len(seen.Parts)-1].State.Output
		}
	}
	return ""
}

// What says nothing new is left out before it is sent: on models that bind their reasoning, under
// the schedule that waits for a cold cache, and where nothing that was sent may change.
func TestBegin_leavesOutWhatSaysNothingNew(t *testing.T) {
	cold := func(c *winnow.Config) {
		s := settings.Default()
		s.Schedule = "cold"
		c.Settings = &s
	}
	for name, c := range map[string]struct {
		change  func(*winnow.Config)
		options []winnow.BeginOptions
	}{
		"economic":                   {func(*winnow.Config) {}, nil},
		"cold":                       {cold, nil},
		"reasoning is bound":         {binding(true), nil},
		"nothing of it may change":   {func(*winnow.Config) {}, []winnow.BeginOptions{{Held: true}}},
		"nor where the cache is not": {cold, []winnow.BeginOptions{{Held: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWaited(t, c.change)
			w.user("When is high water?")
			w.runs("make lint", "fine\n")
			if _, err := w.Begin(t.Context(), w.id, c.options...); err != nil {
				t.Fatal(err)
			}
			page := strings.Repeat("high water at nine\n", 100)
			first := w.runs("tide", page)
			w.thinks("https://moon.example/", 10)
			noisy, again := w.runs("make test", strings.Repeat(lamps, 40)), session.Message{}
			out, err := w.Begin(t.Context(), w.id, c.options...)
			if err != nil || out.Pruned == nil || out.Pruned.Trigger != pivot.FirstSend || out.Pruned.Rewritten != 0 {
				t.Fatalf("%+v, %v", out.Pruned, err)
			}
			if got := w.shown(noisy); !strings.HasPrefix(got, strings.Repeat("ok  a lamp on the pier\n", 40)) {
				t.Errorf("shown is %q", got)
			}
			again = w.runs("tide", page)
			if out, err = w.Begin(t.Context(), w.id, c.options...); err != nil || out.Pruned == nil {
				t.Fatalf("%+v, %v", out.Pruned, err)
			}
			if got := w.shown(again); !strings.Contains(got, "the same as in ") || w.shown(first) != page {
				t.Errorf("shown is %q, and %q", got, w.shown(first))
			}
			if len(w.reasoning()) != 5 {
				t.Errorf("thoughts %v are shown", w.reasoning())
			}
			if out, err = w.Begin(t.Context(), w.id, c.options...); err != nil || out.Pruned != nil {
				t.Errorf("asked again, it does more: %+v, %v", out.Pruned, err)
			}
			if _, err := w.Undo(t.Context(), w.id, ""); err != nil || w.shown(again) != page {
				t.Errorf("after undo %q is shown, %v", w.shown(again), err)
			}
		})
	}
}

// What was shown in part goes as a whole later, and undo shows the part again, to the byte.
func TestBegin_whatIsShownInPartGoesAsAWhole(t *testing.T) {
	w := newWaited(t)
	w.user("When is high water?")
	noisy := w.runs("make test", strings.Repeat(lamps, 400))
	if _, err := w.Begin(t.Context(), w.id, winnow.BeginOptions{Held: true}); err != nil {
		t.Fatal(err)
	}
	part := w.shown(noisy)
	for range 14 {
		w.thinks("https://moon.example/", 10)
	}
	if out, err := w.Begin(t.Context(), w.id, winnow.BeginOptions{Held: true}); err != nil || out.Pruned != nil {
		t.Fatalf("it was sent, and changes: %+v, %v", out.Pruned, err)
	}
	w.wait(time.Hour)
	out, err := w.Begin(t.Context(), w.id)
	if err != nil || out.Pruned == nil || len(out.Pruned.Replaced) != 1 {
		t.Fatalf("%+v, %v", out.Pruned, err)
	}
	if got := w.shown(noisy); strings.Contains(got, "lamp") {
		t.Errorf("shown is %q", got)
	}
	if saved := out.Pruned.TokensBefore - out.Pruned.TokensAfter; saved != out.Pruned.Saved || saved <= 0 {
		t.Errorf("it claims to save %d tokens, and saves %d", out.Pruned.Saved, saved)
	}
	if _, err := w.Undo(t.Context(), w.id, out.Pruned.ID); err != nil || w.shown(noisy) != part {
		t.Errorf("after undo %.80q is shown, want %.80q; %v", w.shown(noisy), part, err)
	}
	if _, err := w.Redo(t.Context(), w.id, out.Pruned.ID); err != nil || strings.Contains(w.shown(noisy), "lamp") {
		t.Errorf("after redo %.80q is shown; %v", w.shown(noisy), err)
	}
}

// What was shown in part is not written again when it goes as a whole, only what stands behind it.
func TestPrune_whatWasShownInPartIsNotWrittenAgain(t *testing.T) {
	w := newWaited(t)
	w.user("When is high water?")
	noisy := w.runs("make test", strings.Repeat(lamps, 400))
	if _, err := w.Begin(t.Context(), w.id, winnow.BeginOptions{Held: true}); err != nil {
		t.Fatal(err)
	}
	for range 14 {
		w.thinks("https://moon.example/", 10)
	}
	before := w.takes(w.engine)
	out, err := w.Prune(t.Context(), w.id, false)
	if err != nil || out.Pruned == nil || len(out.Pruned.Replaced) != 1 || strings.Contains(w.shown(noisy), "lamp") {
		t.Fatalf("%+v, %v", out.Pruned, err)
	}
	after := w.takes(w.engine)
	if want := before.Sent - after.Sent - out.Pruned.Saved; out.Pruned.Rewritten != want {
		t.Errorf("%d of %d tokens are written again, want %d", out.Pruned.Rewritten, before.Sent, want)
	}
}

// A request that failed, and is made again, is no new one: what was decided for it stays, and
// prunings that cost nothing do not put off those that pay.
func TestBegin_whatCostsNothingPutsNothingOff(t *testing.T) {
	w := newWaited(t)
	w.user("When is high water?")
	for range 5 {
		w.thinks("https://moon.example/", 10)
	}
	before := w.takes(w.engine).SinceCommit
	w.runs("make test", strings.Repeat(lamps, 40))
	if out, err := w.Begin(t.Context(), w.id, winnow.BeginOptions{Held: true}); err != nil || out.Pruned == nil {
		t.Fatalf("%+v, %v", out.Pruned, err)
	}
	if got := w.takes(w.engine).SinceCommit; got != before+1 {
		t.Errorf("%d steps since the prompt was rewritten, want %d", got, before+1)
	}
	again := w.takes(open(t, w.config))
	if again.SinceCommit != before+1 {
		t.Errorf("read from the store: %d steps since, want %d", again.SinceCommit, before+1)
	}
}

// What is shown in part is discarded by its handle like anything else.
func TestDiscard_takesWhatIsShownInPart(t *testing.T) {
	w := newWaited(t)
	w.user("When is high water?")
	noisy := w.runs("make test", strings.Repeat(lamps, 400))
	if out, err := w.Begin(t.Context(), w.id); err != nil || out.Pruned == nil {
		t.Fatalf("%+v, %v", out.Pruned, err)
	}
	part := w.shown(noisy)
	d, err := w.Discard(t.Context(), w.id, noisy.Parts[1].ID)
	if err != nil {
		t.Fatal(err)
	}
	if got := w.shown(noisy); strings.Contains(got, "lamp") {
		t.Errorf("discarded (%+v), %.120q is shown", d, got)
	}
	if _, err := w.Undo(t.Context(), w.id, ""); err != nil || w.shown(noisy) != part {
		t.Errorf("after undo %.80q is shown, want %.80q; %v", w.shown(noisy), part, err)
	}
}
