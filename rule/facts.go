package rule

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/winnowhq/winnow/call"
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
//
// The rules take a list of messages that begins as the one before it for the same list, grown. Whoever replaces a message of it that is not among the
// newest (Noticed) calls Forget.
type Facts struct {
	counter token.Counter
	factor  float64 // of the counter, for the model that reads
	parts   map[string]*fact
	counted int
	decided int

	guard                      *Guard // that said so of tools and paths
	guardedTools, guardedPaths map[string]bool

	learned learned

	gone   int32  // what the facts of outputs are marked with that the ledger has
	ledger Ledger // of which they were marked

	line    *timeline
	stale   bool // see Forget
	handles Handles
}

// fact is what is known of a part. There is one of each: it is kept small.
type fact struct {
	text, output  string // what the size was counted from; text is the arguments where it is that of a call
	counted, size small  // as the counter has it, and times the factor
	files         int32  // how many attachments
	lines         int32  // of the output, as Measure counts them
	gone          int32  // see Facts.goneOutputs

	called     bool // it is that of a call
	indexed    bool // it is what the index has under the part's id
	understood bool // target and paths are filled in
	target     string
	paths      []string

	call    *Call
	guard   *Guard // that said guarded
	guarded string
	namer   *Handles // that gave the handle
	handle  string
	// The elision of the backward scan, and the counter's factor when it was made.
	backward       *Elision
	backwardFactor float64
}

// small is a Size that takes less room.
type small struct{ text, input, output, files int32 }

func smallOf(s Size) small {
	return small{int32(s.Text), int32(s.Input), int32(s.Output), int32(s.Files)}
}

func (s small) size() Size { return Size{int(s.text), int(s.input), int(s.output), int(s.files)} }

// NewFacts returns an empty index that counts with counter.
func NewFacts(counter token.Counter) *Facts {
	return &Facts{counter: counter, factor: 1, parts: map[string]*fact{}}
}

// Scale multiplies every size by a factor, of what was counted before too: what was learned of the model that reads.
func (f *Facts) Scale(factor float64) {
	f.factor = factor
	for _, known := range f.parts {
		known.size = smallOf(f.scaled(known.counted.size()))
	}
}

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

// Counted is how many parts were looked at so far: the work done, for tests and benchmarks.
func (f *Facts) Counted() int { return f.counted }

// Decided is how many decisions about parts the rules made so far, each a look at what was new: the work done, for tests and benchmarks.
func (f *Facts) Decided() int { return f.decided }

// Target says what a call was about, as the function of that name does; a call's arguments are read once.
func (f *Facts) Target(p *session.Part) string { return f.understand(p).target }

// Paths are those that a call names in its arguments, as the function of that name gives them.
func (f *Facts) Paths(p *session.Part) []string { return f.understand(p).paths }

func (f *Facts) understand(p *session.Part) *fact {
	known := f.know(p)
	if !known.understood {
		known.understand(p)
	}
	return known
}

func (known *fact) understand(p *session.Part) {
	known.target, known.paths, known.understood = Target(p), Paths(p), true
}

// Size of a part as the log has it.
func (f *Facts) Size(p *session.Part) Size {
	if sizeless(p) {
		return Size{}
	}
	return f.know(p).size.size()
}

// sizeless reports whether a part has nothing of which a model is sent a text: a marker of a step, a snapshot.
func sizeless(p *session.Part) bool {
	switch p.Type {
	case session.TextPart, session.ReasoningPart, session.SubtaskPart, session.AgentPart, session.FilePart, session.ToolPart:
		return false
	}
	return true
}

// know returns what is known of a part, and looks at it when that is nothing, or was of other texts.
func (f *Facts) know(p *session.Part) *fact {
	if known := f.parts[p.ID]; known != nil && p.ID != "" && known.is(p) {
		return known
	}
	f.counted++
	known := new(fact)
	f.look(p, known)
	f.keep(p.ID, known)
	return known
}

// is reports whether a part has the texts of which this is known. Equal strings that share their bytes compare in no time, so that an unchanged part costs no
// second look.
func (known *fact) is(p *session.Part) bool {
	text, input, output, files := pieces(p)
	called := p.Type == session.ToolPart
	if called {
		text = input
	}
	return known.called == called && known.files == int32(files) && known.text == text && known.output == output
}

