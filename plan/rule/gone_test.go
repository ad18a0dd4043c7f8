package rule

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// The marks of outputs that are gone say what the ledger says, whatever ledgers follow each other while a log grows, also where two parts have one id and where an
// output changes.
func TestTimeline_whatIsMarkedAsGoneIsWhatTheLedgerHas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.SampledFrom([]string{"", "a", "b", "c", "d", "e", "f"})
		f := NewFacts(token.Chars4{})
		ledgers := []Ledger{{}}
		var log []session.Message
		for n := range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"message", "message", "commit", "commit", "undo", "look"}).Draw(t, "then") {
			case "message":
				state := &session.ToolState{Status: session.Completed, Input: []byte(`{}`), Output: rapid.SampledFrom([]string{"one", "two"}).Draw(t, "output")}
				log = append(log, session.Message{MessageInfo: session.MessageInfo{ID: fmt.Sprint("m", n), Role: session.Assistant},
					Parts: []session.Part{{ID: id.Draw(t, "id"), Type: session.ToolPart, Tool: "x", State: state}}})
			case "commit":
				l := rapid.SampledFrom(ledgers).Draw(t, "ledger")
				field := rapid.SampledFrom([]Field{Output, Output, Input}).Draw(t, "field")
				ledgers = append(ledgers, l.With(Elision{Part: id.Draw(t, "part"), Field: field}))
			case "undo":
				ledgers = append(ledgers, rapid.SampledFrom(ledgers).Draw(t, "ledger").Without(Key{id.Draw(t, "part"), Output}))
			case "look":
				f.Size(&session.Part{ID: id.Draw(t, "id"), Type: session.ToolPart, Tool: "x", State: &session.ToolState{Status: session.Completed, Output: "three"}})
			}
			w := Window{Messages: log, Facts: f, Ledger: rapid.SampledFrom(ledgers).Draw(t, "ledger")}.Read()
			for _, x := range w.Items() {
				if got, want := x.gone&bit(Output) != 0, w.Ledger.Has(Key{x.Part.ID, Output}); got != want {
					t.Fatalf("the output of %q in %s: gone %v, in the ledger %v", x.Part.ID, x.Message, got, want)
				}
			}
		}
	})
}
