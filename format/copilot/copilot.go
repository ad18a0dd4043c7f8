// Package copilot reads and writes the sessions of GitHub Copilot CLI:
// ~/.copilot/session-state/<id>/events.jsonl, one typed event a line.
//
// The shapes are what version 1.0.102 wrote, and what the product's published schema of events says
// of those that it did not write when it was tried. The product resumes from the events alone, and
// ignores members and types that it does not know: what we note is in a member "winnow". See
// docs/formats.md.
package copilot

import (
	"bytes"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/text/span"
)

// Name is the word for this format.
const Name = "copilot"

// Format is the Copilot CLI format. The zero value is ready.
type Format struct{}

var _ format.Format = Format{}

// Name is "copilot".
func (Format) Name() string { return Name }

// Title names the format for people.
func (Format) Title() string { return "Copilot CLI session (JSONL)" }

// Detect looks for an event among the first lines: an object with an id, a parentId, data that is
// an object, and a type of two words with a dot between them.
func (Format) Detect(head []byte) bool {
	looked := 0
	for l := range span.Lines(head) {
		if l.Text.Empty() {
			continue
		}
		if isEvent(head, l.Text) {
			return true
		}
		if looked++; looked == 5 {
			break
		}
	}
	return false
}

func isEvent(head []byte, line span.Span) bool {
	typed, data, id, parent := false, false, false, false
	for m := range span.Members(head, line) {
		switch string(m.Name) {
		case "type":
			family, _, ok := bytes.Cut([]byte(span.String(m.Value.Of(head))), []byte("."))
			typed = ok && families[string(family)]
		case "data":
			data = head[m.Value.Start] == '{'
		case "id":
			id = head[m.Value.Start] == '"'
		case "parentId":
			parent = true
		}
	}
	return typed && data && id && parent
}

// families are the first words of the types of events that a file may begin with.
var families = map[string]bool{
	"session": true, "user": true, "assistant": true, "system": true, "tool": true, "subagent": true, "hook": true,
}
