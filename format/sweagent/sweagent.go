// Package sweagent answers: what happened in a run of SWE-agent? It reads trajectories (.traj), one JSON object a file: history is
// the log, trajectory repeats it step by step, info has the outcome. They are only read.
package sweagent

import (
	"bytes"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/session"
)

// Name is the word for this format.
const Name = "swe-agent"

// Format is the SWE-agent format. The zero value is ready.
type Format struct{}

var _ format.Format = Format{}

// Name is "swe-agent".
func (Format) Name() string { return Name }

// Title names the format for people.
func (Format) Title() string { return "SWE-agent trajectory (JSON)" }

// Write returns format.ErrReadOnly: a trajectory is the record of a run, and nothing resumes from it.
func (Format) Write(io.Writer, *format.Document, format.Change) error { return format.ErrReadOnly }

// Detect looks for a step of a trajectory or an entry of a history at the top of one JSON object.
func (Format) Detect(head []byte) bool {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	dec := jsontext.NewDecoder(bytes.NewReader(head), session.ReadOptions())
	if token, err := dec.ReadToken(); err != nil || token.Kind() != '{' {
		return false
	}
	for dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil {
			return false
		}
		switch token.String() {
		case "trajectory":
			return firstHas(dec, 2, "action", "observation", "response", "thought", "state", "query", "execution_time")
		case "history":
			return firstHas(dec, 2, "role", "agent", "message_type")
		default:
			if dec.SkipValue() != nil {
				return false
			}
		}
	}
	return false
}

// firstHas reports whether the first element of an array is an object with so many of these members, as far as it can be read.
func firstHas(dec *jsontext.Decoder, least int, names ...string) bool {
	for _, kind := range []jsontext.Kind{'[', '{'} {
		if token, err := dec.ReadToken(); err != nil || token.Kind() != kind {
			return false
		}
	}
	found := 0
	for found < least && dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil {
			break
		}
		for _, name := range names {
			if token.String() == name {
				found++
				break
			}
		}
		if found < least && dec.SkipValue() != nil {
			break
		}
	}
	return found >= least
}
