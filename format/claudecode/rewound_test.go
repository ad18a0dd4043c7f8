package claudecode

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/plan/view"
)

// foldedFile is a session that was folded: the first turn is behind the summary, two are its tail.
func foldedFile() string {
	boundary := `{"parentUuid":null,"logicalParentUuid":"f","isSidechain":false,"type":"system",` +
		`"subtype":"compact_boundary","uuid":"g",` +
		`"timestamp":"2026-11-22T10:00:00.000Z","compactMetadata":{"trigger":"manual","preTokens":9,` +
		`"preservedSegment":{"headUuid":"c","anchorUuid":"h","tailUuid":"f"},` +
		`"preservedMessages":{"anchorUuid":"h","uuids":["c","d","e","f"],"allUuids":["c","d","e","f"]}}}` + "\n"
	summary := `{"parentUuid":"g","isSidechain":false,"type":"user","uuid":"h","timestamp":"2026-11-22T10:00:00.000Z",` +
		`"isCompactSummary":true,"message":{"role":"user","content":"summary"}}` + "\n"
	return text("a", "", "user", "", "first") + text("b", "a", "assistant", "m1", "one") +
		text("c", "b", "user", "", "second") + text("d", "c", "assistant", "m2", "two") +
		text("e", "d", "user", "", "third") + text("f", "e", "assistant", "m3", "three") + boundary + summary
}

// A user who goes back to a message of the tail leaves what came behind it, in the tail and later.
func TestRead_wentBackInTheTail(t *testing.T) {
	user := func(uuid, parent, words string) string { return text(uuid, parent, "user", "", words) }
	for name, c := range map[string]struct {
		last string
		want []string
	}{
		"to its end":    {user("i", "f", "new"), []string{"summary", "second", "two", "third", "three", "new"}},
		"to its middle": {user("i", "d", "new"), []string{"summary", "second", "two", "new"}},
		"to its first":  {text("i", "c", "assistant", "m4", "new"), []string{"summary", "second", "new"}},
		"from after it": {user("x", "f", "left") + user("i", "d", "new"), []string{"summary", "second", "two", "new"}},
		"after the fold": {user("x", "f", "fourth") + user("y", "x", "left") + user("i", "x", "new"),
			[]string{"summary", "second", "two", "third", "three", "fourth", "new"}},
		"before the fold": {user("i", "b", "new"), []string{"summary", "second", "two", "third", "three", "new"}},
	} {
		doc := read(t, []byte(foldedFile()+c.last))
		var got []string
		for _, m := range view.Window(doc.Session.Messages, nil) {
			if m.Marker() == nil {
				got = append(got, m.Text())
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: the window (-want +got):\n%s", name, diff)
		}
	}
}
