package command

import (
	"strings"
	"testing"

	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/sqlite"
)

// A store that does without an index is searched all the same, and search says how far.
func TestSearch_withoutAnIndex(t *testing.T) {
	d := newDesk(t)
	kept, err := sqlite.Open(t.Context(), sqlite.Config{Path: source.StoreAt(d.app())})
	if err != nil {
		t.Fatal(err)
	}
	said := session.Message{MessageInfo: session.MessageInfo{ID: "m", Role: session.User},
		Parts: []session.Part{{ID: "p", Type: session.TextPart, Text: "where is the heron"}}}
	if _, err := kept.Apply(t.Context(), "ses_1", store.Change{Create: &session.Info{ID: "ses_1"},
		Append: []session.Message{said}}); err != nil {
		t.Fatal(err)
	}
	if err := kept.KeepIndex(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	kept.Close()
	const note = "there is no search index (gateway.searchIndex is false): 1 message was read"
	for _, c := range []struct{ args, out, err string }{
		{"search heron", "where is the heron", ""},
		{"search heron", "\n\n" + note + "\n", ""},
		{"search stork", "", `"stork" is nowhere in what is stored; ` + note},
		{"search heron --json", `"scan":`, ""},
	} {
		got := d.run(strings.Fields(c.args)...)
		if !strings.Contains(got.stdout, c.out) || !strings.Contains(got.stderr, c.err) {
			t.Errorf("%s: %+v, want %q and %q", c.args, got, c.out, c.err)
		}
	}
}
