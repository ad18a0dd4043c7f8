package claudecode

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// progressed is a progress record by hand.
func progressed(uuid, parent string) string {
	return `{"parentUuid":"` + parent + `","type":"progress","uuid":"` + uuid + `","data":{"type":"bash_progress","output":"` +
		strings.Repeat("line ", 20) + `"}}` + "\n"
}

func snapshotted(message, words string) string {
	return `{"type":"file-history-snapshot","messageId":"` + message + `","snapshot":{"messageId":"` + message + `","trackedFileBackups":{"` +
		words + `":{}}},"isSnapshotUpdate":true}` + "\n"
}

// withoutDead takes the dead bytes out of a file.
func withoutDead(t testing.TB, src string) (string, []format.Dead) {
	t.Helper()
	doc := read(t, []byte(src))
	dead := Format{}.Dead(doc)
	edits := make([]span.Edit, len(dead))
	for i := range dead {
		edits[i] = dead[i].Edit
	}
	out := span.Splice(doc.Source, edits...)
	after := read(t, out)
	if diff := cmp.Diff(doc.Session.Messages, after.Session.Messages); diff != "" {
		t.Errorf("the session is another one (-whole +shrunk):\n%s", diff)
	}
	if diff := cmp.Diff(doc.Beside, after.Beside); diff != "" {
		t.Errorf("other requests were paid for (-whole +shrunk):\n%s", diff)
	}
	if again := (Format{}).Dead(after); len(again) > 0 {
		t.Errorf("%d pieces are dead after that", len(again))
	}
	return string(out), dead
}

func TestDead(t *testing.T) {
	a, c := text("a", "", "user", "", "one"), text("b", "a", "assistant", "m", "two")
	boundary := `{"type":"system","subtype":"compact_boundary","uuid":"z","parentUuid":null,"logicalParentUuid":"a"}` + "\n"
	billed := strings.Replace(progressed("p", "a"), `"bash_progress"`,
		`"agent_progress","message":{"type":"assistant","message":{"id":"m9","model":"x","usage":{"input_tokens":7,"output_tokens":9}}}`, 1)
	for name, test := range map[string]struct{ src, want string }{
		"nothing is dead":             {a + c, a + c},
		"a record that nothing names": {a + progressed("p", "a") + c, a + c},
		"what hangs on records hangs on their ancestor": {
			a + progressed("p", "a") + progressed("q", "p") + text("b", "q", "user", "", "two"), a + text("b", "a", "user", "", "two")},
		"records at the beginning": {
			strings.Replace(progressed("p", "x"), `"x"`, "null", 1) + text("b", "p", "user", "", "two"), text("b", "", "user", "", "two")},
		"one that a boundary names stays": {
			a + progressed("p", "a") + strings.Replace(boundary, `"a"`, `"p"`, 1), a + progressed("p", "a") + strings.Replace(boundary, `"a"`, `"p"`, 1)},
		"one whose child is behind a boundary stays, and hangs on its ancestor": {
			a + progressed("o", "a") + progressed("p", "o") + boundary + text("b", "p", "user", "", "two"),
			a + progressed("p", "a") + boundary + text("b", "p", "user", "", "two")},
		"one that comes behind its child stays": {a + text("b", "p", "user", "", "two") + progressed("p", "a"),
			a + text("b", "p", "user", "", "two") + progressed("p", "a")},
		"one that tells of a paid request stays": {a + billed + c, a + billed + c},
		"two of one name stay":                   {a + progressed("p", "a") + progressed("p", "a") + c, a + progressed("p", "a") + progressed("p", "a") + c},
		"the last line stays without its break":  {a + c + strings.TrimSpace(progressed("p", "b")), a + c + strings.TrimSpace(progressed("p", "b"))},
		"a snapshot that is replaced": {a + snapshotted("a", "one") + c + snapshotted("b", "other") + snapshotted("a", "two"),
			a + c + snapshotted("b", "other") + snapshotted("a", "two")},
		"one that a damaged line names stays": {a + progressed("p", "a") + progressed("q", "a") + `{"parentUuid":"p","type":"user","uui` + "\n" + c,
			a + progressed("p", "a") + `{"parentUuid":"p","type":"user","uui` + "\n" + c},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := withoutDead(t, test.src)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// Records that name one another at random are read as the same session without their dead bytes.
func TestDead_propertyTheSessionStays(t *testing.T) {
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		var src strings.Builder
		uuids := []string{""}
		for range rapid.IntRange(1, 25).Draw(t, "lines") {
			own := "u" + strconv.Itoa(len(uuids))
			parent := rapid.SampledFrom(append(uuids[:len(uuids):len(uuids)], "elsewhere", "u39")).Draw(t, "parent")
			switch rapid.IntRange(0, 9).Draw(t, "kind") {
			case 0, 1, 2, 3:
				src.WriteString(strings.Replace(progressed(own, parent), `""`, "null", 1))
			case 4:
				src.WriteString(snapshotted(parent, own))
				continue
			case 5:
				src.WriteString(text(own, parent, "assistant", "m"+own, "an answer"))
			case 6:
				src.WriteString(`{"type":"last-prompt","leafUuid":"` + parent + `","sessionId":"s"}` + "\n")
				continue
			case 7:
				src.WriteString(`{"type":"system","subtype":"compact_boundary","uuid":"` + own +
					`","parentUuid":null,"logicalParentUuid":"` + parent + `"}` + "\n")
			default:
				src.WriteString(text(own, parent, "user", "", "a question"))
			}
			uuids = append(uuids, own)
		}
		doc, err := Format{}.Read([]byte(src.String()))
		if err != nil {
			return
		}
		var edits []span.Edit
		for _, d := range (Format{}).Dead(doc) {
			edits = append(edits, d.Edit)
		}
		after, err := Format{}.Read(span.Splice(doc.Source, edits...))
		if err != nil {
			if len(doc.Session.Messages) > 0 {
				t.Fatal(err)
			}
			return
		}
		taken += len(edits)
		if diff := cmp.Diff(doc.Session.Messages, after.Session.Messages); diff != "" {
			t.Fatalf("-whole +shrunk:\n%s\n%s", diff, src.String())
		}
	})
	if taken == 0 {
		t.Error("nothing was dead")
	}
}

