package session

import (
	"github.com/go-json-experiment/json"
)

// withheld is the member of a message of which the texts are not kept.
type withheld struct {
	Withheld string `json:"withheld"`
}

// Withhold returns the message without what is said in it: without texts, arguments, results,
// pictures and signatures. What it is about in kind stays: ids, the types of parts, names of tools,
// how calls ended, times, usage. hash stands for what it said; Withheld returns it.
func (m *Message) Withhold(hash string) Message {
	info := m.MessageInfo
	info.Path, info.Error, info.Summary, info.Unknown = nil, nil, nil, nil
	bare := Message{MessageInfo: info, Parts: make([]Part, len(m.Parts))}
	for i := range m.Parts {
		p := &m.Parts[i]
		part := Part{ID: p.ID, SessionID: p.SessionID, MessageID: p.MessageID, Type: p.Type, Synthetic: p.Synthetic,
			Ignored: p.Ignored, CallID: p.CallID, Tool: p.Tool, Cost: p.Cost, Tokens: p.Tokens}
		if p.State != nil {
			part.State = &ToolState{Status: p.State.Status, Time: p.State.Time}
		}
		bare.Parts[i] = part
	}
	bare.Unknown, _ = json.Marshal(withheld{hash}) // a text can always be written
	return bare
}

// Withheld is what stands for what the message said if that is not kept, "" if it is.
func (m *Message) Withheld() string {
	if len(m.Unknown) == 0 {
		return ""
	}
	var w withheld
	if json.Unmarshal(m.Unknown, &w) != nil {
		return ""
	}
	return w.Withheld
}
