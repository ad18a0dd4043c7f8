package coverage

import "strings"

// bare reads lines without numbers. Their numbers follow from the command, as long as every line
// that it printed is there: some products take blank lines off the head and the tail of an output,
// and then a range that came out short may have lost its first line. A whole file that was printed
// so counts as whole: what it may lack is blank lines before its first and behind its last.
func (r *reading) bare(out printed) Shown {
	text, only, more := out.text, true, false
	if at, end := noticed(text); at >= 0 {
		if strings.HasPrefix(strings.TrimSpace(text[at:]), "[Showing lines ") {
			return Shown{} // pi shows the end of a long output
		}
		// The line before a notice may be cut in its middle.
		only, more = strings.TrimSpace(text[end:]) == "", true
		text = text[:at]
		text = text[:strings.LastIndexByte(strings.TrimRight(text, "\n"), '\n')+1]
	} else if out.short {
		return Shown{}
	}
	lines := hashes(text)
	whole := r.spans[0] == span{1, endOfFile}
	asked := 0
	for _, s := range r.spans {
		if s.to == endOfFile {
			asked = endOfFile
			break
		}
		asked += s.to - s.from + 1
	}
	untouched := strings.HasSuffix(out.text, "\n")
	switch {
	case len(lines) > asked:
		return Shown{} // something else is in there
	case len(lines) < asked && !untouched && !whole:
		return Shown{}
	}
	var views []View
	for _, s := range r.spans {
		if len(lines) == 0 {
			break
		}
		n := len(lines)
		if s.to != endOfFile {
			n = min(n, s.to-s.from+1)
		}
		v := View{Path: r.path, Field: Output, Start: s.from, Lines: lines[:n:n]}
		v.End = !more && (s.to == endOfFile || v.last() < s.to)
		v.Full = v.End && v.Start == 1
		views, lines = append(views, v), lines[n:]
	}
	if len(views) == 0 {
		return Shown{}
	}
	return Shown{Views: views, OutputIsViews: only}
}

// ranged is how many ranges of a file one command may print: more than anybody writes.
const ranged = 50

// counted reads lines that cat -n or nl numbered. What was left out between two of them shows in
// the numbers.
func (r *reading) counted(out printed) Shown {
	s := style{"", "\t"}
	var views []View
	text, more, behind := out.text, out.short, false
	for text != "" {
		piece := text
		text = ""
		if at, end := noticed(piece); at >= 0 {
			piece, text = piece[:at], piece[end:]
			more = true
			// Its last line may be cut where the notice begins, and the first line behind it too.
			piece = piece[:strings.LastIndexByte(strings.TrimRight(piece, "\n"), '\n')+1]
		}
		if behind {
			_, piece = cut(strings.TrimLeft(piece, "\n"))
		}
		behind = true
		for strings.TrimSpace(piece) != "" {
			var lines run
			if lines, piece = s.next(piece); len(lines.lines) == 0 || !r.within(lines) {
				return Shown{}
			}
			v := View{Path: r.path, Field: Output, Start: lines.start, Lines: lines.lines}
			if n := len(views); n > 0 && v.Start <= views[n-1].last() || n >= ranged {
				return Shown{}
			}
			views = append(views, v)
		}
	}
	if len(views) == 0 {
		return Shown{}
	}
	v, last := &views[len(views)-1], r.spans[len(r.spans)-1]
	v.End = !more && v.last() >= last.from && (last.to == endOfFile || v.last() < last.to)
	v.Full = v.End && v.Start == 1
	return Shown{Views: views, OutputIsViews: !more}
}

// within reports whether a run of lines is in one of the ranges that were asked for.
func (r *reading) within(lines run) bool {
	for _, s := range r.spans {
		if lines.start >= s.from && lines.start+len(lines.lines)-1 <= s.to {
			return true
		}
	}
	return false
}