// Pictures are dead when they are folded or left out by a mark; in the tail and behind it they are
// sent.
func TestDead_pictures(t *testing.T) {
	picture := func(word string) session.Part {
		return session.Part{ID: "f" + word, Type: session.FilePart, Mime: "image/png",
			URL: "data:image/png;base64," + strings.Repeat(word, 1000)}
	}
	asks := func(id, word string) session.Message {
		return session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.User}, Parts: []session.Part{
			{ID: "t" + id, Type: session.TextPart, Text: "Look at this."}, picture(word)}}
	}
	calls := func(id, word string) session.Message {
		return session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.Assistant, Finish: "tool-calls"},
			Parts: []session.Part{{ID: "c" + id, Type: session.ToolPart, CallID: "c" + id, Tool: "Read", State: &session.ToolState{
				Status: session.Completed, Input: jsontext.Value(`{"file_path":"lamp.png"}`), Output: "a lamp", Attachments: []session.Part{picture(word)}}}}}
	}
	s := session.Session{Info: session.Info{ID: "ses_x", Directory: "/coast"}, Messages: []session.Message{
		asks("m1", "AAAA"), calls("m2", "BBBB"), asks("m3", "CCCC"), calls("m4", "DDDD"), calls("m5", "EEEE"), calls("m6", "EEEE")}}
	ledger := rule.NewLedger(rule.Elision{Part: "cm4", Message: "m4", Field: rule.Attachments, Shown: "[1 picture]"},
		rule.Elision{Part: "cm5", Message: "m5", Field: rule.Attachments, Shown: "[1 picture]"})
	for _, folded := range []bool{false, true} {
		want := map[string]int{"AAAA": 1, "BBBB": 1, "CCCC": 1, "DDDD": 0, "EEEE": 2} // the last is sent once more
		if folded {
			s, want["AAAA"], want["BBBB"] = fold(s, "x", "m3"), 0, 0
		}
		src := string(write(t, nil, format.Change{Session: s, Ledger: ledger}))
		doc := read(t, []byte(src))
		dead := Format{}.Dead(doc)
		edits := make([]span.Edit, len(dead))
		for i := range dead {
			edits[i] = dead[i].Edit
		}
		out := span.Splice(doc.Source, edits...)
		for word, n := range want {
			if got := bytes.Count(out, []byte(strings.Repeat(word, 1000))); got != n {
				t.Errorf("folded %v: %s is in the file %d times, want %d", folded, word, got, n)
			}
		}
		after := read(t, out)
		sent := func(d *format.Document) []session.Message {
			return view.Render(view.Window(d.Session.Messages, nil), d.Ledger)
		}
		if diff := cmp.Diff(sent(doc), sent(after)); diff != "" {
			t.Errorf("folded %v: another session is sent (-whole +shrunk):\n%s", folded, diff)
		}
		if again := (Format{}).Dead(after); len(again) > 0 {
			t.Errorf("%d pieces are dead after that", len(again))
		}
	}
}
