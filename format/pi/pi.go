// Package pi reads and writes the session files of @mariozechner/pi-coding-agent: one JSON entry a
// line, below a header.
//
// From version 2 of the header on the entries are a tree by id and parentId, and the last line is
// the leaf that the product resumes from; version 1 is a plain list without ids. The product
// rewrites files of older versions when it opens them, giving each entry a new id, and then only
// ever appends. It parses lines and skips those that do not parse, keeps members that it does not
// know, but throws away a file whose first entry is not a header.
package pi

import (
	"fmt"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/text/span"
)

// Name is the word for this format.
const Name = "pi"

// current is the version of the header that new files get.
const current = 3

// Format is the pi format. The zero value is ready.
type Format struct{}

var _ format.Format = Format{}

// Name is "pi".
func (Format) Name() string { return Name }

// Title names the format for people.
func (Format) Title() string { return "pi session (JSONL)" }

// Detect looks for the header in the first line, or, if that line is damaged, for an entry that
// only this product writes.
func (Format) Detect(head []byte) bool {
	for l := range span.Lines(head) {
		if l.Number > 8 {
			return false
		}
		if e, err := parse(l.Text.Of(head)); err == nil {
			switch e.Kind {
			case sessionEntry:
				return e.ID != "" && (e.Cwd != "" || e.Timestamp != "")
			case messageEntry:
				return e.Message != nil && e.Timestamp != "" && e.Message.Role != ""
			case compactionEntry, modelEntry, thinkingEntry, branchEntry, customEntry, customMessageEntry,
				infoEntry, labelEntry:
				return e.Timestamp != ""
			default:
				return false
			}
		}
	}
	return false
}

// errNoHeader is why a file without a header is not changed.
func errNoHeader(line int) error {
	return fmt.Errorf("%s: line %d is not a session header: pi would empty the file when it opens it; "+
		"write the session to a new file instead", Name, line)
}
