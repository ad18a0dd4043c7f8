package coverage

import (
	"path"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
)

// most is how many lines Claude Code's reader shows at once unless a number is given.
const most = 2000

// read understands the tools that read one file.
func read(p *session.Part, c *call.Call, name string) Shown {
	output, a := p.State.Output, c.Arguments
	if cleared(output) || media(name) {
		return Shown{}
	}
	switch tool := c.Entry(); {
	case tool.Is(call.Commands):
		return viewed(a, output, name)
	case tool.Is(call.Paged):
		if a.Has("path") && !a.Has("file_path") && !a.Has("filePath") { // pi
			return plain(output, name, a, true)
		}
		return numbered(a, output, name, most)
	case tool.Is(call.Bare):
		if s := numbered(a, output, name, 0); s.OutputIsViews {
			return s
		}
		if !a.Has("path") && !a.Has("file_path") && !a.Has("absolute_path") {
			return Shown{}
		}
		return plain(output, name, a, false)
	default:
		return numbered(a, output, name, 0)
	}
}

// numbered understands the readers that number their lines: Claude Code, OpenCode, Codex. atOnce is
// how many lines the reader shows unless a number is given, 0 if that is unknown: then only
// its own word tells that it came to the end.
func numbered(a call.Arguments, output, name string, atOnce int) Shown {
	text := output
	for _, head := range []string{"<file>\n", "<path>", "<type>file</type>\n", "<content>\n"} { // OpenCode
		if rest, ok := strings.CutPrefix(text, head); ok {
			if text = rest; head == "<path>" {
				_, text = cut(rest)
			}
		}
	}
	first, _ := cut(text)
	s, ok := styled(first)
	if !ok {
		return Shown{}
	}
	r, rest := s.next(text)
	t := readTail(rest)
	v := View{Path: name, Field: Output, Start: r.start, Lines: r.lines}
	// Where the reader tells that it came to the end, its word counts; Claude Code's never does,
	// and did when it showed fewer lines than it could.
	v.End = t.end
	phantom := false // "a\n" is shown as two lines, the second one empty
	switch {
	case s.behind == "→" || s.behind == "\t":
		limit := atOnce
		if n, ok := number(a, "limit"); ok {
			limit = min(n, atOnce)
		}
		v.End = t.end || !t.more && len(v.Lines) < limit
		phantom = true
	case s.behind == "| ":
		phantom = true
	}
	v.trim(phantom)
	v.Full = v.End && v.Start == 1 && !r.short
	return one(v, t.only)
}

// trim takes off the empty line that some readers show behind the last newline.
func (v *View) trim(phantom bool) {
	if n := len(v.Lines); phantom && v.End && n > 1 && v.Lines[n-1] == blank {
		v.Lines = v.Lines[:n-1]
	}
}

// viewed understands Anthropic's editor: `cat -n` below a heading, an optional range with -1 for
// the end.
func viewed(a call.Arguments, output, name string) Shown {
	text := output
	if first, rest := cut(output); strings.Contains(first, "`cat -n`") {
		text = rest
	}
	first, _ := cut(text)
	s, ok := styled(first)
	if !ok || s.behind != "\t" {
		return Shown{}
	}
	r, rest := s.next(text)
	t := readTail(rest)
	v := View{Path: name, Field: Output, Start: r.start, Lines: r.lines}
	v.End = !t.more && toEnd(a)
	v.trim(true)
	v.Full = v.End && v.Start == 1 && !r.short
	return one(v, t.only)
}

// toEnd reports whether a view_range goes to the end of the file, as none does.
func toEnd(a call.Arguments) bool {
	text := strings.Trim(strings.ReplaceAll(string(a.Get("view_range")), " ", ""), `"`)
	return text == "" || text == "null" || text == "[]" || strings.HasSuffix(text, ",-1]")
}

// plain understands the readers that show the bare text: pi, Gemini CLI, MCP file servers. Which
// lines they show is told by the arguments alone, so that an argument which is not known leaves it
// unknown. offsets is set where "offset" is known to be the number of the first line.
func plain(output, name string, a call.Arguments, offsets bool) Shown {
	from, limit := 1, 0
	for i := range a {
		switch n, ok := number(a, a[i].Name); a[i].Name {
		case "path", "file_path", "absolute_path", "description", "encoding", "explanation":
		case "offset":
			if offsets && ok {
				from = max(1, n)
			} else {
				from = 0
			}
		case "limit", "head":
			if !ok || n < 1 {
				return Shown{}
			}
			limit = n
		default:
			return Shown{}
		}
	}
	text, only, more := output, true, false
	if at := strings.Index(text, "--- FILE CONTENT (truncated) ---\n"); at >= 0 && at < 1000 { // Gemini CLI
		head := text[:at]
		text = text[at+len("--- FILE CONTENT (truncated) ---\n"):]
		more, from = true, 0
		if _, span, ok := strings.Cut(head, "Showing lines "); ok {
			n, _, _ := strings.Cut(span, "-")
			from, _ = strconv.Atoi(n)
		}
	} else if at, end := noticed(text); at >= 0 {
		only, more = strings.TrimSpace(text[end:]) == "", true
		text = text[:at]
		if strings.HasSuffix(text, "\n\n") { // the blank line before the notice
			text = text[:at-1]
		}
	}
	if from < 1 {
		return Shown{}
	}
	lines := hashes(text)
	if limit > 0 && len(lines) > limit {
		return Shown{}
	}
	return one(view(name, Output, from, lines, !more && (limit == 0 || len(lines) < limit)), only)
}

// number is an argument that is a whole number.
func number(a call.Arguments, name string) (int, bool) {
	text := a.Text(name)
	if text == "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// media reports whether a file is one that readers show to a model as a picture or a document, or
// take apart.
func media(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".ico", ".pdf", ".ipynb", ".docx", ".xlsx", ".pptx",
		".zip", ".gz", ".mp3", ".mp4", ".wav":
		return true
	}
	return false
}
