package transcript

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/look/tui"
	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
)

// facts are the members of a call's metadata that say something to people.
type facts struct {
	Exit        *int   `json:"exit"`
	TimedOut    bool   `json:"timedOut"`
	Lines       *int   `json:"lines"`
	Total       int    `json:"total"`
	Matches     *int   `json:"matches"`
	Files       *int   `json:"files"`
	Entries     *int   `json:"entries"`
	Bytes       *int   `json:"bytes"`
	Created     bool   `json:"created"`
	Added       *int   `json:"added"`
	Removed     *int   `json:"removed"`
	Diff        string `json:"diff"`
	ShapedFrom  int    `json:"shapedFrom"`
	Interrupted bool   `json:"interrupted"`
}

func factsOf(metadata jsontext.Value) facts {
	var f facts
	if len(metadata) > 0 && json.Unmarshal(metadata, &f, session.ReadOptions()) != nil {
		// A foreign tool's members of these names may be of another kind. What says nothing is not
		// shown.
		return facts{}
	}
	return f
}

// layCall lays out a call: one line with its outcome, a little of what it changed, and all of it
// when it is unfolded. moving says that it has not ended.
func (t *Transcript) layCall(p *session.Part, open bool) (lines []string, moving bool) {
	if p.State == nil {
		return nil, false
	}
	f := factsOf(p.State.Metadata)
	sign, s := "✓", t.style.Good
	switch {
	case !p.State.Final():
		sign, s, moving = t.Spinner, t.style.Accent, true
	case f.Interrupted:
		sign, s = "■", t.style.Warn
	case p.State.Status == session.Failed:
		sign, s = "✗", t.style.Bad
	}
	outcome := t.outcome(p, f)
	head := tui.Cut(draw.OneLine(p.Tool), max(1, t.width-len(draw.Gutter)))
	target := draw.OneLine(targetOf(p))
	room := t.width - len(draw.Gutter) - tui.Columns(head)
	if outcome != "" { // how it ended counts more than all of what it was about
		outcome = tui.Cut(outcome, max(0, min(room-3, max(10, room-13))))
		room -= tui.Columns(outcome) + 3
	}
	line := draw.Paint(s, sign) + " " + head
	if target != "" && room > 6 {
		line += " " + draw.Paint(t.style.Bold, tui.Cut(target, room-1))
	}
	if outcome != "" {
		line += draw.Paint(t.style.Dim, " · "+outcome)
	}
	lines = append(lines, line)
	changes := t.layDiff(p, f, open)
	lines = append(lines, changes...)
	if !open {
		return lines, moving
	}
	lines = append(lines, t.layArguments(p, len(changes) > 0)...)
	result := p.State.Result()
	if len(changes) > 0 && p.State.Status == session.Completed {
		return lines, moving // the diff says it
	}
	drawn, hidden := draw.Excerpt(result, t.width-2*len(draw.Gutter), openLines)
	for _, l := range drawn {
		lines = append(lines, draw.Gutter+draw.Gutter+draw.Paint(t.style.Dim, l))
	}
	if hidden > 0 {
		more := "… " + quantity.Count(hidden, "more line")
		lines = append(lines, draw.Gutter+draw.Gutter+draw.Paint(t.style.Dim, more))
	}
	return lines, moving
}

// layArguments shows what a call was told, as far as its head does not say it.
func (t *Transcript) layArguments(p *session.Part, changed bool) []string {
	var lines []string
	target := draw.OneLine(targetOf(p))
	for name, value := range call.Members(p.State.Input) {
		text, ok := call.Unquote(value)
		if !ok {
			text = string(value)
		}
		if draw.OneLine(text[:min(len(text), 4096)]) == target || changed && len(text) > 200 {
			continue
		}
		drawn, hidden := draw.Excerpt(text, t.width-3*len(draw.Gutter), 8)
		for i, l := range drawn {
			if i == 0 {
				l = tui.Cut(draw.OneLine(name)+": "+l, t.width-2*len(draw.Gutter))
			} else {
				l = draw.Gutter + l
			}
			lines = append(lines, draw.Gutter+draw.Gutter+draw.Paint(t.style.Dim, l))
		}
		if hidden > 0 {
			lines = append(lines, draw.Gutter+draw.Gutter+draw.Gutter+draw.Paint(t.style.Dim,
				"… "+quantity.Count(hidden, "more line")))
		}
	}
	return lines
}

