package claudecode

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// handles are what the product shows plugins of a file: the messages behind the newest boundary,
// without attachments and notices.
func handles(doc *format.Document) (uuids []string) {
	x := doc.Native.(*index)
	for _, i := range x.active {
		switch e := &x.entries[i]; {
		case e.boundary():
			uuids = nil
		case e.speaks() && !e.Meta:
			uuids = append(uuids, e.UUID)
		}
	}
	return uuids
}

// host writes what the product writes when a plugin has compacted: a boundary without anchors, and
// copies under new uuids, of which results hang on the old calls.
func (r *rows) host(t interface{ Fatal(...any) }, doc *format.Document, h Handing) {
	x := doc.Native.(*index)
	r.n++
	boundary := fmt.Sprintf("%08x-0000-4000-8000-000000000000", r.n)
	fmt.Fprintf(&r.text, `{"parentUuid":null,"logicalParentUuid":%q,"isSidechain":false,"type":"system","subtype":"compact_boundary","uuid":%q,`+
		`"timestamp":"2026-11-22T10:00:00.%03dZ","compactMetadata":{"trigger":"manual","preTokens":9},"sessionId":"s"}`+"\n", r.parent, boundary, r.n%1000)
	r.parent = boundary
	for _, row := range h.Rows {
		if row.Turn != nil {
			var content []any
			for _, result := range row.Turn.Results {
				content = append(content, map[string]any{"type": "tool_result", "tool_use_id": result.Call, "content": result.Text})
			}
			var value any = content
			if content == nil {
				value = row.Turn.Text
			}
			text, err := json.Marshal(value, json.Deterministic(true))
			if err != nil {
				t.Fatal(err)
			}
			r.add("user", `"message":{"role":"user","content":`+string(text)+`}`)
			continue
		}
		e := &x.entries[x.tree.find(row.Of)]
		r.n++
		uuid := fmt.Sprintf("%08x-0000-4000-8000-000000000000", r.n)
		line := span.Update(e.at.Of(doc.Source), span.Quote(uuid), "uuid")
		line = span.Remove(line, false, "winnow")
		if !x.tree.all[x.tree.find(row.Of)].has(resulting) {
			line = span.Update(line, span.Quote(r.parent), "parentUuid")
		}
		r.text.Write(append(line, '\n'))
		r.parent = uuid
	}
}

