package claudecode

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// rows writes entries as the product does: each hangs on the one before.
type rows struct {
	text   strings.Builder
	parent string
	n      int
}

func (r *rows) add(kind, rest string) {
	r.n++
	uuid := fmt.Sprintf("%08x-0000-4000-8000-000000000000", r.n)
	parent := "null"
	if r.parent != "" {
		parent = `"` + r.parent + `"`
	}
	fmt.Fprintf(&r.text, `{"parentUuid":%s,"isSidechain":false,"type":%q,%s,"uuid":%q,"timestamp":"2026-11-22T10:00:00.%03dZ","sessionId":"s"}`+"\n",
		parent, kind, rest, uuid, r.n%1000)
	r.parent = uuid
}

// turn writes a turn of the user's, of the given number of calls.
func (r *rows) turn(word string, calls int, notice bool) {
	r.add("user", fmt.Sprintf(`"message":{"role":"user","content":%q}`, "Please "+word))
	say := func(i int, block, stop string) {
		r.add("assistant", fmt.Sprintf(`"message":{"id":"msg_%s_%d","type":"message","role":"assistant","model":"claude-opus-5-5",`+
			`"content":[%s],"stop_reason":%q}`, word, i, block, stop))
	}
	for i := range calls {
		say(i, fmt.Sprintf(`{"type":"thinking","thinking":"thought %s %d","signature":"sig"}`, word, i), "tool_use")
		say(i, fmt.Sprintf(`{"type":"tool_use","id":"toolu_%s_%d","name":"Bash","input":{"command":"true"}}`, word, i), "tool_use")
		r.add("user", fmt.Sprintf(`"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%s_%d","content":"out"}]}`, word, i))
	}
	say(calls, fmt.Sprintf(`{"type":"thinking","thinking":"last thought %s","signature":"sig"}`, word), "end_turn")
	say(calls, fmt.Sprintf(`{"type":"text","text":"Done %s."}`, word), "end_turn")
	if notice {
		r.add("system", `"subtype":"turn_duration","durationMs":7`)
	}
}

// goesOn is the entry on which the product hangs what it appends.
func goesOn(t interface{ Fatal(...any) }, text []byte) string {
	doc, err := Format{}.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	return doc.Native.(*index).end()
}

// chainFrom is the chain of parents that ends at an entry, oldest first.
func chainFrom(t interface{ Fatal(...any) }, text []byte, uuid string) (chain []string) {
	parents := map[string]string{}
	for l := range span.Lines(text) {
		if e, err := parse(l.Text.Of(text)); err != nil {
			t.Fatal(err)
		} else if e.UUID != "" {
			parents[e.UUID] = e.Parent
		}
	}
	for ; uuid != ""; uuid = parents[uuid] {
		chain = append(chain, uuid)
	}
	slices.Reverse(chain)
	return chain
}

// What the product appended to a session that was compacted hangs where it would have hung without
// the compaction, once that is undone; everything else keeps its bytes.
func TestWrite_undoLeavesWhatWasAppendedInItsPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &rows{}
		for i := range rapid.IntRange(1, 4).Draw(t, "turns") {
			r.turn(fmt.Sprint("old", i), rapid.IntRange(0, 2).Draw(t, "calls"), rapid.Bool().Draw(t, "notice"))
		}
		original, leaf := []byte(r.text.String()), r.parent
		text := original
		var markers []string
		companions := rapid.Bool().Draw(t, "something is behind the summary")
		must := false // the entry on which the product went on is one of ours
		older := rapid.Bool().Draw(t, "by an older version")
		for _, word := range []string{"one", "two"}[:rapid.IntRange(1, 2).Draw(t, "folds")] {
			doc, err := Format{}.Read(text)
			if err != nil {
				t.Fatal(err)
			}
			messages, tail := doc.Session.Messages, ""
			if at := rapid.IntRange(0, len(messages)).Draw(t, "tail"); at < len(messages) {
				tail = messages[at].ID
			}
			s := fold(doc.Session, word, tail)
			if !companions {
				s.Messages = s.Messages[:len(s.Messages)-1]
			}
			must = must || companions || tail == ""
			var file bytes.Buffer
			if err := (Format{}).Write(&file, doc, format.Change{Session: s}); err != nil {
				t.Fatal(err)
			}
			text = file.Bytes()
			if older {
				text = withoutNotices(t, text)
			}
			markers = append(markers, "msg_"+word)
			r.text.Reset()
			r.parent = goesOn(t, text)
			r.turn(word+"new", rapid.IntRange(0, 1).Draw(t, "new calls"), rapid.Bool().Draw(t, "new notice"))
			text = append(text, r.text.String()...)
		}
		before := lineByUUID(text)
		for _, marker := range slices.Backward(markers) {
			doc, err := Format{}.Read(text)
			if err != nil {
				t.Fatal(err)
			}
			var file bytes.Buffer
			change := format.Change{Session: doc.Session, Undone: map[string]bool{marker: true}}
			if err := (Format{}).Write(&file, doc, change); err != nil {
				t.Fatal(err)
			}
			text = file.Bytes()
		}
		if !bytes.HasPrefix(text, original) {
			t.Fatalf("what was there before is not as it was:\n%s\nwant\n%s", text, original)
		}
		want, changed := chainFrom(t, original, leaf), 0
		for l := range span.Lines(text[len(original):]) {
			line := l.Text.Of(text[len(original):])
			e, _ := parse(line)
			want = append(want, e.UUID)
			was := before[e.UUID]
			if string(line) == was {
				continue
			}
			changed++
			e, _ = parse([]byte(was))
			if string(span.Update(line, span.Quote(e.Parent), "parentUuid")) != was {
				t.Fatalf("more than its parent is changed:\n%s\nbefore\n%s", line, was)
			}
		}
		if changed > len(markers) || changed > 0 && !older && !must {
			t.Errorf("%d lines are changed for %d compactions", changed, len(markers))
		}
		if got := chainFrom(t, text, r.parent); !slices.Equal(got, want) {
			t.Errorf("the chain is\n%v\nwant\n%v", got, want)
		}
	})
}

