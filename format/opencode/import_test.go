package opencode

import (
	"fmt"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// importable holds a text to what the product's import asks for, as it was observed: members that must be there and of which
// kind, beginnings of ids, whole numbers, and an order of messages by (time created, id) and of parts by id that is the file's.
// So many parts of a kind that the product does not know may be in it, which it would refuse.
func importable(t failer, text []byte, foreign int) {
	t.Helper()
	type object = map[string]any
	var export struct {
		Info     object `json:"info"`
		Messages []struct {
			Info  object   `json:"info"`
			Parts []object `json:"parts"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(text, &export, session.ReadOptions()); err != nil {
		t.Errorf("no export: %v\n%s", err, text)
		return
	}
	where := ""
	must := func(o object, name string, kind string) {
		t.Helper()
		v, ok := o[name]
		got := fmt.Sprintf("%T", v)
		if n, number := v.(float64); number && kind == "int" && n == float64(int64(n)) && n >= 0 {
			got = "int"
		}
		if !ok || got != kind {
			t.Errorf("%s: %q is %v (%s), want a %s", where, name, v, got, kind)
		}
	}
	begins := func(o object, name, prefix string) {
		t.Helper()
		if id, _ := o[name].(string); !proper(prefix, id) {
			t.Errorf("%s: %q is %q, want %s_…", where, name, id, prefix)
		}
	}
	in := func(o object, name string) object {
		t.Helper()
		v, ok := o[name].(object)
		if !ok {
			t.Errorf("%s: %q is %v, want an object", where, name, o[name])
		}
		return v
	}
	usage := func(o object) {
		t.Helper()
		tokens := in(o, "tokens")
		for _, name := range []string{"input", "output", "reasoning"} {
			must(tokens, name, "float64")
		}
		must(in(tokens, "cache"), "read", "float64")
		must(in(tokens, "cache"), "write", "float64")
	}
	where = "info"
	begins(export.Info, "id", session.SessionID)
	for _, name := range []string{"slug", "title", "version", "projectID", "directory"} {
		must(export.Info, name, "string")
	}
	must(in(export.Info, "time"), "created", "int")
	must(in(export.Info, "time"), "updated", "int")
	id, _ := export.Info["id"].(string)
	clock, last, ids := -1.0, "", map[string]bool{}
	for i, m := range export.Messages {
		where = fmt.Sprintf("message %d", i)
		begins(m.Info, "id", session.MessageID)
		name, _ := m.Info["id"].(string)
		created, _ := in(m.Info, "time")["created"].(float64)
		if created < clock || created == clock && name <= last {
			t.Errorf("%s: (%v, %s) comes before (%v, %s)", where, created, name, clock, last)
		}
		if ids[name] || m.Info["sessionID"] != id {
			t.Errorf("%s: id %q twice, or of another session", where, name)
		}
		clock, last, ids[name] = created, name, true
		must(m.Info, "agent", "string")
		if m.Info["role"] == "user" {
			must(in(m.Info, "model"), "providerID", "string")
			must(in(m.Info, "model"), "modelID", "string")
			if summary, ok := m.Info["summary"].(object); ok {
				must(summary, "diffs", "[]interface {}")
			} else if m.Info["summary"] != nil {
				t.Errorf("%s: a summary that is no object", where)
			}
		} else {
			must(m.Info, "role", "string")
			begins(m.Info, "parentID", session.MessageID)
			for _, name := range []string{"modelID", "providerID", "mode"} {
				must(m.Info, name, "string")
			}
			must(in(m.Info, "path"), "cwd", "string")
			must(in(m.Info, "path"), "root", "string")
			must(m.Info, "cost", "float64")
			must(in(m.Info, "time"), "created", "int")
			if m.Info["summary"] == true && m.Info["finish"] != nil && m.Info["error"] == nil {
				must(in(m.Info, "time"), "completed", "int") // else OpenCode 2 drops the compaction
			}
			usage(m.Info)
			if e, ok := m.Info["error"].(object); ok && e["name"] != "MessageOutputLengthError" {
				where += ", error"
				must(in(e, "data"), "message", "string")
				if e["name"] == apiError {
					must(in(e, "data"), "isRetryable", "bool")
				}
				if _, ok := failures[fmt.Sprint(e["name"])]; !ok {
					t.Errorf("%s: of a kind that the product does not know: %v", where, e)
				}
			}
		}
		lastPart := ""
		for j, p := range m.Parts {
			where = fmt.Sprintf("message %d, part %d", i, j)
			begins(p, "id", session.PartID)
			name, _ := p["id"].(string)
			if name <= lastPart || ids[name] || p["messageID"] != m.Info["id"] || p["sessionID"] != id {
				t.Errorf("%s: id %q after %q, message %v, session %v", where, name, lastPart, p["messageID"], p["sessionID"])
			}
			lastPart, ids[name] = name, true
			switch p["type"] {
			case "text":
				must(p, "text", "string")
				if p["time"] != nil {
					must(in(p, "time"), "start", "int")
				}
			case "reasoning":
				must(p, "text", "string")
				must(in(p, "time"), "start", "int")
			case "file":
				must(p, "mime", "string")
				must(p, "url", "string")
			case "tool":
				must(p, "callID", "string")
				must(p, "tool", "string")
				state := in(p, "state")
				in(state, "input")
				switch state["status"] {
				case "pending":
					must(state, "raw", "string")
				case "running":
					must(in(state, "time"), "start", "int")
				case "completed":
					must(state, "output", "string")
					must(state, "title", "string")
					in(state, "metadata")
					must(in(state, "time"), "start", "int")
					must(in(state, "time"), "end", "int")
					if in(state, "time")["compacted"] != nil {
						must(in(state, "time"), "compacted", "int")
					}
				case "error":
					must(state, "error", "string")
					must(in(state, "time"), "start", "int")
					must(in(state, "time"), "end", "int")
				default:
					t.Errorf("%s: status %v", where, state["status"])
				}
			case "step-start":
			case "step-finish":
				must(p, "reason", "string")
				must(p, "cost", "float64")
				usage(p)
			case "patch":
				must(p, "hash", "string")
				must(p, "files", "[]interface {}")
			case "snapshot":
				must(p, "snapshot", "string")
			case "agent":
				must(p, "name", "string")
			case "subtask":
				must(p, "prompt", "string")
				must(p, "description", "string")
				must(p, "agent", "string")
			case "retry":
				must(p, "attempt", "int")
				must(in(p, "time"), "created", "int")
				must(in(in(p, "error"), "data"), "isRetryable", "bool")
			case "compaction":
				must(p, "auto", "bool")
				if p["tail_start_id"] != nil {
					begins(p, "tail_start_id", session.MessageID)
				}
			default:
				if foreign--; foreign < 0 {
					t.Errorf("%s: a part of a kind that the product does not know: %v", where, p)
				}
			}
		}
	}
}

func TestWrite_aSessionOfAnotherFormat(t *testing.T) {
	doc := read(t, testdata(t, "session.json"))
	change := unchanged(doc)
	change.Session = folded(doc)
	change.Ledger = doc.Ledger.With(everyElision(&doc.Session)...)
	text := write(t, nil, change)
	importable(t, text, 0)
	again := read(t, text)
	if diff := cmp.Diff(outline(&change.Session), outline(&again.Session)); diff != "" {
		t.Errorf("log (-written +read):\n%s", diff)
	}
	if diff := cmp.Diff(byPart(change.Ledger), byPart(again.Ledger)); diff != "" {
		t.Errorf("ledger (-written +read):\n%s", diff)
	}
	if got := write(t, nil, unchanged(again)); string(got) != string(text) {
		t.Errorf("written whole once more, the file differs: %q", lines(text, got))
	}
}

// anySession draws a session as the reader of some other format might give it: ids of any form, times missing or out of order,
// states and members of any kind.
func anySession(t *rapid.T) session.Session {
	millis := rapid.SampledFrom([]session.Millis{0, 1, 5.5, 1795000000000, 1795000000001, 1795000000000.75, -3})
	value := func(label string, of ...string) jsontext.Value {
		if text := rapid.SampledFrom(append(of, "")).Draw(t, label); text != "" {
			return jsontext.Value(text)
		}
		return nil
	}
	s := session.Session{Info: session.Info{
		ID: rapid.SampledFrom([]string{"", "x", "ses_1", "0f3c"}).Draw(t, "session"), Title: rapid.String().Draw(t, "title"),
		ParentID: rapid.SampledFrom([]string{"", "p", "ses_0"}).Draw(t, "parent"), Time: session.Lifetime{Created: millis.Draw(t, "begun")},
	}, Messages: []session.Message{}}
	kinds := []session.PartType{session.TextPart, session.ReasoningPart, session.FilePart, session.ToolPart, session.StepStartPart,
		session.StepFinishPart, session.SnapshotPart, session.PatchPart, session.AgentPart, session.SubtaskPart, session.RetryPart, session.CompactionPart, "odd"}
	form := rapid.SampledFrom([]string{"%s_%d", "%[2]d-%[1]s", "%s_000%d", "z%[2]d"}).Draw(t, "ids")
	n := 0
	next := func(prefix string) string { n++; return fmt.Sprintf(form, prefix, 100-n) }
	for range rapid.IntRange(0, 6).Draw(t, "messages") {
		m := session.Message{Parts: []session.Part{}}
		m.ID, m.Role = next("msg"), rapid.SampledFrom([]session.Role{session.User, session.Assistant}).Draw(t, "role")
		m.Time.Created = millis.Draw(t, "created")
		m.Summary = value("summary", `true`, `{}`, `{"diffs":[]}`, `"x"`)
		m.Error = value("error", `{"name":"UnknownError","data":{"message":"m"}}`, `"boom"`, `{"name":"Odd","data":{"message":"m"}}`, `null`, `{"name":"APIError"}`, `{"name":"APIError","data":{"message":"m"}}`)
		if len(s.Messages) > 0 && rapid.Bool().Draw(t, "answers") {
			m.ParentID = s.Messages[len(s.Messages)-1].ID
		}
		for range rapid.IntRange(0, 4).Draw(t, "parts") {
			p := session.Part{ID: next("prt"), Type: rapid.SampledFrom(kinds).Draw(t, "kind")}
			if rapid.Bool().Draw(t, "timed") {
				p.Time = &session.Span{Start: millis.Draw(t, "start"), Created: millis.Draw(t, "retried")}
			}
			switch p.Type {
			case session.TextPart, session.ReasoningPart:
				p.Text, p.Metadata = rapid.String().Draw(t, "text"), value("metadata", `{}`, `{"p":{"s":1}}`, `null`, `[1]`)
			case session.FilePart:
				p.Source = value("source", `{"type":"file","path":"a","text":{"value":"a","start":0,"end":1}}`, `{"kind":"x"}`, `5`)
			case session.CompactionPart:
				if len(s.Messages) > 0 {
					p.TailStartID = s.Messages[0].ID
				}
			case session.RetryPart:
				p.Attempt, p.Error = rapid.IntRange(0, 2).Draw(t, "attempt"), value("error", `{"name":"APIError","data":{"message":"m","isRetryable":true}}`, `{"name":"APIError","data":{"message":"m"}}`, `"x"`)
			case session.PatchPart:
				p.Hash, p.Files = "h", rapid.SampledFrom([][]string{nil, {"a"}}).Draw(t, "files")
			case session.SubtaskPart:
				p.Prompt, p.Description, p.Agent = "p", rapid.SampledFrom([]string{"", "d"}).Draw(t, "description"), "a"
			case session.ToolPart:
				p.CallID = p.ID
				if rapid.IntRange(0, 9).Draw(t, "stateless") > 0 {
					p.State = &session.ToolState{
						Status:   rapid.SampledFrom([]session.Status{session.Pending, session.Running, session.Completed, session.Failed, "odd"}).Draw(t, "status"),
						Input:    value("input", `{}`, `{"a":1}`, `"raw"`, `[1]`, `null`),
						Metadata: value("metadata", `{}`, `{"a":1}`, `"x"`, `null`),
						Output:   rapid.String().Draw(t, "output"), Time: p.Time,
					}
					if rapid.Bool().Draw(t, "attached") {
						p.State.Attachments = []session.Part{{ID: next("prt"), Type: session.FilePart, Mime: "image/png"}}
					}
					p.Time = nil
				}
			}
			m.Parts = append(m.Parts, p)
		}
		s.Messages = append(s.Messages, m)
	}
	return s
}

func TestWrite_anySessionIsImportable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySession(t)
		var found []rule.Elision
		for _, m := range s.Messages {
			for _, p := range m.Parts {
				if rapid.IntRange(0, 2).Draw(t, "elided") == 0 {
					found = append(found, rule.Elision{
						Part: p.ID, Message: m.ID, Field: rapid.SampledFrom([]rule.Field{rule.Output, rule.Error, rule.Text, rule.Whole}).Draw(t, "field"),
						Rule: "r", Shown: rapid.String().Draw(t, "shown"), Time: session.Millis(rapid.IntRange(0, 2).Draw(t, "time")),
					})
				}
			}
		}
		change := format.Change{Session: s, Ledger: rule.NewLedger(found...)}
		text := write(t, nil, change)
		importable(t, text, 0)
		doc := read(t, text)
		if len(doc.Damaged) > 0 {
			t.Fatalf("damaged: %v\n%s", doc.Damaged, text)
		}
		if diff := cmp.Diff(outline(&s), outline(&doc.Session)); diff != "" {
			t.Fatalf("log (-written +read):\n%s\n%s", diff, text)
		}
		if diff := cmp.Diff(byPart(change.Ledger), byPart(doc.Ledger)); diff != "" {
			t.Fatalf("ledger (-written +read):\n%s\n%s", diff, text)
		}
		if again := write(t, nil, unchanged(doc)); string(again) != string(text) {
			t.Fatalf("written whole once more, the file differs: %q", lines(text, again))
		}
		staysReadable(t, doc)
	})
}
