package opencode

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// lines are the lines that differ between two texts: "-" only in the first, "+" only in the second.
func lines(a, b []byte) []string {
	have := func(text []byte) map[string]int {
		n := map[string]int{}
		for l := range strings.Lines(string(text)) {
			n[strings.TrimRight(l, "\n,")]++
		}
		return n
	}
	var out []string
	in, now := have(a), have(b)
	for l := range strings.Lines(string(a)) {
		if l = strings.TrimRight(l, "\n,"); in[l] > now[l] {
			out, in[l] = append(out, "-"+strings.TrimSpace(l)), in[l]-1
		}
	}
	in = have(a)
	for l := range strings.Lines(string(b)) {
		if l = strings.TrimRight(l, "\n,"); now[l] > in[l] {
			out, now[l] = append(out, "+"+strings.TrimSpace(l)), now[l]-1
		}
	}
	return out
}

func TestWrite_aMarkIsOneMemberMore(t *testing.T) {
	src := testdata(t, "session.json")
	doc := read(t, src)
	change := unchanged(doc)
	change.Ledger = mark(doc, doc.Session.Messages[1].Parts[2].ID)
	marked := write(t, doc, change)
	if diff := cmp.Diff([]string{`+"compacted": 77`}, lines(src, marked)); diff != "" {
		t.Errorf("lines that differ (-want +got):\n%s", diff)
	}
	again := read(t, marked)
	if diff := cmp.Diff(byPart(change.Ledger), byPart(again.Ledger)); diff != "" {
		t.Errorf("ledger (-written +read):\n%s", diff)
	}
	back := unchanged(again)
	back.Ledger = doc.Ledger
	if got := write(t, again, back); !bytes.Equal(got, src) {
		t.Errorf("with the mark taken away the file differs: %q", lines(src, got))
	}
}

func TestWrite_aRestoredMarkOfTheProduct(t *testing.T) {
	src := testdata(t, "session.json")
	doc := read(t, src)
	change := unchanged(doc)
	change.Ledger = rule.Ledger{}
	if diff := cmp.Diff([]string{`-"compacted": 1795000008000`}, lines(src, write(t, doc, change))); diff != "" {
		t.Errorf("lines that differ (-want +got):\n%s", diff)
	}
}

// byPart lets two ledgers be compared whatever the order of commits of one time.
func byPart(l rule.Ledger) []rule.Elision {
	all := slices.Clone(l.All())
	slices.SortFunc(all, func(a, b rule.Elision) int { return strings.Compare(a.Part+string(a.Field), b.Part+string(b.Field)) })
	return all
}

// everyElision is one elision of each kind on the parts of testdata/session.json.
func everyElision(s *session.Session) []rule.Elision {
	m := s.Messages
	on := func(i, j int, e rule.Elision) rule.Elision {
		e.Message, e.Part = m[i].ID, m[i].Parts[j].ID
		return e
	}
	return []rule.Elision{
		on(1, 2, rule.Elision{Field: rule.Output, Rule: "coverage", Because: "it was read again", By: m[1].Parts[1].ID, Shown: "[bash go test: \"left out\"]", Saves: 12, Time: 100.5}),
		on(1, 2, rule.Elision{Field: rule.Input, Rule: "inputs", Shown: "{}", Saves: 1, Time: 100.5}),
		on(1, 3, rule.Elision{Field: rule.Error, Rule: "errors", Shown: "lstat", Saves: 3, Time: 101}),
		on(0, 0, rule.Elision{Field: rule.Text, Rule: "blocks", Shown: "Make it tick", Saves: 2, Time: 102}),
		on(0, 1, rule.Elision{Field: rule.Attachments, Rule: "files", Shown: "[File: face.png]", Saves: 900, Time: 102}),
		on(1, 4, rule.Elision{Field: rule.Whole, Rule: "kinds", Time: 103}),
		on(1, 5, rule.Elision{Field: rule.Text, Rule: "texts", Shown: "…", Time: 103}),
	}
}

