package codex

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

func testdata(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// outline writes a log down for comparing: a line for each message, and one for each part.
func outline(messages []session.Message) []string {
	var lines []string
	for i := range messages {
		m := &messages[i]
		text := fmt.Sprintf("%s %s", m.Role, m.ID)
		if m.Written() {
			text += " written"
		}
		if m.IsSummary() {
			text += " summary of " + m.ParentID
		}
		if u := m.Tokens; u != nil {
			text += fmt.Sprintf(" in %d read %d write %d out %d think %d", u.Input, u.Cache.Read, u.Cache.Write, u.Output, u.Reasoning)
		}
		lines = append(lines, strings.TrimSpace(text+" "+m.Finish))
		for j := range m.Parts {
			p := &m.Parts[j]
			text := fmt.Sprintf("  %s %s", p.Type, p.ID)
			if p.Text != "" {
				text += " " + p.Text
			}
			if p.Synthetic {
				text += " (synthetic)"
			}
			if p.Auto {
				text += " (auto)"
			}
			if n, ok := p.Note(); ok && n.Carry {
				text += " (carried)"
			}
			if s := p.State; s != nil {
				text += fmt.Sprintf(" %s %s %s: %s", p.Tool, s.Input, s.Status, s.Result())
				for _, a := range s.Attachments {
					text += " +" + a.Mime
				}
			}
			if len(p.Metadata) > 0 && p.Type != session.TextPart {
				text += " " + string(p.Metadata)
			}
			lines = append(lines, strings.ReplaceAll(strings.TrimRight(text, " "), "\n", "|"))
		}
	}
	return lines
}

func TestRead_turnsAndStepsOfANewRollout(t *testing.T) {
	doc := read(t, testdata(t, "garden.jsonl"))
	want := []string{
		"user msg_d1",
		"  text msg_d1:0 Be careful with the tomatoes. (synthetic)",
		"  text msg_d1:1 Permissions: all. (synthetic)",
		"user msg_e1",
		"  text msg_e1:0 <environment_context>garden, spring</environment_context> (synthetic)",
		"user msg_u1 written",
		"  text msg_u1:0 Water the plants, please.",
		"assistant rs_1 in 300 read 600 write 100 out 30 think 20 tool-calls",
		`  reasoning rs_1:0 Which plants are there? {"openai":{"itemId":"rs_1","reasoningEncryptedContent":"c2VjcmV0"}}`,
		`  tool call_1 exec_command {"cmd":"ls beds"} completed: Process exited with code 0|Output:|roses tomatoes kale`,
		`  tool call_2 apply_patch {"input":"*** add hose ***"} completed: hose added +image/png`,
		"assistant fc_2 in 200 read 1000 write 0 out 30 think 0 stop",
		`  tool call_1#2 exec_command {"arguments":"not json"} error: no such bed`,
		`  tool ws_1 web_search {"type":"search","query":"kale thirst"} completed:`,
		"assistant ls_1 in 100 read 1200 write 0 out 30 think 0 tool-calls",
		`  tool call_3 local_shell {"type":"exec","command":["water","kale"]} running:`,
		"assistant codex_000020 in 100 read 1300 write 0 out 30 think 0 stop",
		`  codex-function_call_output codex_000020:0 {"type":"function_call_output","call_id":"call_9","output":"nobody asked"}`,
		`  codex-hologram codex_000020:1 {"type":"hologram","id":"h1","beam":[1,2,3]}`,
		"  text codex_000020:2 The plants are watered.",
		"user msg_u2 written",
		"  text msg_u2:0 Now the lawn.",
		"assistant fc_3 in 100 read 1400 write 0 out 30 think 0 tool-calls",
		`  tool call_4 exec_command {"cmd":"mow"} completed: Process exited with code 1|Output:|the mower is out of fuel`,
		"assistant msg_a1 in 100 read 1500 write 0 out 30 think 0 stop",
		"  text msg_a1:0 The mower needs fuel.",
	}
	if diff := cmp.Diff(want, outline(doc.Session.Messages)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(format.Counts{Entries: 33, Messages: 5, ToolCalls: 6, ToolResults: 5}, doc.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	info := doc.Session.Info
	if info.ID != "11111111-2222-3333-4444-555555555555" || info.Directory != "/home/me/garden" || info.Title != "Water the plants, please." || info.Model.String() != "local/m-1" {
		t.Errorf("info = %+v", info)
	}
}

func TestRead_firstVersionsWithoutEnvelope(t *testing.T) {
	doc := read(t, testdata(t, "shed-bare.jsonl"))
	want := []string{
		"user codex_000003",
		"  text codex_000003:0 <environment_context>old shed</environment_context> (synthetic)",
		"user codex_000004 written",
		"  text codex_000004:0 Sweep the shed.",
		"assistant rs_9 tool-calls",
		`  reasoning rs_9:0 {"openai":{"itemId":"rs_9"}}`,
		`  tool call_a shell {"command":["sweep"]} completed: {"output":"dust","metadata":{"exit_code":0}}`,
		"assistant msg_9 stop",
		"  text msg_9:0 Swept.",
	}
	if diff := cmp.Diff(want, outline(doc.Session.Messages)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if doc.Session.Info.ID != "99999999-2222-3333-4444-555555555555" {
		t.Errorf("id = %q", doc.Session.Info.ID)
	}
}

func TestRead_olderRolloutWithDamageRollbackAndCompaction(t *testing.T) {
	doc := read(t, testdata(t, "pond-old.jsonl"))
	want := []string{
		"user codex_000002",
		"  text codex_000002:0 # AGENTS.md instructions for /srv/pond||<INSTRUCTIONS>feed the fish</INSTRUCTIONS> (synthetic)",
		"user codex_000003",
		"  text codex_000003:0 <environment_context>|  <cwd>/srv/pond</cwd>|</environment_context> (synthetic)",
		"user codex_000005 written",
		"  text codex_000005:0 Clean the pond.",
		"assistant codex_000008 in 51 read 50 write 0 out 6 think 4 tool-calls",
		`  tool c1 shell {"command":["skim"]} completed: leaves`,
		"assistant codex_000012 in 51 read 51 write 0 out 6 think 4 stop",
		"  text codex_000012:0 Cleaned.",
		"user codex_000021",
		"  compaction codex_000021:0 (auto)",
		"assistant codex_000021s summary of codex_000021 stop",
		"  text codex_000021s:0 The pond was cleaned.",
		"  text codex_000021s:1 Clean the pond. (carried)",
		"user codex_000022 written",
		"  text codex_000022:0 Add fish.",
		"assistant codex_000023 stop",
		"  text codex_000023:0 Fish added.",
	}
	if diff := cmp.Diff(want, outline(doc.Session.Messages)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if doc.Counts.Aside != 2 {
		t.Errorf("aside = %d, want the 2 messages that were rolled back", doc.Counts.Aside)
	}
	if len(doc.Damaged) != 1 || doc.Damaged[0].Line != 11 || doc.Damaged[0].Bytes == 0 || doc.Damaged[0].Reason == "" {
		t.Errorf("damaged = %+v, want line 11", doc.Damaged)
	}
}

func TestRead_compactionByHand(t *testing.T) {
	src := []byte(`{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"a","cwd":"/x"}}
{"timestamp":"2026-01-01T00:00:01Z","type":"event_msg","payload":{"type":"task_started"}}
{"timestamp":"2026-01-01T00:00:02Z","type":"compacted","payload":{"message":"so far","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"before that"}],"internal_chat_message_metadata_passthrough":{"content_item_kinds":["compaction.summary"]}},{"type":"message","role":"user","content":[{"type":"input_text","text":"so far"}],"internal_chat_message_metadata_passthrough":{"content_item_kinds":["compaction.summary"]}},{"type":"compaction","encrypted_content":"eA=="}]}}
{"timestamp":"2026-01-01T00:00:03Z","type":"event_msg","payload":{"type":"task_complete"}}
{"timestamp":"2026-01-01T00:00:04Z","type":"event_msg","payload":{"type":"task_started"}}
{"timestamp":"2026-01-01T00:00:05Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"on"}]}}
`)
	doc := read(t, src)
	want := []string{
		"user codex_000003",
		"  compaction codex_000003:0",
		"assistant codex_000003s summary of codex_000003 stop",
		"  text codex_000003s:0 so far",
		"  text codex_000003s:1 before that (synthetic) (carried)",
		`  codex-compaction codex_000003s:2 {"type":"compaction","encrypted_content":"eA=="}`,
		"user codex_000006 written",
		"  text codex_000006:0 on",
	}
	if diff := cmp.Diff(want, outline(doc.Session.Messages)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestRead_wordsOfAnotherAgent(t *testing.T) {
	doc := read(t, []byte(`{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"a","cwd":"/x"}}
{"timestamp":"2026-01-01T00:00:01Z","type":"inter_agent_communication","payload":{"author":"/root","recipient":"/root/helper","content":"Weed the beds.","trigger_turn":true}}
{"timestamp":"2026-01-01T00:00:02Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Weeded."}]}}
`))
	want := []string{
		"user codex_000002",
		"  text codex_000002:0 Weed the beds. (synthetic)",
		"assistant codex_000003 stop",
		"  text codex_000003:0 Weeded.",
	}
	if diff := cmp.Diff(want, outline(doc.Session.Messages)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestRead_nothingReadable(t *testing.T) {
	_, err := Format{}.Read([]byte("{\"timestamp\":\nnot json\n"))
	var syntax *format.SyntaxError
	if !errors.As(err, &syntax) || syntax.Line != 1 {
		t.Errorf("error = %v, want a SyntaxError of line 1", err)
	}
}

func TestDetect(t *testing.T) {
	long := `{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"a","base_instructions":"` + strings.Repeat("x", 70000) + `"}}`
	for name, c := range map[string]struct {
		head string
		want bool
	}{
		"a new rollout":       {string(testdata(t, "garden.jsonl")), true},
		"an old one":          {string(testdata(t, "pond-old.jsonl")), true},
		"a bare one":          {string(testdata(t, "shed-bare.jsonl")), true},
		"a long first line":   {long[:64<<10], true},
		"nothing":             {"", false},
		"text":                {"hello\nthere\n", false},
		"an export":           {`{"info":{"id":"ses_1"},"messages":[]}`, false},
		"another product's":   {`{"type":"user","uuid":"u","sessionId":"s","message":{"role":"user","content":"hi"},"timestamp":"2026-01-01T00:00:00Z"}` + "\n", false},
		"a third product's":   {`{"type":"session","version":3,"id":"a","timestamp":"2026-01-01T00:00:00Z","cwd":"/x"}` + "\n" + `{"type":"message","id":"b","parentId":null,"timestamp":"2026-01-01T00:00:00Z","message":{"role":"user"}}` + "\n", false},
		"a request's body":    {`{"model":"m","input":[]}`, false},
		"an array of objects": {`[{"type":"session_meta"}]`, false},
	} {
		if got := (Format{}).Detect([]byte(c.head)); got != c.want {
			t.Errorf("%s: Detect = %v, want %v", name, got, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"garden.jsonl", "shed-bare.jsonl", "pond-old.jsonl"} {
		f.Add(testdata(f, name))
	}
	f.Add([]byte(`{"type":"response_item","payload":{"type":"message","role":"user","content":"x"},"winnow":{"of":"a","parts":[9]}}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		Format{}.Detect(src)
		doc, err := Format{}.Read(src)
		if err != nil {
			return
		}
		got := write(t, doc, format.Change{Session: doc.Session, Ledger: doc.Ledger})
		if string(got) != string(src) {
			t.Errorf("an unchanged session was written as %q, want %q", got, src)
		}

		// Whatever was read can be elided and had back.
		if strings.Contains(string(src), oursType) {
			return // a mark that we did not write is written as we would
		}
		var ledger rule.Ledger
		for i := range doc.Session.Messages {
			for j := range doc.Session.Messages[i].Parts {
				p := &doc.Session.Messages[i].Parts[j]
				field := []rule.Field{rule.Output, rule.Whole, rule.Text, rule.Input}[(i+j)%4]
				ledger = ledger.With(rule.Elision{Part: p.ID, Message: doc.Session.Messages[i].ID, Field: field, Rule: "fuzz", Shown: "[shown]"})
			}
		}
		elided := write(t, doc, format.Change{Session: doc.Session, Ledger: ledger})
		again, err := Format{}.Read(elided)
		if err != nil {
			t.Fatalf("elided, the file is not readable: %v\n%s", err, elided)
		}
		if again.Ledger.Len() != ledger.Len() {
			t.Errorf("%d elisions came back of %d\n%s", again.Ledger.Len(), ledger.Len(), elided)
		}
		if back := write(t, again, format.Change{Session: again.Session}); string(back) != string(src) {
			t.Errorf("with the elisions undone the file is %q, want %q", back, src)
		}
	})
}
