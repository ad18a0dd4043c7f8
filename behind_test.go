package winnow

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/memory"
)

// writers are two engines on one store, with a session of one message that both have read.
func writers(t *testing.T, most int) (a, b *Engine, id string) {
	t.Helper()
	kept := memory.New()
	for _, e := range []**Engine{&a, &b} {
		var err error
		if *e, err = Open(Config{Store: kept, Memory: most}); err != nil {
			t.Fatal(err)
		}
	}
	id, err := a.Create(t.Context(), session.Info{})
	if err != nil {
		t.Fatal(err)
	}
	say(t, t.Context(), a, id, "first")
	if _, err := b.View(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	return a, b, id
}

func say(t *testing.T, ctx context.Context, e *Engine, id, text string) {
	t.Helper()
	m := session.Message{MessageInfo: session.MessageInfo{Role: session.User},
		Parts: []session.Part{{Type: session.TextPart, Text: text}}}
	if err := e.Append(ctx, id, m); err != nil {
		t.Fatal(err)
	}
}

// behind is a context of a request whose messages and usage may wait.
func behind(t *testing.T) context.Context {
	return (&store.Reading{Behind: true}).Within(t.Context())
}

func spend(t *testing.T, ctx context.Context, e *Engine, id string, cost float64) {
	t.Helper()
	if err := e.Amend(ctx, id, Amendment{Spent: []store.Spend{{Kind: "step", Message: "m", Cost: cost}}}); err != nil {
		t.Fatal(err)
	}
}

// holds wants a session to have these messages and requests in the store.
func holds(t *testing.T, e *Engine, id string, texts []string, costs []float64) store.State {
	t.Helper()
	var said []string
	for m, err := range e.Store().Messages(t.Context(), id) {
		if err != nil {
			t.Fatal(err)
		}
		said = append([]string{m.Text()}, said...)
	}
	state, err := e.Store().State(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var spent []float64
	for _, s := range state.Spent {
		spent = append(spent, s.Cost)
	}
	if !slices.Equal(said, texts) || !slices.Equal(spent, costs) {
		t.Errorf("the store has %q and %v, want %q and %v", said, spent, texts, costs)
	}
	return state
}

// What waits is written with the next change, after another engine has changed the session without
// adding to its log.
func TestBehind_waitsBesideAnotherWriter(t *testing.T) {
	a, b, id := writers(t, 0)
	say(t, behind(t), a, id, "second")
	spend(t, behind(t), a, id, 2)
	holds(t, a, id, []string{"first"}, nil)
	if err := b.Amend(t.Context(), id, Amendment{Title: "named"}); err != nil {
		t.Fatal(err)
	}
	if s, state, err := a.Session(t.Context(), id); err != nil || len(s.Messages) != 2 || len(state.Spent) != 1 {
		t.Errorf("%d messages are at hand, and %d requests, %v", len(s.Messages), len(state.Spent), err)
	}
	say(t, t.Context(), a, id, "third")
	if state := holds(t, a, id, []string{"first", "second", "third"}, []float64{2}); state.Info.Title != "named" {
		t.Errorf("it is called %q", state.Info.Title)
	}
}

// Where another engine has added to the log, messages that waited are gone: whose they were sends them
// again. What was spent is not gone.
func TestBehind_theLogWentOn(t *testing.T) {
	a, b, id := writers(t, 0)
	say(t, behind(t), a, id, "second")
	spend(t, behind(t), a, id, 2)
	say(t, t.Context(), b, id, "another second")
	say(t, t.Context(), a, id, "third")
	state := holds(t, a, id, []string{"first", "another second", "third"}, []float64{2})
	if state.Spent[0].Message != "" {
		t.Errorf("the request is that of message %q", state.Spent[0].Message)
	}
}

// A session of which something waits stays at hand, however little memory there is.
func TestBehind_waitsInLittleMemory(t *testing.T) {
	a, _, id := writers(t, 1)
	for n := range 3 {
		say(t, behind(t), a, id, fmt.Sprint(n))
		other, err := a.Create(t.Context(), session.Info{})
		if err != nil {
			t.Fatal(err)
		}
		say(t, t.Context(), a, other, "elsewhere")
	}
	say(t, t.Context(), a, id, "last")
	holds(t, a, id, []string{"first", "0", "1", "2", "last"}, nil)
	if n := len(a.live); n > 1 {
		t.Errorf("%d sessions are at hand", n)
	}
}

// A request that turned out to be in vain is told by its position, also where requests wait.
func TestBehind_inVain(t *testing.T) {
	a, _, id := writers(t, 0)
	spend(t, t.Context(), a, id, 1)
	spend(t, behind(t), a, id, 2)
	err := a.change(t.Context(), "test", id, func(*live) (store.Change, error) {
		return store.Change{Vain: []int{1}, Spend: []store.Spend{{Kind: "step", Cost: 3}}}, nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	state := holds(t, a, id, []string{"first"}, []float64{1, 2, 3})
	for i, s := range state.Spent {
		if s.Failed != (i == 1) {
			t.Errorf("request %d failed: %v", i, s.Failed)
		}
	}
}
