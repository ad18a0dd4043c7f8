package session

import "fmt"

// Problem is one way in which a log is not sound.
type Problem struct {
	Message string // id
	Part    string // id, where the problem is in one part
	Reason  string
	// Refused is set when a provider would refuse a request for it; otherwise it is only untidy.
	Refused bool
}

func (p Problem) String() string {
	where := "message " + p.Message
	if p.Part != "" {
		where += ", part " + p.Part
	}
	return where + ": " + p.Reason
}

// Check looks for what is not sound in a log: a call id that two calls share, a tool part outside
// an assistant message or without state, a role that no provider knows, ids that occur twice. A
// call and its result are one part here, so that a broken pair shows as a call that never ended;
// such calls are not problems, the view renders them as interrupted. Ids that occur twice are
// untidy and no more: package wire gives repeated call ids new ones.
func Check(messages []Message) []Problem {
	var found []Problem
	seen, calls, parts := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range messages {
		m := &messages[i]
		if m.Role != User && m.Role != Assistant {
			found = append(found, Problem{m.ID, "", fmt.Sprintf("unknown role %q", m.Role), true})
		}
		if m.ID == "" {
			found = append(found, Problem{m.ID, "", fmt.Sprintf("no id (position %d)", i), false})
		} else if seen[m.ID] {
			found = append(found, Problem{m.ID, "", "the id occurs twice", false})
		}
		seen[m.ID] = true
		for j := range m.Parts {
			p := &m.Parts[j]
			if p.ID != "" && parts[p.ID] {
				found = append(found, Problem{m.ID, p.ID, "the id occurs twice", false})
			}
			parts[p.ID] = true
			if p.Type != ToolPart {
				continue
			}
			switch {
			case m.Role != Assistant:
				found = append(found, Problem{m.ID, p.ID, "a tool call outside an assistant message", true})
			case p.State == nil:
				found = append(found, Problem{m.ID, p.ID, "a tool call without state", true})
			}
			if p.CallID != "" && calls[p.CallID] {
				found = append(found, Problem{m.ID, p.ID, fmt.Sprintf("call id %q occurs twice", p.CallID), false})
			}
			calls[p.CallID] = true
		}
	}
	return found
}