func TestWrite_everyElisionComesBack(t *testing.T) {
	for name, src := range map[string][]byte{
		"as the product writes it": testdata(t, "session.json"),
		"on one line":              compact(t, testdata(t, "session.json")),
		"with carriage returns":    bytes.ReplaceAll(testdata(t, "session.json"), []byte("\n"), []byte("\r\n")),
	} {
		t.Run(name, func(t *testing.T) {
			doc := read(t, src)
			change := unchanged(doc)
			change.Ledger = doc.Ledger.With(everyElision(&doc.Session)...)
			text := write(t, doc, change)
			again := read(t, text)
			var got, want []rule.Elision
			got = again.Ledger.All()
			want = slices.Concat(everyElision(&doc.Session), doc.Ledger.All()) // by time
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("ledger (-written +read):\n%s\n%s", diff, text)
			}
			if c := again.Session.Messages[1].Parts[2].State.Time.Compacted; c != 100 {
				t.Errorf("the product's mark is %v, want 100", c)
			}
			if got := write(t, again, unchanged(again)); !bytes.Equal(got, text) {
				t.Error("written again without change, the file differs")
			}

			// Each alone taken back leaves the others, and all taken back leaves the file.
			for _, e := range everyElision(&doc.Session) {
				less := unchanged(again)
				less.Ledger = again.Ledger.Without(e.Key())
				if diff := cmp.Diff(byPart(less.Ledger), byPart(read(t, write(t, again, less)).Ledger)); diff != "" {
					t.Errorf("without %v (-want +got):\n%s", e.Key(), diff)
				}
			}
			back := unchanged(again)
			back.Ledger = doc.Ledger
			if got := write(t, again, back); !bytes.Equal(got, src) {
				t.Errorf("with everything taken back the file differs: %q\n%s", lines(src, got), got)
			}
		})
	}
}

func compact(t testing.TB, src []byte) []byte {
	t.Helper()
	v := jsontext.Value(bytes.Clone(src))
	if err := v.Compact(session.ReadOptions()); err != nil {
		t.Fatal(err)
	}
	return v
}

// folded is a document's session with a pivot and its companion at the end.
func folded(doc *format.Document) session.Session {
	s := doc.Session
	info := func(id string, role session.Role) session.MessageInfo {
		return session.MessageInfo{ID: id, SessionID: s.Info.ID, Role: role, Time: session.MessageTime{Created: 1795000006000}}
	}
	marker := session.Message{MessageInfo: info("msg_e1", session.User), Parts: []session.Part{
		{ID: "prt_e1", Type: session.CompactionPart, Auto: true, TailStartID: s.Messages[1].ID}}}
	summary := session.Message{MessageInfo: info("msg_e2", session.Assistant), Parts: []session.Part{
		{ID: "prt_e2", Type: session.TextPart, Text: "## Goal"},
		{ID: "prt_e3", Type: session.TextPart, Text: "carried", Metadata: session.Note{Carry: true}.Metadata()}}}
	summary.ParentID, summary.Summary, summary.Finish = "msg_e1", jsontext.Value(`true`), "stop"
	again := session.Message{MessageInfo: info("msg_e3", session.User), Parts: []session.Part{
		{ID: "prt_e4", Type: session.TextPart, Text: "Continue", Synthetic: true, Metadata: session.Note{Pivot: "msg_e1"}.Metadata()}}}
	s.Messages = append(slices.Clone(s.Messages), marker, summary, again)
	return s
}

func TestWrite_appendsAPivotAndTakesItBack(t *testing.T) {
	for name, src := range map[string][]byte{"as the product writes it": testdata(t, "session.json"), "on one line": compact(t, testdata(t, "session.json"))} {
		t.Run(name, func(t *testing.T) {
			doc := read(t, src)
			change := unchanged(doc)
			change.Session = folded(doc)
			text := write(t, doc, change)
			importable(t, text, 1)
			if doc.Source[0] == '{' && !bytes.HasPrefix(text, src[:len(src)-10]) {
				t.Error("what was there changed")
			}
			again := read(t, text)
			m := again.Session.Messages
			if len(m) != 7 || m[4].Marker() == nil || m[4].Marker().TailStartID != m[1].ID || !m[5].Completes() || m[5].ParentID != m[4].ID || m[6].Companion() != "msg_e1" {
				t.Fatalf("the pivot did not come back:\n%s", text)
			}
			if n, ok := m[5].Parts[1].Note(); !ok || !n.Carry {
				t.Error("what was carried is no longer known as such")
			}

			back := unchanged(again)
			back.Undone = map[string]bool{"msg_e1": true}
			if got := write(t, again, back); !bytes.Equal(got, src) {
				t.Errorf("with the pivot undone the file differs: %q", lines(src, got))
			}
			back.Session.Messages = back.Session.Messages[:4] // the engine may have left them out itself
			if got := write(t, again, back); !bytes.Equal(got, src) {
				t.Error("with the pivot undone and its messages left out the file differs")
			}
		})
	}
}

