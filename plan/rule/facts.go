package rule

import (
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// Size is what a part takes of the context, in tokens, by the piece that can be left out alone.
type Size struct {
	Text   int // of a text or reasoning part, an agent, a subtask
	Input  int // arguments of a call, with the name of the tool
	Output int // result or error of a call
	Files  int // attachments of a call, or a file part
}

// Total of a size.
func (s Size) Total() int { return s.Text + s.Input + s.Output + s.Files }

// Facts is the index over a log that the rules share: what is known of each part by itself, and one
// timeline of those that a rule may look at. It grows with the log: a part whose texts did not
// change is never counted twice. It is not safe for concurrent use.
//
// Each list of messages that is given to it must begin as the last one did. Call Forget after
// replacing a message that is not among the newest (Noticed).
type Facts struct {
	counter token.Counter
	factor  float64 // of the counter, for the model that reads
	parts   map[string]*fact
	counted int
	decided atomic.Int64
	current *timeline
	stale   bool // see Forget
	handles Handles

	guard        *Guard // that said of names whether they are protected
	tools, paths map[string]bool
}

// fact is what is known of a part by itself.
type fact struct {
	text, output  string // the texts that were counted; text is the arguments of a call
	called        bool   // text is the arguments of a call
	files         int    // how many attachments
	lines         int    // of the output, as Measure counts them
	counted, size Size   // as the counter has it, and times the factor

	understood bool // target and paths are filled in
	target     string
	paths      []string
	call       *Call
	guard      *Guard // that said guarded
	guarded    string
}

// NewFacts returns an empty index that counts with counter.
func NewFacts(counter token.Counter) *Facts {
	return &Facts{counter: counter, factor: 1, parts: map[string]*fact{}}
}

// Scale multiplies every size by a factor that was learned of the model that reads, also of parts
// that were counted before.
func (f *Facts) Scale(factor float64) {
	f.factor = factor
	for _, known := range f.parts {
		known.size = f.scaled(known.counted)
	}
}

// Factor is what sizes are multiplied by.
func (f *Facts) Factor() float64 { return f.factor }

func (f *Facts) scaled(s Size) Size {
	return Size{f.scale(s.Text), f.scale(s.Input), f.scale(s.Output), s.Files}
}

func (f *Facts) scale(tokens int) int {
	if tokens == 0 || f.factor == 1 {
		return tokens
	}
	return max(1, int(math.Round(float64(tokens)*f.factor)))
}

// Count is the size of a text in tokens.
func (f *Facts) Count(text string) int { return f.scale(f.counter.Count(text)) }

// Counter is the counter in use.
func (f *Facts) Counter() token.Counter { return f.counter }

// Counted is how many parts were counted or understood so far: the work done.
func (f *Facts) Counted() int { return f.counted }

// Decided is how many items the sound rules have read and how many placeholders they have written
// so far: the work done.
func (f *Facts) Decided() int { return int(f.decided.Load()) }

// Target says what a call was about, as the function of that name does; its arguments are read
// once.
func (f *Facts) Target(p *session.Part) string { return f.know(p).understand(p).target }

// Paths are those that a call names in its arguments, as the function of that name gives them.
func (f *Facts) Paths(p *session.Part) []string { return f.know(p).understand(p).paths }

func (known *fact) understand(p *session.Part) *fact {
	if !known.understood {
		known.target, known.paths, known.understood = Target(p), Paths(p), true
	}
	return known
}

// Size of a part as the log has it.
func (f *Facts) Size(p *session.Part) Size {
	if sizeless(p) {
		return Size{}
	}
	return f.know(p).size
}

// sizeless reports whether a part holds no text that a model is sent: a marker of a step, a
// snapshot.
func sizeless(p *session.Part) bool {
	switch p.Type {
	case session.TextPart, session.ReasoningPart, session.SubtaskPart, session.AgentPart, session.FilePart,
		session.ToolPart:
		return false
	}
	return true
}

// know returns what is known of a part. It counts a part that is new, or whose texts changed.
func (f *Facts) know(p *session.Part) *fact {
	if known := f.parts[p.ID]; known != nil && p.ID != "" && known.is(p) {
		return known
	}
	f.counted++
	known := new(fact)
	f.count(p, known)
	f.parts[p.ID] = known
	return known
}

// is reports whether a part still has the texts that were counted. Strings that share their bytes
// compare in no time.
func (known *fact) is(p *session.Part) bool {
	text, input, output, files := pieces(p)
	called := p.Type == session.ToolPart
	if called {
		text = input
	}
	return known.called == called && known.files == files && known.text == text && known.output == output
}

// count counts a part. It reads nothing of the index but the counter.
func (f *Facts) count(p *session.Part, known *fact) {
	text, input, output, files := pieces(p)
	size := Size{Text: f.counter.Count(text), Output: f.counter.Count(output), Files: fileTokens(p)}
	if known.called = p.Type == session.ToolPart; known.called {
		text = input
		if p.State != nil {
			size.Input = f.counter.Count(p.Tool) + f.counter.Count(input)
		}
	}
	known.text, known.output, known.files, known.lines = text, output, files, linesOf(output)
	known.counted, known.size = size, f.scaled(size)
}

// learnFrom is from how many bytes on it is worth to start goroutines.
const learnFrom = 128 << 10

// Learn counts the parts of messages that are not known yet and understands their calls, on all
// processors at once. It changes no size and no decision: it only shortens the first look at a long
// log.
func (f *Facts) Learn(messages []session.Message) {
	type unknown struct {
		part *session.Part
		cwd  string // where a call ran, as the timeline of these messages will say
	}
	parts := 0
	for i := range messages {
		parts += len(messages[i].Parts)
	}
	wanted := make([]unknown, 0, parts)
	bytes, cwd := 0, ""
	for i := range messages {
		if p := messages[i].Path; p != nil && p.Cwd != "" {
			cwd = p.Cwd
		}
		for j := range messages[i].Parts {
			if p := &messages[i].Parts[j]; p.ID != "" && !sizeless(p) && f.parts[p.ID] == nil {
				wanted = append(wanted, unknown{p, cwd})
				text, input, output, _ := pieces(p)
				bytes += len(text) + len(input) + len(output)
			}
		}
	}
	if runtime.GOMAXPROCS(0) < 2 || bytes < learnFrom {
		return // small texts are counted when they are needed
	}
	facts := make([]fact, len(wanted))
	spread(len(wanted), func(at int) {
		p, known := wanted[at].part, &facts[at]
		f.count(p, known)
		if p.Type == session.ToolPart && p.State != nil && p.State.Final() {
			known.read(p, wanted[at].cwd)
		}
	})
	if len(f.parts) == 0 {
		f.parts = make(map[string]*fact, len(wanted))
	}
	f.counted += len(wanted)
	for at := range wanted {
		f.parts[wanted[at].part.ID] = &facts[at]
		if facts[at].call != nil {
			f.counted++
		}
	}
}

// Fork returns an index of its own that knows of each part what this one knows. Several can be
// forked at once.
func (f *Facts) Fork() *Facts {
	g := NewFacts(f.counter)
	g.factor, g.counted = f.factor, f.counted
	g.parts = make(map[string]*fact, 2*len(f.parts))
	facts := make([]fact, 0, len(f.parts))
	for id, known := range f.parts {
		facts = append(facts, *known)
		g.parts[id] = &facts[len(facts)-1]
	}
	return g
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
			return token.PDF
		case p.IsMedia():
			return token.Image
		case p.Sent() && strings.HasPrefix(p.Mime, "text/"):
			return len(p.URL) * 3 / 16 // base64 of text
		case p.Sent():
			return token.Image
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

// asString views a JSON text as a string without copying it: the log is never changed.
func asString(v []byte) string { return unsafe.String(unsafe.SliceData(v), len(v)) }
