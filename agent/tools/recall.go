package tools

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/look/retrieve"
	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// What one recall shows.
const (
	recallLines = 400 // where nobody says how many; readLines at most
	recallBytes = 32 << 10
	// beside is how many lines before and after a match are shown.
	beside = 2
)

// Whole has parts of sessions with the whole of their text.
type Whole interface {
	Whole(ctx context.Context, id, part string) (report.Whole, error)
}

// Parts are those of the sessions of an engine.
type Parts struct{ Engine *winnow.Engine }

// Whole returns a part of a session. Its text is what was kept of it beside the log, else what the
// log has.
func (p Parts) Whole(ctx context.Context, id, part string) (report.Whole, error) {
	return retrieve.Whole(ctx, p.Engine, id, part)
}

// Recall shows what was left out of the context, once, without bringing it back into it: a result
// that was too long to be sent, or a part that was elided.
type Recall struct{ Whole Whole }

func (Recall) Name() string           { return "recall" }
func (Recall) Description() string    { return told("recall").Description }
func (Recall) Schema() jsontext.Value { return told("recall").Schema }
func (Recall) Paged()                 {} // it keeps its answers short itself

// Recall is how the note in an output that was cut names this tool.
func (t Recall) Recall(handle string) string {
	return fmt.Sprintf("%s shows more of it, with the name %s", t.Name(), handle)
}

func (t Recall) Run(ctx context.Context, c agent.Call) (agent.Result, error) {
	a := argumentsOf(t.Name(), c.Input)
	name := a.need("name", "handle", "id")
	offset, limit := a.whole("offset", 1, 0), a.whole("limit", recallLines, 1)
	pattern := patternOf(a)
	if a.err != nil {
		return agent.Result{}, a.err
	}
	w, err := t.Whole.Whole(ctx, c.SessionID, name)
	switch {
	case winnow.CodeOf(err) == winnow.NotFound:
		return agent.Result{}, fmt.Errorf("nothing has the name %s: %w", rule.Shorten(name, 40), cause(err))
	case err != nil:
		return agent.Result{}, err
	}
	r := agent.Result{Title: strings.TrimSpace(cmp.Or(w.Part.Tool, string(w.Part.Type)) + " " +
		call.Cut(strings.Join(strings.Fields(w.Target), " "), 80))}
	all := w.Everything()
	s := &slice{lines: linesOf(all), shift: retrieve.First(all) - 1, most: min(limit, readLines), pattern: pattern}
	if s.from = 1; offset > 1 {
		s.from = max(1, offset-s.shift)
	}
	if err := s.take(ctx); err != nil {
		return agent.Result{}, err
	}
	r.Metadata = map[string]any{"handle": w.Handle, "total": len(s.lines), "lines": s.shown}
	r.Attachments = attachmentsOf(w)
	switch {
	case len(s.lines) == 0 && len(r.Attachments) > 0:
		r.Output = "Attached: " + quantity.Count(len(r.Attachments), "file") + "."
	case len(s.lines) == 0:
		r.Output = "(It is empty.)"
	case s.from > len(s.lines):
		return agent.Result{}, fmt.Errorf("%s has %s, and offset %d is behind its end", w.Handle,
			quantity.Count(len(s.lines), "line"), offset)
	default:
		r.Output = s.String()
	}
	return r, nil
}

// cause is what an error of the engine says, without its hints for people at a command line.
func cause(err error) error {
	if e, ok := err.(*winnow.Error); ok {
		return e.Err
	}
	return err
}

// mostPattern is how long a pattern may be, in bytes.
const mostPattern = 1000

func patternOf(a *arguments) *regexp.Regexp {
	text := a.text("pattern")
	pattern, err := regexp.Compile(text)
	switch {
	case a.err != nil || text == "":
		return nil
	case len(text) > mostPattern:
		a.err = fmt.Errorf("the pattern has %s bytes; %s is the maximum", quantity.Number(len(text)),
			quantity.Number(mostPattern))
	case err != nil:
		a.err = fmt.Errorf("the pattern is not a regular expression: %w", err)
	}
	return pattern
}

// attachmentsOf are the files of a part that were left out, or that it is.
func attachmentsOf(w report.Whole) []session.Part {
	var files []session.Part
	if w.Part.State != nil && slices.Contains(w.Elided, rule.Attachments) {
		files = w.Part.State.Attachments
	}
	if w.Part.Type == session.FilePart {
		files = []session.Part{w.Part}
	}
	out := make([]session.Part, 0, len(files))
	for _, f := range files {
		out = append(out, session.Part{Type: session.FilePart, Mime: f.Mime, Filename: f.Filename, URL: f.URL})
	}
	return out
}

// linesOf are the lines of a text, with lines that are too long in pieces.
func linesOf(text string) []string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if text == "" {
		return nil
	}
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		for len(line) > lineLength {
			end := runes(line, lineLength)
			if end == len(line) {
				break
			}
			lines = append(lines, line[:end])
			line = line[end:]
		}
		lines = append(lines, line)
	}
	return lines
}

// slice is what is shown of a text.
type slice struct {
	lines      []string
	shift      int // how far their numbers are ahead of their places
	from, most int
	pattern    *regexp.Regexp

	text    strings.Builder
	shown   int
	next    int // line to go on with, 0 when nothing is left
	matches int // in all of the text from the offset on
}

func (s *slice) take(ctx context.Context) error {
	if s.pattern == nil {
		for n := s.from; n <= len(s.lines); n++ {
			if !s.add(n, "") {
				break
			}
		}
		return nil
	}
	last, full := 0, false // the last line that is shown
	for n := s.from; n <= len(s.lines); n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if !s.pattern.MatchString(s.lines[n-1]) {
			continue
		}
		s.matches++
		if full {
			continue
		}
		first := max(s.from, n-beside, last+1)
		if last > 0 && first > last+1 {
			s.text.WriteString("--\n")
		}
		for k := first; k <= min(n+beside, len(s.lines)) && !full; k++ {
			sign := "-"
			if s.pattern.MatchString(s.lines[k-1]) {
				sign = ":"
			}
			if full = !s.add(k, strconv.Itoa(k+s.shift)+sign+" "); !full {
				last = k
			}
		}
	}
	return nil
}

// add shows a line, unless enough is shown.
func (s *slice) add(n int, before string) bool {
	if s.shown >= s.most || s.shown > 0 && s.text.Len()+len(before)+len(s.lines[n-1])+1 > recallBytes {
		s.next = n
		return false
	}
	s.text.WriteString(before + s.lines[n-1] + "\n")
	s.shown++
	return true
}

func (s *slice) String() string {
	all := quantity.Count(len(s.lines), "line")
	var note string
	switch {
	case s.pattern != nil && s.matches == 0:
		note = "No line matches, of " + all
		if s.from > 1 {
			note += " from line " + quantity.Number(s.from+s.shift) + " on"
		}
	case s.pattern != nil:
		note = quantity.Count(s.matches, "matching line") + " of " + all
	case s.from == 1 && s.next == 0:
		note = "All of it, " + all
	default:
		note = fmt.Sprintf("Lines %s-%s of %s", quantity.Number(s.from+s.shift),
			quantity.Number(s.from+s.shift+s.shown-1), quantity.Number(len(s.lines)+s.shift))
	}
	if s.next > 0 {
		note += ". Go on with offset " + strconv.Itoa(s.next+s.shift)
	}
	text := s.text.String()
	if text != "" {
		text += "\n"
	}
	return text + "(" + note + ".)"
}