func TestWrite_aPivotInTheMiddleIsUndone(t *testing.T) {
	doc := read(t, testdata(t, "session.json"))
	change := unchanged(doc)
	change.Session = folded(doc)
	change.Undone = map[string]bool{doc.Session.Messages[2].ID: true}
	again := read(t, write(t, doc, change))
	want := "user msg_d00000000001: text file\nassistant msg_d00000000002: step-start tool tool tool hologram text step-finish\n" +
		"user msg_e1: compaction\nassistant msg_e2: text text\nuser msg_e3: text\n"
	if diff := cmp.Diff(want, outline(&again.Session)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestWrite_appendedMessagesComeLastForTheProduct(t *testing.T) {
	doc := read(t, testdata(t, "session.json"))
	change := unchanged(doc)
	change.Session = folded(doc)
	for i := 4; i < 7; i++ {
		change.Session.Messages[i].Time.Created = session.Millis(10 - i) // a clock that is behind
	}
	importable(t, write(t, doc, change), 1)
}

func TestWrite_refusesAnotherHistory(t *testing.T) {
	doc := read(t, testdata(t, "session.json"))
	for name, messages := range map[string][]session.Message{
		"less":      doc.Session.Messages[:2],
		"another":   {doc.Session.Messages[1]},
		"reordered": {doc.Session.Messages[1], doc.Session.Messages[0], doc.Session.Messages[2], doc.Session.Messages[3]},
	} {
		change := unchanged(doc)
		change.Session.Messages = messages
		if err := (Format{}).Write(&bytes.Buffer{}, doc, change); err == nil {
			t.Errorf("%s: written without an error", name)
		}
	}
}

func TestWrite_keepsWhatDidNotDecode(t *testing.T) {
	src := []byte(head + one + `,` + answer("msg_2", part("prt_2", `"text":5`)+","+part("prt_3", `"text":"good"`)) + `,{"odd":true}],"more":{"x":1}}`)
	doc := read(t, src)
	change := unchanged(doc)
	change.Session.Messages = append(slices.Clone(change.Session.Messages), session.Message{MessageInfo: session.MessageInfo{ID: "msg_9", Role: session.User}})
	text := string(write(t, doc, change))
	for _, want := range []string{`"text":5`, `{"odd":true}`, `"more":{"x":1}`, `"msg_9"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is gone:\n%s", want, text)
		}
	}
}

// A log that names a model without its provider is imported all the same: the product wants both.
func TestWrite_aModelWithoutItsProvider(t *testing.T) {
	s := session.Session{Info: session.Info{ID: "ses_1", Model: &session.ModelRef{ID: "m"}}}
	for i, role := range []session.Role{session.User, session.Assistant} {
		m := session.Message{MessageInfo: session.MessageInfo{ID: "msg_" + string(rune('1'+i)), Role: role, ModelID: "m"}}
		m.Parts = []session.Part{{ID: "prt_" + string(rune('1'+i)), MessageID: m.ID, Type: session.TextPart, Text: "Hello."}}
		s.Messages = append(s.Messages, m)
	}
	var text bytes.Buffer
	if err := (Format{}).Write(&text, nil, format.Change{Session: s}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), `"providerID"`); n != 3 || strings.Contains(text.String(), `"providerID":""`) {
		t.Errorf("%d providers in %s", n, text.String())
	}
}
