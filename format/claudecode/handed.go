package claudecode

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/text/span"
)

// Handing is what a plugin of the product hands back in the place of what a compaction replaces. It
// is written down, so that the file that the product writes then can be anchored: see Anchored.
type Handing struct {
	// Boundary is the member "winnow" of the boundary that the product will write.
	Boundary jsontext.Value `json:"boundary"`
	Rows     []Row          `json:"rows"`
}

// Row is one message of a Handing.
type Row struct {
	Of      string         `json:"of,omitzero"`      // uuid of the entry that it repeats, "" of what is new
	Turn    *Turn          `json:"turn,omitzero"`    // what is handed back; nil: the entry itself
	Summary bool           `json:"summary,omitzero"` // the summary of the compaction
	Print   string         `json:"print"`            // fingerprint of the content
	Marks   jsontext.Value `json:"marks"`            // the member "winnow" of the entry
}

// Turn is a message as plugins of the product see it.
type Turn struct {
	Role    string   `json:"role"`
	Text    string   `json:"text"`
	Calls   []string `json:"toolUses"` // always empty: a call stays as it is
	Results []Result `json:"toolResults,omitzero"`
}

// Result is the result of a call.
type Result struct {
	Call   string `json:"tool_use_id"`
	Text   string `json:"text"`
	Failed bool   `json:"isError"`
}

// Handed says what is handed back for the messages that a plugin was shown, by their handles, which
// are uuids of entries: was is the file as it is, made the same with what the engine decided. Calls
// and answers stay as they are, results are shortened, and what the product keeps beside a message
// that is shortened (what the user typed meanwhile) follows it. The second value says whether
// anything differs.
func Handed(was, made *format.Document, handles []string) (Handing, bool) {
	old, ok := was.Native.(*index)
	x, known := made.Native.(*index)
	if !ok || !known {
		return Handing{}, false
	}
	h := &handing{old: old, index: x, source: made.Source, handles: map[string]bool{}}
	for _, handle := range handles {
		h.handles[handle] = true
	}
	boundary := h.fold()
	differs := boundary >= 0
	out := Handing{Boundary: marked(&marks{Mirror: true})}
	tail := map[string]bool{}
	if boundary >= 0 {
		e := &x.entries[boundary]
		out.Boundary = span.Get(e.at.Of(h.source), "winnow")
		for _, uuid := range e.compaction().Messages.UUIDs {
			tail[uuid] = true
		}
		out.Rows = append(out.Rows, h.composed(boundary, true)...)
	}
	for _, handle := range handles {
		at := x.tree.find(handle)
		switch {
		case at < 0: // the product has not written it yet
			out.Rows = append(out.Rows, Row{Of: handle, Marks: marked(&marks{Copy: handle})})
		case boundary < 0 || tail[handle]:
			rows, short := h.entry(at, handle)
			out.Rows = append(out.Rows, rows...)
			differs = differs || short
		}
	}
	if boundary >= 0 {
		out.Rows = append(out.Rows, h.composed(boundary, false)...)
	}
	return out, differs && len(out.Rows) > 0
}

type handing struct {
	old *index
	*index
	source  []byte
	handles map[string]bool
}

// fold is the position of the boundary that the engine made, -1 without one.
func (h *handing) fold() int {
	for _, i := range slices.Backward(h.tree.nodes) {
		if h.tree.all[i].has(bounding) {
			if h.old.tree.find(h.entries[i].UUID) < 0 {
				return int(i)
			}
			break
		}
	}
	return -1
}

// composed are the messages that the engine made behind a boundary: the summary, or the others.
func (h *handing) composed(boundary int, summary bool) (rows []Row) {
	for i := boundary + 1; i < len(h.entries); i++ {
		e := &h.entries[i]
		if e.Kind != "user" || e.Summed != summary || h.old.tree.find(e.UUID) >= 0 {
			continue
		}
		row := Row{Summary: summary, Marks: jsontext.Value(span.Get(e.at.Of(h.source), "winnow"))}
		if shown, ok := h.shown(i); ok {
			row.Turn, row.Print = turnOf(shown), fingerprint(shown)
		}
		if row.Turn != nil {
			rows = append(rows, row)
		}
	}
	return rows
}

// shown is an entry as it stands in the file, with what is left out of it.
func (h *handing) shown(i int) (*entry, bool) {
	e, err := parse(h.entries[i].at.Of(h.source))
	return &e, err == nil
}