// keep puts what is known of a part into the index.
func (f *Facts) keep(id string, known *fact) {
	if before := f.parts[id]; before != nil {
		before.indexed = false
	}
	f.parts[id], known.indexed = known, true
}

// look counts a part. It reads nothing of the index but the counter.
func (f *Facts) look(p *session.Part, known *fact) {
	text, input, output, files := pieces(p)
	size := Size{Text: f.counter.Count(text), Output: f.counter.Count(output), Files: fileTokens(p)}
	if p.Type == session.ToolPart && p.State != nil {
		size.Input = f.counter.Count(p.Tool) + f.counter.Count(input)
		text = input
	}
	known.called, known.text, known.output = p.Type == session.ToolPart, text, output
	known.files, known.lines = int32(files), int32(linesOf(output))
	known.counted, known.size = smallOf(size), smallOf(f.scaled(size))
}

// Learn counts the parts of messages that are not known yet and understands their calls, on all processors at once. It changes no size and no
// decision: it only spares the first look at a long log most of its time.
func (f *Facts) Learn(messages []session.Message) {
	n := 0
	for i := range messages {
		n += len(messages[i].Parts)
	}
	wanted := make([]unknown, 0, n)
	bytes, cwd := 0, "" // bytes are counted up to learnFrom
	for i := range messages {
		if p := messages[i].Path; p != nil && p.Cwd != "" {
			cwd = p.Cwd
		}
		for j := range messages[i].Parts {
			if p := &messages[i].Parts[j]; p.ID != "" && !sizeless(p) && f.parts[p.ID] == nil {
				wanted = append(wanted, unknown{p, cwd})
				if bytes < learnFrom {
					text, input, output, _ := pieces(p)
					bytes += len(text) + len(input) + len(output)
				}
			}
		}
	}
	if runtime.GOMAXPROCS(0) < 2 || bytes < learnFrom {
		return // what is little is counted as it is asked for
	}
	facts := make([]fact, len(wanted))
	if len(f.parts) == 0 {
		f.parts = make(map[string]*fact, len(wanted))
	}
	var indexed sync.WaitGroup
	indexed.Go(func() { f.keepAll(wanted, facts) })
	var calls atomic.Int64
	spread(len(wanted), func(at int) {
		p, known := wanted[at].part, &facts[at]
		f.look(p, known)
		if p.Type == session.ToolPart && p.State != nil && p.State.Final() {
			var arguments call.Arguments
			known.call, arguments = understood(p, wanted[at].cwd)
			known.target, known.paths, known.understood = targetOf(p, arguments), pathsOf(arguments), true
			calls.Add(1)
		}
	})
	indexed.Wait()
	f.counted += len(wanted) + int(calls.Load())
	f.learned = learned{wanted, facts}
}

// keepAll puts what is known of many parts into the index.
func (f *Facts) keepAll(wanted []unknown, facts []fact) {
	twice := false // an id is that of two parts, of which the later one counts
	for i := range wanted {
		before := len(f.parts)
		f.parts[wanted[i].part.ID], facts[i].indexed = &facts[i], true
		twice = twice || len(f.parts) == before
	}
	for i := 0; twice && i < len(wanted); i++ {
		facts[i].indexed = f.parts[wanted[i].part.ID] == &facts[i]
	}
}

// learned is what Learn found, until the timeline has it: parts and what is known of them, in the order of the log.
type learned struct {
	parts []unknown
	facts []fact
}

// next is what is known of a part, nil where it is none of the next ones. What goes before it is passed over.
func (l *learned) next(p *session.Part) *fact {
	for i := range min(len(l.parts), 8) {
		if l.parts[i].part == p {
			known := &l.facts[i]
			l.parts, l.facts = l.parts[i+1:], l.facts[i+1:]
			return known
		}
	}
	return nil
}

// unknown is a part that nothing is known of.
type unknown struct {
	part *session.Part
	cwd  string // where a call ran, as the timeline of these messages will say
}

// learnFrom is from how many bytes on it is worth to start goroutines.
const learnFrom = 128 << 10

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
