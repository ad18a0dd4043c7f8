// Package sweagent reads the trajectories (.traj) of SWE-agent, one JSON object a file: history is
// the log, trajectory repeats it step by step, info has the outcome. They are only read.
package sweagent

import (
	"bytes"
	"io"
	"slices"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/text/span"
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

// Write returns format.ErrReadOnly: a trajectory is the record of a run, and nothing resumes from
// it.
func (Format) Write(io.Writer, *format.Document, format.Change) error { return format.ErrReadOnly }

// Detect looks for a step of a trajectory or an entry of a history at the top of one JSON object.
func (Format) Detect(head []byte) bool {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	for m := range span.Members(head, span.All(head)) {
		var names []string
		switch string(m.Name) {
		case "trajectory":
			names = []string{"action", "observation", "response", "thought", "state", "query", "execution_time"}
		case "history":
			names = []string{"role", "agent", "message_type"}
		default:
			continue
		}
		found := 0
		for first := range span.Values(head, m.Value) {
			for member := range span.Members(head, first) {
				if slices.Contains(names, string(member.Name)) {
					found++
				}
			}
			break
		}
		return found >= 2
	}
	return false
}
