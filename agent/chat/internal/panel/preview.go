package panel

import (
	"context"
	"errors"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/look/tui"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/store/fold"
	"github.com/winnowhq/winnow/text/quantity"
)

// NewPreview shows what folding a session would do, and does it on enter; focus is what the
// summary is to dwell on.
func NewPreview(ctx context.Context, e *winnow.Engine, id, focus string, s draw.Style) (Panel, tea.Cmd) {
	p := &page{title: "What /compact would do"}
	does := "fold"
	p.keys = func() string {
		if does == "" {
			return "esc back"
		}
		return "enter " + does + " · ↑↓ scroll · esc leave it"
	}
	loaded := false
	p.enter = func() (bool, tea.Msg) {
		if !loaded || does == "" {
			return false, nil
		}
		return true, CompactChosen{focus}
	}
	p.draw = func(width int) []string { return dim(s, width, "looking ahead …") }
	return p, func() tea.Msg {
		v, err := e.Preview(ctx, id, winnow.CompactOptions{Focus: focus})
		return panelRead{p, func() {
			switch loaded = true; {
			case err != nil:
				does = ""
			case v.Kind == pivot.Pruning:
				does = "prune"
			}
			p.text, p.draw = nil, func(width int) []string {
				switch {
				case winnow.CodeOf(err) == winnow.NothingToFold:
					return draw.Wrap(NothingToFold(err), width, "")
				case err != nil:
					return draw.Wrap("folding would fail: "+draw.OneLine(draw.Explain(err)), width, "")
				}
				return drawPreview(&v, focus, width)
			}
		}}
	}
}

func drawPreview(v *winnow.Preview, focus string, width int) []string {
	lines := receiptText(pivot.Receipt{
		Kind: v.Kind, MessagesBefore: v.MessagesBefore, MessagesAfter: v.MessagesAfter, TokensBefore: v.TokensBefore,
		TokensAfter: v.TokensAfter, Saved: v.Saved,
		Usable: v.Usable, Folded: v.Folded, Gone: v.Gone, Tail: v.Tail, Carried: v.Carried, Committed: v.Committed,
		Notes: v.Notes,
	}, v.Overhead, width, "")
	say := func(text string) {
		lines = append(lines, draw.Wrap(draw.OneLine(text), width, "  ")...)
	}
	lines = append(lines, "")
	if v.Tail > 0 {
		text := quantity.Count(v.Tail, "message") + " of " + quantity.Count(v.TailTokens, "token") +
			" would stay word for word"
		if v.Split {
			text += ", from the middle of a turn on"
		}
		say(text)
	}
	if s := v.Summary; s != nil {
		say(summaryForeseen(s))
	}
	if focus != "" {
		say("the summary would dwell on: " + focus)
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

// receiptText is a receipt in lines of a width, each behind an inset.
func receiptText(r pivot.Receipt, overhead, width int, before string) []string {
	var b strings.Builder
	tui.Painter{W: &b, Width: max(10, width-tui.Columns(before))}.Receipt(r, overhead)
	var lines []string
	for l := range strings.Lines(b.String()) {
		lines = append(lines, tui.Cut(before+strings.TrimRight(l, "\n"), width))
	}
	return lines
}

// NothingToFold says why a compaction has nothing to do.
func NothingToFold(err error) string {
	if errors.Is(err, fold.ErrNothingNew) {
		return "nothing was said since the last summary, and another would say no more; /compact with what it is to " +
			"dwell on has it written anew"
	}
	return "there is nothing to fold yet: all there is would stay word for word"
}
