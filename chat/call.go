package chat

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/call"
	"github.com/winnowhq/winnow/quantity"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/tui"
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
		// A foreign tool's members of these names may be of another kind. What says nothing is not shown.
		return facts{}
	}
	return f
}

// layCall lays out a call: one line with its outcome, a little of what it changed, and all of it when it is unfolded. moving says that it has not ended.
func (t *transcript) layCall(p *session.Part, open bool) (lines []string, moving bool) {
	if p.State == nil {
		return nil, false
	}
	f := factsOf(p.State.Metadata)
	sign, s := "✓", t.style.good
	switch {
	case !p.State.Final():
		sign, s, moving = t.spinner, t.style.accent, true
	case f.Interrupted:
		sign, s = "■", t.style.warn
	case p.State.Status == session.Failed:
		sign, s = "✗", t.style.bad
	}
	outcome := t.outcome(p, f)
	head := tui.Cut(oneLine(p.Tool), max(1, t.width-len(gutter)))
	target := oneLine(targetOf(p))
	room := t.width - len(gutter) - tui.Columns(head)
	if outcome != "" { // how it ended counts more than all of what it was about
		outcome = tui.Cut(outcome, max(0, min(room-3, max(10, room-13))))
		room -= tui.Columns(outcome) + 3
	}
	line := paint(s, sign) + " " + head
	if target != "" && room > 6 {
		line += " " + paint(t.style.bold, tui.Cut(target, room-1))
	}
	if outcome != "" {
		line += paint(t.style.dim, " · "+outcome)
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
	drawn, hidden := excerpt(result, t.width-2*len(gutter), openLines)
	for _, l := range drawn {
		lines = append(lines, gutter+gutter+paint(t.style.dim, l))
	}
	if hidden > 0 {
		lines = append(lines, gutter+gutter+paint(t.style.dim, "… "+quantity.Count(hidden, "more line")))
	}
	return lines, moving
}

// layArguments shows what a call was told, as far as its head does not say it.
func (t *transcript) layArguments(p *session.Part, changed bool) []string {
	var lines []string
	target := oneLine(targetOf(p))
	for name, value := range call.Members(p.State.Input) {
		text, ok := call.Unquote(value)
		if !ok {
			text = string(value)
		}
		if oneLine(text[:min(len(text), 4096)]) == target || changed && len(text) > 200 {
			continue
		}
		drawn, hidden := excerpt(text, t.width-3*len(gutter), 8)
		for i, l := range drawn {
			if i == 0 {
				l = tui.Cut(oneLine(name)+": "+l, t.width-2*len(gutter))
			} else {
				l = gutter + l
			}
			lines = append(lines, gutter+gutter+paint(t.style.dim, l))
		}
		if hidden > 0 {
			lines = append(lines, gutter+gutter+gutter+paint(t.style.dim, "… "+quantity.Count(hidden, "more line")))
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
func (t *transcript) outcome(p *session.Part, f facts) string {
	var said []string
	took := duration(p.State.Time)
	switch {
	case !p.State.Final() && !t.started[p.CallID]:
		return "waits for the one before"
	case !p.State.Final() && t.asking[p.Tool]:
		return "waits for your answer"
	case !p.State.Final():
		if text := lastLine(t.progress[p.CallID]); text != "" {
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
		said = append(said, firstLine(p.State.Result()))
	case f.Added != nil && f.Removed != nil:
		said = append(said, fmt.Sprintf("+%s −%s", grouped(*f.Added), grouped(*f.Removed)))
		if f.Created {
			said = append(said, "new")
		}
	case f.Lines != nil:
		if *f.Lines < f.Total {
			said = append(said, grouped(*f.Lines)+" of "+quantity.Count(f.Total, "line"))
		} else {
			said = append(said, quantity.Count(*f.Lines, "line"))
		}
	case f.Matches != nil && f.Files != nil:
		said = append(said, matches(*f.Matches)+" in "+quantity.Count(*f.Files, "file"))
	case f.Matches != nil && call.Name(p.Tool) == "glob":
		said = append(said, quantity.Count(*f.Matches, "file"))
	case f.Matches != nil && call.Name(p.Tool) == "grep":
		said = append(said, matches(*f.Matches))
	case f.Entries != nil:
		if *f.Entries == 1 {
			said = append(said, "1 entry")
		} else {
			said = append(said, grouped(*f.Entries)+" entries")
		}
	default:
		if added, removed, ok := counts(p, f); ok {
			said = append(said, fmt.Sprintf("+%s −%s", grouped(added), grouped(removed)))
		} else if out := strings.TrimRight(p.State.Output, "\n "); out == "" {
			said = append(said, "no output")
		} else if n := strings.Count(out, "\n") + 1; n == 1 {
			said = append(said, oneLine(out[:min(len(out), 400)]))
		} else {
			said = append(said, quantity.Count(n, "line"))
		}
	}
	if took >= 100*time.Millisecond && (took >= time.Second || f.Exit != nil) {
		said = append(said, seconds(took))
	}
	return strings.Join(said, " · ")
}

func matches(n int) string {
	if n == 1 {
		return "1 match"
	}
	return grouped(n) + " matches"
}

func duration(s *session.Span) time.Duration {
	if s == nil || s.End <= s.Start || s.Start == 0 {
		return 0
	}
	return time.Duration(float64(s.End-s.Start)) * time.Millisecond
}

// seconds writes how long something took: "0.4 s", "3.2 s", "48 s", "2 min 5 s".
func seconds(d time.Duration) string {
	switch s := d.Seconds(); {
	case s < 9.95:
		return strconv.FormatFloat(s, 'f', 1, 64) + " s"
	default:
		return wholeSeconds(d)
	}
}

func wholeSeconds(d time.Duration) string {
	if s := int(d.Seconds()); s >= 60 {
		return fmt.Sprintf("%d min %d s", s/60, s%60)
	}
	return strconv.Itoa(int(d.Seconds())) + " s"
}

func firstLine(text string) string {
	for line := range strings.Lines(text[:min(len(text), 4096)]) {
		if l := oneLine(line); l != "" {
			return l
		}
	}
	return ""
}

func lastLine(text string) string {
	text = strings.TrimRight(text[max(0, len(text)-4096):], "\n\r ")
	if at := strings.LastIndexAny(text, "\n\r"); at >= 0 {
		text = text[at+1:]
	}
	return oneLine(text)
}
