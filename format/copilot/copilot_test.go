package copilot

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/internal/filetest"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
)

func load(t testing.TB) []byte {
	t.Helper()
	src, err := os.ReadFile("testdata/session.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func read(t testing.TB, src string) *format.Document {
	t.Helper()
	doc, err := Format{}.Read([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func outline(log []session.Message) string {
	var b strings.Builder
	for i := range log {
		m := &log[i]
		fmt.Fprintf(&b, "%s %s %s", m.ID, m.Role, m.Finish)
		if m.Repeats != "" {
			fmt.Fprintf(&b, " repeats %s", m.Repeats)
		}
		if u := m.Tokens; u != nil {
			fmt.Fprintf(&b, " %d+%d+%d>%d+%d", u.Input, u.Cache.Read, u.Cache.Write, u.Output, u.Reasoning)
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			fmt.Fprintf(&b, " | %s %q", p.Type, p.Text)
			if p.Synthetic {
				b.WriteString(" synthetic")
			}
			if p.Type == session.CompactionPart {
				fmt.Fprintf(&b, " tail %s", p.TailStartID)
			}
			if p.URL != "" {
				fmt.Fprintf(&b, " %s", p.URL)
			}
			if p.State != nil {
				fmt.Fprintf(&b, " %s %s %s %q", p.Tool, p.State.Input, p.State.Status, p.State.Result())
				for _, file := range p.State.Attachments {
					fmt.Fprintf(&b, " with %s", file.URL)
				}
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestRead_aSessionWithASubAgentACompactionAndDamage(t *testing.T) {
	doc := read(t, string(load(t)))
	want := `e02 user  | text "<current_datetime>2026-05-04</current_datetime>\n\n" synthetic | text "Why do the pears drop early?" | text "\n\n<reminder>be short</reminder>" synthetic | file "" data:image/png;base64,aGk=
e06 assistant tool-calls 100+1000+200>40+20 | reasoning "Water, or soil?" | text "I look at the soil." | tool "" view {"path":"/srv/orchard/soil.csv"} error "Path does not exist" | tool "" task {"prompt":"Count the trees."} completed "Forty." with data:image/png;base64,aG8=
e16 assistant stop 1500+0+0>10+0 | text "Too dry."
e17 user  | compaction "" tail e16
e17-summary assistant stop 600+1000+0>30+0 | text "Forty trees; no soil.csv."
e19 user  | text "<system_notification>shell 3 ended</system_notification>" synthetic
e20 user  | text "Water them."
`
	if diff := cmp.Diff(want, outline(doc.Session.Messages)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	counts := format.Counts{Entries: 24, Messages: 7, ToolCalls: 2, ToolResults: 2, Aside: 2}
	if diff := cmp.Diff(counts, doc.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if len(doc.Damaged) != 1 || doc.Damaged[0].Line != 18 || doc.Damaged[0].Bytes == 0 {
		t.Errorf("damaged: %+v", doc.Damaged)
	}
	if !doc.Theirs["e17"] || len(doc.Theirs) != 1 {
		t.Errorf("the product's own compactions: %v", doc.Theirs)
	}
	i := doc.Session.Info
	if i.ID != "6d0f0000-0000-4000-8000-000000000001" || i.Directory != "/srv/orchard" ||
		i.Model.String() != "anthropic/claude-sonnet-4.5" || i.Time.Updated-i.Time.Created != 7000 ||
		!strings.Contains(string(i.Unknown), `"copilotVersion":"1.0.102"`) {
		t.Errorf("info: %+v", i)
	}
	if kept := string(doc.Session.Messages[0].Unknown); !strings.Contains(kept, "delivery") {
		t.Errorf("unknown members are lost: %q", kept)
	}
	var beside []string
	for _, r := range doc.Beside {
		beside = append(beside, fmt.Sprintf("%s %s %s %d", r.ID, r.Kind, r.Model, r.Usage.Prompt()))
	}
	if diff := cmp.Diff([]string{"r2 agent anthropic/claude-sonnet-4.5 500", "r4 left anthropic/claude-sonnet-4.5 700"}, beside); diff != "" {
		t.Errorf("beside (-want +got):\n%s", diff)
	}
	if problems := session.Check(doc.Session.Messages); len(problems) > 0 {
		t.Errorf("problems: %v", problems)
	}
}

// line writes an event.
func line(kind, id, data string) string {
	return fmt.Sprintf(`{"type":%q,"data":%s,"id":%q,"timestamp":"2026-05-04T08:00:00.000Z","parentId":null}`+"\n", kind, data, id)
}

func TestRead_events(t *testing.T) {
	start := line("session.start", "e0", `{"sessionId":"s","selectedModel":"gpt-5","context":{"cwd":"/x"}}`)
	turn := line("user.message", "e1", `{"content":"Look."}`) +
		line("session.usage_record", "e2", `{"usage":{"model":"gpt-5","inputTokens":90,"outputTokens":5,"apiCallId":"r"}}`) +
		line("assistant.message", "e3", `{"content":"Seen.","model":"gpt-5","apiCallId":"r"}`)
	seen := "e1 user  | text \"Look.\"\ne3 assistant stop 90+0+0>5+0 | text \"Seen.\"\n"
	for _, c := range []struct {
		name, src, want string
		aside           int
	}{
		{"a turn", turn, seen, 0},
		{"the user went back", turn + line("user.message", "e4", `{"content":"Wrong."}`) + line("session.snapshot_rewind", "e5", `{"upToEventId":"e4","eventsRemoved":1}`), seen, 1},
		{"back to an event that is not there", turn + line("session.snapshot_rewind", "e5", `{"upToEventId":"gone","eventsRemoved":1}`), seen, 0},
		{"begun anew", turn + line("session.context_cleared", "e4", `{"messagesCleared":2}`) + line("user.message", "e5", `{"content":"Again."}`), "e5 user  | text \"Again.\"\n", 2},
		{"a compaction that failed", turn + line("session.compaction_start", "e4", `{}`) + line("session.compaction_complete", "e5", `{"success":false,"error":"cancelled"}`), seen, 0},
		{"a compaction of everything", turn + line("session.compaction_start", "e4", `{}`) + line("session.compaction_complete", "e5", `{"success":true,"summaryContent":"All of it.","trigger":"manual"}`),
			seen + "e5 user  | compaction \"\" tail \ne5-summary assistant stop | text \"All of it.\"\n", 0},
		{"an answer in chunks", turn + line("assistant.message", "e4", `{"content":"More.","apiCallId":"r","chunkIndex":1}`), seen + "e4 assistant stop repeats e3 | text \"More.\"\n", 0},
		{"a command that the user ran", turn + line("tool.user_requested", "e4", `{"toolCallId":"u","toolName":"bash"}`) + line("tool.execution_complete", "e5", `{"toolCallId":"u","success":true,"result":{"content":"out"}}`),
			seen + "e5 user  | text \"out\" synthetic\n", 0},
		{"a result that comes twice, and a picture kept apart", turn + line("session.binary_asset", "e4", `{"assetId":"p","data":"aGk=","mimeType":"image/png"}`) +
			line("assistant.message", "e5", `{"content":"","toolRequests":[{"toolCallId":"c","name":"view","arguments":{}}]}`) +
			line("tool.execution_complete", "e6", `{"toolCallId":"c","success":true,"result":{"content":"one","binaryResultsForLlm":[{"type":"image","assetId":"p"}]}}`) +
			line("tool.execution_complete", "e7", `{"toolCallId":"c","success":true,"result":{"content":"two"}}`),
			seen + "e5 assistant tool-calls | tool \"\" view {} completed \"one\" with data:image/png;base64,aGk=\n", 0},
		{"what a skill and the autopilot say for the user", turn + line("user.message", "e4", `{"content":"Use pdf.","source":"skill-pdf"}`) + line("user.message", "e5", `{"content":"Go on.","isAutopilotContinuation":true}`),
			seen + "e4 user  | text \"Use pdf.\" synthetic\ne5 user  | text \"Go on.\" synthetic\n", 0},
		{"sent otherwise than it was written", turn + line("user.message", "e4", `{"content":"/fix it","transformedContent":"Repair it."}`), seen + "e4 user  | text \"/fix it\" | text \"Repair it.\" synthetic\n", 0},
	} {
		doc := read(t, start+c.src)
		if diff := cmp.Diff(c.want, outline(doc.Session.Messages)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if doc.Counts.Aside != c.aside || len(doc.Damaged) > 0 {
			t.Errorf("%s: %d aside, damaged %+v", c.name, doc.Counts.Aside, doc.Damaged)
		}
		if by := doc.Session.Info.Model.String(); by != "github-copilot/gpt-5" {
			t.Errorf("%s: by %s", c.name, by)
		}
	}
}

func TestRead_whatWasLeftWasPaidFor(t *testing.T) {
	doc := read(t, line("user.message", "e1", `{"content":"Look."}`)+
		line("session.usage_record", "e2", `{"usage":{"model":"gpt-5","inputTokens":90,"outputTokens":5}}`)+
		line("assistant.message", "e3", `{"content":"Seen.","model":"gpt-5"}`)+
		line("session.compaction_complete", "e4", `{"success":false,"compactionTokensUsed":{"inputTokens":70,"outputTokens":1}}`)+
		line("session.context_cleared", "e5", `{}`)+line("user.message", "e6", `{"content":"Anew."}`))
	sums := bill.Of(doc.Session.Messages, doc.Beside, bill.NewPrices(model.Default().Lookup))
	if sums.Left.Usage.Input != 90 || sums.Left.Requests != 1 || sums.Failed.Usage.Input != 70 || sums.Steps.Requests != 0 {
		t.Errorf("got %+v", sums)
	}
}

func TestRead_aSessionThatSaysNothingIsRefused(t *testing.T) {
	var syntax *format.SyntaxError
	for _, bad := range []string{
		"", "{", "[]", "nonsense", `{"a":1}`, line("session.shutdown", "e1", `{}`),
		line("session.start", "e1", `{"sessionId":"s"}`) + line("assistant.message", "e2", `{"text":"in another member"}`),
		line("user.message", "e1", `{"content":["in another shape"]}`),
	} {
		if _, err := (Format{}).Read([]byte(bad)); !errors.As(err, &syntax) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	doc := read(t, line("session.start", "e1", `{"sessionId":"s"}`)+line("user.message", "e2", `{"content":7}`))
	if len(doc.Damaged) != 1 || doc.Damaged[0].Line != 2 {
		t.Errorf("damaged: %+v", doc.Damaged)
	}
}

func TestRead_aCutFileGivesWhatCameBefore(t *testing.T) {
	src := string(load(t))
	for at := strings.Index(src, "\n"); at < len(src); at += 97 {
		doc := read(t, src[:at])
		if whole := strings.HasSuffix(src[:at], "}\n") || src[at] == '\n'; !whole && len(doc.Damaged) == 0 {
			t.Errorf("cut at byte %d: no damage", at)
		}
	}
}

func TestDetect_knowsItsOwnOnly(t *testing.T) {
	src := load(t)
	for _, own := range []string{string(src), string(src[900:]), line("user.message", "x", `{}`)} {
		if !(Format{}).Detect([]byte(own)) {
			t.Errorf("not recognised: %.80s", own)
		}
	}
	for _, other := range []string{
		"", "[", `{"type":"user","message":{},"uuid":"x","parentUuid":null}`, `{"type":"session","id":"x","data":{},"parentId":null}`,
		`{"type":"user.message","data":"x","id":"x","parentId":null}`, `{"type":"other.kind","data":{},"id":"x","parentId":null}`,
	} {
		if (Format{}).Detect([]byte(other)) {
			t.Errorf("%s is taken for a session", other)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(load(f))
	doc := read(f, string(load(f)))
	f.Add([]byte(write(f, doc, folded(folded(filetest.Elided(filetest.Change(doc), doc, "c2"), "p1", "e19"), "p2", "e20"))))
	f.Add([]byte(line("user.message", "a", `{"content":"x"}`) + line("session.compaction_start", "b", `{}`) + line("session.snapshot_rewind", "c", `{"upToEventId":"a"}`) +
		line("session.compaction_complete", "d", `{"success":true,"summaryContent":"s"}`)))
	f.Fuzz(func(t *testing.T, src []byte) {
		Format{}.Detect(src)
		doc, err := Format{}.Read(src)
		if err != nil {
			return
		}
		for i := range doc.Session.Messages {
			m := &doc.Session.Messages[i]
			for j := range m.Parts {
				if p := &m.Parts[j]; p.Type == session.ToolPart && (p.State == nil || p.State.Input.Kind() != '{') {
					t.Fatalf("a call without state or input: %+v", p)
				}
			}
			if marker := m.Marker(); marker != nil && marker.TailStartID != "" && session.Index(doc.Session.Messages, marker.TailStartID) < 0 {
				t.Fatalf("the tail of %s begins at a message that is not there", m.ID)
			}
		}
		if _, err := doc.Session.Clone(); err != nil {
			t.Fatalf("the session cannot be written as JSON: %v", err)
		}
		if write(t, doc, filetest.Change(doc)) != string(doc.Source) {
			t.Fatal("written without a change it is another file")
		}
		again := read(t, write(t, doc, folded(filetest.Change(doc), "a pivot of the test", "")))
		undo := filetest.Change(again)
		undo.Undone = map[string]bool{"a pivot of the test": true}
		// An older end whose newer fold the file has lost counts again, once something is written.
		named := func(text string) string {
			return strings.TrimSuffix(strings.ReplaceAll(text, standInEvent, completeEvent), "\n")
		}
		if back := write(t, again, undo); named(back) != named(string(doc.Source)) {
			t.Fatalf("folded and undone it is another file:\n%s", back)
		}
	})
}
