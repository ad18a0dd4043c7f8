package chat

import (
	"strings"
	"time"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/quantity"
	"github.com/winnowhq/winnow/tui"
)

// tone is what a notice is about.
type tone int

const (
	plain tone = iota
	well
	warning
	trouble
)

// notice is a line that the program says itself.
type notice struct {
	sign string
	text string
	tone tone
}

func (n *notice) lines(width int, s style) []string {
	look := s.dim
	switch n.tone {
	case well:
		look = s.good
	case warning:
		look = s.warn
	case trouble:
		look = s.bad
	}
	var lines []string
	for i, line := range strings.Split(n.text, "\n") {
		sign := n.sign
		if i > 0 {
			sign = " "
		}
		lines = append(lines, note(sign, clean(line), width, look)...)
	}
	return lines
}

func say(text string) notice   { return notice{"·", text, plain} }
func warn(text string) notice  { return notice{"!", text, warning} }
func wrong(text string) notice { return notice{"✗", text, trouble} }

// prunedNotice tells of a commit of elisions.
func prunedNotice(r *pivot.Receipt, m model.Model) notice {
	text := tui.Did(r) + ": " + span(r)
	if saved := float64(r.TokensBefore-r.TokensAfter) * m.Price.CacheRead / 1e6; saved > 0 {
		text += ", saves " + quantity.Dollars(saved) + " a step from here on"
	}
	if r.Trigger != "" {
		if why := because[r.Trigger]; why != "" {
			text += " · " + why
		}
	}
	return notice{"✂", text + " · /undo " + r.ID, well}
}

// foldedNotice tells of a compaction.
func foldedNotice(r *pivot.Receipt) notice {
	text := "folded " + quantity.Count(r.Folded, "message") + ": " + span(r)
	if r.Summarizer != "" {
		text += " · summary by " + oneLine(r.Summarizer)
	}
	if r.Trigger == "background" {
		text += ", beside the work"
	}
	if r.Cost > 0 {
		text += " · " + quantity.Dollars(r.Cost)
	} else if len(r.Usage) > 0 {
		text += " · cost unknown"
	}
	if r.Duration >= 0.05 {
		text += " · " + seconds(time.Duration(r.Duration*float64(time.Second)))
	}
	return notice{"≡", text + " · /receipt", well}
}

// span is what a receipt made smaller.
func span(r *pivot.Receipt) string {
	return grouped(r.TokensBefore) + " → " + grouped(r.TokensAfter) + " tokens (−" + grouped(max(0, r.TokensBefore-r.TokensAfter)) + ")"
}

// because says in words when something was committed.
var because = map[string]string{
	"turn": "the turn ended", "step": "a step ended", "threshold": "the window was full", "rejected": "the request was too long",
	"cold": "the cache was cold", "pays": "it pays", "discard": "discarded by name", "distill": "a shorter text stands for it",
}
