// Package opencode reads and writes OpenCode exports. It reads the exports of both generations and
// the data of a shared session, and writes exports that `opencode import` accepts.
package opencode

import (
	"bytes"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/text/span"
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
		at := span.Space(head, start+1)
		return at < len(head) && head[at] == '{' && detectShared(head[at:])
	}
	info, messages := false, false
	for m := range span.Members(head, stretch(start, len(head))) {
		switch string(m.Name) {
		case "info":
			info = head[m.Value.Start] == '{'
			if id := span.Find(head, m.Value, "id").Of(head); bytes.HasPrefix(id, []byte(`"ses`)) {
				return info
			}
		case "messages":
			messages = head[m.Value.Start] == '['
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
	loose   bool // a comma is missing or too many, or a name is not JSON
	info    span.Span
	list    span.Span // the messages, brackets included; while cut, up to the last thing that was read
	entries []entry
	// given and original translate between ids of the log and of the file, where a file was written
	// from another format.
	given, original map[string]string
	reverted        bool // the user took back the end of the session
}

// entry is one element of the list of messages.
type entry struct {
	span.Span
	at    int // position in Session.Messages, -1 if it is not a message
	parts []piece
	// open is what must follow span to close a message that the file cut short; such a span ends
	// after the last thing read.
	open string
	// aside is set on what the user took back and the product deletes with the next prompt; trimmed
	// on a message of which only parts were.
	aside, trimmed bool
	// broken is set when the element is not JSON and could not be kept in a file that must be.
	broken bool
}

// piece is one part in the file.
type piece struct {
	span.Span
	at    int  // position in Message.Parts, -1 when it did not decode
	aside bool // taken back, as an entry may be
}

func stretch(start, end int) span.Span { return span.Span{Start: start, End: end} }

// leadAt is the line feed and the white space before a value that begins a line, "" for one that
// does not.
func leadAt(src []byte, at int) string {
	n := at
	for n > 0 && (src[n-1] == ' ' || src[n-1] == '\t') {
		n--
	}
	if n == 0 || src[n-1] != '\n' {
		return ""
	}
	return string(src[n-1 : at])
}

// jsonStart returns where the JSON begins, -1 without any: at once, or after the lines that the
// product's programs print before it.
func jsonStart(src []byte) int {
	at := 0
	if bytes.HasPrefix(src, []byte("\ufeff")) {
		at = 3
	}
	first := span.Space(src, at)
	if first < len(src) && (src[first] == '{' || src[first] == '[') {
		return first
	}
	const far = 64 << 10 // a status line is short
	head := src[:min(len(src), far)]
	if status := bytes.Index(head, []byte("Exporting session")); status >= 0 {
		// The line may end without a line feed where two streams were joined.
		if n := bytes.IndexByte(head[status:], '{'); n >= 0 {
			return status + n
		}
		return -1
	}
	for at := first; ; {
		n := bytes.IndexByte(head[at:], '\n')
		if n < 0 {
			return -1
		}
		at = at + n + 1
		if at < len(head) && head[at] == '{' {
			return at
		}
	}
}
