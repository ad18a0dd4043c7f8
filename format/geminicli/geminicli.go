// Package geminicli answers: what happened in a chat of Gemini CLI? It reads the recordings below ~/.gemini/tmp/<project>/chats:
//
//   - session-*.json, one object (ConversationRecord) with all messages, as versions up to 0.3x wrote it;
//   - session-*.jsonl, one record a line, as later versions do: the conversation, messages (a repeated id replaces), $set and $rewindTo;
//   - checkpoints that /chat save makes: the list of contents that the model is sent, bare or as history in an object.
//
// The shapes are those of the product's published source in 2025 and 2026 (chatRecordingTypes.ts, chatRecordingService.ts). logs.json beside them
// has nothing but prompts of many sessions, and is not read. They are only read: a project's hash and its checkpoints stand in other files.
package geminicli

import (
	"bytes"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/session"
)

// Name is the word for this format.
const Name = "gemini-cli"

// Format is the Gemini CLI format. The zero value is ready.
type Format struct{}

var _ format.Format = Format{}

// Name is "gemini-cli".
func (Format) Name() string { return Name }

// Title names the format for people.
func (Format) Title() string { return "Gemini CLI chat (JSON or JSONL)" }

// Write returns format.ErrReadOnly.
func (Format) Write(io.Writer, *format.Document, format.Change) error { return format.ErrReadOnly }

// Detect looks for sessionId and projectHash at the top of the first object, or for contents with a role and parts.
func (Format) Detect(head []byte) bool {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	dec := jsontext.NewDecoder(bytes.NewReader(head), session.ReadOptions())
	token, err := dec.ReadToken()
	if err != nil {
		return false
	}
	if token.Kind() == '[' {
		return isContent(dec)
	}
	if token.Kind() != '{' {
		return false
	}
	id, hash := false, false
	for dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil {
			return false
		}
		name := token.String()
		id, hash = id || name == "sessionId", hash || name == "projectHash"
		if id && hash {
			return true
		}
		if name == "history" && dec.PeekKind() == '[' {
			if _, err := dec.ReadToken(); err != nil {
				return false
			}
			return isContent(dec)
		}
		if dec.SkipValue() != nil {
			return false
		}
	}
	return false
}

// isContent reports whether the next value is an object with a role of the product's and a list of parts.
func isContent(dec *jsontext.Decoder) bool {
	if token, err := dec.ReadToken(); err != nil || token.Kind() != '{' {
		return false
	}
	role, parts := false, false
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			break
		}
		key := name.String()
		if key == "parts" && dec.PeekKind() == '[' {
			if parts = true; role {
				return true
			}
		}
		if key == "role" && dec.PeekKind() == '"' {
			value, err := dec.ReadToken()
			if err != nil {
				break
			}
			role = value.String() == "user" || value.String() == "model"
			continue
		}
		if dec.SkipValue() != nil {
			break
		}
	}
	return role && parts
}
