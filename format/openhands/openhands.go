// Package openhands answers: what happened in a run of OpenHands? It reads trajectories, lists of events, in both generations:
//
//   - up to 0.x: events with action or observation ({id, timestamp, source, action, args} and {…, observation, content, extras, cause}), as the
//     trajectory download and --save-trajectory write them, the list bare or as history in an object;
//   - the agent SDK from 1.0 on: events with a kind (MessageEvent, ActionEvent, ObservationEvent, Condensation, …), as a list, one a line, or the
//     files of a conversation's folder one behind the other (cat base_state.json events/*.json). Conversation reads the folder itself.
//
// The shapes are those of the published sources of 2025 and 2026 (openhands/events/serialization; openhands.sdk.event). They are only read: a
// trajectory is the record of a run.
package openhands

import (
	"bytes"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/session"
)

// Name is the word for this format.
const Name = "openhands"

// Format is the OpenHands format. The zero value is ready.
type Format struct{}

var _ format.Format = Format{}

// Name is "openhands".
func (Format) Name() string { return Name }

// Title names the format for people.
func (Format) Title() string { return "OpenHands trajectory (JSON or JSONL)" }

// Write returns format.ErrReadOnly.
func (Format) Write(io.Writer, *format.Document, format.Change) error { return format.ErrReadOnly }

// Detect looks for an event at the top of the file: in a list, in an object's history, trajectory or events, or the first of several values; or for
// the state of a conversation.
func (Format) Detect(head []byte) bool {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	dec := jsontext.NewDecoder(bytes.NewReader(head), session.ReadOptions())
	token, err := dec.ReadToken()
	if err != nil {
		return false
	}
	if token.Kind() == '[' {
		if token, err = dec.ReadToken(); err != nil {
			return false
		}
	}
	return token.Kind() == '{' && isEvent(dec, 0)
}

// isEvent reports whether the members that follow are those of an event, as far as they can be read: a source that the product has, and
// beside it what kind of event it is.
func isEvent(dec *jsontext.Decoder, depth int) bool {
	source, kind, shape := false, false, 0
	for dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil {
			break
		}
		name, value := token.String(), dec.PeekKind()
		switch {
		case value == '"':
			token, err := dec.ReadToken()
			if err != nil {
				return source && (kind || shape > 1)
			}
			switch text := token.String(); name {
			case "source":
				source = text == "agent" || text == "user" || text == "environment" || text == "hook"
			case "kind":
				kind = knownKind(text)
			case "action", "observation":
				shape++
			case "message":
				shape++
			case "execution_status", "agent_status":
				shape++
			}
		case depth == 0 && value == '[' && (name == "history" || name == "events" || name == "trajectory"):
			if _, err := dec.ReadToken(); err != nil {
				return false
			}
			for dec.PeekKind() == '[' { // a pair of action and observation
				if _, err := dec.ReadToken(); err != nil {
					return false
				}
			}
			if dec.PeekKind() != '{' {
				return false
			}
			if _, err := dec.ReadToken(); err != nil {
				return false
			}
			return isEvent(dec, 1)
		case name == "args" && value == '{' || name == "extras" && value == '{' || name == "tool_call_metadata" || name == "llm_metrics" || name == "cause":
			shape++
			if dec.SkipValue() != nil {
				return source && (kind || shape > 1)
			}
		case name == "agent" && value == '{' || name == "workspace" && value == '{' || name == "confirmation_policy":
			shape++
			if dec.SkipValue() != nil {
				return kind
			}
		default:
			if dec.SkipValue() != nil {
				return source && (kind || shape > 1)
			}
		}
	}
	return source && (kind || shape > 1) || shape > 2
}

func knownKind(kind string) bool {
	switch kind {
	case "SystemPromptEvent", "MessageEvent", "ActionEvent", "ObservationEvent", "AgentErrorEvent", "UserRejectObservation", "Condensation", "CondensationRequest",
		"CondensationSummaryEvent", "ConversationStateUpdateEvent", "ConversationErrorEvent", "PauseEvent", "TokenEvent", "ACPToolCallEvent":
		return true
	}
	return false
}