func lineByUUID(text []byte) map[string]string {
	found := map[string]string{}
	for l := range span.Lines(text) {
		if e, err := parse(l.Text.Of(text)); err == nil && e.UUID != "" {
			found[e.UUID] = string(l.Text.Of(text))
		}
	}
	return found
}

// withoutNotices takes notices off the tails that boundaries list, as they were listed once.
func withoutNotices(t *rapid.T, text []byte) []byte {
	notices := map[string]bool{}
	var edits []span.Edit
	for l := range span.Lines(text) {
		e, err := parse(l.Text.Of(text))
		if err != nil {
			t.Fatal(err)
		}
		if notices[e.UUID] = e.Subtype == "turn_duration"; !e.boundary() {
			continue
		}
		uuids := slices.DeleteFunc(e.compaction().Messages.UUIDs, func(uuid string) bool { return notices[uuid] })
		if len(uuids) == 0 {
			continue
		}
		line := l.Text.Of(text)
		line = span.Update(line, span.Make("", uuids)[len(`{"":`):len(span.Make("", uuids))-1], "compactMetadata", "preservedMessages", "uuids")
		edits = append(edits, span.Edit{Span: l.Text, With: line})
	}
	return span.Splice(text, edits...)
}

// Of an answer of which nothing is left a blank text stays, of which the product sends nothing; of
// one that says something too its reasoning is left out alone. Either comes back.
func TestWrite_anAnswerThatIsReasoningAloneIsBlank(t *testing.T) {
	r := &rows{}
	r.turn("one", 0, false)
	r.add("user", `"message":{"role":"user","content":"Think."}`)
	r.add("assistant", `"message":{"id":"msg_alone","type":"message","role":"assistant","model":"claude-opus-5-5",`+
		`"content":[{"type":"thinking","thinking":"alone","signature":"sig"}],"stop_reason":"max_tokens"}`)
	doc := read(t, []byte(r.text.String()))
	var found []rule.Elision
	for _, m := range doc.Session.Messages {
		for _, p := range m.Parts {
			if p.Type == session.ReasoningPart {
				found = append(found, rule.Elision{Part: p.ID, Message: m.ID, Field: rule.Text, Rule: "test", Because: "because"})
			}
		}
	}
	if len(found) != 2 {
		t.Fatalf("%d parts of reasoning, want 2", len(found))
	}
	text := write(t, doc, format.Change{Session: doc.Session, Ledger: rule.NewLedger(found...)})
	for content, times := range map[string]int{
		`"content":[{"type":"text","text":"\n"}],"stop_reason":"max_tokens"`: 1,
		`"content":[],"stop_reason":"end_turn"`:                              1,
	} {
		if n := bytes.Count(text, []byte(content)); n != times {
			t.Errorf("%s is there %d times, want %d:\n%s", content, n, times, text)
		}
	}
	again := read(t, text)
	if difference(t, doc.Session.Messages, again.Session.Messages) != "" || again.Ledger.Len() != 2 {
		t.Errorf("read again it is another session")
	}
	if back := write(t, again, format.Change{Session: again.Session}); !bytes.Equal(back, doc.Source) {
		t.Errorf("taken back:\n%s\nwant\n%s", back, doc.Source)
	}
}
