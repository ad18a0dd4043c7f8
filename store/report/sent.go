package report

import (
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
)

// Sent says how much of a conversation is sent, and what is left out. Sizes are estimates in
// tokens, without system prompt and tools.
type Sent struct {
	Before  int       `json:"before"`  // the messages as they were handed in
	After   int       `json:"after"`   // the messages that are sent
	LeftOut []LeftOut `json:"leftOut"` // parts of messages that are sent, in their order
	// Folded is how many messages the summary stands for, and Summary is its text; 0 and "" for none.
	Folded  int    `json:"folded"`
	Summary string `json:"summary"`
}

// LeftOut is a decision to send less of one part, and the call that the part belongs to.
type LeftOut struct {
	CallID string `json:"callID"` // "" for a part that is no call
	Tool   string `json:"tool"`   // name of the tool, "" for a part that is no call
	rule.Elision
}

// SentOf reports what is sent of messages that a session's log holds among what the engine wrote.
func SentOf(said []session.Message) func(*Session) (Sent, error) {
	return func(s *Session) (r Sent, err error) {
		r.Before, r.After = view.Tokens(said, rule.Ledger{}, s.Facts), s.View.Tokens()
		window := s.View.Window()
		shown := make(map[string]bool, len(window))
		for i := range window {
			shown[window[i].ID] = true
		}
		if view.Pivot(window) != nil {
			r.Summary = window[1].Text()
		}
		for i := range said {
			m := &said[i]
			if !shown[m.ID] {
				r.Folded++
				continue
			}
			for j := range m.Parts {
				p := &m.Parts[j]
				for _, e := range s.State.Ledger.Of(p.ID) {
					r.LeftOut = append(r.LeftOut, LeftOut{p.CallID, p.Tool, e})
				}
			}
		}
		return r, nil
	}
}
