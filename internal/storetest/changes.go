package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

func revisions(t *testing.T, s store.Store) {
	born(t, s)
	equal(t, "revision of a new session", int64(1), state(t, s).Revision)
	equal(t, "revision after an empty change", int64(2), apply(t, s, store.Change{}))
	equal(t, "revision after an append", int64(3),
		apply(t, s, store.Change{Base: 2, Append: []session.Message{message("m", session.User, "a")}}))
	equal(t, "state", store.State{Info: session.Info{ID: "ses", Title: "a session"}, Revision: 3, Messages: 1},
		state(t, s))
}

func conflict(t *testing.T, s store.Store) {
	born(t, s, message("m", session.User, "a"))
	before := state(t, s)
	for _, base := range []int64{before.Revision - 1, before.Revision + 1, -1} {
		_, err := s.Apply(t.Context(), "ses", store.Change{Base: base,
			Append: []session.Message{message("n", session.User, "b")}})
		wantError(t, fmt.Sprintf("base %d at revision %d", base, before.Revision), err, store.ErrConflict)
	}
	equal(t, "state after the conflicts", before, state(t, s))
	apply(t, s, store.Change{Append: []session.Message{message("n", session.User, "b")}})
	equal(t, "messages", []string{"n", "m"}, ids(log(t, s)))
}

func noBase(t *testing.T, s store.Store) {
	born(t, s, message("m", session.User, "a"))
	before := state(t, s)
	for name, c := range map[string]store.Change{
		"Update":  {Update: []session.Message{message("m", session.User, "b")}},
		"Commit":  {Commit: []rule.Elision{{Part: "p", Field: rule.Output}}},
		"Restore": {Restore: []rule.Key{{Part: "p", Field: rule.Output}}},
		"Undo":    {Undo: []string{"m"}},
		"Redo":    {Redo: []string{"m"}},
		"Vain":    {Vain: []int{0}},
	} {
		c.Append = []session.Message{message("n", session.User, "c")}
		_, err := s.Apply(t.Context(), "ses", c)
		wantError(t, name, err, store.ErrNoBase)
	}
	equal(t, "state", before, state(t, s))
	apply(t, s, store.Change{Pin: []rule.Pin{{ID: "p"}}, Spend: []store.Spend{{Kind: "step"}}, Receipt: &sampleReceipt})
}

func foreignInfo(t *testing.T, s store.Store) {
	born(t, s)
	_, err := s.Apply(t.Context(), "ses", store.Change{Info: &session.Info{ID: "another"}})
	if err == nil {
		t.Error("a session took the info of another one")
	}
	equal(t, "info", session.Info{ID: "ses", Title: "a session"}, state(t, s).Info)
}

func allOrNothing(t *testing.T, s store.Store) {
	born(t, s, message("m", session.User, "a"), result("r", "out"))
	decide(t, s, store.Change{Commit: []rule.Elision{{Part: "r-call", Field: rule.Output}},
		Pin: []rule.Pin{{ID: "pin"}}, Undo: []string{"x"}})
	before, messages := state(t, s), log(t, s)
	_, err := s.Apply(t.Context(), "ses", store.Change{
		Base: before.Revision, Info: &session.Info{ID: "ses", Title: "changed"},
		Append:  []session.Message{message("n", session.User, "b")},
		Update:  []session.Message{message("m", session.User, "changed"), message("missing", session.User, "b")},
		Commit:  []rule.Elision{{Part: "p", Field: rule.Text}},
		Restore: []rule.Key{{Part: "r-call", Field: rule.Output}},
		Undo:    []string{"y"}, Redo: []string{"x"}, Pin: []rule.Pin{{ID: "other"}}, Unpin: []string{"pin"},
		Dismiss: []string{"never"},
		Receipt: &sampleReceipt, Spend: []store.Spend{{Kind: "step"}},
	})
	wantError(t, "a change with an update of a missing message", err, store.ErrNoMessage)
	equal(t, "state", before, state(t, s))
	equal(t, "messages", messages, log(t, s))

	_, err = s.Apply(t.Context(), "ses", store.Change{Base: before.Revision,
		Update: []session.Message{message("", session.User, "b")}})
	wantError(t, "an update without id", err, store.ErrNoMessage)
}

