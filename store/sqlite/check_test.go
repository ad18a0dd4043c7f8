package sqlite_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/sqlite"
)

// What contradicts itself is found, also where the file is whole.
func TestCheck_findsContradictions(t *testing.T) {
	for name, c := range map[string]struct{ sql, want string }{
		"a text that is another one":  {`UPDATE content SET data = zeroblob(size), codec = 0`, "is damaged: it is not what its hash says"},
		"a text that is cut":          {`UPDATE content SET data = substr(data, 1, 10)`, "is damaged: "},
		"a text that is gone":         {`DELETE FROM content WHERE num IN (SELECT content FROM part)`, "parts whose content is gone: 1"},
		"a piece that is gone":        {`DELETE FROM piece`, "pieces that are not counted: 1"},
		"a kept text that is gone":    {`DELETE FROM content WHERE num IN (SELECT content FROM kept)`, "kept texts whose content is gone: 1"},
		"a message that is gone":      {`DELETE FROM message WHERE position = 1`, "messages that are not counted: 1"},
		"a message at another place":  {`UPDATE message SET position = 9 WHERE position = 1`, "logs with a gap: 1"},
		"a part that is gone":         {`DELETE FROM part WHERE message = 1`, "parts that are not counted: 1"},
		"a session that is gone":      {`DELETE FROM session`, "messages without session: 2"},
		"a document that is gone":     {`DELETE FROM sought WHERE message = 1`, "documents that are not in both: 1"},
		"more indexed than there are": {`UPDATE session SET indexed = 3`, "watermarks beyond the log: 1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, sqlite.Config{Path: filepath.Join(t.TempDir(), "s.db")})
			message := func(id, text string) session.Message {
				return session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.User},
					Parts: []session.Part{{ID: "p" + id, Type: session.TextPart, Text: text}}}
			}
			info := session.Info{ID: "ses_1"}
			_, err := s.Apply(t.Context(), info.ID, store.Change{Create: &info,
				Append: []session.Message{message("1", strings.Repeat("a heron ", 5000)), message("2", "a short one")},
				Commit: []rule.Elision{{Part: "p1", Field: rule.Text}},
				Source: &store.Source{Format: "pi", Path: "file", Data: []byte(strings.Repeat("a file", 1000))}})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Keep(t.Context(), info.ID, "p2", "a whole text"); err != nil {
				t.Fatal(err)
			}
			if err := s.Index(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if h, err := s.Check(t.Context()); err != nil || len(h.Problems) > 0 {
				t.Fatalf("a sound store: %+v, %v", h, err)
			}
			if _, err := raw(t, s.Path()).Exec(c.sql); err != nil {
				t.Fatal(err)
			}
			h, err := s.Check(t.Context())
			if err != nil || !strings.Contains(strings.Join(h.Problems, "\n"), c.want) || len(h.Problems) > store.MostProblems {
				t.Errorf("%s: %q, %v; want %q", c.sql, h.Problems, err, c.want)
			}
		})
	}
}
