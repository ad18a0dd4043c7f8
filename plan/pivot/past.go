package pivot

import (
	"strings"

	"github.com/winnowhq/winnow/plan/recall"
	"github.com/winnowhq/winnow/session"
)

// Past is everything that a summary represents: what was said and done, not what an earlier summary
// said about it.
type Past struct {
	// Log is the conversation from its beginning to the cut, including what earlier pivots folded.
	// Markers, summaries, what the engine appended with them and what it shows again are left out.
	Log []session.Message
	// Lost is the text of the summary that the log begins with, if the product discarded what it
	// represents, or a request body handed on nothing else; "" if the log has everything.
	Lost string
	// Handed are the messages of the log that hand Lost on, with the instructions in their
	// carry-overs; nil in other logs.
	Handed []session.Message
}

// PastOf collects what a cut folds and what was folded before it. undone holds the markers of
// undone pivots.
func PastOf(log []session.Message, undone map[string]bool, cut Cut) Past {
	var p Past
	switch {
	case len(cut.Fold) > 0:
		log = log[:session.Index(log, cut.Fold[len(cut.Fold)-1].ID)+1]
	case len(cut.Tail) > 0:
		log = log[:session.Index(log, cut.Tail[0].ID)]
	}
	if summary, stands := firstPivot(log, undone); summary != nil && !Spoken(log[:stands]) {
		p.Lost = PreviousText(summary)
	}
	p.Log = make([]session.Message, 0, len(log))
	for i := range log {
		if m := &log[i]; m.Marker() == nil && !m.IsSummary() && m.Companion() == "" {
			p.Log = append(p.Log, *m)
		}
	}
	spoken := WithoutQuotations(p.Log)
	for _, at := range recall.Handed(spoken) {
		p.Handed = append(p.Handed, spoken[at[0]])
	}
	earlier := ""
	if p.Log, earlier = recall.WithoutHanded(spoken); earlier != "" {
		p.Lost = strings.TrimSpace(p.Lost + "\n\n" + earlier)
	}
	return p
}

// firstPivot returns the summary of the oldest pivot that counts, or nil. It
// represents the messages before stands.
func firstPivot(log []session.Message, undone map[string]bool) (summary *session.Message, stands int) {
	for i := range log {
		m := &log[i]
		if !m.Completes() || undone[m.ParentID] {
			continue
		}
		at := session.Index(log[:i], m.ParentID)
		if at < 0 || log[at].Marker() == nil {
			continue
		}
		if tail := session.Index(log[:at], log[at].Marker().TailStartID); tail >= 0 {
			return m, tail
		}
		return m, at
	}
	return nil, 0
}

// Spoken reports whether anything was said or done in the messages. Markers, summaries and what the
// engine appended with them do not count.
func Spoken(messages []session.Message) bool {
	for i := range messages {
		m := &messages[i]
		if m.Marker() != nil || m.IsSummary() || m.Companion() != "" {
			continue
		}
		if m.Written() {
			return true
		}
		for j := range m.Parts {
			if p := &m.Parts[j]; p.Type == session.ToolPart ||
				p.Type == session.TextPart && !p.Synthetic && strings.TrimSpace(p.Text) != "" {
				return true
			}
		}
	}
	return false
}

// PreviousText returns what the summariser wrote in a summary. The engine's carry-over below it is
// written anew each time.
func PreviousText(summary *session.Message) string {
	var texts []string
	for i := range summary.Parts {
		p := &summary.Parts[i]
		if n, _ := p.Note(); p.Type == session.TextPart && !n.Carry {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}
