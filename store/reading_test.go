package store_test

import (
	"context"
	"testing"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/memory"
)

// revisions is a store that counts how often it is asked for a revision.
type revisions struct {
	store.Store
	asked int
}

func (s *revisions) Revision(ctx context.Context, id string) (int64, error) {
	s.asked++
	return s.Store.Revision(ctx, id)
}

// A request asks once, its own changes leave it alone with the session, and those of others do not.
func TestReading(t *testing.T) {
	const id = "ses"
	type request struct {
		*store.Reading
		s   *revisions
		ctx context.Context
	}
	read := func(r request) error { _, err := r.Revision(r.ctx, r.s, id); return err }
	state := func(r request) error { _, err := r.State(r.ctx, r.s, id); return err }
	write := func(r request) error { _, err := r.Apply(r.ctx, r.s, id, store.Change{}); return err }
	others := func(r request) error { _, err := r.s.Apply(r.ctx, id, store.Change{}); return err }
	expect := func(r request) error { r.Expect(id, 1); return nil }
	again := func(r request) error { r.Again(id); return nil }
	for name, c := range map[string]struct {
		steps    []func(request) error
		asked    int
		revision int64
		alone    bool
	}{
		"nothing":                       {nil, 0, 0, true},
		"read twice":                    {[]func(request) error{read, read}, 1, 1, true},
		"read as a whole":               {[]func(request) error{state, read}, 0, 1, true},
		"written":                       {[]func(request) error{read, write, read, write}, 1, 3, true},
		"written without reading":       {[]func(request) error{write, read}, 0, 2, true},
		"expected":                      {[]func(request) error{expect}, 0, 1, true},
		"expected and read":             {[]func(request) error{expect, read, read}, 1, 1, true},
		"expected and written":          {[]func(request) error{expect, write, read}, 0, 2, true},
		"others, read":                  {[]func(request) error{expect, others, read}, 1, 2, false},
		"others, written":               {[]func(request) error{expect, others, write}, 0, 3, false},
		"others, between":               {[]func(request) error{read, others, read}, 1, 1, true},
		"others, between two writes":    {[]func(request) error{write, others, write, write}, 0, 5, false},
		"others, read as a whole":       {[]func(request) error{write, others, state, read}, 0, 3, false},
		"others, and it begins again":   {[]func(request) error{expect, others, read, again, read}, 1, 2, true},
		"expected after it was read":    {[]func(request) error{others, read, expect, read}, 1, 2, true},
		"expected, and it begins again": {[]func(request) error{expect, others, again, read}, 1, 2, true},
		"expected again":                {[]func(request) error{expect, others, again, expect, read}, 1, 2, false},
	} {
		s := &revisions{Store: memory.New()}
		if err := s.Create(t.Context(), session.Info{ID: id}); err != nil {
			t.Fatal(err)
		}
		ctx := new(store.Reading).Within(t.Context())
		r := request{store.ReadingOf(ctx), s, ctx}
		for i, step := range c.steps {
			if err := step(r); err != nil {
				t.Fatalf("%s, step %d: %v", name, i, err)
			}
		}
		if revision, alone := r.Alone(id); revision != c.revision || alone != c.alone || s.asked != c.asked {
			t.Errorf("%s: revision %d, alone %t, asked %d times; want %d, %t, %d", name, revision, alone, s.asked,
				c.revision, c.alone, c.asked)
		}
		none := store.ReadingOf(t.Context())
		none.Expect(id, 7)
		none.Again(id)
		before := s.asked
		for range 2 {
			if revision, err := none.Revision(ctx, s, id); err != nil || revision == 7 {
				t.Errorf("%s: without a request revision %d, %v", name, revision, err)
			}
		}
		if _, alone := none.Alone(id); !alone || s.asked != before+2 {
			t.Errorf("%s: without a request it was asked %d times", name, s.asked-before)
		}
	}
}
