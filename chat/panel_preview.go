package chat

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/quantity"
	"github.com/winnowhq/winnow/tui"
)

// previewPanel shows what /compact would do. Enter does it: told as compactChosen.
type previewPanel struct {
	scrolled
	style   style
	focus   string
	preview winnow.Preview
	err     error
	loaded  bool
}

// foreseen is what a preview panel waits for.
type foreseen struct {
	of      *previewPanel
	preview winnow.Preview
	err     error
}

// newPreviewPanel shows what folding a session would do; focus is what the summary is to dwell on.
func newPreviewPanel(ctx context.Context, e *winnow.Engine, id, focus string, s style) (panel, tea.Cmd) {
	p := &previewPanel{style: s, focus: focus}
	return p, func() tea.Msg {
		preview, err := e.Preview(ctx, id, winnow.CompactOptions{Focus: focus})
		return foreseen{p, preview, err}
	}
}

func (p *previewPanel) Title() string { return "What /compact would do" }

func (p *previewPanel) Keys() string {
	switch {
	case p.err != nil:
		return "esc back"
	case p.preview.Kind == pivot.Pruning:
		return "enter prune · ↑↓ scroll · esc leave it"
	}
	return "enter fold · ↑↓ scroll · esc leave it"
}

func (p *previewPanel) Update(msg tea.Msg) (panel, tea.Cmd) {
	switch msg := msg.(type) {
	case foreseen:
		if msg.of == p {
			p.preview, p.err, p.loaded, p.drawn = msg.preview, msg.err, true, false
		}
	case tea.KeyPressMsg:
		switch name := msg.String(); name {
		case "esc", "q":
			return nil, nil
		case "enter":
			if p.loaded && p.err == nil {
				return nil, choose(compactChosen{p.focus})
			}
		case "/": // there is nothing to filter
		default:
			p.key(msg)
		}
	}
	return p, nil
}

func (p *previewPanel) View(width, height int) []string {
	return p.show(width, height, p.draw)
}

func (p *previewPanel) draw(width int) []string {
	switch {
	case !p.loaded:
		return []string{paint(p.style.dim, tui.Cut("looking ahead …", width))}
	case winnow.CodeOf(p.err) == winnow.NothingToFold:
		return wrap(nothingToFold(p.err), width, "")
	case p.err != nil:
		return wrap("folding would fail: "+firstOf(oneLine(explain(p.err))), width, "")
	}
	v := &p.preview
	lines := receiptText(pivot.Receipt{
		Kind: v.Kind, MessagesBefore: v.MessagesBefore, MessagesAfter: v.MessagesAfter, TokensBefore: v.TokensBefore, TokensAfter: v.TokensAfter, Saved: v.Saved,
		Usable: v.Usable, Folded: v.Folded, Gone: v.Gone, Tail: v.Tail, Carried: v.Carried, Committed: v.Committed, Notes: v.Notes,
	}, v.Overhead, width, "")
	say := func(text string) {
		lines = append(lines, wrap(oneLine(text), width, "  ")...)
	}
	lines = append(lines, "")
	if v.Tail > 0 {
		text := quantity.Count(v.Tail, "message") + " of " + quantity.Count(v.TailTokens, "token") + " would stay word for word"
		if v.Split {
			text += ", from the middle of a turn on"
		}
		say(text)
	}
	if s := v.Summary; s != nil {
		say(summaryForeseen(s))
	}
	if p.focus != "" {
		say("the summary would dwell on: " + p.focus)
	}
	return lines
}

// summaryForeseen says who would write a summary, how sure its size is, and what it would cost.
func summaryForeseen(s *winnow.SummaryPreview) string {
	text := "the summary would be written by " + s.Summarizer
	switch s.Basis {
	case "written":
		text += ", which costs nothing: " + quantity.Count(s.Tokens, "token")
	case "earlier":
		text += ": about " + quantity.Count(s.Tokens, "token") + ", as long as the one before"
	default:
		text += ": at most " + quantity.Count(s.Tokens, "token")
	}
	if s.Calls == 0 {
		return text
	}
	text += "; " + quantity.Count(s.Calls, "request") + " of " + quantity.Number(s.Prompt) + " tokens in all"
	if s.Cached > 0 {
		text += ", " + quantity.Percent(s.Cached, s.Prompt) + " of it from the cache"
	}
	if s.Cost > 0 {
		return text + ", about " + quantity.Dollars(s.Cost)
	}
	return text + ", at a price that is not known"
}
