package tools

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/agent/permission"
	"github.com/winnowhq/winnow/text/plainfile"
	"github.com/winnowhq/winnow/text/quantity"
)

// What one search shows and looks through at most.
const (
	grepped     = 100      // lines, where nobody says how many
	mostGrepped = 1000     //
	grepLine    = 300      // characters of a line
	grepFile    = 16 << 20 // bytes of a file; larger ones are passed over, and told
)

// Grep finds lines by what is in them.
type Grep struct {
	// Policy has the rules by which a file is passed over though its folder may be searched: those
	// whose verdict for it is stricter than that for the folder.
	Policy permission.Policy
}

func (Grep) Name() string           { return "grep" }
func (Grep) Description() string    { return told("grep").Description }
func (Grep) Schema() jsontext.Value { return told("grep").Schema }
func (Grep) Paged()                 {} // it keeps its answers short itself

func (t Grep) Run(ctx context.Context, c agent.Call) (agent.Result, error) {
	a := argumentsOf(t.Name(), c.Input)
	s := searchOf(a)
	at, info, err := searched(ctx, c, a, a.text("path"))
	if err != nil {
		return agent.Result{}, err
	}
	if info.IsDir() {
		verdict := func(name string) permission.Verdict {
			return t.Policy.Decide(agent.Permission{Tool: t.Name(), Action: "read", Target: name, Inside: at.inside})
		}
		folder := verdict(at.path)
		err = walk(ctx, at.path, func(e entry) error {
			if e.folder || !e.dir.Type().IsRegular() || !s.includes(e.name) {
				return nil
			}
			info, err := e.dir.Info()
			if err != nil {
				return nil // it is gone
			}
			if len(t.Policy.Rules) > 0 && verdict(e.path).Stricter(folder) {
				s.closed++
				return nil
			}
			return s.file(ctx, e.path, at.under(e.name), info)
		})
	} else if info, err = regular(at); err == nil {
		err = s.file(ctx, at.path, printable(at.shown), info)
	}
	if err != nil {
		return agent.Result{}, err
	}
	return agent.Result{
		Title:    s.pattern,
		Output:   s.String(at),
		Metadata: map[string]any{"matches": s.matches, "files": s.files, "truncated": s.shown < s.matches},
	}, nil
}

// search is one search and what it found.
type search struct {
	pattern    string
	expression *regexp.Regexp
	word       []byte // stands in every line that matches; nil where none is known
	include    string
	limit      int

	text                  strings.Builder
	matches, shown, files int
	large, closed         int // files that were passed over
}

func searchOf(a *arguments) *search {
	s := &search{pattern: a.need("pattern"), limit: min(a.whole("limit", grepped, 1), mostGrepped)}
	if include := a.text("include", "glob"); include != "" {
		if s.include = include; !strings.Contains(include, "/") {
			s.include = "**/" + include
		}
		s.include = strings.TrimPrefix(path.Clean(s.include), "/")
		checkPattern(a, s.include, include)
	}
	expression := s.pattern
	if a.truth("ignoreCase", "ignore_case", "-i") {
		expression = "(?i)" + s.pattern
	}
	var err error
	if s.expression, err = regexp.Compile(expression); err != nil && a.err == nil {
		a.err = fmt.Errorf("%q is not a regular expression of Go's kind: %v", s.pattern,
			strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	if tree, err := syntax.Parse(expression, syntax.Perl); err == nil {
		s.word = []byte(needed(tree))
	}
	return s
}

// needed is the longest text that stands in whatever an expression matches, as far as that is plain
// to see: most files do not hold it, and to look for a text is many times faster than to match.
func needed(e *syntax.Regexp) string {
	switch e.Op {
	case syntax.OpLiteral:
		if e.Flags&syntax.FoldCase == 0 && !slices.Contains(e.Rune, utf8.RuneError) { // which matches invalid UTF-8
			return string(e.Rune)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return needed(e.Sub[0])
	case syntax.OpConcat:
		longest := ""
		for _, sub := range e.Sub {
			if text := needed(sub); len(text) > len(longest) {
				longest = text
			}
		}
		return longest
	}
	return ""
}

func (s *search) includes(name string) bool {
	if s.include == "" {
		return true
	}
	ok, _ := doublestar.Match(s.include, name)
	return ok
}

// file searches one file. One that cannot be read is passed over.
func (s *search) file(ctx context.Context, name, shown string, info fs.FileInfo) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if info.Size() > grepFile {
		s.large++
		return nil
	}
	f, _, err := plainfile.Open(filepath.Clean(name))
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, grepFile))
	if err != nil || binary(data[:min(len(data), sniffLength)]) != "" {
		return nil
	}
	if data = bytes.TrimPrefix(data, []byte(bom)); !bytes.Contains(data, s.word) {
		return nil
	}
	first := true
	for n := 1; len(data) > 0; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		data = rest
		line = bytes.TrimSuffix(line, []byte("\r"))
		where := s.expression.FindIndex(line)
		if where == nil {
			continue
		}
		s.matches++
		if first {
			s.files++
		}
		text := fmt.Sprintf("  %d: %s\n", n, around(string(line), where[0]))
		if first {
			text = shown + "\n" + text
		}
		first = false
		if s.shown == s.limit || s.text.Len()+len(text) > readBytes-500 {
			s.limit = s.shown
			continue
		}
		s.shown++
		s.text.WriteString(text)
	}
	return nil
}

// around is a line, or of a long one the piece around its match.
func around(line string, at int) string {
	line = strings.ToValidUTF8(line, "\uFFFD")
	if len(line) <= grepLine || runes(line, grepLine) == len(line) {
		return line
	}
	from := max(0, min(at, len(line))-grepLine/3)
	for from > 0 && line[from]&0xC0 == 0x80 {
		from--
	}
	piece := line[from:]
	piece = piece[:runes(piece, grepLine)]
	if from+len(piece) < len(line) {
		piece += " …"
	}
	if from > 0 {
		piece = "… " + piece
	}
	return piece
}

func (s *search) String(at place) string {
	var b strings.Builder
	if s.matches == 0 {
		b.WriteString("No line in " + printable(at.shown) + " matches.\n")
	} else {
		fmt.Fprintf(&b, "%s in %s:\n%s", quantity.Count(s.matches, "line"), quantity.Count(s.files, "file"),
			s.text.String())
	}
	if s.shown < s.matches {
		fmt.Fprintf(&b, "(%s more lines not shown: narrow the pattern or the folder, or raise limit.)\n",
			quantity.Number(s.matches-s.shown))
	}
	if s.large > 0 {
		fmt.Fprintf(&b, "(%s larger than 16 MB passed over.)\n", quantity.Count(s.large, "file"))
	}
	if s.closed > 0 {
		fmt.Fprintf(&b, "(%s passed over by the rules of this session.)\n", quantity.Count(s.closed, "file"))
	}
	return strings.TrimSuffix(b.String(), "\n")
}
