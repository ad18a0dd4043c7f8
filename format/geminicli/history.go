package geminicli

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/gemini"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// history is what a recording says, a line at a time. The product lists all that the model is sent
// when it begins, resumes, compresses and masks; what was there before stays here.
type history struct {
	about   conversation
	entries []*entry
	ids     map[string]int // the entry of each id; a compression has those of its summary
	now     []int          // what the model is sent, as the file has it now
	ledger  []rule.Elision // of our newest line
	at      int            // number of the line that is read
	passed  map[int]int    // compressions of ours that the product listed round, and the line of the list
}

// entry is a message, or a compression.
type entry struct {
	record
	says  string   // what it says
	shows string   // what it says with our elisions, "" if the same
	folds *folding // of a compression

	message string // id of what it became in the log; "" if it is in another
}

// folding is a compression: what it stands for, and what the model is sent in its place.
type folding struct {
	head   []record // as the file has it
	before []int    // what the model was sent before
	behind []int    // what it is sent behind the head
	marks  *marks   // nil if the product made it
	line   int      // 1-based
}

// line takes what a line says.
func (h *history) line(line []byte) error {
	var any struct {
		Set       jsontext.Value `json:"$set"`
		Rewind    *string        `json:"$rewindTo"`
		ID        string         `json:"id"`
		SessionID string         `json:"sessionId"`
		Winnow    jsontext.Value `json:"winnow"`
	}
	if err := json.Unmarshal(line, &any, session.ReadOptions()); err != nil {
		return err
	}
	switch {
	case any.Rewind != nil:
		// That message goes, and what came after it. If it is not there, all go, as in the product.
		at := -1
		if i, known := h.ids[*any.Rewind]; known {
			at = slices.Index(h.now, i)
		}
		h.now = slices.Clone(h.now[:max(0, at)])
	case any.ID != "":
		var m record
		if err := json.Unmarshal(line, &m, session.ReadOptions()); err != nil {
			return err
		}
		h.put(m)
	case any.Set.Kind() == '{':
		return h.set(any.Set, readMarks(any.Winnow))
	case any.SessionID != "":
		return h.set(line, nil)
	default:
		return errors.New("neither a message nor anything else that is known")
	}
	return nil
}

// put adds a message, or replaces the one with its id: the product writes a message again whenever
// it grew.
func (h *history) put(m record) {
	i, known := h.ids[m.ID]
	if m.ID == "" || !known {
		i = h.add(&entry{record: m, says: m.says()})
		if m.ID != "" {
			h.ids[m.ID] = i
		}
	} else {
		h.entries[i].update(m, false)
	}
	if !slices.Contains(h.now, i) {
		h.now = append(h.now, i)
	}
}

func (h *history) add(e *entry) int {
	h.entries = append(h.entries, e)
	return len(h.entries) - 1
}

// update takes a message over that is written again, or listed. What it was sent with our elisions
// says nothing new, and neither does a list of what is known: it lacks what is not sent.
func (e *entry) update(m record, listed bool) {
	says := m.says()
	if e.folds != nil || e.shows != "" && says == e.shows || says == e.says && (listed || len(m.Calls) < len(e.Calls)) {
		return
	}
	m.ID, m.Timestamp = e.ID, cmp.Or(e.Timestamp, m.Timestamp)
	m.Model = cmp.Or(m.Model, e.Model)
	if m.Tokens == nil {
		m.Tokens = e.Tokens
	}
	e.record, e.says, e.shows = m, says, ""
}

// set takes over what is said about the conversation, and a list of all that the model is sent.
func (h *history) set(value jsontext.Value, ours *marks) error {
	update := struct {
		*conversation
		Messages []record `json:"messages"`
	}{conversation: &h.about}
	if err := json.Unmarshal(value, &update, session.ReadOptions()); err != nil {
		return err
	}
	if ours != nil {
		h.ledger = ours.Elisions
	}
	if len(update.Messages) > 0 {
		h.list(update.Messages, ours)
	}
	return nil
}

