// Package cline reads the sessions of Cline's command line: the files <id>.messages.json below
// ~/.cline/data/sessions.
//
// Such a file is one object with all messages of a session in blocks like Anthropic's, each with
// what its request took. Files beside it are not sessions: <id>.json says where the session was
// held, <id>.compaction.json what the model is sent in place of the messages after the product has
// compacted them. The messages stay whole. Sessions are only read: what the product sends is also
// decided by these files and its database.
package cline

import (
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/span"
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