func concurrentAppends(t *testing.T, s store.Store) {
	born(t, s)
	const writers, each = 32, 8
	errs := make(chan error, writers)
	revisions := make(chan int64, writers*each)
	for w := range writers {
		go func() {
			var failed error
			for n := range each {
				m := message(fmt.Sprintf("%d/%d", w, n), session.User, "one", "two")
				revision, err := s.Apply(t.Context(), "ses", store.Change{Append: []session.Message{m}})
				failed = errors.Join(failed, err)
				revisions <- revision
			}
			errs <- failed
		}()
	}
	for range writers {
		must(t, <-errs)
	}
	close(revisions)
	seen := map[int64]bool{}
	for r := range revisions {
		seen[r] = true
	}
	equal(t, "different revisions", writers*each, len(seen))
	equal(t, "messages counted", writers*each, state(t, s).Messages)
	messages := log(t, s)
	slices.Reverse(messages)
	var next [writers]int
	for _, m := range messages {
		var w, n int
		if _, err := fmt.Sscanf(m.ID, "%d/%d", &w, &n); err != nil {
			t.Fatalf("a message %q that nobody wrote", m.ID)
		}
		if n != next[w] {
			t.Errorf("message %s came when %d of this writer was next", m.ID, next[w])
		}
		next[w] = n + 1
		equal(t, "parts of "+m.ID, 2, len(m.Parts))
	}
	equal(t, "messages read", writers*each, len(messages))
}

func concurrentDecisions(t *testing.T, s store.Store) {
	born(t, s)
	base := state(t, s).Revision
	const deciders = 8
	errs := make([]error, deciders)
	var all sync.WaitGroup
	for d := range deciders {
		all.Go(func() {
			_, errs[d] = s.Apply(t.Context(), "ses", store.Change{Base: base, Undo: []string{fmt.Sprint(d)}})
		})
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else {
			wantError(t, "a decision that came too late", err, store.ErrConflict)
		}
	}
	equal(t, "decisions that were taken", 1, won)
	equal(t, "markers undone", 1, len(state(t, s).Undone))
}

func update(t *testing.T, s store.Store) {
	born(t, s, message("twice", session.User, "first"), message("m", session.User, "a"),
		message("twice", session.User, "second"),
		message("z", session.User, "last"))
	replaced := result("twice", "streamed")
	replaced.Parts = append(replaced.Parts, session.Part{ID: "more", Type: session.StepFinishPart, Reason: "stop",
		Cost: new(float64), Tokens: &session.Usage{}})
	decide(t, s, store.Change{Update: []session.Message{message("z", session.User), replaced}})
	equal(t, "log", []session.Message{
		message("z", session.User), replaced, message("m", session.User, "a"), message("twice", session.User, "first"),
	}, log(t, s))
	equal(t, "messages counted", 4, state(t, s).Messages)

	decide(t, s, store.Change{Update: []session.Message{message("m", session.User, "b"),
		message("m", session.User, "c")}})
	equal(t, "the later update of one change", message("m", session.User, "c"), log(t, s)[2])
}

func updateAppended(t *testing.T, s store.Store) {
	born(t, s, message("m", session.User, "old"))
	decide(t, s, store.Change{Append: []session.Message{message("m", session.User, "new"),
		message("n", session.User, "a")},
		Update: []session.Message{message("m", session.User, "updated"), message("n", session.User, "b")}})
	equal(t, "log", []session.Message{message("n", session.User, "b"), message("m", session.User, "updated"),
		message("m", session.User, "old")},
		log(t, s))
}

func ledger(t *testing.T, s store.Store) {
	born(t, s)
	e := func(part string, f rule.Field, shown string) rule.Elision {
		return rule.Elision{Part: part, Message: "m", Field: f, Rule: "coverage", Because: "be\x00cause", By: "q",
			Shown: shown, Saves: 12, Time: 3.25}
	}
	want := func(what string, elisions ...rule.Elision) {
		t.Helper()
		equal(t, what, rule.NewLedger(elisions...), state(t, s).Ledger)
	}
	decide(t, s, store.Change{Commit: []rule.Elision{e("b", rule.Output, "one"), e("a", rule.Output, "\xfftwo"),
		e("b", rule.Input, "three")}})
	want("committed, in the order of the commit", e("b", rule.Output, "one"), e("a", rule.Output, "\xfftwo"),
		e("b", rule.Input, "three"))
	decide(t, s, store.Change{Commit: []rule.Elision{e("a", rule.Output, "other"), e("c", rule.Text, "four")}})
	want("a key that stands is left", e("b", rule.Output, "one"), e("a", rule.Output, "\xfftwo"),
		e("b", rule.Input, "three"), e("c", rule.Text, "four"))
	decide(t, s, store.Change{Restore: []rule.Key{{Part: "b", Field: rule.Output}, {Part: "none", Field: rule.Output}}})
	want("restored", e("a", rule.Output, "\xfftwo"), e("b", rule.Input, "three"), e("c", rule.Text, "four"))
	decide(t, s, store.Change{Restore: []rule.Key{{Part: "a", Field: rule.Output}},
		Commit: []rule.Elision{e("a", rule.Output, "replaced")}})
	want("replaced in one change", e("b", rule.Input, "three"), e("c", rule.Text, "four"),
		e("a", rule.Output, "replaced"))
}

