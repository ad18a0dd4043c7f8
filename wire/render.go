package wire

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// Entry is one side of an exchange, as a model gets to see it: what the user said, or what the
// assistant thought, said and called in one step, with the results of those calls.
type Entry struct {
	Role session.Role
	// System is set on what a body said in the system's name in the middle of the conversation.
	System bool
	// Same is set on what the model of the options wrote: its secrets mean something to it.
	Same   bool
	Pieces []Piece
}

// Piece is one piece of an entry. Exactly one of Text, Media, Thought, Call and Opaque is set.
type Piece struct {
	Part    *session.Part
	Text    string
	Media   *Media
	Thought *Thought
	Call    *Call
	// Opaque is the raw JSON of a block that only the provider which made it understands.
	Opaque jsontext.Value
}

// Words are the text of a piece, and of media what tells of it: not every assistant may show media.
func (p *Piece) Words() string {
	if p.Media != nil {
		return p.Media.Line()
	}
	return p.Text
}

// Call is a tool call and its result.
type Call struct {
	ID     string // unique in the body, made of letters, digits, '_' and '-', at most 64 of them
	Name   string // of the same letters, at most 64 of them
	Input  jsontext.Value
	Result string
	Failed bool
	Media  []Media
	// Original is the result as the format had it, nil unless that says more. Rest are the blocks
	// of one of which something is left out by now that are neither text nor media.
	Original jsontext.Value
	Rest     []jsontext.Value
}

// Entries renders messages that are already a view: which pieces of them reach a model, in order.
//
//   - Of the user: text that is not ignored and not blank, and files. Folders, and text files that
//     came with no request, are left out: the program that attached them wrote their contents next
//     to them. A marker asks Question.
//   - Of the assistant: text, calls with their results, and reasoning if the model of the options
//     wrote it. Other models' reasoning is left out: no provider accepts it, and as text it would
//     teach the model to reason aloud. Reasoning that ends its step is left out as well; providers
//     refuse it.
//   - Never step markers, snapshots, patches, retries, or a failed message without text or call.
//
// A message with several steps gives an entry for each, so that the result of a call comes before
// what was said after it. What an entry holds depends on its message and on the call ids of the
// messages before it, never on later messages.
//
// own begins the type of parts that hold blocks only this wire format understands ("anthropic/").
// What a request of this format had comes back as it was: see Original. Other formats' blocks
// become a text that tells of them. Empty: all of them are left out.
func Entries(messages []session.Message, o Options, own string) []Entry {
	entries := make([]Entry, 0, len(messages))
	ids := newCallIDs(o.Calls)
	for i := range messages {
		entries = appendEntries(entries, &messages[i], o, own, &ids)
	}
	return entries
}

func appendEntries(entries []Entry, m *session.Message, o Options, own string, ids *callIDs) []Entry {
	if m.Role == session.Assistant {
		return appendSteps(entries, m, o.wrote(m), ids, own)
	}
	return appendUser(entries, m, own)
}

func appendUser(entries []Entry, m *session.Message, own string) []Entry {
	e := Entry{Role: session.User}
	for i := range m.Parts {
		p := &m.Parts[i]
		switch p.Type {
		case session.TextPart:
			if !p.Ignored && !Blank(p.Text) {
				e.Pieces = append(e.Pieces, asItCame(Piece{Part: p, Text: p.Text}, own))
				e.System = e.System || isSystem(p)
			}
		case session.FilePart:
			if piece, ok := filePiece(p); ok {
				e.Pieces = append(e.Pieces, asItCame(piece, own))
			}
		case session.AgentPart:
			e.Pieces = append(e.Pieces, Piece{Part: p, Text: "[The user mentioned the agent " + p.Name + "]"})
		case session.SubtaskPart:
			e.Pieces = append(e.Pieces, Piece{Part: p, Text: subtask(p)})
		case session.CompactionPart:
			e.Pieces = append(e.Pieces, Piece{Part: p, Text: Question})
		default:
			if piece, ok := opaque(p, own); ok {
				e.Pieces = append(e.Pieces, piece)
			}
		}
	}
	if len(e.Pieces) == 0 {
		return entries
	}
	return append(entries, e)
}

func subtask(p *session.Part) string {
	text := "[The user handed a task to the agent " + p.Agent
	if p.Description != "" {
		text += ": " + p.Description
	}
	return text + "]"
}

func appendSteps(entries []Entry, m *session.Message, same bool, ids *callIDs, own string) []Entry {
	if m.Failed() && !hasContent(m) {
		return entries
	}
	e := Entry{Role: session.Assistant, Same: same}
	flush := func() {
		for len(e.Pieces) > 0 && e.Pieces[len(e.Pieces)-1].Thought != nil {
			e.Pieces = e.Pieces[:len(e.Pieces)-1]
		}
		if len(e.Pieces) > 0 {
			entries = append(entries, e)
		}
		e.Pieces = nil
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		switch p.Type {
		case session.StepStartPart, session.StepFinishPart:
			flush()
		case session.TextPart:
			if !p.Ignored && !Blank(p.Text) {
				e.Pieces = append(e.Pieces, asItCame(Piece{Part: p, Text: p.Text}, own))
			}
		case session.ReasoningPart:
			if same {
				thought := ThoughtOf(p)
				e.Pieces = append(e.Pieces, Piece{Part: p, Thought: &thought})
			}
		case session.FilePart:
			m := MediaOf(p)
			e.Pieces = append(e.Pieces, asItCame(Piece{Part: p, Media: &m}, own))
		case session.ToolPart:
			e.Pieces = append(e.Pieces, Piece{Part: p, Call: callOf(p, ids, own)})
		default:
			if piece, ok := opaque(p, own); ok {
				e.Pieces = append(e.Pieces, piece)
			}
		}
	}
	flush()
	return entries
}

