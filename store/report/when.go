package report

import (
	"sort"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// PivotAt is the position of the marker whose pivot the message at a position of the log completes,
// -1 if it completes none that counts.
func PivotAt(log []session.Message, undone map[string]bool, i int) int {
	m := &log[i]
	if !m.Completes() || undone[m.ParentID] {
		return -1
	}
	for at := i - 1; at >= 0; at-- {
		if log[at].ID == m.ParentID && log[at].Marker() != nil {
			return at
		}
	}
	return -1
}

// CommittedAt finds, by the ids of parts, from which message of the log on something of a part was
// left out; the log itself does not say. It is before the first message that was created at the
// time of an elision or later, at the summary of the pivot that it was committed with, and behind
// the last message if no time is known.
func CommittedAt(log []session.Message, elisions []rule.Elision) map[string]int {
	from := make(map[string]int, len(elisions))
	if len(elisions) == 0 {
		return from
	}
	latest := make([]session.Millis, len(log)) // up to each message; clocks go back at times
	place := map[string]int{}                  // of the messages of parts
	for i := range log {
		latest[i] = max(log[i].Time.Created, latest[max(0, i-1)])
		for j := range log[i].Parts {
			place[log[i].Parts[j].ID] = i
		}
	}
	for _, el := range elisions {
		at := len(log)
		if el.Time > 0 {
			later := sort.Search(len(log), func(n int) bool { return latest[n] >= el.Time })
			at = max(place[el.Part]+1, later)
			if at+1 < len(log) && log[at].Marker() != nil && log[at].Time.Created == el.Time &&
				log[at+1].ParentID == log[at].ID {
				at++ // with the pivot, which is its summary
			}
		}
		if known, ok := from[el.Part]; !ok || at < known {
			from[el.Part] = at
		}
	}
	return from
}