// Whatever a plugin hands back, once it is anchored the file has the log that the engine has: no
// message twice, each part left out that was, and the way back to the bytes from before.
func TestAnchored_theLogIsTheEngines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &rows{}
		turns := rapid.IntRange(1, 3).Draw(t, "turns")
		for i := range turns {
			r.turn(fmt.Sprint("old", i), rapid.IntRange(1, 4).Draw(t, "calls"), rapid.Bool().Draw(t, "notice"))
		}
		var markers []string
		var ledger rule.Ledger
		for n := range rapid.IntRange(1, 3).Draw(t, "compactions") {
			text := []byte(r.text.String())
			was, err := Format{}.Read(text)
			if err != nil {
				t.Fatal(err)
			}
			s, folds := was.Session, rapid.Bool().Draw(t, "folds")
			name := fmt.Sprint("fold", n)
			if folds {
				tail := ""
				if at := rapid.IntRange(0, len(s.Messages)).Draw(t, "tail"); at < len(s.Messages) {
					tail = s.Messages[at].ID
				}
				s = fold(s, name, tail)
			}
			ledger = was.Ledger
			var found []rule.Elision
			for _, m := range was.Session.Messages {
				for _, p := range m.Parts {
					if p.Type == session.ToolPart && !ledger.Has(rule.Key{Part: p.ID, Field: rule.Output}) && rapid.Bool().Draw(t, "left out") {
						found = append(found, rule.Elision{Part: p.ID, Message: m.ID, Field: rule.Output, Rule: "test", Because: "because",
							Shown: "[left out " + p.CallID + "]", Time: session.Millis(n + 1)})
					}
				}
			}
			ledger = rule.NewLedger(append(ledger.All(), found...)...)
			var made bytes.Buffer
			if err := (Format{}).Write(&made, was, format.Change{Session: s, Ledger: ledger}); err != nil {
				t.Fatal(err)
			}
			now, err := Format{}.Read(made.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			h, differs := Handed(was, now, handles(was))
			if !differs {
				continue
			}
			r.host(t, was, h)
			read, err := Format{}.Read([]byte(r.text.String()))
			if err != nil {
				t.Fatal(err)
			}
			edits, ok := Anchored(read, h)
			if len(h.Rows) < 2 {
				return // the product needs an anchor and something behind it
			}
			if !ok {
				t.Fatalf("it is not anchored:\n%s", r.text.String())
			}
			text = span.Splice([]byte(r.text.String()), edits...)
			r.text.Reset()
			r.text.Write(text)
			again, err := Format{}.Read(text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(now.Session.Messages, again.Session.Messages); diff != "" {
				t.Fatalf("compaction %d: the log differs (-engine +file): %s\n%s", n, diff, text)
			}
			if folds {
				markers = append(markers, "msg_"+name)
			}
			for _, el := range shownIn(again) {
				if !ledger.Has(el.Key()) {
					t.Fatalf("left out in the file alone: %+v", el)
				}
			}
			if _, twice := Anchored(again, h); twice {
				t.Fatal("it is anchored twice")
			}
			tools, _ := shownTools(again)
			want, _ := shownTools(now)
			if len(tools) != len(want) {
				t.Fatalf("%d calls are shown, want %d", len(tools), len(want))
			}
			r.turn(fmt.Sprint("new", n), rapid.IntRange(0, 2).Draw(t, "new calls"), false)
		}
		// Undone from the newest to the oldest, the branch has every message once, in one chain.
		text := []byte(r.text.String())
		undone := map[string]bool{}
		for i := len(markers) - 1; i >= 0; i-- {
			doc, err := Format{}.Read(text)
			if err != nil {
				t.Fatal(err)
			}
			undone[markers[i]] = true
			var out bytes.Buffer
			if err := (Format{}).Write(&out, doc, format.Change{Session: doc.Session, Undone: undone}); err != nil {
				t.Fatal(err)
			}
			text = out.Bytes()
		}
		doc, err := Format{}.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		said := map[string]int{}
		for _, m := range doc.Session.Messages {
			for _, p := range m.Parts {
				if p.Type == session.ToolPart {
					said[p.CallID]++
					if strings.HasPrefix(p.State.Output, "[left out") {
						t.Fatalf("%s is still left out", p.CallID)
					}
				}
			}
		}
		if len(markers) > 0 && bytes.Contains(text, []byte("isCompactSummary")) {
			t.Fatalf("a summary is left:\n%s", text)
		}
		for call, n := range said {
			if n != 1 {
				t.Fatalf("call %s is in the log %d times\n%s", call, n, text)
			}
		}
	})
}

// shownIn are the elisions of a file.
func shownIn(doc *format.Document) []rule.Elision { return doc.Ledger.All() }

// What the user typed while the model worked hangs on a result as an attachment. If the result is
// shortened, it follows it as a message.
func TestHanded_keepsWhatWasTypedMeanwhile(t *testing.T) {
	r := &rows{}
	r.add("user", `"message":{"role":"user","content":"Do it."}`)
	for i := range 2 {
		r.add("assistant", fmt.Sprintf(`"message":{"id":"msg_%d","type":"message","role":"assistant","model":"claude-opus-5-5","content":[{"type":"tool_use","id":"toolu_%d","name":"Bash","input":{"command":"true"}}],"stop_reason":"tool_use"}`, i, i))
		r.add("user", fmt.Sprintf(`"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":"a long output \ud83d\ude00"}]}`, i))
		r.add("attachment", fmt.Sprintf(`"attachment":{"type":"queued_command","prompt":"and this, %d","commandMode":"prompt"}`, i))
	}
	was := read(t, []byte(r.text.String()))
	ledger := rule.NewLedger(rule.Elision{Part: "toolu_0", Message: was.Session.Messages[1].ID, Field: rule.Output, Rule: "test",
		Because: "because", Shown: "short \xed\xa0\xbd", Time: 1})
	now := read(t, write(t, was, format.Change{Session: was.Session, Ledger: ledger}))
	h, differs := Handed(was, now, handles(was))
	if !differs {
		t.Fatal("nothing differs")
	}
	var turns []string
	for _, row := range h.Rows {
		if row.Turn != nil {
			text := row.Turn.Text
			for _, result := range row.Turn.Results {
				text += result.Call + ": " + result.Text
			}
			turns = append(turns, text)
		}
	}
	want := []string{"toolu_0: short \uFFFD", "and this, 0"}
	for i := range turns {
		turns[i] = strings.ReplaceAll(turns[i], "\uFFFD\uFFFD\uFFFD", "\uFFFD")
	}
	if diff := cmp.Diff(want, turns); diff != "" {
		t.Error(diff)
	}
}
