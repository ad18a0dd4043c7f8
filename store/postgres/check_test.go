package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/postgres"
)

// change changes rows behind the store.
func change(t *testing.T, url, sql string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	tag, err := c.Exec(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	if tag.RowsAffected() == 0 {
		t.Fatalf("%s changes nothing", sql)
	}
}

// What is damaged of one tenant is found, and told of that one only.
func TestCheck_findsDamage(t *testing.T) {
	const mine = ` WHERE tenant = 'mine'`
	for name, c := range map[string]struct{ sql, want string }{
		"a content that is another one": {
			`UPDATE content SET data = convert_to(repeat('x', size::int), 'UTF8'), codec = 0` + mine + ` AND size > 10000`,
			"a text of session ses is damaged: it is not what its hash says"},
		"a content that is cut":         {`UPDATE content SET data = substr(data, 1, 10)` + mine, "a text of session ses is damaged: "},
		"a content that is gone":        {`DELETE FROM content` + mine + ` AND size > 10000`, "message 1 of session ses: a text of part 1 is missing"},
		"pieces whose contents are":     {`DELETE FROM content` + mine, "session ses: piece 1 of its original file is missing"},
		"kept texts whose contents are": {`DELETE FROM content` + mine, "session ses: the whole output that is kept for part p is missing"},
		"a piece that is gone":          {`DELETE FROM piece` + mine, "session ses: 0 pieces of its original file are there, of 1"},
		"a reference that is gone":      {`DELETE FROM apart` + mine, "message 1 of session ses has 0 texts apart, but 1 are counted"},
		"a reference to another part":   {`UPDATE apart SET part = 7` + mine, "message 1 of session ses has 1 parts, but a text or a document of part 8"},
		"a session that is gone":        {`DELETE FROM session` + mine + ` AND id = 'ses'`, "rows of the table message belong to the session numbered "},
		"a message that is gone":        {`DELETE FROM message` + mine + ` AND position = 1`, "session ses has 2 messages from position 0 to 2, but 3 are counted"},
		"the last message":              {`DELETE FROM message` + mine + ` AND position = 2`, "session ses has 2 messages from position 0 to 1, but 3 are counted"},
		"a message at another place":    {`UPDATE message SET position = 9` + mine + ` AND id = '1' AND position = 2`, "session ses has 3 messages from position 0 to 9, but 3 are counted"},
		"a message that is no JSON":     {`UPDATE message SET info = '{'` + mine + ` AND position = 1`, "message 2 of session ses cannot be read: "},
		"a part that is no JSON":        {`UPDATE message SET parts = ARRAY['['::bytea]` + mine + ` AND position = 1`, "message 2 of session ses cannot be read: "},
		"an info that is another one's": {`UPDATE session SET info = '{"id":"other"}'` + mine + ` AND id = 'ses'`, "session ses: its info is that of other"},
		"an info that is no JSON":       {`UPDATE session SET info = '{'` + mine + ` AND id = 'ses'`, "session ses: "},
		"a decision that is no JSON":    {`UPDATE elision SET data = '{'` + mine, "session ses: "},
		"a document that is gone":       {`DELETE FROM found` + mine + ` AND message = 1`, "the index of words lacks part 1 of message 2 of session ses"},
		"a document of nothing":         {`UPDATE found SET part = 3` + mine + ` AND message = 1`, "message 2 of session ses has 1 parts, but a text or a document of part 4"},
		"more indexed than there is":    {`UPDATE session SET indexed = 4` + mine + ` AND id = 'ses'`, "session ses: 4 messages are in the index of words, of 3"},
		"more damage than is told":      {`UPDATE message SET info = '{'` + mine, "message 1 of session many cannot be read: "},
	} {
		t.Run(name, func(t *testing.T) {
			url := pgtest.Start(t)
			d := open(t, url, postgres.Options{})
			both := []*postgres.Store{d.Tenant("other"), d.Tenant("mine")}
			for _, s := range both {
				var messages []session.Message
				for i := range 40 {
					messages = append(messages, session.Message{MessageInfo: session.MessageInfo{ID: fmt.Sprint(i), Role: session.User},
						Parts: []session.Part{{ID: fmt.Sprint("p", i), Type: session.TextPart, Text: fmt.Sprint("words of ", i)}}})
				}
				info := session.Info{ID: "many"}
				if _, err := s.Apply(t.Context(), "many", store.Change{Create: &info, Append: messages}); err != nil {
					t.Fatal(err)
				}
				fill(t, s, "heron")
				if _, err := s.Apply(t.Context(), "ses", store.Change{Append: messages[:2]}); err != nil {
					t.Fatal(err)
				}
				if err := s.Index(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
				// One of each is not in the index as it is, and none of that is damage.
				revision, err := s.Apply(t.Context(), "many", store.Change{Append: messages[:1]})
				if err != nil {
					t.Fatal(err)
				}
				fewer := messages[5]
				fewer.Parts = nil
				revision, err = s.Apply(t.Context(), "many", store.Change{Base: revision, Update: []session.Message{fewer}})
				if err != nil {
					t.Fatal(err)
				}
				changed := messages[3]
				changed.Parts = []session.Part{{ID: "p3", Type: session.TextPart, Text: strings.Repeat("another ", 5000)}}
				if _, err := s.Apply(t.Context(), "many", store.Change{Base: revision, Update: []session.Message{changed}}); err != nil {
					t.Fatal(err)
				}
			}
			for _, s := range both {
				if h, err := s.Check(t.Context()); err != nil || len(h.Problems) > 0 || h.Bytes == 0 || h.Schema == 0 {
					t.Fatalf("a sound store: %+v, %v", h, err)
				}
			}
			change(t, url, c.sql)
			h, err := both[1].Check(t.Context())
			if err != nil || len(h.Problems) == 0 || len(h.Problems) > store.MostProblems ||
				!strings.Contains(strings.Join(h.Problems, "\n"), c.want) {
				t.Errorf("%s: %v, %q; want %q", c.sql, err, h.Problems, c.want)
			}
			if h, err := both[0].Check(t.Context()); err != nil || len(h.Problems) > 0 {
				t.Errorf("the other tenant: %+v, %v", h, err)
			}
		})
	}
}

// A look that is stopped says so, and finds nothing.
func TestCheck_ends(t *testing.T) {
	s := open(t, pgtest.Start(t), postgres.Options{}).Tenant("")
	fill(t, s, "heron")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if h, err := s.Check(ctx); err == nil || len(h.Problems) > 0 {
		t.Errorf("%+v, %v", h, err)
	}
}
