package span

import (
	"bytes"
	"iter"
)

// Line is a line of a file.
type Line struct {
	Number int  // 1-based
	Whole  Span // with its line break
	// Text is the JSON: without line break, white space, NUL bytes, byte order mark. It is
	// empty for a blank line.
	Text Span
}

var byteOrderMark = []byte("\ufeff")

// Lines yields the lines of a file. Together their Whole spans are the file.
func Lines(src []byte) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		for start, number := 0, 1; start < len(src); number++ {
			end := len(src)
			if n := bytes.IndexByte(src[start:], '\n'); n >= 0 {
				end = start + n + 1
			}
			text := Span{start, end}
			if start == 0 && bytes.HasPrefix(src, byteOrderMark) {
				text.Start = len(byteOrderMark)
			}
			if !yield(Line{number, Span{start, end}, trim(src, text)}) {
				return
			}
			start = end
		}
	}
}

// Trim takes off what surrounds the JSON of a line: white space, and NUL bytes that a crash left
// there.
func Trim(line []byte) []byte { return trim(line, All(line)).Of(line) }

func trim(src []byte, s Span) Span {
	for !s.Empty() && src[s.Start] <= ' ' {
		s.Start++
	}
	for !s.Empty() && src[s.End-1] <= ' ' {
		s.End--
	}
	return s
}
