// Package view renders what the model sees. It filters the log to its window, applies the ledger to
// the parts, and checks the result before it is sent. The result is messages again, of the same
// types.
package view

import "github.com/winnowhq/winnow/session"

// Window returns the messages that count now: from the latest completed pivot on (S001
// filterCompacted, S003 §4.4). Order: the marker, its summary, the tail, what came after.
//
// A summary completes its parent when it has a finish and no error; any other hides nothing. Pivots
// whose marker is in undone are as if they had never been: marker, summary and what the engine
// appended with them are left out. An earlier pivot that lies inside the tail is left out too, for
// the later summary was made from it.
//
// It walks from the newest message back and stops at the pivot, so that its cost is that of the
// window. The messages are those of the log, unchanged; when no pivot and nothing undone is in the
// log, the result is the log itself.
func Window(messages []session.Message, undone map[string]bool) []session.Message {
	completed := map[string]int{} // marker id → position of its summary
	marker, start := -1, 0
walk:
	for i := len(messages) - 1; i >= 0; i-- {
		m := &messages[i]
		switch {
		case m.Completes() && !undone[m.ParentID]:
			if _, known := completed[m.ParentID]; !known {
				completed[m.ParentID] = i
			}
		case m.Marker() != nil && !undone[m.ID]:
			if at, known := completed[m.ID]; known && at > i {
				marker, start = i, i
				if tail := session.Index(messages[:i], m.Marker().TailStartID); tail >= 0 {
					start = tail
				}
				break walk
			}
		}
	}
	if marker < 0 && len(undone) == 0 {
		return messages
	}
	window := make([]session.Message, 0, len(messages)-start)
	summary := -1
	if marker >= 0 {
		summary = completed[messages[marker].ID]
		window = append(window, messages[marker], messages[summary])
	}
	for i := start; i < len(messages); i++ {
		m := &messages[i]
		switch {
		case i == marker || i == summary:
		case m.IsUndone(undone):
		case i < marker && superseded(messages[start:marker], i-start):
		default:
			window = append(window, messages[i])
		}
	}
	return window
}

// superseded reports whether tail[i] is a marker or a summary of an earlier, completed pivot.
func superseded(tail []session.Message, i int) bool {
	m := &tail[i]
	if m.IsSummary() {
		return m.Completes()
	}
	if m.Marker() == nil {
		return false
	}
	for j := i + 1; j < len(tail); j++ {
		if tail[j].ParentID == m.ID && tail[j].Completes() {
			return true
		}
	}
	return false
}

// Pending returns the position of the newest marker that no completed summary answers and that no
// finished step came after: queued work. -1 when there is none.
func Pending(messages []session.Message, undone map[string]bool) int {
	for i := len(messages) - 1; i >= 0; i-- {
		m := &messages[i]
		switch {
		case m.Marker() != nil:
			if undone[m.ID] {
				continue
			}
			return i
		case m.Completes():
			if undone[m.ParentID] {
				continue
			}
			return -1
		case m.Role == session.Assistant && !m.IsSummary() && m.Finish != "" && !m.Failed():
			return -1
		}
	}
	return -1
}

// Pivot returns the summary that a window begins with, nil when it has none.
func Pivot(window []session.Message) *session.Message {
	if len(window) > 1 && window[0].Marker() != nil && window[1].Completes() && window[1].ParentID == window[0].ID {
		return &window[1]
	}
	return nil
}
