package rule

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// Blanks between arguments change nothing about what is stripped of them.
func TestStrip_blanksChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		input := []byte{'{'}
		for i := range rapid.IntRange(1, 4).Draw(t, "members") {
			if i > 0 {
				input = append(input, ',')
			}
			name := rapid.SampledFrom([]string{"content", "filePath", "é", "a"}).Draw(t, "name")
			text := rapid.StringMatching(`[a-z"\\\n\t\x7fé]{0,12}`).Draw(t, "text")
			input, _ = jsontext.AppendQuote(input, name)
			input = append(input, ':')
			input, _ = jsontext.AppendQuote(input, text+rapid.SampledFrom([]string{"", text + text + text + text, "*** Begin Patch\n" + text, "--- a\n+++ b\n" + text, `--- a\n+++ ` + text, "diff --git " + text, text + "\n\n"}).Draw(t, "more"))
		}
		input = append(input, '}')
		p := &session.Part{ID: "p", Type: session.ToolPart, CallID: "c", Tool: "write", State: &session.ToolState{Status: session.Completed, Input: input}}
		w := Window{Facts: NewFacts(token.Chars4{}), Handles: &Handles{}}
		from := rapid.IntRange(1, 60).Draw(t, "from")
		got, ok := w.strip(&Item{Part: p}, from, telling)
		spaced := *p.State
		spaced.Input = append([]byte("{ "), input[1:]...)
		q := *p
		q.State = &spaced
		want, wantOK := w.strip(&Item{Part: &q}, from, telling)
		if ok != wantOK || ok && got != want {
			t.Errorf("of %s from %d: %q, %v, want %q, %v", input, from, got, ok, want, wantOK)
		}
	})
}
