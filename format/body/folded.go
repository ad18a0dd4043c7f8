package body

import (
	"strings"

	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
)

// Folded are a marker and a summary that stand for the past that the newest pivot of a log has
// folded; none without a pivot. The messages of the log that were read from a body keep their ids.
// What is shown again behind the summary becomes a part of it.
func Folded(log []session.Message, undone map[string]bool) []session.Message {
	window := view.Window(log, undone)
	if view.Pivot(window) == nil {
		return nil
	}
	marker, summary := window[0], window[1]
	tail := ""
	for i := range window[2:] {
		m := &window[2+i]
		if note, kept := m.Kept(); kept && !undone[note.Kept] {
			summary.Parts = append(summary.Parts[:len(summary.Parts):len(summary.Parts)], m.Parts...)
		} else if tail == "" && IsRead(m) {
			tail = m.ID
		}
	}
	marker.Parts = append([]session.Part(nil), marker.Parts...)
	marker.Marker().TailStartID = tail
	return []session.Message{marker, summary}
}

// IsRead reports whether a message of a log was read from a body, by its id. Markers, summaries and
// what else the engine writes have other ids.
func IsRead(m *session.Message) bool { return strings.Trim(m.ID, "0123456789") == "m" }
