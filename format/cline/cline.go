// Package cline reads and writes the sessions of Cline's command line: the files
// <id>.messages.json below ~/.cline/data/sessions.
//
// Such a file is one object with all messages of a session in blocks like Anthropic's, each with
// what its request took. Files beside it are not sessions: <id>.json says where the session was
// held, <id>.compaction.json what the model is sent in place of the first messages after the
// product has compacted them, for as long as they are what it was made from. The messages stay
// whole.
//
// Of the messages the product sends those that are not for people only, and it keeps their
// metadata. So a fold is written as a summary and a mark on each message before it, an elision as
// another content, and what was there before as a note in the metadata. See docs/formats.md.
package cline

import (
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/text/span"
)

// Name is the word for this format.
const Name = "cline"

// Ending is how the name of a file with the messages of a session ends.
const Ending = ".messages.json"

// Format is the Cline format. The zero value is ready.
type Format struct{}

var _ interface {
	format.Format
	format.Accompanied
} = Format{}

// Name is "cline".
func (Format) Name() string { return Name }

// Title names the format for people.
func (Format) Title() string { return "Cline session (ID.messages.json)" }

// Detect looks for version, updated_at, sessionId and a list of messages at the top of the object.
func (Format) Detect(head []byte) bool {
	version, updated, id := false, false, false
	for m := range span.Members(head, span.All(head)) {
		switch string(m.Name) {
		case "version":
			version = true
		case "updated_at":
			updated = true
		case "sessionId":
			id = true
		case "messages":
			return version && updated && id && span.Kind(m.Value.Of(head)) == '['
		}
	}
	return false
}
