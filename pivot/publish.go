package pivot

import (
	"github.com/winnowhq/winnow/recall"
	"github.com/winnowhq/winnow/session"
)

// Identity gives what messages need from outside: ids and the time.
type Identity struct {
	NewID func(prefix string) string
	Now   session.Millis
}

// Marker is the user message that says "compact here" (S001 create). It has agent and model of the last user message, all of it:
// provider, model and variant. last is nil in a log without one.
func Marker(id Identity, sessionID string, last *session.Message, auto, rejected bool) session.Message {
	m := session.Message{MessageInfo: session.MessageInfo{
		ID: id.NewID(session.MessageID), SessionID: sessionID, Role: session.User, Time: session.MessageTime{Created: id.Now},
	}}
	if last != nil {
		m.Agent = last.Agent
		if ref := last.Answers(); ref != nil {
			copied := *ref
			m.Model = &copied
		}
	}
	m.Parts = []session.Part{{
		ID: id.NewID(session.PartID), SessionID: sessionID, MessageID: m.ID,
		Type: session.CompactionPart, Auto: auto, Overflow: rejected,
	}}
	return m
}

// WithTail returns the marker with the start of the tail noted.
func WithTail(marker session.Message, start string) session.Message {
	parts := make([]session.Part, len(marker.Parts))
	copy(parts, marker.Parts)
	for i := range parts {
		if parts[i].Type == session.CompactionPart {
			parts[i].TailStartID = start
		}
	}
	marker.Parts = parts
	return marker
}

// Summary is the assistant message that answers a marker (S001 phase 3): agent and mode "compaction", flagged as summary. carried is what
// the engine writes under the summary itself, "" for nothing.
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
	part := func(text string) session.Part {
		return session.Part{ID: id.NewID(session.PartID), SessionID: m.SessionID, MessageID: m.ID, Type: session.TextPart, Text: text}
	}
	m.Parts = []session.Part{part(a.Text)}
	if carried != "" {
		p := part(carried)
		p.Metadata = session.Note{Carry: true}.Metadata()
		m.Parts = append(m.Parts, p)
	}
	return m
}

// Continue is the synthetic user message that keeps an agent going after an automatic compaction.
func Continue(id Identity, marker session.Message) session.Message {
	m := companion(id, marker)
	m.Parts = []session.Part{{
		ID: id.NewID(session.PartID), SessionID: m.SessionID, MessageID: m.ID, Type: session.TextPart,
		Text: ContinueText, Synthetic: true, Metadata: session.Note{Pivot: marker.ID}.Metadata(),
	}}
	return m
}

// Replay repeats a user message whose turn was rejected: same agent and model, media as text, everything else as it was.
func Replay(id Identity, marker, rejected session.Message) session.Message {
	m := companion(id, marker)
	m.Agent, m.Model, m.Unknown, m.MessageInfo.Unknown = rejected.Agent, rejected.Model, rejected.Unknown, rejected.MessageInfo.Unknown
	noted := false
	for _, p := range rejected.Parts {
		if p.Type == session.CompactionPart {
			continue
		}
		if p.IsMedia() {
			p = asText(p)
		}
		p.ID, p.MessageID = id.NewID(session.PartID), m.ID
		if !noted && p.Type == session.TextPart {
			p.Metadata, noted = session.Note{Pivot: marker.ID, Replay: rejected.ID}.Metadata(), true
		}
		m.Parts = append(m.Parts, p)
	}
	if !noted {
		m.Parts = append(m.Parts, session.Part{
			ID: id.NewID(session.PartID), SessionID: m.SessionID, MessageID: m.ID, Type: session.TextPart, Synthetic: true, Ignored: true,
			Metadata: session.Note{Pivot: marker.ID, Replay: rejected.ID}.Metadata(),
		})
	}
	return m
}

func companion(id Identity, marker session.Message) session.Message {
	return session.Message{MessageInfo: session.MessageInfo{
		ID: id.NewID(session.MessageID), SessionID: marker.SessionID, Role: session.User,
		Agent: marker.Agent, Model: marker.Model, Time: session.MessageTime{Created: id.Now},
	}}
}

// Waiting reports whether the assistant waits for the user: the log ends with its question. An agent must not be told to go on then.
func Waiting(messages []session.Message) bool {
	_, waits := recall.Pending(messages)
	return waits
}
