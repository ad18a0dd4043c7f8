package codex

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// drawSession makes a log of a few messages, with pivots in it.
func drawSession(t *rapid.T) session.Session {
	s := session.Session{Info: session.Info{ID: "ses_drawn", Directory: "/drawn", Title: "drawn", Time: session.Lifetime{Created: 1772359300000}}}
	text := rapid.StringMatching(`[a-z"\\\n<é]{1,12}`)
	n := 0
	id := func(kind string) string { n++; return fmt.Sprintf("%s_%d", kind, n) }
	tail := ""
	for range rapid.IntRange(1, 12).Draw(t, "messages") {
		m := session.Message{MessageInfo: session.MessageInfo{
			ID: id("msg"), SessionID: s.Info.ID, Role: session.User, Time: session.MessageTime{Created: session.Millis(1772359300000 + 1000*n)},
		}}
		part := func(p session.Part) {
			p.ID, p.SessionID, p.MessageID = id("prt"), m.SessionID, m.ID
			m.Parts = append(m.Parts, p)
		}
		switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); kind {
		case 0, 1:
			for range rapid.IntRange(1, 3).Draw(t, "texts") {
				part(session.Part{Type: session.TextPart, Text: text.Draw(t, "text"), Synthetic: kind == 1})
			}
			if rapid.Bool().Draw(t, "image") {
				part(session.Part{Type: session.FilePart, Mime: "image/png", URL: "data:image/png;base64,AAAA"})
			}
		case 2:
			part(session.Part{Type: session.CompactionPart, TailStartID: tail})
			marker := m.ID
			s.Messages = append(s.Messages, m)
			m.ID, m.Parts, m.Role, m.ParentID, m.Summary, m.Finish = id("msg"), nil, session.Assistant, marker, jsontext.Value("true"), "stop"
			part(session.Part{Type: session.TextPart, Text: text.Draw(t, "summary")})
			part(session.Part{Type: session.TextPart, Text: text.Draw(t, "carried"), Metadata: session.Note{Carry: true}.Metadata()})
		default:
			m.Role, m.Finish = session.Assistant, "tool-calls"
			part(session.Part{Type: session.StepStartPart})
			part(session.Part{Type: session.ReasoningPart, Text: text.Draw(t, "thought")})
			part(session.Part{Type: session.ReasoningPart, Text: text.Draw(t, "thought"), Metadata: jsontext.Value(`{"openai":{"itemId":"rs","reasoningEncryptedContent":"eA=="}}`)})
			for range rapid.IntRange(0, 3).Draw(t, "calls") {
				state := &session.ToolState{Status: session.Completed, Input: jsontext.Value(`{"a":"b"}`), Output: text.Draw(t, "output")}
				switch rapid.IntRange(0, 2).Draw(t, "status") {
				case 1:
					state.Status, state.Output = session.Running, ""
				case 2:
					state.Status, state.Output, state.Error = session.Failed, "", text.Draw(t, "error")
				}
				part(session.Part{Type: session.ToolPart, CallID: id("call"), Tool: "tool", State: state})
			}
			tail = m.ID
		}
		s.Messages = append(s.Messages, m)
	}
	return s
}

func TestWrite_anyLogAnyLedgerReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSession(t)
		var ledger rule.Ledger
		for i := range s.Messages {
			for j := range s.Messages[i].Parts {
				p := &s.Messages[i].Parts[j]
				if !rapid.Bool().Draw(t, "elide") {
					continue
				}
				field := rapid.SampledFrom([]rule.Field{rule.Output, rule.Error, rule.Input, rule.Attachments, rule.Text, rule.Whole}).Draw(t, "field")
				ledger = ledger.With(rule.Elision{Part: p.ID, Message: s.Messages[i].ID, Field: field, Rule: "drawn", Shown: rapid.SampledFrom([]string{"", "[shown]", `{"k":1}`}).Draw(t, "shown")})
			}
		}
		put := func(from *format.Document, change format.Change) []byte {
			var out bytes.Buffer
			if err := (Format{}).Write(&out, from, change); err != nil {
				t.Fatal(err)
			}
			return out.Bytes()
		}
		get := func(src []byte) *format.Document {
			doc, err := Format{}.Read(src)
			if err != nil {
				t.Fatal(err)
			}
			return doc
		}
		text := func(s session.Session) string {
			s.Info.Time.Updated = 0
			b, err := json.Marshal(&s, json.Deterministic(true))
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}

		half := s // the first half is there, the rest is appended
		half.Messages = s.Messages[:len(s.Messages)/2]
		plain := put(nil, format.Change{Session: half})
		first := get(plain)
		if text(first.Session) != text(half) {
			t.Fatalf("a new file: read\n%s\nwant\n%s\nfile\n%s", text(first.Session), text(half), plain)
		}
		both := put(first, format.Change{Session: s, Ledger: ledger})
		again := get(both)
		if text(again.Session) != text(s) {
			t.Fatalf("appended: read\n%s\nwant\n%s\nfile\n%s", text(again.Session), text(s), both)
		}
		if got, want := fmt.Sprint(again.Ledger.All()), fmt.Sprint(ledger.All()); again.Ledger.Len() != ledger.Len() {
			t.Fatalf("ledger %s, want %s\nfile\n%s", got, want, both)
		}
		for _, e := range ledger.All() {
			if found := again.Ledger.Of(e.Part); len(found) != 1 || found[0] != e {
				t.Fatalf("elision %+v came back as %+v", e, found)
			}
		}
		if same := put(again, format.Change{Session: again.Session, Ledger: again.Ledger}); !bytes.Equal(same, both) {
			t.Fatalf("unchanged, but written as\n%s\nwant\n%s", same, both)
		}
		bare := get(put(again, format.Change{Session: again.Session}))
		if text(bare.Session) != text(s) || bare.Ledger.Len() != 0 {
			t.Fatalf("with the elisions undone: %d are left, read\n%s\nwant\n%s", bare.Ledger.Len(), text(bare.Session), text(s))
		}
	})
}
