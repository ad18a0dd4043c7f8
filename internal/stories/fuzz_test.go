package stories

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// Any log that can be imported can be looked at, pruned, folded, and had back as it was: every
// rule, every placeholder and every carry-over reads what strangers wrote.
func FuzzEngine_anyLogCanBeHadBack(f *testing.F) {
	if text, err := os.ReadFile(filepath.Join(outside.Root(f), "session", "testdata", "every-part.json")); err == nil {
		f.Add(text, uint8(0))
	}
	for i, seed := range []string{
		`{"info":{"id":"s"},"messages":[{"info":{"id":"a","role":"user"},"parts":[{"id":"p","type":"text",` +
			`"text":"Never touch x.go. - y"},{"id":"f","type":"file","mime":"image/png",` +
			`"url":"data:image/png;base64,iVBORw0KGgo="}]},{"info":{"id":"b","role":"assistant",` +
			`"finish":"tool-calls"},"parts":[{"id":"c","callID":"c","type":"tool","tool":"bash",` +
			`"state":{"status":"completed","input":{"command":"cat a; curl 'http://x/#y'"},"output":"1\n2\n"}}]}]}`,
		`{"info":{"id":"s"},"messages":[{"info":{"id":"a","role":"assistant"},"parts":[{"id":"c","callID":"c",` +
			`"type":"tool","tool":"read","state":{"status":"completed","input":{"filePath":"a"},` +
			`"output":"<content>\n1: x\n</content>"}},{"id":"d","callID":"c","type":"tool","tool":"read",` +
			`"state":{"status":"completed","input":{"filePath":"a"},"output":"<content>\n1: x\n</content>"}}]},` +
			`{"info":{"id":"a","role":"user"},"parts":[{"type":"compaction"}]},{"info":{"id":"z","role":"assistant",` +
			`"summary":true,"parentID":"a","finish":"stop"},"parts":[{"type":"text","text":"## Goal\n- x"}]}]}`,
		`{"info":{"id":"s"},"messages":[{"info":{"id":"b","role":"assistant"},"parts":[{"id":"t","callID":"t",` +
			`"type":"tool","tool":"todowrite","state":{"status":"completed","input":{"todos":[{"content":"x",` +
			`"status":"pending"}]},"output":"[winnow k3f7a2: a left out]","attachments":[{"type":"file",` +
			`"url":"data:,x"}]}},{"id":"r","type":"reasoning","text":"hm","metadata":{"a":1}},{"id":"e","callID":"e",` +
			`"type":"tool","tool":"edit","state":{"status":"error","input":[],"error":"Exit code 1"}}]}]}`,
	} {
		f.Add([]byte(seed), uint8(i))
	}
	f.Fuzz(func(t *testing.T, text []byte, how uint8) {
		var s session.Session
		if len(text) > 1<<16 || json.Unmarshal(text, &s, session.ReadOptions()) != nil {
			return
		}
		if s.Info.ID == "" {
			s.Info.ID = "s" // else it is made up, and nobody knows it
		}
		settings := settings.Default()
		settings.Policy = []string{"balanced", "aggressive", "classic"}[how%3]
		settings.Compaction.Protect, settings.Compaction.Minimum, settings.Compaction.ProtectTurns = 10, 1,
			int(how>>4)%2
		now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		e, err := launch(winnow.Config{Settings: &settings, Counter: token.Chars4{}, Now: func() time.Time {
			now = now.Add(time.Second)
			return now
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		ctx, id := t.Context(), s.Info.ID
		if e.Import(ctx, s, rule.Ledger{}, nil) != nil {
			return
		}
		if _, err := e.View(ctx, id); winnow.CodeOf(err) == winnow.BadInput {
			return // the log holds what no provider takes, and that is said
		}
		look := func(when string) winnow.View {
			v, err := e.View(ctx, id)
			if err != nil {
				t.Fatalf("%s there is no view: %v", when, err)
			}
			if err := view.Check(v.Messages); err != nil {
				t.Fatalf("%s the view cannot be sent: %v", when, err)
			}
			if _, err := e.Inspect(ctx, id); err != nil {
				t.Fatalf("%s it cannot be inspected: %v", when, err)
			}
			return v
		}
		first, _, err := e.Session(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		shown, kept := asJSON(t, look("at first").Messages), asJSON(t, first.Messages)
		for _, step := range []struct {
			name string
			do   func() error
		}{
			{"pruned", func() error { _, err := e.Prune(ctx, id, false); return err }},
			{"discarded", func() error {
				named, err := e.Handles(ctx, id)
				if err != nil || len(named) == 0 {
					return err
				}
				_, err = e.Discard(ctx, id, named[int(how)%len(named)].Handle)
				return err
			}},
			{"folded", func() error { _, err := e.Compact(ctx, id, winnow.CompactOptions{}); return err }},
		} {
			switch err := step.do(); winnow.CodeOf(err) {
			case "":
				if err != nil {
					t.Fatalf("%s: %v", step.name, err)
				}
			case winnow.NothingToFold, winnow.NoProgress, winnow.Already, winnow.NotFound, rule.Protected,
				winnow.BadInput:
			default:
				t.Fatalf("%s: %v", step.name, err)
			}
			look(step.name)
		}
		// All of it undone, the newest first, is as if nothing had been done.
		done, err := e.Receipts(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range slices.Backward(done) {
			if _, err := e.Undo(ctx, id, r.ID); err != nil {
				t.Fatalf("%s %s is not undone: %v", r.Kind, r.ID, err)
			}
			look("undone")
		}
		if after := asJSON(t, look("at the end").Messages); after != shown {
			t.Errorf("the view is\n%s\nand was\n%s", after, shown)
		}
		log, _, err := e.Session(ctx, id)
		if err != nil || len(log.Messages) < len(s.Messages) {
			t.Fatalf("%d messages of %d are there: %v", len(log.Messages), len(s.Messages), err)
		}
		if after := asJSON(t, log.Messages[:len(s.Messages)]); after != kept {
			t.Errorf("the log is\n%s\nand was\n%s", after, kept)
		}
	})
}

func asJSON(t *testing.T, messages []session.Message) string {
	t.Helper()
	text, err := json.Marshal(messages, session.ReadOptions(), json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