func hasContent(m *session.Message) bool {
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Type {
		case session.TextPart:
			if !Blank(p.Text) {
				return true
			}
		case session.ToolPart, session.FilePart:
			return true
		}
	}
	return false
}

func callOf(p *session.Part, ids *callIDs, own string) *Call {
	c := &Call{ID: ids.next(p), Name: SafeName(p.Tool, 64), Input: jsontext.Value(`{}`), Result: Interrupted}
	if p.State == nil {
		return c
	}
	c.Input = object(p.State.Input)
	switch p.State.Status {
	case session.Completed:
		c.Result = p.State.Output
	case session.Failed:
		if output, ok := interruptedOutput(p.State); ok {
			c.Result = output
			break
		}
		c.Result, c.Failed = p.State.Error, true
		if Blank(c.Result) {
			c.Result = Wordless
		}
	default:
		return c
	}
	for i := range p.State.Attachments {
		if piece, ok := filePiece(&p.State.Attachments[i]); ok {
			c.Media = append(c.Media, *piece.Media)
		}
	}
	if o, ok := originalOf(p.Metadata, ofResult); ok && own != "" {
		c.original(&o, p.State, own)
	}
	return c
}

// original takes what a request had for the result: whole in its own format, in others as a text
// that tells of the blocks that they do not know.
func (c *Call) original(o *original, s *session.ToolState, own string) {
	if o.Form == own {
		c.Original = o.whole(s.Result(), s.Attachments)
	}
	for _, block := range o.rest() {
		switch {
		case c.Original != nil:
		case o.Form == own:
			c.Rest = append(c.Rest, block.Raw())
		case o.Of == stamp(s.Result(), s.Attachments):
			owner, _, _ := strings.Cut(o.Form, "/")
			told := Foreign(owner, cmp.Or(block.Get("type").String(), "part"), block)
			c.Result = strings.TrimPrefix(c.Result+"\n"+told, "\n")
		}
	}
}

// interruptedOutput is what a call had written when the user stopped it.
func interruptedOutput(s *session.ToolState) (string, bool) {
	if len(s.Metadata) == 0 {
		return "", false
	}
	var metadata struct {
		Interrupted bool    `json:"interrupted"`
		Output      *string `json:"output"`
	}
	if json.Unmarshal(s.Metadata, &metadata, session.ReadOptions()) != nil || !metadata.Interrupted ||
		metadata.Output == nil {
		return "", false
	}
	return *metadata.Output, true
}

// object makes an object of arguments: providers accept nothing else. Anything but an object
// becomes the member "input" of one, as a string if it is not JSON.
func object(input jsontext.Value) jsontext.Value {
	if len(input) == 0 {
		return jsontext.Value(`{}`)
	}
	v := input.Clone()
	if v.Compact(session.ReadOptions()) != nil {
		v = span.Quote(string(input))
	}
	if v.Kind() == '{' {
		return v
	}
	return span.Make("input", v)
}

// Blank reports whether a text has nothing but white space: providers refuse such blocks.
func Blank(text string) bool { return strings.TrimSpace(text) == "" }

// OpaquePart makes a part of a block that only its provider understands, so that it survives the
// way back.
func OpaquePart(format, kind string, raw jsontext.Value) session.Part {
	return session.Part{Type: session.PartType(format + "/" + kind), Metadata: raw}
}

// opaque is the piece of such a part: the block in its own format, else a text that tells of it.
func opaque(p *session.Part, own string) (Piece, bool) {
	if own == "" || p.Metadata.Kind() != '{' {
		return Piece{}, false
	}
	if strings.HasPrefix(string(p.Type), own) {
		return Piece{Part: p, Opaque: p.Metadata}, true
	}
	owner, kind, ok := strings.Cut(string(p.Type), "/")
	return Piece{Part: p, Text: Foreign(owner, kind, ValueOf(p.Metadata))}, ok
}

// asItCame makes a piece of the block that a request of the own format had for its part.
func asItCame(piece Piece, own string) Piece {
	if o, ok := originalOf(piece.Part.Metadata, ofBlock); ok && o.Form == own {
		if block := o.whole(piece.Part.Text, []session.Part{*piece.Part}); block != nil {
			return Piece{Part: piece.Part, Opaque: block}
		}
	}
	return piece
}

// systemNote is the metadata of a text that a body said in the system's name.
const systemNote = `{"wire":{"role":"system"}}`

func isSystem(p *session.Part) bool { return string(p.Metadata) == systemNote }
