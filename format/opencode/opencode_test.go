package opencode

import (
	"bytes"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/rule"
)

// failer is what tests, benchmarks and properties have in common.
type failer interface {
	Helper()
	Error(...any)
	Errorf(string, ...any)
	Fatal(...any)
	Fatalf(string, ...any)
}

func read(tb failer, src []byte) *format.Document {
	tb.Helper()
	kept := bytes.Clone(src)
	doc, err := Format{}.Read(src)
	if err != nil {
		tb.Fatalf("read: %v", err)
	}
	if !bytes.Equal(kept, src) {
		tb.Fatal("reading changed the source")
	}
	return doc
}

func write(tb failer, from *format.Document, change format.Change) []byte {
	tb.Helper()
	var out bytes.Buffer
	if err := (Format{}).Write(&out, from, change); err != nil {
		tb.Fatalf("write: %v", err)
	}
	return out.Bytes()
}

// unchanged is the change that changes nothing.
func unchanged(doc *format.Document) format.Change {
	return format.Change{Session: doc.Session, Ledger: doc.Ledger}
}

// mark is the document's ledger with a mark, as the product makes them, on each of these parts.
func mark(doc *format.Document, parts ...string) rule.Ledger {
	ledger := doc.Ledger
	for i := range doc.Session.Messages {
		m := &doc.Session.Messages[i]
		for j := range m.Parts {
			for _, id := range parts {
				if m.Parts[j].ID == id {
					ledger = ledger.With(rule.Elision{
						Part: id, Message: m.ID, Field: rule.Output, Rule: rule.Mark, Shown: rule.Cleared,
						Because: "it was already marked in the file that it was read from", Time: 77,
					})
				}
			}
		}
	}
	return ledger
}