func undoRedo(t *testing.T, s store.Store) {
	born(t, s)
	decide(t, s, store.Change{Undo: []string{"a", "b", "a", "c\x00\xff"}})
	equal(t, "undone", map[string]bool{"a": true, "b": true, "c\x00\xff": true}, state(t, s).Undone)
	decide(t, s, store.Change{Redo: []string{"a", "unknown", "c\x00\xff"}, Undo: []string{"b"}})
	equal(t, "after redo", map[string]bool{"b": true}, state(t, s).Undone)
	decide(t, s, store.Change{Redo: []string{"b"}})
	equal(t, "nothing undone", map[string]bool(nil), state(t, s).Undone)
}

func dismissals(t *testing.T, s store.Store) {
	born(t, s)
	apply(t, s, store.Change{Dismiss: []string{"never push", "nie", "never push", "c\x00\xff"}})
	equal(t, "dismissed", map[string]bool{"never push": true, "nie": true, "c\x00\xff": true}, state(t, s).Dismissed)
	apply(t, s, store.Change{Undismiss: []string{"never push", "unknown", "c\x00\xff", "always"},
		Dismiss: []string{"nie", "always"}})
	equal(t, "after some were taken back, one in the change that dismissed it", map[string]bool{"nie": true},
		state(t, s).Dismissed)
	got := state(t, s)
	got.Dismissed["mine"] = true
	equal(t, "dismissed after a reader changed his", map[string]bool{"nie": true}, state(t, s).Dismissed)
	apply(t, s, store.Change{Undismiss: []string{"nie"}})
	equal(t, "nothing dismissed", map[string]bool(nil), state(t, s).Dismissed)
}

func pins(t *testing.T, s store.Store) {
	born(t, s)
	a, b, c := rule.Pin{ID: "a", Part: "p"}, rule.Pin{ID: "b", Text: "never\x00\xff push", Note: "said so", Time: 2.5},
		rule.Pin{ID: "c", Message: "m"}
	apply(t, s, store.Change{Pin: []rule.Pin{a, b, c}})
	equal(t, "pins", []rule.Pin{a, b, c}, state(t, s).Pins)
	other := rule.Pin{ID: "b", Text: "always"}
	apply(t, s, store.Change{Pin: []rule.Pin{other}})
	equal(t, "a pin that was set again", []rule.Pin{a, other, c}, state(t, s).Pins)
	apply(t, s, store.Change{Unpin: []string{"a", "unknown"}, Pin: []rule.Pin{a}})
	equal(t, "a pin that was taken and set", []rule.Pin{other, c, a}, state(t, s).Pins)
	apply(t, s, store.Change{Unpin: []string{"a", "b", "c"}})
	equal(t, "no pins", 0, len(state(t, s).Pins))
}

func receipts(t *testing.T, s store.Store) {
	born(t, s)
	first, second := sampleReceipt, sampleReceipt
	second.ID, second.Gone, second.Usage = "another", nil, nil
	spent := []store.Spend{
		{Time: 1, Kind: "summary", Model: "p/m", Usage: session.Usage{Input: 3, Cache: session.CacheUsage{Read: 4}},
			Cost: 0.125, Failed: true},
		{Time: 0.5, Kind: "step", Message: "m"}, {Time: 3, Kind: "step"},
	}
	apply(t, s, store.Change{Receipt: &first, Spend: spent[:2]})
	apply(t, s, store.Change{Receipt: &second, Spend: spent[2:]})
	apply(t, s, store.Change{Receipt: &first})
	got := state(t, s)
	equal(t, "receipts", []any{first, second, first}, []any{got.Receipts[0], got.Receipts[1], got.Receipts[2]})
	equal(t, "spent", spent, got.Spent)
	got.Receipts[0].Gone["tool output"] = 1
	equal(t, "a receipt after a reader changed his", 40, state(t, s).Receipts[0].Gone["tool output"])
}
