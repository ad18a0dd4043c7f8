package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/winnowhq/winnow/agent"
)

// Limits say which outputs are too long to be sent, and how much of them is.
type Limits struct {
	// Lines and Bytes are the most that is sent whole. Default 2,000 lines and 50 KiB (51,200 bytes), some 12,000 tokens.
	Lines, Bytes int
	// ShownLines and ShownBytes are how much of a longer one is sent: half from its beginning, half from its end, where compilers and tests sum up.
	// Default 400 lines and 16 KiB. They are never more than Lines and Bytes.
	ShownLines, ShownBytes int
}

func (l Limits) or() Limits {
	set := func(n *int, otherwise int) {
		if *n <= 0 {
			*n = otherwise
		}
	}
	set(&l.Lines, 2000)
	set(&l.Bytes, 50<<10)
	set(&l.ShownLines, 400)
	set(&l.ShownBytes, 16<<10)
	l.ShownLines, l.ShownBytes = min(l.ShownLines, l.Lines), min(l.ShownBytes, l.Bytes)
	return l
}

// Keep puts a whole output away and gives the name by which it can be recalled, "" when it could not be kept.
type Keep func(callID, text string) (name string)

// Shape is an output as it is first sent: whole where it is within the limits, otherwise its beginning and its end with a line between them that says what was
// left out and how to get it. keep may be nil, and is called for outputs that are too long alone. The note is not counted among the limits.
func Shape(output, callID string, l Limits, keep Keep) string {
	l = l.or()
	lines := lineCount(output)
	if lines <= l.Lines && len(output) <= l.Bytes {
		return output
	}
	head := begins(output, (l.ShownLines+1)/2, (l.ShownBytes+1)/2)
	tail := endOf(output[len(head):], l.ShownLines/2, l.ShownBytes/2)
	left := output[len(head) : len(output)-len(tail)]
	if left == "" {
		return output
	}
	what := counted(lineCount(left), "line") + ", " + counted(len(left), "byte")
	if !strings.Contains(left, "\n") && (!strings.HasSuffix(head, "\n") || tail == "") {
		what = counted(len(left), "byte")
	}
	how := "ask for less: a range of lines (offset and limit, or sed -n), or a search for what matters"
	if keep != nil {
		if name := keep(callID, output); name != "" {
			how = "the whole output is kept and can be recalled as " + name
		}
	}
	note := fmt.Sprintf("[%s omitted here, of %s and %s in all; %s]", what, counted(lines, "line"), counted(len(output), "byte"), how)
	if head != "" && !strings.HasSuffix(head, "\n") {
		note = "\n" + note
	}
	if tail != "" {
		note += "\n"
	}
	return head + note + tail
}

// begins is the beginning of a text, so many lines and bytes at most: whole lines, or a piece of the first one where that alone is too long.
func begins(text string, lines, bytes int) string {
	end := 0
	for ; lines > 0; lines-- {
		n := strings.IndexByte(text[end:], '\n') + 1
		if n == 0 {
			n = len(text) - end
		}
		if n == 0 || end+n > bytes {
			break
		}
		end += n
	}
	if end == 0 && text != "" && lines > 0 {
		end = min(bytes, len(text))
		for end > 0 && end < len(text) && text[end]&0xC0 == 0x80 {
			end--
		}
	}
	return text[:end]
}

// endOf is the same of the end.
func endOf(text string, lines, bytes int) string {
	start := len(text)
	for ; lines > 0 && start > 0; lines-- {
		at := strings.LastIndexByte(text[:start-1], '\n') + 1
		if len(text)-at > bytes {
			break
		}
		start = at
	}
	if start == len(text) && text != "" && lines > 0 {
		start = max(0, len(text)-bytes)
		for start < len(text) && text[start]&0xC0 == 0x80 {
			start++
		}
	}
	return text[start:]
}

// Paged is a tool that keeps its answers short itself and says in them how to go on.
type Paged interface {
	agent.Tool
	Paged()
}

// Shaped is a tool whose outputs are shaped. One that is Paged is given back as it is; one that is Serial stays so. What the whole output had, in bytes, is
// in the metadata as "shapedFrom" when it was too long.
func Shaped(t agent.Tool, l Limits, keep Keep) agent.Tool {
	if _, ok := t.(Paged); ok {
		return t
	}
	s := shaped{t, l, keep}
	if serial, ok := t.(agent.Serial); ok {
		return serialShaped{s, serial}
	}
	return s
}

type shaped struct {
	agent.Tool
	limits Limits
	keep   Keep
}

func (s shaped) Run(ctx context.Context, c agent.Call) (agent.Result, error) {
	r, err := s.Tool.Run(ctx, c)
	if err != nil {
		return r, err
	}
	if short := Shape(r.Output, c.ID, s.limits, s.keep); len(short) != len(r.Output) || short != r.Output {
		m := make(map[string]any, len(r.Metadata)+1)
		for name, value := range r.Metadata {
			m[name] = value
		}
		m["shapedFrom"] = len(r.Output)
		r.Output, r.Metadata = short, m
	}
	return r, nil
}

type serialShaped struct {
	shaped
	serial agent.Serial
}

func (s serialShaped) Serial() { s.serial.Serial() }
