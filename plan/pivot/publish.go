package pivot

import (
	"slices"

	"github.com/winnowhq/winnow/plan/recall"
	"github.com/winnowhq/winnow/session"
)

// Identity provides ids and the time for new messages.
type Identity struct {
	NewID func(prefix string) string
	Now   session.Millis
}

// Marker returns the user message that says "compact here" (S001 create), with the agent and the
// model (provider, model and variant) of the last user message. last is nil if there is none.
func Marker(id Identity, sessionID string, last *session.Message, auto, rejected bool) session.Message {
	m := id.message(sessionID, last)
	p := id.part(m, session.CompactionPart)
	p.Auto, p.Overflow = auto, rejected
	m.Parts = []session.Part{p}
	return m
}

// message is a user message with the agent and the model of the last one; last may be nil.
func (id Identity) message(sessionID string, last *session.Message) session.Message {
	m := session.Message{MessageInfo: session.MessageInfo{
		ID: id.NewID(session.MessageID), SessionID: sessionID, Role: session.User,
		Time: session.MessageTime{Created: id.Now},
	}}
	if last != nil {
		m.Agent = last.Agent
		if ref := last.Answers(); ref != nil {
			copied := *ref
			m.Model = &copied
		}
	}
	return m
}

// part is an empty part of a message.
func (id Identity) part(m session.Message, t session.PartType) session.Part {
	return session.Part{ID: id.NewID(session.PartID), SessionID: m.SessionID, MessageID: m.ID, Type: t}
}

// WithTail returns the marker with the start of the tail recorded.
func WithTail(marker session.Message, start string) session.Message {
	marker.Parts = slices.Clone(marker.Parts)
	for i := range marker.Parts {
		if marker.Parts[i].Type == session.CompactionPart {
			marker.Parts[i].TailStartID = start
		}
	}
	return marker
}

// Summary returns the assistant message that answers a marker (S001 phase 3): agent and mode
// "compaction", flagged as summary. carried is what the engine writes below the summary, if
// anything.
func Summary(id Identity, marker session.Message, path *session.Path, a Answer, carried string) session.Message {
	usage, cost := a.Usage, a.Cost
	m := session.Message{MessageInfo: session.MessageInfo{
		ID: id.NewID(session.MessageID), SessionID: marker.SessionID, Role: session.Assistant, ParentID: marker.ID,
		Agent: "compaction", Mode: "compaction", Summary: []byte("true"), Finish: "stop",
		Path: path, Tokens: &usage, Cost: &cost, Time: session.MessageTime{Created: id.Now, Completed: id.Now},
	}}
	if marker.Model != nil {
		m.ProviderID, m.ModelID, m.Variant = marker.Model.ProviderID, marker.Model.ModelID, marker.Model.Variant
	}
	p := id.part(m, session.TextPart)
	p.Text = a.Text
	m.Parts = []session.Part{p}
	if carried != "" {
		p := id.part(m, session.TextPart)
		p.Text, p.Metadata = carried, session.Note{Carry: true}.Metadata()
		m.Parts = append(m.Parts, p)
	}
	return m
}

// Continue returns the synthetic user message that keeps an agent going after an automatic
// compaction.
func Continue(id Identity, marker session.Message) session.Message {
	m := companion(id, marker)
	p := id.part(m, session.TextPart)
	p.Text, p.Synthetic, p.Metadata = ContinueText, true, session.Note{Pivot: marker.ID}.Metadata()
	m.Parts = []session.Part{p}
	return m
}

// Replay repeats a user message whose turn was rejected: same agent and model, media as text,
// everything else unchanged.
func Replay(id Identity, marker, rejected session.Message) session.Message {
	m := companion(id, marker)
	m.Agent, m.Model, m.Unknown, m.MessageInfo.Unknown = rejected.Agent, rejected.Model, rejected.Unknown,
		rejected.MessageInfo.Unknown
	note, noted := session.Note{Pivot: marker.ID, Replay: rejected.ID}.Metadata(), false
	for _, p := range rejected.Parts {
		if p.Type == session.CompactionPart {
			continue
		}
		if p.IsMedia() {
			p = asText(p)
		}
		p.ID, p.MessageID = id.NewID(session.PartID), m.ID
		if !noted && p.Type == session.TextPart {
			p.Metadata, noted = note, true
		}
		m.Parts = append(m.Parts, p)
	}
	if !noted {
		p := id.part(m, session.TextPart)
		p.Synthetic, p.Ignored, p.Metadata = true, true, note
		m.Parts = append(m.Parts, p)
	}
	return m
}

func companion(id Identity, marker session.Message) session.Message {
	return session.Message{MessageInfo: session.MessageInfo{
		ID: id.NewID(session.MessageID), SessionID: marker.SessionID, Role: session.User,
		Agent: marker.Agent, Model: marker.Model, Time: session.MessageTime{Created: id.Now},
	}}
}

// Waiting reports whether the log ends with a question of the assistant. An agent must not be told
// to continue then.
func Waiting(messages []session.Message) bool {
	_, waits := recall.Pending(messages)
	return waits
}
