package wire

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// Body is a request body. Its elements are kept apart, each as its JSON, so that two bodies can be
// compared element by element.
type Body struct {
	Model     string
	MaxTokens int
	System    string
	Tools     jsontext.Value
	Elements  []jsontext.Value

	form *Form
}

// JSON writes the body down. The values are written as they are.
func (b Body) JSON() ([]byte, error) {
	object, err := json.Marshal(b.form.Head(b), session.ReadOptions())
	if err != nil {
		return nil, err
	}
	head := object[:len(object)-1]
	if len(head) > 1 {
		head = append(head, ',')
	}
	return slices.Concat(head, span.Quote(b.form.List), []byte{':'}, span.Array(b.Elements), []byte{'}'}), nil
}

// Form is how one wire format writes a body down.
type Form struct {
	// Head is what encodes as the object around the elements, and List the name of their member in
	// it.
	Head func(b Body) any
	List string
	// Own begins the type of parts that hold blocks only this format understands ("anthropic/").
	Own string
	// Content names the member of an element that holds its blocks. Empty if every block is an
	// element.
	Content string
	// Said adds the blocks of an entry of the user's, Answered those of the assistant's, no matter
	// what precedes or follows it.
	Said, Answered func(b *Blocks, e Entry, o Options)
	// First adds what precedes all messages; nil if nothing does.
	First func(b *Blocks, o Options)
	// Opening is the role in which no conversation may begin: a block in the role User, with
	// Beginning for its text, comes before it. Empty: any may.
	Opening string
	// User is the role of the user's side, Text writes a block of text. Only a format with Opening
	// has them.
	User string
	Text func(text string) any
}

// Blocks are what the entries of one message become.
type Blocks struct {
	list  []block
	apart bool
	err   error
}

// block is one piece of an element, or an element.
type block struct {
	role  string // of its element: neighbours of one role share one, unless the later is apart
	apart bool
	json  jsontext.Value
}

// Add writes a value as a block.
func (b *Blocks) Add(role string, value any) {
	raw, err := json.Marshal(value, session.ReadOptions())
	if err != nil && b.err == nil {
		b.err = err
	}
	b.Raw(role, raw)
}

// Raw adds a block as it is.
func (b *Blocks) Raw(role string, raw jsontext.Value) {
	b.list = append(b.list, block{role, b.apart, raw})
	b.apart = false
}

// Apart has the next block begin an element, also after one of the same role.
func (b *Blocks) Apart() { b.apart = true }

// Elements are the elements of a conversation that grows: what was written down of its messages
// once is not written again. The zero value has none. It is not safe for concurrent use.
//
// A message is recognised by its list of parts, by the slice and not by its contents: parts that
// were handed in must not be changed afterwards.
type Elements struct {
	options same
	ids     callIDs
	written []written // the elements of each message
	list    list
}

// same are the options on which an entry depends.
type same struct {
	model, provider, system string
	continues               bool
}

type written struct {
	of     identity
	calls  []named
	blocks []block
	// What was there before it: how many call ids were given, how many elements closed, and the
	// open one.
	ids, closed int
	open        []jsontext.Value
	role        string
}

// identity tells a message from others as far as a model gets to see it.
type identity struct {
	parts           *session.Part
	n               int
	role            session.Role
	model, provider string
	failed          bool
}

func identify(m *session.Message) identity {
	i := identity{n: len(m.Parts), role: m.Role, model: m.ModelID, provider: m.ProviderID, failed: m.Failed()}
	if i.n > 0 {
		i.parts = &m.Parts[0]
	}
	return i
}

