package postgres_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/postgres"
)

// Who has a session reads what was added and replaced since, in one round trip, and of the rest nothing.
func TestResume_readsWhatIsNew(t *testing.T) {
	p := pgtest.NewProxy(t, pgtest.Start(t))
	s := open(t, p.URL, postgres.Options{Connections: 1}).Tenant("acme")
	said := func(id, text string) session.Message {
		return session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.User},
			Parts: []session.Part{{ID: "p" + id, Type: session.TextPart, Text: text}}}
	}
	if err := s.Create(t.Context(), session.Info{ID: "ses"}); err != nil {
		t.Fatal(err)
	}
	var mark store.Mark
	apply := func(c store.Change) {
		t.Helper()
		state, err := s.State(t.Context(), "ses")
		if err != nil {
			t.Fatal(err)
		}
		c.Base = state.Revision
		if _, err := s.Apply(t.Context(), "ses", c); err != nil {
			t.Fatal(err)
		}
	}
	resume := func(since store.Mark, want ...int) {
		t.Helper()
		_, now, fresh, err := s.Resume(t.Context(), "ses", since)
		if got := slices.Sorted(maps.Keys(fresh)); err != nil || !slices.Equal(got, want) {
			t.Errorf("since %+v new are the messages %v, want %v, %v", since, got, want, err)
		}
		mark = now
	}
	resume(mark)
	for i := range 20 {
		apply(store.Change{Append: []session.Message{said(fmt.Sprint(i), "first")}})
	}
	first := mark
	resume(mark, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19)
	twenty := mark
	apply(store.Change{Append: []session.Message{said("20", "next")}, Update: []session.Message{said("19", "second")}})
	apply(store.Change{Update: []session.Message{said("3", "second")}})
	resume(twenty, 3, 19, 20)
	before := p.Trips()
	resume(mark)
	if n := p.Trips() - before; n != 1 {
		t.Errorf("it takes %d round trips", n)
	}
	apply(store.Change{Spend: []store.Spend{{Kind: "step"}}})
	resume(mark)
	resume(twenty, 3, 19, 20)
	var many []session.Message
	for i := range 300 {
		many = append(many, said(fmt.Sprint("more", i), "many"))
	}
	latest := mark
	apply(store.Change{Append: many})
	for _, since := range []store.Mark{first, twenty, latest} {
		if _, _, fresh, err := s.Resume(t.Context(), "ses", since); err != nil || fresh != nil {
			t.Errorf("of 300 messages %d are read at once, %v", len(fresh), err)
		}
	}
}

// What a program of another version replaces or writes anew is new to every reader.
func TestResume_besideAnOlderProgram(t *testing.T) {
	url := pgtest.Start(t)
	s := open(t, url, postgres.Options{}).Tenant("acme")
	_, err := s.Apply(t.Context(), "ses", store.Change{Create: &session.Info{ID: "ses"}, Append: []session.Message{
		{MessageInfo: session.MessageInfo{ID: "a"}}, {MessageInfo: session.MessageInfo{ID: "b"}},
		{MessageInfo: session.MessageInfo{ID: "c"}}}})
	if err != nil {
		t.Fatal(err)
	}
	_, mark, _, err := s.Resume(t.Context(), "ses", store.Mark{})
	if err != nil {
		t.Fatal(err)
	}
	query(t, url, `UPDATE message SET info = info WHERE id = 'a' RETURNING 1`)
	query(t, url, `WITH gone AS (DELETE FROM message WHERE id = 'b' RETURNING *)
		INSERT INTO message (tenant, session, position, id, info, parts, names, apart)
		SELECT tenant, session, position, 'd', info, parts, names, apart FROM gone RETURNING 1`)
	for range 2 {
		var fresh map[int]session.Message
		_, mark, fresh, err = s.Resume(t.Context(), "ses", mark)
		if got := slices.Sorted(maps.Keys(fresh)); err != nil || !slices.Equal(got, []int{0, 1}) {
			t.Errorf("new are the messages %v, %v", got, err)
		}
	}
}

// A server that was started anew may have lost what a reader has: all is new to it.
func TestResume_ofAnotherServer(t *testing.T) {
	if testing.Short() {
		t.Skip("it restarts a server")
	}
	c := pgtest.NewCluster(t, false)
	s := open(t, c.URL(), postgres.Options{}).Tenant("acme")
	if err := s.Create(t.Context(), session.Info{ID: "ses"}); err != nil {
		t.Fatal(err)
	}
	_, mark, _, err := s.Resume(t.Context(), "ses", store.Mark{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, fresh, err := s.Resume(t.Context(), "ses", mark); err != nil || fresh == nil {
		t.Fatalf("nothing is known of what was read, %v", err)
	}
	if err := c.Down("fast"); err != nil {
		t.Fatal(err)
	}
	if err := c.Up(); err != nil {
		t.Fatal(err)
	}
	other := open(t, c.URL(), postgres.Options{}).Tenant("acme") // whose connections did not break
	for name, s := range map[string]*postgres.Store{"the same store": s, "another store": other} {
		if _, now, fresh, err := s.Resume(t.Context(), "ses", mark); err != nil || fresh != nil || now.Origin == mark.Origin {
			t.Errorf("%s resumes from %+v to %+v, %v", name, mark, now, err)
		}
	}
}
