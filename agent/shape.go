package agent

import (
	"fmt"
	"strings"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// Limits say which outputs are too long to be sent, and how much of them is.
type Limits struct {
	// Lines and Bytes are the most that is sent whole. Default 2,000 lines and 50 KiB (51,200
	// bytes), some 12,000 tokens.
	Lines, Bytes int
	// ShownLines and ShownBytes are how much of a longer one is sent: half from its beginning, half
	// from its end, where compilers and tests sum up. Default 400 lines and 16 KiB. They are never
	// more than Lines and Bytes.
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

// Shape is an output as it is first sent: whole where it is within the limits, otherwise its
// beginning and its end with a line between them that says what was left out and how to get at it.
// how is asked for that, as the end of a sentence, where something is left out alone; the line is
// not counted among the limits.
func Shape(output string, l Limits, how func() string) string {
	l = l.or()
	lines := call.LineCount(output)
	if lines <= l.Lines && len(output) <= l.Bytes {
		return output
	}
	head := begins(output, (l.ShownLines+1)/2, (l.ShownBytes+1)/2)
	tail := endOf(output[len(head):], l.ShownLines/2, l.ShownBytes/2)
	left := output[len(head) : len(output)-len(tail)]
	if left == "" {
		return output
	}
	what := quantity.Count(call.LineCount(left), "line") + ", " + quantity.Count(len(left), "byte")
	if !strings.Contains(left, "\n") && (!strings.HasSuffix(head, "\n") || tail == "") {
		what = quantity.Count(len(left), "byte")
	}
	note := fmt.Sprintf("[%s omitted here, of %s and %s in all; %s]", what, quantity.Count(lines, "line"),
		quantity.Count(len(output), "byte"), how())
	if head != "" && !strings.HasSuffix(head, "\n") {
		note = "\n" + note
	}
	if tail != "" {
		note += "\n"
	}
	return head + note + tail
}

// begins is the beginning of a text, at most that many lines and bytes: whole lines, or a piece of
// the first one where that alone is too long.
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

// Paged is a Tool that keeps its outputs short itself and says in them how to go on: they are not
// shaped.
type Paged interface {
	Tool
	Paged()
}

// Recaller is a Tool that shows the model what was left out, by the handle of the call; Recall says
// how it is asked, as the end of a sentence: "call …".
type Recaller interface {
	Tool
	Recall(handle string) string
}

// Less is what the note in a shaped output says where nothing in the loop recalls the rest.
const Less = "ask for less: a range of lines (offset and limit, or sed -n), or a search for what matters"

// shape cuts the text of a call that ended, before it is first sent, and keeps the whole of it in
// the store. What it had, in bytes, is in the metadata as "shapedFrom". Every tool is shaped that
// is not Paged.
func (r *run) shape(t Tool, p *session.Part) error {
	if _, paged := t.(Paged); paged {
		return nil
	}
	var failed error
	whole := p.State.Result()
	text := Shape(whole, r.config.Limits, func() string {
		var handle string
		failed = r.config.Engine.Amend(r.saving, r.id, winnow.Amendment{Kept: map[string]string{p.ID: whole}})
		if failed == nil {
			var kept report.Whole
			kept, failed = winnow.Look(r.saving, r.config.Engine, r.id, report.Read(p.ID))
			handle = kept.Handle
		}
		if winnow.CodeOf(failed) == winnow.Disabled {
			failed = nil
		}
		for _, t := range r.config.Tools {
			if recaller, ok := t.(Recaller); ok && handle != "" {
				return "the whole is kept: " + recaller.Recall(handle)
			}
		}
		return Less
	})
	if failed != nil || len(text) == len(whole) && text == whole {
		return failed
	}
	if p.State.Status == session.Failed {
		p.State.Error = text
	} else {
		p.State.Output = text
	}
	p.State.Metadata = with(p.State.Metadata, "shapedFrom", len(whole))
	return nil
}
