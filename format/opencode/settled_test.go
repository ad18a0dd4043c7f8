package opencode

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

const secondGeneration = `{
  "info": {"id": "ses_v2", "title": "Second", "directory": "/repo", "time": {"created": 1, "updated": 9}},
  "messages": [
    {"id": "msg_01", "type": "agent-switched", "agent": "plan", "time": {"created": 1}},
    {"id": "msg_02", "type": "user", "text": "Look.", "files": [{"uri": "data:image/png;base64,AA==", "mime": "image/png", "name": "a.png"}], "agents": [{"name": "explore"}], "time": {"created": 2}},
    {"id": "msg_03", "type": "assistant", "agent": "build", "model": {"id": "m1", "providerID": "local", "variant": "high"}, "finish": "tool-calls", "cost": 0.5,
     "tokens": {"input": 7, "output": 2, "reasoning": 1, "cache": {"read": 3, "write": 0}}, "time": {"created": 3, "completed": 4},
     "content": [
       {"type": "reasoning", "text": "I look."},
       {"type": "text", "text": "Looking."},
       {"type": "tool", "id": "c1", "name": "read", "state": {"status": "completed", "input": {"path": "a"}, "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}, {"type": "file", "uri": "data:,x", "mime": "text/plain", "name": "x"}], "metadata": {"n": 1}}, "time": {"created": 3, "completed": 4}},
       {"type": "tool", "id": "c2", "name": "read", "state": {"status": "error", "input": {}, "error": {"type": "unknown", "message": "no such file"}}, "time": {"created": 3}},
       {"type": "tool", "id": "c3", "name": "read", "state": {"status": "streaming", "input": "{\"pa"}, "time": {"created": 3}},
       {"type": "tool", "id": "c4", "name": "read", "state": {"status": "running", "input": {"path": "b"}}, "time": {"created": 3}}
     ]},
    {"id": "msg_04", "type": "shell", "shellID": "sh1", "command": "ls", "status": "exited", "exit": 2, "output": "a b", "time": {"created": 5}},
    {"id": "msg_05", "type": "synthetic", "text": "A note.", "time": {"created": 6}},
    {"id": "msg_06", "type": "compaction", "status": "failed", "reason": "auto", "error": {"type": "overflow", "message": "too long"}, "time": {"created": 7}},
    {"id": "msg_07", "type": "compaction", "status": "completed", "reason": "overflow", "summary": "## Objective", "recent": "[User]: Look.", "model": {"id": "m1", "providerID": "local"}, "time": {"created": 8}},
    {"id": "msg_08", "type": "idle", "outcome": "done", "time": {"created": 9}},
    {"id": 5, "type": "user"}
  ]
}
`

func TestRead_secondGeneration(t *testing.T) {
	doc := read(t, []byte(secondGeneration))
	failedSummary, summary := derivedID(session.MessageID, "msg_06", 1), derivedID(session.MessageID, "msg_07", 1)
	want := "user msg_02: text file agent\nassistant msg_03: reasoning text tool tool tool tool\nassistant msg_04: tool\nuser msg_05: text\n" +
		"user msg_06: compaction\nassistant " + failedSummary + ":\nuser msg_07: compaction\nassistant " + summary + ": text text\n"
	if diff := cmp.Diff(want, outline(&doc.Session)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(format.Counts{Entries: 9, Messages: 6, ToolCalls: 5, ToolResults: 3}, doc.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if len(doc.Damaged) != 1 {
		t.Errorf("damaged: %v, want the last row", doc.Damaged)
	}
	m := doc.Session.Messages
	if m[5].Completes() || !m[7].Completes() || m[7].ParentID != "msg_07" || !m[6].Marker().Overflow || m[7].ModelID != "m1" {
		t.Error("of the two compactions only the second is a pivot")
	}
	calls := m[1].Parts[2:]
	var got []string
	for _, p := range calls {
		got = append(got, string(p.State.Status)+" "+p.CallID+" "+p.State.Result()+p.State.Raw)
	}
	if diff := cmp.Diff([]string{"completed c1 one\ntwo", "error c2 no such file", `pending c3 {"pa`, "running c4 "}, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if len(calls[0].State.Attachments) != 1 || m[1].Tokens.Cache.Read != 3 || m[1].Variant != "high" || m[0].Text() != "Look." || m[3].Written() {
		t.Error("a detail was lost")
	}
	if got := write(t, doc, unchanged(doc)); string(got) != secondGeneration {
		t.Error("written without change, the file differs")
	}
}

func TestWrite_secondGenerationBecomesAWholeExport(t *testing.T) {
	doc := read(t, []byte(secondGeneration))
	change := unchanged(doc)
	call := doc.Session.Messages[1].Parts[2]
	change.Ledger = rule.NewLedger(rule.Elision{Part: call.ID, Message: "msg_03", Field: rule.Output, Rule: "r", Shown: "[…]", Time: 10})
	text := write(t, doc, change)
	importable(t, text, 0)
	again := read(t, text)
	if diff := cmp.Diff(outline(&doc.Session), outline(&again.Session)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(change.Ledger.All(), again.Ledger.All()); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
}

func TestRead_sharedSession(t *testing.T) {
	src := []byte(`[{"type":"part","data":{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"hi"}},
{"type":"session","data":{"id":"ses_1","title":"Shared","time":{"created":1,"updated":2}}},
{"type":"message","data":{"id":"msg_1","sessionID":"ses_1","role":"user","time":{"created":1}}},
{"type":"message","data":{"id":"msg_2","sessionID":"ses_1","role":"assistant","time":{"created":2}}},
{"type":"session_diff","data":[]},{"type":"model","data":[]},
{"type":"part","data":{"id":"prt_2","sessionID":"ses_1","messageID":"msg_2","type":"tool","callID":"c","tool":"read","state":{"status":"completed","input":{},"output":"x","time":{"start":1,"end":2,"compacted":3}}}},
{"type":"part","data":5}]`)
	doc := read(t, src)
	if diff := cmp.Diff("user msg_1: text\nassistant msg_2: tool\n", outline(&doc.Session)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if doc.Session.Info.Title != "Shared" || doc.Counts.Entries != 8 || doc.Counts.ToolResults != 1 || doc.Ledger.Len() != 1 || len(doc.Damaged) != 1 {
		t.Errorf("%q %+v, %d marks, damaged: %v", doc.Session.Info.Title, doc.Counts, doc.Ledger.Len(), doc.Damaged)
	}
	if got := write(t, doc, unchanged(doc)); !bytes.Equal(got, src) {
		t.Error("written without change, the file differs")
	}
	change := unchanged(doc)
	change.Ledger = rule.Ledger{}
	text := write(t, doc, change)
	importable(t, text, 0)
	if again := read(t, text); again.Ledger.Len() != 0 || outline(&again.Session) != outline(&doc.Session) {
		t.Errorf("written as an export:\n%s", text)
	}

	if cut := read(t, src[:400]); len(cut.Session.Messages) != 2 || len(cut.Damaged) == 0 {
		t.Errorf("of a file cut short %d messages were read; damaged: %v", len(cut.Session.Messages), cut.Damaged)
	}
}
