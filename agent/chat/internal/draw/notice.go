package draw

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/look/tui"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/text/quantity"
)

// Tone is what a notice is about.
type Tone int

const (
	Plain Tone = iota
	Well
	Warning
	Trouble
)

// Notice is a line that the program says itself, behind a sign.
type Notice struct {
	Sign string
	Text string
	Tone Tone
}

// Lines draws a notice.
func (n *Notice) Lines(width int, s Style) []string {
	look := map[Tone]Look{Plain: s.Dim, Well: s.Good, Warning: s.Warn, Trouble: s.Bad}[n.Tone]
	var lines []string
	for i, line := range strings.Split(n.Text, "\n") {
		sign := n.Sign
		if i > 0 {
			sign = " "
		}
		lines = append(lines, Note(sign, Clean(line), width, look)...)
	}
	return lines
}

// Say, Warn and Wrong are notices of three tones.
func Say(text string) Notice   { return Notice{"·", text, Plain} }
func Warn(text string) Notice  { return Notice{"!", text, Warning} }
func Wrong(text string) Notice { return Notice{"✗", text, Trouble} }

// PrunedNotice tells of a commit of elisions.
func PrunedNotice(r *pivot.Receipt, m model.Model) Notice {
	text := tui.Did(r) + ": " + span(r)
	if saved := float64(r.TokensBefore-r.TokensAfter) * m.Price.CacheRead / 1e6; saved > 0 {
		text += ", saves " + quantity.Dollars(saved) + " a step from here on"
	}
	if r.Trigger != "" {
		if why := Because[r.Trigger]; why != "" {
			text += " · " + why
		}
	}
	return Notice{"✂", text + " · /undo " + r.ID, Well}
}

// FoldedNotice tells of a compaction.
func FoldedNotice(r *pivot.Receipt) Notice {
	text := "folded " + quantity.Count(r.Folded, "message") + ": " + span(r)
	if r.Summarizer != "" {
		text += " · summary by " + OneLine(r.Summarizer)
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
		text += " · " + quantity.Duration(time.Duration(r.Duration*float64(time.Second)))
	}
	return Notice{"≡", text + " · /receipt", Well}
}

// span is what a receipt made smaller.
func span(r *pivot.Receipt) string {
	return quantity.Number(r.TokensBefore) + " → " + quantity.Number(r.TokensAfter) + " tokens (−" +
		quantity.Number(max(0, r.TokensBefore-r.TokensAfter)) + ")"
}

// Because says in words when something was committed.
var Because = map[string]string{
	"turn": "the turn ended", "step": "a step ended", "threshold": "the window was full",
	"rejected": "the request was too long", "asked": "the agent asked for it",
	"cold": "the cache was cold", "pays": "it pays", "discard": "discarded by name",
	"distill": "replaced by a shorter text", pivot.FirstSend: "it says nothing new",
}

// agentPrefix is what the loop's errors begin with: who looks at the session knows that.
var agentPrefix = regexp.MustCompile(`^agent: (session [^:]*: )?`)

// Explain is an error in words for people, without what they know already.
func Explain(err error) string {
	var e *winnow.Error
	if errors.As(err, &e) {
		text := e.Err.Error()
		if e.Hint != "" {
			text += "\n" + e.Hint
		}
		return text
	}
	if errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	return agentPrefix.ReplaceAllString(err.Error(), "")
}
