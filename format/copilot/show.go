package copilot

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// show writes a file so that the product sends what counts: with the elisions of the ledger, and no
// others, and without compactions whose tail a newer one cuts into.
func show(src []byte, change format.Change) ([]byte, error) {
	doc, err := Format{}.Read(src)
	if err != nil {
		return nil, err
	}
	r := doc.Native.(*reader)
	wants := r.wants(change)
	cut := r.cut()
	var edits []span.Edit
	for i := range r.lines {
		l := &r.lines[i]
		text := l.text.Of(src)
		if kind := l.kind; cut[i] != (kind == standInEvent) && l.mark != nil {
			if kind = completeEvent; cut[i] {
				kind = standInEvent
			}
			text = span.Update(text, span.Quote(kind), "type")
		}
		if !l.elides(wants[i]) {
			text = l.show(text, wants[i])
		}
		edits = append(edits, span.Edit{Span: l.text, With: text})
	}
	return span.Splice(src, edits...), nil
}

// cut finds the ends of our compactions behind which a newer one begins before them.
func (r *reader) cut() map[int]bool {
	start, end := map[string]int{}, map[string]int{} // of the compactions, by their markers
	for i := range r.lines {
		l := &r.lines[i]
		switch {
		case l.mark == nil:
		case l.kind == startEvent:
			start[l.mark.Of] = i
		case (l.kind == completeEvent || l.kind == standInEvent) && l.mark.Message != nil:
			end[l.mark.Message.ID] = i
		}
	}
	cut := map[int]bool{}
	for one, at := range end {
		for other, from := range start {
			if other != one && from < at && end[other] > at {
				cut[at] = true
			}
		}
	}
	return cut
}

// want is an elision that a line is to show.
type want struct {
	elided
	part   *session.Part
	result bool
}

// wants finds the lines that the elisions of the ledger change.
func (r *reader) wants(change format.Change) map[int][]want {
	wants := map[int][]want{}
	for order, e := range change.Ledger.All() {
		at, ok := r.parts[e.Part]
		if !ok {
			continue
		}
		_, p := session.FindPart(r.Session.Messages[at.message:at.message+1], e.Part)
		one := want{elided: elided{e, order}, part: p}
		call, result := jsonl.Shows(e.Field, at.result >= 0)
		if call {
			wants[at.line] = append(wants[at.line], one)
		}
		if result {
			one.result = true
			wants[at.result] = append(wants[at.result], one)
		}
	}
	return wants
}

// elides reports whether a line shows exactly these elisions.
func (l *row) elides(wants []want) bool {
	var has []elided
	if l.mark != nil {
		has = l.mark.Elisions
	}
	return slices.EqualFunc(has, wants, func(e elided, w want) bool {
		e.Message = w.Message
		return e == w.elided
	})
}

// show is a line with exactly these elisions.
func (l *row) show(text []byte, wants []want) []byte {
	original := slices.Clone(span.Get(text, "data"))
	if l.mark != nil && len(l.mark.Original) > 0 {
		original = l.mark.Original
	}
	data := original
	shown := map[string]session.Part{} // parts as far as elisions were applied to them
	var elisions []elided
	for _, w := range wants {
		elisions = append(elisions, w.elided)
		before, ok := shown[w.part.ID]
		if !ok {
			before = *w.part
		}
		after, stays := view.Apply(before, w.Elision)
		shown[w.part.ID] = after
		data = shownData(data, before, after, stays, w.result)
	}
	text = span.Update(text, data, "data")
	if len(wants) > 0 {
		text = note(note(text, jsonl.Marshal(elisions), "elisions"), original, "original")
		return text
	}
	text = span.Remove(span.Remove(text, false, "winnow", "elisions"), false, "winnow", "original")
	if span.Bare(span.Get(text, "winnow")) {
		text = span.Remove(text, false, "winnow")
	}
	return text
}

// note gives a member of our mark a value, byte for byte.
func note(text, value []byte, name string) []byte {
	if len(span.Get(text, "winnow", name)) == 0 {
		text = span.Set(text, "", []byte("0"), "winnow", name)
	}
	return span.Update(text, value, "winnow", name)
}

// shownData is the data of an event with another part in it.
func shownData(data jsontext.Value, before, after session.Part, stays, result bool) jsontext.Value {
	replace := func(text string, path ...string) {
		if old := span.Get(data, path...); before.Text != "" && span.Kind(old) == '"' {
			data = span.Update(data, span.Quote(strings.Replace(span.String(old), before.Text, text, 1)), path...)
		}
	}
	if !stays {
		after.Text = ""
	}
	switch {
	case result && before.State.Status == session.Failed:
		return span.Set(data, "", span.Quote(after.State.Error), "error", "message")
	case result:
		data = span.Set(data, "", span.Quote(after.State.Output), "result", "content")
		for _, other := range []string{"binaryResultsForLlm", "contents", "structuredContent"} {
			data = span.Remove(data, false, "result", other)
		}
	case before.Type == session.ToolPart:
		calls := [][]byte{}
		for at := range span.Values(data, span.Find(data, span.All(data), "toolRequests")) {
			c := at.Of(data)
			if span.String(span.Get(c, "toolCallId")) == before.CallID {
				c = span.Update(c, jsonl.Input(after.State), "arguments")
			}
			calls = append(calls, c)
		}
		data = span.Update(data, span.Array(calls), "toolRequests")
	case before.Type == session.ReasoningPart:
		for _, name := range []string{"reasoningText", "reasoningOpaque", "encryptedContent", "reasoningBlocks"} {
			data = span.Remove(data, false, name)
		}
	case before.Type == session.TextPart:
		replace(after.Text, "content")
		replace(after.Text, "transformedContent")
		replace(after.Text, "summaryContent")
	case before.Type == session.FilePart:
		data = withoutFile(data, before, after.Text)
	}
	return data
}

// withoutFile is the data of a message with a text in the place of an attachment.
func withoutFile(data jsontext.Value, file session.Part, text string) jsontext.Value {
	_, content, _ := strings.Cut(file.URL, ";base64,")
	var stay [][]byte
	found := false
	for at := range span.Values(data, span.Find(data, span.All(data), "attachments")) {
		a := at.Of(data)
		if !found && span.String(span.Get(a, "data")) == content {
			found = true
			continue
		}
		stay = append(stay, a)
	}
	if !found {
		return data
	}
	data = span.Update(data, span.Array(stay), "attachments")
	for _, name := range []string{"content", "transformedContent"} {
		if old := span.Get(data, name); span.Kind(old) == '"' {
			data = span.Update(data, span.Quote(strings.TrimSpace(span.String(old)+"\n\n"+text)), name)
		}
	}
	return data
}
