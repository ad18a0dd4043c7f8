package rule

import (
	"unsafe"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// Size is what a part takes of the context, in tokens, by the piece that can be elided on its own.
type Size struct {
	Text   int // of a text or reasoning part, an agent, a subtask
	Input  int // arguments of a call, with the name of the tool
	Output int // result or error of a call
	Files  int // attachments of a call, or a file part
}

// Total of a size.
func (s Size) Total() int { return s.Text + s.Input + s.Output + s.Files }

// What media takes, in tokens, whatever it weighs in bytes: providers bill images by their area, and about so much for one
// that was scaled to their limit; a PDF by its pages, of which nothing is known here.
const (
	ImageTokens = 1500
	PDFTokens   = 2000
)

// Facts is the index over a log that the rules share. It is built as parts arrive and asked again and again: a part
// whose texts did not change is never counted twice. It is not safe for concurrent use.
type Facts struct {
	counter token.Counter
	parts   map[string]*fact
	counted int
}

type fact struct {
	text, input, output string // what the size was counted from
	files               int    // how many attachments
	size                Size
}

// NewFacts returns an empty index that counts with counter.
func NewFacts(counter token.Counter) *Facts {
	return &Facts{counter: counter, parts: map[string]*fact{}}
}

// Count is the size of a text in tokens.
func (f *Facts) Count(text string) int { return f.counter.Count(text) }

// Counter is the counter in use.
func (f *Facts) Counter() token.Counter { return f.counter }

// Counted is how many parts were looked at so far: the work done, for tests and benchmarks.
func (f *Facts) Counted() int { return f.counted }

// Size of a part as the log has it.
func (f *Facts) Size(p *session.Part) Size {
	text, input, output, files := pieces(p)
	if known := f.parts[p.ID]; known != nil && p.ID != "" {
		// Equal strings that share their bytes compare in no time, so that an unchanged part costs no second look.
		if known.files == files && known.text == text && known.input == input && known.output == output {
			return known.size
		}
	}
	f.counted++
	size := Size{Text: f.Count(text), Output: f.Count(output), Files: fileTokens(p)}
	if p.Type == session.ToolPart {
		size.Input = f.Count(p.Tool) + f.Count(input)
	}
	f.parts[p.ID] = &fact{text, input, output, files, size}
	return size
}

// Total is the size of messages as the log has them.
func (f *Facts) Total(messages []session.Message) int {
	total := 0
	for i := range messages {
		for j := range messages[i].Parts {
			total += f.Size(&messages[i].Parts[j]).Total()
		}
	}
	return total
}

// pieces returns the texts of a part that a model is sent, and how many files go with them.
func pieces(p *session.Part) (text, input, output string, files int) {
	switch p.Type {
	case session.TextPart:
		if !p.Ignored {
			text = p.Text
		}
	case session.ReasoningPart:
		text = p.Text
	case session.SubtaskPart:
		text = p.Prompt
	case session.AgentPart:
		text = p.Name
	case session.FilePart:
		files = 1
	case session.ToolPart:
		if p.State != nil {
			input, output, files = asString(p.State.Input), p.State.Result(), len(p.State.Attachments)
		}
	}
	return text, input, output, files
}

func fileTokens(p *session.Part) int {
	if p.Type == session.FilePart {
		switch {
		case p.Mime == "application/pdf":
			return PDFTokens
		case p.IsMedia():
			return ImageTokens
		}
		return 0 // text files are sent as text parts beside the file part
	}
	total := 0
	if p.State != nil {
		for i := range p.State.Attachments {
			total += fileTokens(&p.State.Attachments[i])
		}
	}
	return total
}

// asString views a JSON text as a string without copying it: the log is never changed, so the bytes stay.
func asString(v []byte) string { return unsafe.String(unsafe.SliceData(v), len(v)) }
