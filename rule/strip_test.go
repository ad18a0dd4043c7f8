package rule

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// What is stripped without taking the arguments apart is what the encoder would write.
func TestStrip_plainArgumentsAreWrittenAsTheEncoderDoes(t *testing.T) {
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
		got, ok, plain := w.stripPlain(&Item{Part: p}, from, telling)
		if !plain {
			t.Fatalf("%s is not taken for plain", input)
		}
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

// A log that is named at once has the names that it gets part by part, also where two parts have one call id, or one id.
func TestHandles_manyAtOnceAreThoseOfEachInTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching(`[a-d]{1,3}`)
		var log []session.Message
		for range rapid.IntRange(0, 40).Draw(t, "messages") {
			var m session.Message
			for range 3 {
				m.Parts = append(m.Parts, session.Part{Type: rapid.SampledFrom([]session.PartType{session.ToolPart, session.TextPart, session.PatchPart}).Draw(t, "type"),
					ID: id.Draw(t, "id"), CallID: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "call")})
			}
			log = append(log, m)
		}
		var together, inTurn Handles
		together.nameAll(log, 3*len(log))
		for i := range log {
			for j := range log[i].Parts {
				want := inTurn.Of(&log[i].Parts[j])
				if got := together.Of(&log[i].Parts[j]); got != want && nameable(&log[i].Parts[j]) {
					t.Fatalf("part %q of message %d is %q, want %q", log[i].Parts[j].ID, i, got, want)
				}
			}
		}
	})
}
