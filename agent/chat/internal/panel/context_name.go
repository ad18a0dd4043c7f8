package panel

import (
	"cmp"
	"strings"

	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/look/tui"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
)

// partName says what a part is, on one line.
func (p *contextPanel) partName(x *report.Part) string {
	if x.Tool != "" {
		return strings.TrimSpace(draw.OneLine(x.Tool) + " " + draw.OneLine(x.Target))
	}
	if target := draw.OneLine(x.Target); target != "" {
		return x.Type + " " + target
	}
	return cmp.Or(p.words[x.Part], x.Type)
}

// firstWords are the words with which the texts of a session begin, by part, and who said them.
func firstWords(s *report.Session) (map[string]string, error) {
	words := map[string]string{}
	for i := range s.Log {
		m := &s.Log[i]
		who := "you: "
		switch {
		case m.IsSummary():
			who = "summary: "
		case m.Role == session.Assistant:
			who = "answer: "
		case !m.Written():
			who = "told: "
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			before := who
			switch p.Type {
			case session.ReasoningPart:
				before = "thought: "
			case session.TextPart:
			default:
				continue
			}
			if text := strings.TrimLeft(draw.FirstLine(p.Text), "#*->_` "); text != "" {
				words[p.ID] = before + tui.Cut(text, 120)
			}
		}
	}
	return words, nil
}

func groupName(x *report.Part, by grouping) string {
	switch target := draw.OneLine(x.Target); {
	case x.Tool == "":
		return x.Type
	case by == byTarget && target != "":
		return target
	}
	return draw.OneLine(x.Tool)
}

// stateOf says how a part is shown, and who decided it.
func (p *contextPanel) stateOf(x *report.Part) string {
	switch {
	case len(x.Elisions) > 0:
		return "left out by " + draw.OneLine(x.Rule)
	case x.Pinned:
		return "pinned"
	case len(x.Candidates) > 0:
		return "could go " + draw.OneLine(x.Rule)
	case x.Kept != nil:
		return "kept " + string(x.Kept.By)
	case x.Zone == report.Summary, x.Zone == report.Talk:
		return string(x.Zone)
	}
	return "shown"
}
