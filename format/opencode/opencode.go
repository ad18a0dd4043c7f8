// Package opencode answers: what is in an OpenCode export, and how is one written? It reads the exports of both generations and
// the data of a shared session, and writes exports that `opencode import` takes.
package opencode

import (
	"bytes"

	"github.com/winnowhq/winnow/format"
)

// Name is the word for the format on the command line.
const Name = "opencode"

// Format reads and writes OpenCode's exports. The zero value is ready.
type Format struct{}

var _ format.Format = Format{}

// Name is the word for the format on the command line.
func (Format) Name() string { return Name }

// Title names the format for people.
func (Format) Title() string { return "OpenCode session export (JSON)" }

// Detect reports whether a file that begins with head is an export or the data of a shared session.
func (Format) Detect(head []byte) bool {
	start := jsonStart(head)
	if start < 0 {
		return false
	}
	if head[start] == '[' {
		at := space(head, start+1)
		return at < len(head) && head[at] == '{' && detectShared(head[at:])
	}
	info, messages := false, false
	for m := range partial(head[start:]) {
		switch value := head[start:][m.start:]; m.name {
		case "info":
			info = value[0] == '{'
			for inner := range partial(value) {
				if id := value[inner.start:]; inner.name == "id" && bytes.HasPrefix(id, []byte(`"ses`)) {
					return info
				}
			}
		case "messages":
			messages = value[0] == '['
		}
	}
	return info && messages
}

// shape is which of the product's forms a file has.
type shape int

const (
	export  shape = iota // {info, messages: [{info, parts}]}
	settled              // {info, messages: [{type, …}]}, of the second generation
	shared               // [{type, data}], of a shared session
)

// native is the reader's index into Source.
type native struct {
	shape   shape
	start   int  // of the JSON
	end     int  // after it
	cut     bool // the file ends before its JSON does
	loose   bool // a comma is missing or too many, or a name is no JSON
	info    span
	list    span // the messages, brackets included; while cut, up to the last thing that was read
	entries []entry
	// given and original translate between ids of the log and of the file, where a file was written from another format.
	given, original map[string]string
	sanitized       bool
	reverted        bool // the user took back the end of the session
}

// entry is one element of the list of messages.
type entry struct {
	span
	at    int // position in Session.Messages, -1 when it is none
	parts []piece
	// open is what must follow span to close a message that the file cut short; such a span ends after the last thing read.
	open string
	// aside is set on what the user took back and the product deletes with the next prompt; trimmed on a message of which only
	// parts were.
	aside, trimmed bool
	// broken is set when the element is not JSON and could not be kept in a file that must be.
	broken bool
}

// piece is one part in the file.
type piece struct {
	span
	at    int  // position in Message.Parts, -1 when it did not decode
	aside bool // taken back, as an entry may be
}

// span is a range of bytes.
type span struct{ start, end int }

func (s span) of(src []byte) []byte { return src[s.start:s.end] }

// Sanitized reports whether the export was made with --sanitize: what was said is replaced by tags, so that sizes mean nothing.
func Sanitized(d *format.Document) bool {
	n, ok := d.Native.(*native)
	return ok && n.sanitized
}
