package wiretest

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
)

// growing plays a conversation as an engine does, which grows, has parts elided, is folded, goes
// back to what it was and is read by another model, and compares what one encoder makes of it with
// what a new one does.
func growing(r *rapid.T, f Format) {
	var known wire.Elements
	messages, o := Messages(r), wire.Options{Model: Model}
	var before [][]session.Message
	var handed [][]jsontext.Value
	var copies [][]byte
	for range rapid.IntRange(1, 8).Draw(r, "steps") {
		got, body, err := f.encode(&known, messages, o)
		if err != nil {
			r.Fatal(err)
		}
		want, whole, err := f.Encode(messages, o)
		if err != nil {
			r.Fatal(err)
		}
		if Prefix(want, got) != len(want) || len(got) != len(want) || !bytes.Equal(body, whole) {
			r.Fatalf("got\n%s\nwant\n%s", body, whole)
		}
		before, handed, copies = append(before, messages), append(handed, got),
			append(copies, bytes.Clone(span.Array(got)))
		switch rapid.IntRange(0, 9).Draw(r, "what happens") {
		case 0: // nothing: the request is made again
		case 1:
			o.Model = rapid.SampledFrom([]string{"", Model, "model-b"}).Draw(r, "reader")
		case 2:
			o.Continues = !o.Continues
		case 3:
			messages = rapid.SampledFrom(before).Draw(r, "undone")
		case 4:
			messages = folded(r, messages)
		case 5, 6:
			messages = elided(r, messages)
		default:
			more := Messages(r)
			messages = append(slices.Clip(messages), more[:min(len(more), 2)]...)
		}
	}
	for i := range handed {
		if !bytes.Equal(span.Array(handed[i]), copies[i]) {
			r.Fatalf("what was handed out after step %d changed: %s, was %s", i, span.Array(handed[i]), copies[i])
		}
	}
}

// elided is a conversation with less of a few messages, as a view has it, or with others said to
// have failed: what shows less has parts of its own, all others share theirs.
func elided(r *rapid.T, messages []session.Message) []session.Message {
	messages = slices.Clone(messages)
	for i := range messages {
		m := &messages[i]
		if len(m.Parts) == 0 || rapid.IntRange(0, 2).Draw(r, "touched") > 0 {
			continue
		}
		switch rapid.IntRange(0, 5).Draw(r, "what is told about it") { // with the parts that it had
		case 0:
			m.Error = jsontext.Value(`{"name":"Aborted"}`)
			continue
		case 1:
			m.Role = session.Assistant
			continue
		}
		m.Parts = slices.Clone(m.Parts)
		j := rapid.IntRange(0, len(m.Parts)-1).Draw(r, "part")
		switch p := &m.Parts[j]; {
		case p.State != nil:
			state := *p.State
			state.Output = "[cleared]"
			p.State = &state
		case p.Type == session.TextPart:
			p.Text = "[shortened]"
		default:
			m.Parts = slices.Delete(m.Parts, j, j+1)
		}
	}
	return messages
}

// folded is a marker, a summary, and what came after it.
func folded(r *rapid.T, messages []session.Message) []session.Message {
	var marker, summary session.Message
	marker.Role, marker.Parts = session.User, []session.Part{{ID: "marker", Type: session.CompactionPart}}
	summary.Role, summary.Parts = session.Assistant, []session.Part{{ID: "summary", Type: session.TextPart,
		Text: text(r)}}
	tail := rapid.IntRange(0, len(messages)).Draw(r, "tail")
	return append([]session.Message{marker, summary}, messages[tail:]...)
}
