package wire

import (
	"fmt"
	"iter"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// Builder puts messages together while a body is read.
type Builder struct {
	*Decoded
	provider string
	user     string            // id of the newest user message
	used     map[string]bool   // part ids
	open     map[string][]call // calls without result, by call id, oldest first
}

type call struct{ message, part int }

// NewBuilder begins to read a body. If its JSON was cut, it is completed. root is its one value; an
// array is the list itself.
func NewBuilder(body []byte, provider string) (b *Builder, root Value) {
	text, skipped := Complete(body)
	root = ValueOf(text)
	d := &Decoded{Text: text, Skipped: skipped, Places: map[string]Place{}}
	if root.Kind() == '[' {
		d.List = root.Span
	}
	return &Builder{Decoded: d, provider: provider, used: map[string]bool{}, open: map[string][]call{}}, root
}

// SetList sets the list of elements to the member of that name, if there is such a member and it is
// a list.
func (b *Builder) SetList(list Value, name string) {
	switch list.Kind() {
	case '[':
		b.List = list.Span
	case 0:
	default:
		b.Skip(list.Span, name+" are not a list")
	}
}

// Entries walks the elements of the list.
func (b *Builder) Entries() iter.Seq[Value] { return Value{b.List, b.Text}.Values() }

// Bare is the place of content that is a plain string.
func Bare(element int, content Value) Place {
	return Place{Element: element, Block: content.Span, Text: content.Span, Bare: true}
}

// Skip notes a piece that was not understood.
func (b *Builder) Skip(at span.Span, reason string) {
	b.Skipped = append(b.Skipped, Skipped{at, reason})
}

// Element adds an entry of the list and returns its position.
func (b *Builder) Element(e Element) int {
	b.Elements = append(b.Elements, e)
	return len(b.Elements) - 1
}

// MessageID is the id of the n-th message of a body, from 1 on.
func MessageID(n int) string { return fmt.Sprintf("m%04d", n) }

// Begin begins a message in an element.
func (b *Builder) Begin(role session.Role, element int) {
	m := session.Message{}
	m.ID, m.Role = MessageID(len(b.Messages)+1), role
	if role == session.Assistant {
		m.ParentID, m.ModelID, m.ProviderID, m.Finish = b.user, b.Model, b.provider, "stop"
	} else {
		b.user = m.ID
	}
	b.Messages = append(b.Messages, m)
	b.Starts = append(b.Starts, element)
}

// Speaks reports whether the newest message is of this role.
func (b *Builder) Speaks(role session.Role) bool {
	return len(b.Messages) > 0 && b.Messages[len(b.Messages)-1].Role == role
}

// Add appends a part to the newest message.
func (b *Builder) Add(p session.Part, place Place) {
	m := &b.Messages[len(b.Messages)-1]
	if p.ID == "" {
		p.ID = fmt.Sprintf("%s:%d", m.ID, len(m.Parts))
	}
	for n, base := 2, p.ID; b.used[p.ID]; n++ {
		p.ID = fmt.Sprintf("%s#%d", base, n)
	}
	b.used[p.ID] = true
	p.MessageID = m.ID
	if p.Type != session.ToolPart {
		place.ResultElement = -1
	}
	m.Parts = append(m.Parts, p)
	b.Places[p.ID] = place
}

// Say appends a text of the user's or the assistant's. A user's text that is wholly one tag, as
// clients wrap what they put into the user's mouth ("<environment-info>…</environment-info>"),
// counts as synthetic.
func (b *Builder) Say(text string, metadata jsontext.Value, place Place) {
	p := session.Part{Type: session.TextPart, Text: text, Metadata: metadata}
	p.Synthetic = b.Speaks(session.User) && (Injected(text) || text == Beginning || text == Returned)
	b.Add(p, place)
}

// Remark appends what was said in the system's name in the middle of the conversation, as a user
// message that nobody wrote.
func (b *Builder) Remark(text string, element int, place Place) {
	b.Begin(session.User, element)
	b.Add(session.Part{Type: session.TextPart, Text: text, Synthetic: true, Metadata: jsontext.Value(systemNote)},
		place)
}

// RemarkTexts appends the texts of content as one remark.
func (b *Builder) RemarkTexts(content Value, element int) {
	place := Bare(element, content)
	if content.Kind() != '"' {
		place.Text = span.Span{}
	}
	b.Remark(content.Texts(), element, place)
}

// Injected reports whether a text is wholly enclosed in one tag whose name is of several words.
func Injected(text string) bool {
	text = strings.TrimSpace(text)
	name, _, found := strings.Cut(strings.TrimPrefix(text, "<"), ">")
	return found && strings.HasPrefix(text, "<") && strings.ContainsAny(name, "-_") &&
		!strings.ContainsAny(name, " \n<") &&
		strings.HasSuffix(text, "</"+name+">")
}

// Call appends a call to the newest message.
func (b *Builder) Call(id, name string, input, metadata jsontext.Value, place Place) {
	b.ToolCalls++
	m := len(b.Messages) - 1
	place.ResultElement = -1
	b.Add(session.Part{
		ID: id, Type: session.ToolPart, CallID: id, Tool: name, Metadata: metadata,
		State: &session.ToolState{Status: session.Pending, Input: input},
	}, place)
	b.Messages[m].Finish = "tool-calls"
	b.open[id] = append(b.open[id], call{m, len(b.Messages[m].Parts) - 1})
}

// Result is the result of a call as a body holds it.
type Result struct {
	Text        string
	Failed      bool
	Attachments []session.Part
	original    *original // see Keep
	// Place says where it is: the fields that begin with Result, Keep and Object.
	Place Place
}

// ReadResult reads the value of a result in a block or an element: a text, or a list of texts and
// media.
func ReadResult(element int, block, value Value, media func(Value) (session.Part, bool)) Result {
	r := Result{Text: value.Texts(), Place: Place{
		ResultElement: element, ResultBlock: block.Span, Result: value.Span, NoResultValue: value.Empty(),
	}}
	for at := range value.Values() {
		if p, ok := media(at); ok && p.IsMedia() {
			r.Attachments = append(r.Attachments, p)
		} else if !strings.HasSuffix(at.Get("type").String(), "text") {
			r.Place.Keep = append(r.Place.Keep, at.Span)
		}
	}
	return r
}

// Result joins a result to the oldest call with its id that has no result yet. A result whose call
// is not in the body (the provider may hold it) becomes a call of its own, to the tool "unknown",
// so that its text is not lost.
func (b *Builder) Result(id string, r Result) {
	b.ToolResults++
	if len(b.open[id]) == 0 {
		b.Begin(session.Assistant, r.Place.ResultElement)
		b.Call(id, "unknown", jsontext.Value(`{}`), nil, Place{Element: r.Place.ResultElement})
		b.ToolCalls--
	}
	at := b.open[id][0]
	b.open[id] = b.open[id][1:]
	p := &b.Messages[at.message].Parts[at.part]
	p.State.Status, p.State.Output, p.State.Attachments = session.Completed, r.Text, r.Attachments
	if r.Failed {
		p.State.Status, p.State.Output, p.State.Error = session.Failed, "", r.Text
	}
	if r.original != nil {
		p.Metadata = r.original.into(p.Metadata, ofResult)
	}
	for i := range p.State.Attachments {
		p.State.Attachments[i].ID = fmt.Sprintf("%s:%d", p.ID, i)
		p.State.Attachments[i].MessageID = p.MessageID
	}
	place := b.Places[p.ID]
	place.ResultElement, place.ResultBlock, place.Result = r.Place.ResultElement, r.Place.ResultBlock, r.Place.Result
	place.Keep, place.Object, place.NoResultValue = r.Place.Keep, r.Place.Object, r.Place.NoResultValue
	place.Files = r.Place.Files
	b.Places[p.ID] = place
}

// AddSystem adds a text of the system prompt.
func (d *Decoded) AddSystem(text string) {
	if d.System != "" && text != "" {
		d.System += "\n\n"
	}
	d.System += text
}