// list takes over a list of all that the model is sent. Messages at its beginning that were not
// there, in the place of some that were, are the summary of a compression.
func (h *history) list(messages []record, ours *marks) {
	var listed []int
	var head []record
	before, at := h.now, 0
	front := 0 // how much of the list stands before a head
	for _, m := range messages {
		i, known := h.known(m, &at)
		switch {
		case known && ours != nil:
			if h.entries[i].shows = m.says(); h.entries[i].shows == h.entries[i].says {
				h.entries[i].shows = ""
			}
		case known:
			h.entries[i].update(m, true)
		case len(listed) == front && !m.context():
			head = append(head, m)
			continue
		default:
			i = h.add(&entry{record: m, says: m.says()})
			h.ids[m.ID] = i
		}
		if !slices.Contains(listed, i) {
			listed = append(listed, i)
			if len(listed) == front+1 && len(head) == 0 && h.entries[i].context() {
				front++
			}
		}
	}
	if len(head) > 0 {
		if h.drops(before, listed) || ours != nil && ours.Summary != nil {
			i := h.add(&entry{folds: &folding{head, before, slices.Clone(listed[front:]), ours, h.at}})
			for _, m := range head {
				h.ids[m.ID] = i
			}
			listed = slices.Insert(listed, front, i)
		} else {
			for k, m := range head {
				i := h.add(&entry{record: m, says: m.says()})
				h.ids[m.ID] = i
				listed = slices.Insert(listed, front+k, i)
			}
		}
	}
	h.now = listed
	h.pass(before, ours)
}

// pass notes the compressions of ours that a list of the product's goes round: what it goes on from
// is what it remembers of before.
func (h *history) pass(before []int, ours *marks) {
	active := h.active()
	for i := range h.passed {
		if active[i] {
			delete(h.passed, i)
		}
	}
	for _, i := range before {
		if f := h.entries[i].folds; f != nil && f.marks != nil && ours == nil && !active[i] {
			h.passed[i] = h.at
		}
	}
}

// Bypassed finds the newest compression of ours that does not count. See format.Linked.
func (Format) Bypassed(doc *format.Document) (format.Bypass, bool) {
	x, ok := doc.Native.(*index)
	if !ok || len(x.passed) == 0 {
		return format.Bypass{}, false
	}
	newest := slices.Max(slices.Collect(maps.Keys(x.passed)))
	first := x.passed[newest]
	return format.Bypass{Line: x.entries[newest].folds.line, First: first, Entries: x.at - first + 1}, true
}

// known finds the entry that a message of a list is: by its id, or by what it says, for a
// compression gives what it leaves new ids. at is how much of what the model was sent is behind.
func (h *history) known(m record, at *int) (int, bool) {
	if i, known := h.ids[m.ID]; known {
		if k := slices.Index(h.now, i); k >= *at {
			*at = k + 1
		}
		return i, true
	}
	says := m.says()
	for k := *at; k < len(h.now); k++ {
		e := h.entries[h.now[k]]
		if says != "" && e.folds == nil && e.Type == m.Type && (says == e.says || says == e.shows) {
			*at = k + 1
			h.ids[m.ID] = h.now[k]
			return h.now[k], true
		}
	}
	return 0, false
}

// drops reports whether a list lacks something that was said before it.
func (h *history) drops(before, listed []int) bool {
	return slices.ContainsFunc(before, func(i int) bool {
		e := h.entries[i]
		return !slices.Contains(listed, i) && (e.folds != nil || e.spoken() && !e.context())
	})
}

// active are the entries that count: what the model is sent, and what compressions among that stand
// for.
func (h *history) active() map[int]bool {
	in := map[int]bool{}
	open := slices.Clone(h.now)
	for len(open) > 0 {
		i := open[len(open)-1]
		open = open[:len(open)-1]
		if in[i] {
			continue
		}
		in[i] = true
		if f := h.entries[i].folds; f != nil {
			open = append(append(open, f.before...), f.behind...)
		}
	}
	return in
}

// spoken reports whether a record is a message of the user's or the model's.
func (m *record) spoken() bool { return m.Type == "user" || m.Type == "gemini" }

// context reports whether a message is one that the product says in the user's name whenever it
// begins or resumes.
func (m *record) context() bool { return m.Type == "user" && injected(m.text()) }

// injected reports whether a text is the product's, or a hook's, in the user's name.
func injected(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "<session_context>") || strings.HasPrefix(text, "<hook_context>")
}

// dropped reports whether the product leaves out what the user says when it resumes: what it takes
// for a command, and what it says anew.
func dropped(text string) bool {
	text = strings.TrimSpace(text)
	return text == "" || text[0] == '/' || text[0] == '?' || injected(text)
}

// text is what a message begins with.
func (m *record) text() string {
	if parts := gemini.Parts(m.Content); len(parts) > 0 {
		return parts[0].Text
	}
	return ""
}

// says tells messages apart.
func (m *record) says() string {
	parts := gemini.Parts(m.Content)
	says := gemini.Says(parts)
	if calls := func(p gemini.Part) bool { return p.Call != nil }; !slices.ContainsFunc(parts, calls) {
		for _, c := range m.Calls {
			says += (&gemini.Part{Call: &gemini.Call{ID: c.ID, Name: c.Name}}).Says()
		}
	}
	return says
}