// targetOf says what a call is about.
func targetOf(p *session.Part) string {
	cwd := ""
	c := call.Of(p, cwd)
	switch target := c.Target(); {
	case target != "" && c.Command() != "":
		return target
	case p.State.Title != "":
		return p.State.Title
	case target != "":
		return target
	}
	for _, value := range call.Members(p.State.Input) {
		if text, ok := call.Unquote(value); ok && text != "" {
			return text[:min(len(text), 400)]
		}
	}
	return ""
}

// outcome says in a few words how a call ended, or how far it has come.
func (t *Transcript) outcome(p *session.Part, f facts) string {
	var said []string
	took := duration(p.State.Time)
	switch {
	case !p.State.Final() && !t.Started[p.CallID]:
		return "waits for the one before"
	case !p.State.Final() && t.Asking[p.Tool]:
		return "waits for your answer"
	case !p.State.Final():
		if text := draw.LastLine(t.Progress[p.CallID]); text != "" {
			return text
		}
		return "running"
	case f.Interrupted:
		return "interrupted"
	case f.TimedOut:
		said = append(said, "timed out")
	case f.Exit != nil && (*f.Exit != 0 || p.State.Status == session.Failed):
		said = append(said, "exit "+strconv.Itoa(*f.Exit))
	case p.State.Status == session.Failed:
		said = append(said, draw.FirstLine(p.State.Result()))
	case f.Added != nil && f.Removed != nil:
		said = append(said, fmt.Sprintf("+%s −%s", quantity.Number(*f.Added), quantity.Number(*f.Removed)))
		if f.Created {
			said = append(said, "new")
		}
	case f.Lines != nil:
		if *f.Lines < f.Total {
			said = append(said, quantity.Number(*f.Lines)+" of "+quantity.Count(f.Total, "line"))
		} else {
			said = append(said, quantity.Count(*f.Lines, "line"))
		}
	case f.Matches != nil && f.Files != nil:
		said = append(said, quantity.Count(*f.Matches, "match")+" in "+quantity.Count(*f.Files, "file"))
	case f.Matches != nil && call.Name(p.Tool) == "glob":
		said = append(said, quantity.Count(*f.Matches, "file"))
	case f.Matches != nil && call.Name(p.Tool) == "grep":
		said = append(said, quantity.Count(*f.Matches, "match"))
	case f.Entries != nil:
		said = append(said, quantity.Count(*f.Entries, "entry"))
	default:
		if added, removed, ok := counts(p, f); ok {
			said = append(said, fmt.Sprintf("+%s −%s", quantity.Number(added), quantity.Number(removed)))
		} else if out := strings.TrimRight(p.State.Output, "\n "); out == "" {
			said = append(said, "no output")
		} else if n := strings.Count(out, "\n") + 1; n == 1 {
			said = append(said, draw.OneLine(out[:min(len(out), 400)]))
		} else {
			said = append(said, quantity.Count(n, "line"))
		}
	}
	if took >= 100*time.Millisecond && (took >= time.Second || f.Exit != nil) {
		said = append(said, quantity.Duration(took))
	}
	return strings.Join(said, " · ")
}

func duration(s *session.Span) time.Duration {
	if s == nil || s.End <= s.Start || s.Start == 0 {
		return 0
	}
	return time.Duration(float64(s.End-s.Start)) * time.Millisecond
}
