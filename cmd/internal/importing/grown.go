package importing

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/winnowhq/winnow/session"
)

// growth is how a file's log continues the one that the store has.
type growth struct {
	appended  []session.Message // at the end, in the file's order
	updated   []session.Message // that have grown: a call that ended, an answer that was streamed
	own       int               // messages that are in the store alone: a compaction made there
	rewritten string            // how the file's past differs from the stored one, "" if it continues it
}

// grow compares. The stored log has the messages of the file in their order, and may have some of
// its own among them. taken is how many of the file's messages the store took over: that many must
// be there again.
func grow(stored, file []session.Message, taken int) growth {
	var g growth
	places := make(map[string]int, len(file)) // id → its last position in the file
	for i := range file {
		places[file[i].ID] = i
	}
	have := make(map[string]int, len(stored))
	next := 0
	for i := range stored {
		s := &stored[i]
		have[s.ID]++
		if next < len(file) && goesOn(s, &file[next]) {
			empty := len(s.Parts)+len(file[next].Parts) == 0
			same := reflect.DeepEqual(s, &file[next]) ||
				empty && reflect.DeepEqual(s.MessageInfo, file[next].MessageInfo)
			if !same {
				g.updated = append(g.updated, file[next])
			}
			next++
			continue
		}
		if _, there := places[s.ID]; there && s.ID != "" {
			g.rewritten = fmt.Sprintf("message %s is a different one there now", s.ID)
			return g
		}
		g.own++
	}
	if next < min(taken, len(file)) {
		g.rewritten = fmt.Sprintf("%d of %d messages are no longer in it", taken-next, taken)
		return g
	}
	if next == len(file) && next < taken {
		return g // the file was cut: nothing of it is new
	}
	g.appended = file[next:]
	for i := range g.appended {
		if id := g.appended[i].ID; id != "" && have[id] > 0 {
			g.rewritten = fmt.Sprintf("message %s is in another place", id)
			return g
		}
	}
	for i := range g.updated {
		if id := g.updated[i].ID; id == "" || have[id] > 1 {
			g.rewritten = fmt.Sprintf("a message that has grown has no id of its own (%q)", id)
			return g
		}
	}
	return g
}

// goesOn tells whether a message is one that is stored, as it was or further on.
func goesOn(old, now *session.Message) bool {
	if old.ID != now.ID || old.Role != now.Role || len(old.Parts) > len(now.Parts) {
		return false
	}
	for i := range old.Parts {
		a, b := &old.Parts[i], &now.Parts[i]
		same := a.ID == b.ID && a.Type == b.Type && a.Tool == b.Tool && a.CallID == b.CallID
		if !same || !strings.HasPrefix(b.Text, a.Text) {
			return false
		}
		if a.State == nil || !a.State.Final() {
			continue
		}
		if b.State == nil || a.State.Output != b.State.Output || a.State.Error != b.State.Error ||
			string(a.State.Input) != string(b.State.Input) {
			return false
		}
	}
	return true
}
