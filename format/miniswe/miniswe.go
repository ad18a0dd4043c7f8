// Package miniswe reads the trajectories (.traj.json) of mini-swe-agent, one JSON object a file:
// messages is the log as the model was sent it, with the provider's own answers and what they cost;
// info has the outcome and the configuration. They are only read. Source: mini-swe-agent 1.15 and 2.0.
package miniswe

import (
	"bytes"
	"io"
	"strings"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/transcript"
	"github.com/winnowhq/winnow/text/span"
)

// Name is the word for this format.
const Name = "mini-swe-agent"

// Format is the mini-swe-agent format. The zero value is ready.
type Format struct{}

var _ format.Format = Format{}

// Name is "mini-swe-agent".
func (Format) Name() string { return Name }

// Title names the format for people.
func (Format) Title() string { return "mini-swe-agent trajectory (JSON)" }

// Write returns format.ErrReadOnly: a trajectory is the record of a run, and nothing resumes from
// it.
func (Format) Write(io.Writer, *format.Document, format.Change) error { return format.ErrReadOnly }

// Detect looks for the name of the format, or for how a run ended at the beginning of info: the patch
// after it may be longer than what is looked at.
func (Format) Detect(head []byte) (found bool) {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	for m := range span.Members(head, span.All(head)) {
		switch string(m.Name) {
		case "trajectory_format":
			return strings.HasPrefix(transcript.Text(m.Value.Of(head)), Name)
		case "trajectory", "history": // of SWE-agent
			return false
		case "info":
			for inner := range span.Members(head, m.Value) {
				if name := string(inner.Name); name == "exit_status" || name == "mini_version" {
					found = true
				}
			}
		}
	}
	return found
}
