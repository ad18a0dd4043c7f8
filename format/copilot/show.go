package copilot

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/entries"
	"github.com/winnowhq/winnow/format/internal/jsonl"
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
	wants := r.Wants(change.Ledger)
	cut := r.cut()
	var edits []span.Edit
	for i := range r.Entries {
		e := &r.Entries[i]
		text := e.At.Of(src)
		if kind := e.Kind; cut[i] != (kind == standInEvent) && e.Mark != nil {
			if kind = completeEvent; cut[i] {
				kind = standInEvent
			}
			text = span.Update(text, span.Quote(kind), "type")
		}
		if !e.Mark.Shows(wants[i]) {
			text = shown(text, e.Mark, wants[i])
		}
		edits = append(edits, span.Edit{Span: e.At, With: text})
	}
	return span.Splice(src, edits...), nil
}

// cut finds the ends of our compactions behind which a newer one begins before them.
func (r *reader) cut() map[int]bool {
	start, end := map[string]int{}, map[string]int{} // of the compactions, by their markers
	for i := range r.Entries {
		e := &r.Entries[i]
		switch {
		case e.Mark == nil:
		case e.Kind == startEvent:
			start[e.Mark.Of] = i
		case (e.Kind == completeEvent || e.Kind == standInEvent) && e.Mark.Message != nil:
			end[e.Mark.Message.ID] = i
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

// shown is a line with exactly these elisions. m is the mark that it has, or nil.
func shown(text []byte, m *entries.Mark, wants []entries.Want) []byte {
	original := jsontext.Value(slices.Clone(span.Get(text, "data")))
	if m != nil && len(m.Original) > 0 {
		original = m.Original
	}
	data := original
	entries.Apply(wants, func(w entries.Want, before, after session.Part, stays bool) {
		data = shownData(data, before, after, stays, w.Result)
	})
	text = entries.WithElisions(span.Update(text, data, "data"), wants, original, "winnow")
	if span.Bare(span.Get(text, "winnow")) {
		text = span.Remove(text, false, "winnow")
	}
	return text
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
