// Package qwen reads and writes the sessions of Qwen Code, the recordings below
// ~/.qwen/projects/<folder>/chats.
//
// A line of JSON is a record. Records form a tree (uuid, parentUuid), as Claude Code's do, but what
// is said in them is a content of the Gemini API: a role and parts. A session is the branch that
// ends at the newest record. A compression is a record with the history that the model is sent from
// then on: the summary and what stays, word for word. The reader turns this into the canonical log
// and keeps every byte; the writer changes only records that a change concerns.
package qwen

import (
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/text/span"
)

// Name is the word for this format.
const Name = "qwen-code"

// Format is the Qwen Code format. The zero value is ready.
type Format struct{}

var (
	_ format.Format = Format{}
	_ format.Linked = Format{}
)

// Name is "qwen-code".
func (Format) Name() string { return Name }

// Title names the format for people.
func (Format) Title() string { return "Qwen Code session (JSONL)" }

// Detect looks for a line that only this product writes: an object with a uuid and a sessionId that
// has a message with parts, or the payload of a record of the product's own. Lines that are damaged
// are passed over.
func (Format) Detect(head []byte) bool {
	const lines = 50 // a session may begin with records without a conversation
	for l := range span.Lines(head) {
		if l.Number > lines {
			return false
		}
		line := l.Text.Of(head)
		if span.Kind(line) != '{' {
			continue
		}
		// A line that is longer than the head is understood as far as it goes.
		if r, err := parse(line); (err == nil || l.Whole.End == len(head)) && r.owned() {
			return true
		}
	}
	return false
}