// entry is what is handed back for an entry, and whether it is shortened.
func (h *handing) entry(i int, handle string) (rows []Row, short bool) {
	e := &h.entries[i]
	m := &marks{Copy: handle}
	if e.marks != nil {
		m.Elisions = e.marks.Elisions
	}
	shown, ok := h.shown(i)
	if !ok {
		shown = e
	}
	row := Row{Of: handle, Print: fingerprint(shown)}
	if e.Kind == "user" && m.Elisions != nil && !slices.Equal(h.elided(handle), m.Elisions) {
		behind, can := h.behind(i)
		if turn := turnOf(shown); turn != nil && can {
			row.Turn, row.Marks = turn, marked(m)
			return append([]Row{row}, behind...), true
		}
	}
	// Nothing was decided about it since the product read it, or it cannot be put into other words.
	if m.Elisions = h.elided(handle); m.Elisions == nil {
		row.Print = fingerprint(e)
	}
	row.Marks = marked(m)
	return []Row{row}, false
}

// elided is what was left out of an entry before.
func (h *handing) elided(handle string) []rule.Elision {
	if at := h.old.tree.find(handle); at >= 0 && h.old.entries[at].marks != nil {
		return h.old.entries[at].marks.Elisions
	}
	return nil
}

// behind is what the user typed behind an entry while the model worked, which the product keeps as
// attachments of the entry. It is lost with the entry's handle, and so handed back as messages; can
// is false if it is more than text.
func (h *handing) behind(i int) (rows []Row, can bool) {
	for at := i + 1; at < len(h.entries); at++ {
		e := &h.entries[at]
		if h.handles[e.UUID] || e.boundary() {
			break
		}
		if e.Kind != "attachment" || !h.inBranch[at] {
			continue
		}
		prompt, _, ok := prompt(e.of(e.Attachment))
		if !ok {
			continue
		}
		text, plain := plainText(prompt)
		if !plain {
			return nil, false
		}
		if text == "" {
			continue
		}
		turn := &Turn{Role: "user", Text: text, Calls: []string{}}
		rows = append(rows, Row{Of: e.UUID, Turn: turn, Print: printOf("text", "", text),
			Marks: marked(&marks{Copy: e.UUID})})
	}
	return rows, true
}

// plainText is the text of a content that is text alone.
func plainText(content []byte) (text string, plain bool) {
	var texts []string
	for _, b := range blocks(content) {
		if b.Kind != "text" {
			return "", false
		}
		texts = append(texts, span.String(b.text()))
	}
	return strings.Join(texts, "\n"), true
}

// turnOf is a message of the user's as plugins see it, nil if it has more than text and results.
func turnOf(e *entry) *Turn {
	turn := &Turn{Role: "user", Calls: []string{}}
	var texts []string
	for _, b := range blocks(e.content()) {
		switch b.Kind {
		case "text":
			texts = append(texts, whole(span.String(b.text())))
		case "tool_result":
			text, files := result(b.Content.Of(b.raw))
			if len(files) > 0 {
				return nil
			}
			turn.Results = append(turn.Results, Result{b.Call, whole(text), b.Failed})
		default:
			return nil
		}
	}
	turn.Text = strings.Join(texts, "\n")
	return turn
}

// whole is a text without halves of characters: the provider refuses them for ever.
func whole(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// fingerprint is what an entry says, apart from its form.
func fingerprint(e *entry) string {
	if e.Kind == "attachment" {
		value := jsontext.Value(slices.Clone(e.of(e.Attachment)))
		_ = value.Canonicalize() // what is not JSON is compared as it is
		return printOf("attachment", "", string(value))
	}
	if e.Kind == "system" {
		return printOf("system", e.Subtype, span.String(e.of(e.Text)))
	}
	var fields []string
	for _, b := range blocks(e.content()) {
		switch b.Kind {
		case "text", "thinking", "redacted_thinking":
			fields = append(fields, b.Kind, "", span.String(b.text())+span.String(b.Data.Of(b.raw)))
		case "tool_use":
			fields = append(fields, b.Kind, b.ID, b.Name)
		case "tool_result":
			text, files := result(b.Content.Of(b.raw))
			fields = append(fields, b.Kind, b.Call, fmt.Sprint(text, len(files)))
		default:
			fields = append(fields, b.Kind, b.ID, fmt.Sprint(len(b.raw)))
		}
	}
	return printOf(fields...)
}

func printOf(fields ...string) string {
	if len(fields) == 3 && fields[0] == "text" {
		fields[2] = strings.TrimSpace(fields[2])
	}
	sum := sha256.Sum256([]byte(strings.Join(fields, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// marked is the member "winnow" with these marks.
func marked(m *marks) jsontext.Value {
	line, err := m.on([]byte("{}"))
	if err != nil {
		return nil
	}
	return span.Get(line, "winnow")
}