// Encode returns the body of messages that are already a view, as the form has it. The caller must
// not change its elements.
//
// Only messages from the first one that differs from the last call are written; of those, the ones
// that were elsewhere in the last call are only joined. A call with other options begins anew, and
// so does one with call ids that are in use.
func (e *Elements) Encode(messages []session.Message, o Options, f *Form) (Body, error) {
	options := same{o.Model, o.Provider, o.System, o.Continues}
	if e.ids.used == nil || e.options != options || len(o.Calls) > 0 {
		*e = Elements{options: options, ids: newCallIDs(o.Calls)}
		if f.First != nil {
			var b Blocks
			f.First(&b, o)
			if b.err != nil {
				*e = Elements{}
				return Body{}, b.err
			}
			e.list.all(b.list, f, o)
		}
	}
	n := 0
	for n < len(messages) && n < len(e.written) && e.written[n].of == identify(&messages[n]) {
		n++
	}
	before := e.cut(n)
	for i := n; i < len(messages); i++ {
		of, ids := identify(&messages[i]), len(e.ids.given)
		w, known := before[of]
		if !known || !e.ids.again(w.calls) {
			var b Blocks
			for _, entry := range appendEntries(nil, &messages[i], o, f.Own, &e.ids) {
				if entry.Role == session.User {
					f.Said(&b, entry, o)
				} else {
					f.Answered(&b, entry, o)
				}
			}
			if b.err != nil {
				*e = Elements{}
				return Body{}, b.err
			}
			w = written{of: of, calls: slices.Clone(e.ids.given[ids:]), blocks: b.list}
		}
		w.ids, w.closed, w.open, w.role = ids, len(e.list.closed), e.list.open, e.list.role
		e.written = append(e.written, w)
		e.list.all(w.blocks, f, o)
	}
	if len(o.Calls) > 0 {
		e.ids.used = nil // those are another's
	}
	return Body{o.Model, o.MaxTokens, o.System, o.Tools, slices.Clip(e.list.elements(f)), f}, nil
}

// cut takes back all messages from the n-th on, and returns what they were.
func (e *Elements) cut(n int) map[identity]written {
	if n == len(e.written) {
		return nil
	}
	before := make(map[identity]written, len(e.written)-n)
	for _, w := range e.written[n:] {
		before[w.of] = w
	}
	w := e.written[n]
	e.ids.cut(w.ids)
	// Bodies that were handed out keep their elements: what is added next goes into other memory.
	e.list = list{closed: slices.Clip(e.list.closed[:w.closed]), open: w.open, role: w.role}
	e.written = e.written[:n]
	return before
}

// list is a list of elements of which the last may be open. What is added never changes what was
// there.
type list struct {
	closed []jsontext.Value
	open   []jsontext.Value // blocks of the last one
	role   string
	// whole is closed with the last one behind, as it was handed out when that had as many blocks.
	whole []jsontext.Value
	had   int
}

func (l *list) all(blocks []block, f *Form, o Options) {
	for _, b := range blocks {
		l.add(b, f, o)
	}
}

func (l *list) add(b block, f *Form, o Options) {
	if f.Content == "" {
		l.closed = append(l.closed, b.json)
		return
	}
	if b.role == f.Opening && len(l.closed)+len(l.open) == 0 && !o.Continues {
		var opening Blocks
		opening.Add(f.User, f.Text(Beginning))
		l.role, l.open = f.User, []jsontext.Value{opening.list[0].json}
	}
	if len(l.open) > 0 && (b.apart || b.role != l.role) {
		*l = list{closed: l.elements(f)}
	}
	l.role, l.open = b.role, append(l.open, b.json)
}

// last is the open element.
func (l *list) last(f *Form) jsontext.Value {
	head := `{"role":"` + l.role + `","` + f.Content + `":`
	size := len(head) + len("[]}")
	for _, b := range l.open {
		size += len(b) + 1
	}
	element := append(make([]byte, 0, size), head...)
	return append(span.AppendArray(element, l.open), '}')
}

// elements are all of them, in memory that later ones are added to but never written over.
func (l *list) elements(f *Form) []jsontext.Value {
	if len(l.open) == 0 {
		return l.closed
	}
	if l.whole == nil {
		l.whole, l.had = append(l.closed, l.last(f)), len(l.open)
	} else if l.had != len(l.open) {
		l.whole, l.had = append(slices.Clip(l.closed), l.last(f)), len(l.open)
	}
	return l.whole
}
