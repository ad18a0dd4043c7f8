// Package geminicli reads and writes the chats of Gemini CLI: the recordings below
// ~/.gemini/tmp/<project>/chats.
//
//   - session-*.json, one object (ConversationRecord) with all messages, as versions up to 0.3x
//     wrote it;
//   - session-*.jsonl, one record a line, as later versions do: the conversation, messages (a
//     repeated id replaces), $set and $rewindTo;
//   - checkpoints that /chat save makes: the list of contents that the model is sent, bare or as
//     history in an object.
//
// The shapes are those of the product's published source in 2025 and 2026 (chatRecordingTypes.ts,
// chatRecordingService.ts). logs.json beside them has only prompts of many sessions, and is not
// read. Only recordings of one record a line are written.
package geminicli

import (
	"bytes"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/text/span"
)

// Name is the word for this format.
const Name = "gemini-cli"

// Format is the Gemini CLI format. The zero value is ready.
type Format struct{}

var (
	_ format.Format = Format{}
	_ format.Linked = Format{}
)

// Name is "gemini-cli".
func (Format) Name() string { return Name }

// Title names the format for people.
func (Format) Title() string { return "Gemini CLI chat (JSON or JSONL)" }

// Detect looks for sessionId and projectHash at the top of the first object, or for contents with a
// role and parts.
func (Format) Detect(head []byte) bool {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	id, hash := false, false
	for m := range span.Members(head, span.All(head)) {
		name := string(m.Name)
		id, hash = id || name == "sessionId", hash || name == "projectHash"
		switch {
		case id && hash:
			return true
		case name == "history" && head[m.Value.Start] == '[':
			return isContent(head, m.Value)
		}
	}
	return isContent(head, span.All(head))
}

// isContent reports whether the first value of a list is an object with a role of the product's and
// a list of parts.
func isContent(head []byte, list span.Span) bool {
	role, parts := false, false
	for first := range span.Values(head, list) {
		for m := range span.Members(head, first) {
			switch string(m.Name) {
			case "parts":
				parts = head[m.Value.Start] == '['
			case "role":
				text := span.String(m.Value.Of(head))
				role = text == "user" || text == "model"
			}
		}
		break
	}
	return role && parts
}
