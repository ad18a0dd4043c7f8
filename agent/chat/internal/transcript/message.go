package transcript

import (
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/look/tui"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
)

const (
	// saidLines is how many lines of a message of the user's are shown while it is folded: what is
	// longer was pasted.
	saidLines = 12
	// openLines is how many lines of an output are shown even when it is unfolded.
	openLines = 200
)

// layMessage lays out a message of the log.
func (t *Transcript) layMessage(it *item, open bool) []string {
	m := it.message
	switch {
	case m.Role == session.User && m.Marker() != nil:
		return t.layMarker(m)
	case m.Role == session.User:
		return t.laySaid(m, open)
	case m.IsSummary():
		return t.laySummary(m, open)
	}
	var lines []string
	add := func(more []string, tight bool) {
		if len(more) > 0 && len(lines) > 0 && !tight {
			lines = append(lines, "")
		}
		lines = append(lines, more...)
	}
	tight := true
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Type {
		case session.TextPart:
			if strings.TrimSpace(p.Text) != "" && !p.Ignored {
				add(draw.Markdown(p.Text, t.width, t.style), false)
				tight = false
			}
		case session.ReasoningPart:
			add(t.layThought(p.Text, open), tight)
			tight = true
		case session.ToolPart:
			drawn, moving := t.layCall(p, open)
			it.moving = it.moving || moving
			add(drawn, tight)
			tight = true
		}
	}
	if m.Failed() {
		add(t.layError(m), true)
	}
	return lines
}

// laySaid lays out what the user said. A long one is folded.
func (t *Transcript) laySaid(m *session.Message, open bool) []string {
	text, files, written := "", []string(nil), false
	for i := range m.Parts {
		switch p := &m.Parts[i]; {
		case p.Type == session.TextPart && !p.Ignored:
			if text != "" {
				text += "\n\n"
			}
			text += p.Text
			written = written || !p.Synthetic
		case p.Type == session.FilePart:
			files = append(files, strings.TrimSpace("["+draw.OneLine(p.Filename)+" "+draw.OneLine(p.Mime))+"]")
		}
	}
	if !written && len(files) == 0 {
		return t.note("↻", "told to go on: "+draw.OneLine(tui.Cut(draw.OneLine(text), 4*t.width)), t.style.Dim)
	}
	mark, quoted := draw.Paint(t.style.Accent, "▌")+" ", t.style.Bold
	most := saidLines
	if open {
		most = 1 << 30
	}
	var lines []string
	rest, more := text, true
	for more && len(lines) < most {
		var line string
		line, rest, more = strings.Cut(rest, "\n")
		for _, l := range draw.Wrap(draw.Clean(line), t.width-len(draw.Gutter), "") {
			lines = append(lines, mark+draw.Paint(quoted, l))
		}
	}
	hidden := len(lines) - min(len(lines), most)
	lines = lines[:len(lines)-hidden]
	if more {
		hidden += 1 + strings.Count(strings.TrimSuffix(rest, "\n"), "\n")
	}
	if hidden > 0 {
		lines = append(lines, mark+draw.Paint(t.style.Dim,
			tui.Cut("… "+quantity.Count(hidden, "more line")+" · ctrl+o unfolds", t.width-len(draw.Gutter))))
	}
	for _, f := range files {
		lines = append(lines, mark+draw.Paint(t.style.Dim, tui.Cut(f, t.width-len(draw.Gutter))))
	}
	return lines
}

// layMarker lays out the place where the past was folded.
func (t *Transcript) layMarker(m *session.Message) []string {
	if r := t.Receipts[m.ID]; r != nil {
		n := draw.FoldedNotice(r)
		return n.Lines(t.width, t.style)
	}
	return t.note("≡", "to be folded up to here", t.style.Dim)
}

func (t *Transcript) laySummary(m *session.Message, open bool) []string {
	var text strings.Builder
	for i := range m.Parts {
		if m.Parts[i].Type == session.TextPart {
			text.WriteString(strings.TrimSpace(m.Parts[i].Text) + "\n\n")
		}
	}
	if !open {
		return t.note("≡", "the summary of what is above: "+
			""+quantity.Count(len(strings.Fields(text.String())), "word")+" · ctrl+o unfolds", t.style.Dim)
	}
	return append(t.note("≡", "the summary of what is above:", t.style.Dim),
		draw.Markdown(text.String(), t.width, t.style)...)
}

// layThought lays out what a model thought: one line, unless it is unfolded.
func (t *Transcript) layThought(text string, open bool) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if !open {
		return t.note("∴", tui.Cut(draw.OneLine(text[:min(len(text), 8*t.width)]), t.width-len(draw.Gutter)),
			t.style.Dim)
	}
	var lines []string
	for line := range strings.Lines(strings.TrimSpace(text)) {
		for _, l := range draw.Wrap(draw.Clean(strings.TrimRight(line, "\n")), t.width-len(draw.Gutter), "") {
			lines = append(lines, draw.Gutter+draw.Paint(t.style.Dim, l))
		}
	}
	lines[0] = draw.Paint(t.style.Dim, "∴ ") + strings.TrimPrefix(lines[0], draw.Gutter)
	return lines
}

// layError lays out why an answer has no end.
func (t *Transcript) layError(m *session.Message) []string {
	var e struct {
		Name string `json:"name"`
		Data struct {
			Message string `json:"message"`
		} `json:"data"`
	}
	if json.Unmarshal(m.Error, &e, session.ReadOptions()) == nil && e.Name == "interrupted" {
		return t.note("■", "interrupted", t.style.Warn)
	}
	text := draw.OneLine(e.Data.Message)
	if text == "" {
		text = "the answer broke off"
	}
	return t.note("✗", text, t.style.Bad)
}

// note is a sign and a text under which its further lines stand.
func (t *Transcript) note(sign, text string, s draw.Look) []string {
	return draw.Note(sign, text, t.width, s)
}
