package importing

import (
	"testing"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
)

// A product that writes the store's summary down under an id of its own gives it back; one whose
// file has it under the store's id has the store's message, and its log stays whole.
func TestReturned_takesOutWhatTheProductWroteDown(t *testing.T) {
	marker := func(id string) session.Message {
		return session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.User},
			Parts: []session.Part{{ID: id + "p", Type: session.CompactionPart}}}
	}
	summary := func(id, parent string) session.Message {
		m := session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.Assistant, ParentID: parent},
			Parts: []session.Part{{ID: id + "p", Type: session.TextPart, Text: "What was done."}}}
		m.Summary = []byte("true")
		return m
	}
	said := session.Message{MessageInfo: session.MessageInfo{ID: "a", Role: session.User},
		Parts: []session.Part{{ID: "ap", Type: session.TextPart, Text: "Do it."}}}
	stored := []session.Message{said, marker("m"), summary("s", "m")}
	receipts := []pivot.Receipt{{Kind: pivot.Compaction, Marker: "m", Summary: "s"}}
	for name, c := range map[string]struct {
		file []session.Message
		want int
	}{
		"under the product's ids": {[]session.Message{said, marker("x"), summary("y", "x")}, 1},
		"under the store's":       {[]session.Message{said, marker("m"), summary("s", "m")}, 3},
	} {
		got := Returned(stored, c.file, receipts)
		if len(got) != c.want {
			t.Errorf("%s: %d messages are left, want %d", name, len(got), c.want)
		}
		if g := Grow(stored, got, c.file, receipts); g.Rewritten != "" || len(g.Appended) > 0 {
			t.Errorf("%s: %+v", name, g)
		}
	}
}
