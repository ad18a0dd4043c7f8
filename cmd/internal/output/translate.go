package output

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
)

// began is how the sentence begins that tells a model of tools that it does not have.
const began = "This session began in another agent. "

// translated is a session in the words of a product, in a folder: calls of tools that the product has
// under another name have that name and its arguments, and a sentence behind the user's newest words
// names the tools that it does not have. Sentences of earlier translations go, and reasoning, which
// providers take back only from the model and the place that it was made for. The session itself is not
// changed.
func translated(s session.Session, product, folder string) (to session.Session, renamed int, foreign []string) {
	was := s.Info.Directory
	s.Info.Directory = folder
	s.Messages = slices.Clone(s.Messages)
	for i := range s.Messages {
		s.Messages[i].Parts = slices.DeleteFunc(slices.Clone(s.Messages[i].Parts), func(p session.Part) bool {
			return p.Type == session.ReasoningPart || p.Synthetic && strings.HasPrefix(p.Text, began)
		})
	}
	// No format keeps a message that says nothing: it would seem to be new the next time.
	s.Messages = slices.DeleteFunc(s.Messages, func(m session.Message) bool { return len(m.Parts) == 0 })
	newest := -1
	for i := range s.Messages {
		m := &s.Messages[i]
		if m.Path != nil && m.Path.Cwd == was {
			m.Path = &session.Path{Cwd: folder, Root: folder}
		}
		if m.Written() {
			newest = i
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			if p.Type != session.ToolPart || p.State == nil {
				continue
			}
			name, input, ok := call.Translate(product, p)
			if !ok {
				foreign = append(foreign, p.Tool)
				continue
			}
			if name != p.Tool || string(input) != string(p.State.Input) {
				state := *p.State
				state.Input = input
				p.Tool, p.State = name, &state
				renamed++
			}
		}
	}
	slices.Sort(foreign)
	foreign = slices.Compact(foreign)
	if len(foreign) > 0 && newest >= 0 {
		m := &s.Messages[newest]
		m.Parts = append(m.Parts, session.Part{ID: m.ID + "_tools", SessionID: m.SessionID, MessageID: m.ID,
			Type: session.TextPart, Synthetic: true, Text: began + sentence(foreign)})
	}
	return s, renamed, foreign
}

// sentence tells a model which tools it does not have.
func sentence(foreign []string) string {
	if len(foreign) == 1 {
		return fmt.Sprintf("Its calls of %s are from there: if you have no such tool, use your own.", foreign[0])
	}
	last := len(foreign) - 1
	return fmt.Sprintf("Its calls of %s and %s are from there: where you have no such tool, use your own.",
		strings.Join(foreign[:last], ", "), foreign[last])
}

// behind gives messages that come behind others the ids of these in their references: the beginning
// of a tail, and the message that an answer belongs to.
func behind(added []session.Message, ids map[string]string) []session.Message {
	added = slices.Clone(added)
	for i := range added {
		m := &added[i]
		m.ParentID = cmp.Or(ids[m.ParentID], m.ParentID)
		m.Parts = slices.Clone(m.Parts)
		for j := range m.Parts {
			m.Parts[j].TailStartID = cmp.Or(ids[m.Parts[j].TailStartID], m.Parts[j].TailStartID)
		}
	}
	return added
}
