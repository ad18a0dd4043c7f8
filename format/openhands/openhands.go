// Package openhands reads trajectories of OpenHands, which are lists of events, in both
// generations:
//
//   - up to 0.x: events with action or observation ({id, timestamp, source, action, args} and
//     {…, observation, content, extras, cause}), as the trajectory download and --save-trajectory
//     write them, the list bare or as history in an object;
//   - the agent SDK from 1.0 on: events with a kind (MessageEvent, ActionEvent, ObservationEvent,
//     Condensation, …), as a list, one a line, or the files of a conversation's folder one after
//     the other (cat base_state.json events/*.json). Conversation reads the folder itself.
//
// The shapes are those of the published sources of 2025 and 2026 (openhands/events/serialization;
// openhands.sdk.event). Trajectories are only read: they are the record of a run.
package openhands

import (
	"bytes"
	"io"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/text/span"
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

// Detect looks for an event at the top of the file: in a list, in an object's history, trajectory
// or events, or the first of several values; or for the state of a conversation.
func (Format) Detect(head []byte) bool {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	at := span.Space(head, 0)
	if at < len(head) && head[at] == '[' {
		at = span.Space(head, at+1)
	}
	return isEvent(head, span.Span{Start: at, End: len(head)}, true)
}

// isEvent reports whether an object has the members of an event, as far as they can be read: a
// source that the product has, and beside it what kind of event it is. On top it may have a list of
// events instead, or be a state.
func isEvent(head []byte, object span.Span, top bool) bool {
	source, kind, shape := false, false, 0
	for m := range span.Members(head, object) {
		if m.Cut && head[m.Value.Start] == '"' {
			break
		}
		value := m.Value.Of(head)
		text := span.String(value)
		switch name := string(m.Name); name {
		case "source":
			source = text == "agent" || text == "user" || text == "environment" || text == "hook"
		case "kind":
			kind = knownKind(text)
		case "action", "observation", "message", "execution_status", "agent_status":
			if span.Kind(value) == '"' {
				shape++
			}
		case "history", "events", "trajectory":
			if list := m.Value; top && span.Kind(value) == '[' {
				for span.Kind(list.Of(head)) == '[' { // there may be pairs of action and observation in it
					var first span.Span
					for first = range span.Values(head, list) {
						break
					}
					list = first
				}
				return isEvent(head, list, false)
			}
		case "args", "extras", "agent", "workspace":
			if span.Kind(value) == '{' {
				shape++
			}
		case "tool_call_metadata", "llm_metrics", "cause", "confirmation_policy":
			shape++
		}
	}
	return source && (kind || shape > 1) || shape > 2
}

func knownKind(kind string) bool {
	switch kind {
	case "SystemPromptEvent", "MessageEvent", "ActionEvent", "ObservationEvent", "AgentErrorEvent",
		"UserRejectObservation", "Condensation", "CondensationRequest", "CondensationSummaryEvent",
		"ConversationStateUpdateEvent", "ConversationErrorEvent", "PauseEvent", "TokenEvent", "ACPToolCallEvent":
		return true
	}
	return false
}
