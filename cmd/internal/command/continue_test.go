package command

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
)

// docOf reads the session of a file.
func docOf(t *testing.T, path string) *format.Document {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := all.Read(text)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return doc
}

// told gives the words of the user and the results of the calls in a session, whatever its format.
func told(t *testing.T, path string) (users, results []string) {
	t.Helper()
	doc := docOf(t, path)
	for _, m := range doc.Session.Messages {
		for _, p := range m.Parts {
			switch {
			case p.Type == session.ToolPart && p.State != nil:
				results = append(results, strings.TrimSpace(p.State.Output+p.State.Error))
			case p.Type == session.TextPart && m.Role == session.User && !p.Synthetic:
				users = append(users, p.Text)
			}
		}
	}
	return users, results
}

// goOn appends a turn to a session's file, as its product does.
func goOn(t *testing.T, path string) {
	t.Helper()
	doc := docOf(t, path)
	f, err := all.Named(doc.Format)
	if err != nil {
		t.Fatal(err)
	}
	s := doc.Session
	for i, say := range []string{"And the zebra?", "It is in the zoo."} {
		m := session.Message{MessageInfo: session.MessageInfo{ID: "msg_zebra" + string(rune('0'+i)), SessionID: s.Info.ID,
			Role: []session.Role{session.User, session.Assistant}[i], Time: session.MessageTime{Created: 1795860000000}}}
		m.Parts = []session.Part{{ID: "prt_zebra" + string(rune('0'+i)), SessionID: s.Info.ID, MessageID: m.ID,
			Type: session.TextPart, Text: say}}
		if m.Role == session.Assistant {
			m.Finish, m.ProviderID, m.ModelID = "stop", "p", "m"
		}
		s.Messages = append(slices.Clone(s.Messages), m)
	}
	var grown bytes.Buffer
	if err := f.Write(&grown, doc, format.Change{Session: s, Ledger: doc.Ledger}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, grown.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := lieIdle(path); err != nil {
		t.Fatal(err)
	}
}

func (d *desk) continued(args ...string) (doc continued) {
	d.t.Helper()
	o := d.run(append([]string{"continue", "--json"}, args...)...)
	if o.code != 0 {
		d.t.Fatalf("continue %v: exit code %d, %s", args, o.code, o.stderr)
	}
	if err := json.Unmarshal([]byte(o.stdout), &doc); err != nil {
		d.t.Fatal(err)
	}
	return doc
}

// A session goes on in each product from each other one: with the words of the user and the results of
// all calls, and back again with what was said there, once. Neither the session nor what is there
// already is touched.
func TestContinue_everyPair(t *testing.T) {
	sequential(t)
	sources := map[string]string{"claude": "claude.jsonl", "codex": "codex.jsonl", "opencode": "opencode.json",
		"pi": "pi.jsonl", "": "swe.traj"}
	const rollout = "rollout-2026-11-20T10-58-57-01a1f89c-081c-7c01-b645-6a1191c573e1.jsonl"
	home := map[string]string{"claude": ".claude/projects/x/c.jsonl", "codex": ".codex/sessions/2026/" + rollout,
		"pi": ".pi/agent/sessions/x/p.jsonl"}
	for from, name := range sources {
		for _, to := range []string{"claude", "codex", "opencode", "pi"} {
			if from == to {
				continue
			}
			t.Run(from+" in "+to, func(t *testing.T) {
				d := newDesk(t)
				d.env = append(d.env, "TMPDIR="+d.dir)
				d.take(name)
				source := filepath.Join(d.dir, name)
				if home[from] != "" { // where its product keeps it
					source = filepath.Join(d.dir, "..", "home", home[from])
					if err := os.MkdirAll(filepath.Dir(source), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.Rename(filepath.Join(d.dir, name), source); err != nil {
						t.Fatal(err)
					}
				}
				before, err := os.ReadFile(source)
				if err != nil {
					t.Fatal(err)
				}
				users, results := told(t, source)
				there := d.continued(source, "--in", to)
				if there.Added != there.Messages || there.Messages == 0 || !strings.Contains(there.Resume, there.ID) && to != "pi" {
					t.Errorf("%+v", there)
				}
				gotUsers, gotResults := told(t, there.Output)
				if diff := cmp.Diff(users, gotUsers); diff != "" {
					t.Errorf("words of the user (-before +there):\n%s", diff)
				}
				if diff := cmp.Diff(results, gotResults); diff != "" {
					t.Errorf("results (-before +there):\n%s", diff)
				}
				if after, _ := os.ReadFile(source); !bytes.Equal(after, before) {
					t.Error("the session was touched")
				}
				if to == "opencode" { // it keeps its sessions in a database
					return
				}
				first, _ := os.ReadFile(there.Output)
				if again := d.continued(source, "--in", to); again.Added != 0 || again.ID != there.ID {
					t.Errorf("once more: %+v", again)
				}
				if second, _ := os.ReadFile(there.Output); !bytes.Equal(first, second) {
					t.Error("what was there was written again")
				}
				if home[from] == "" {
					return
				}
				goOn(t, there.Output)
				if err := lieIdle(source); err != nil {
					t.Fatal(err)
				}
				back := d.continued(there.Output, "--in", from)
				if back.Added != 2 || back.Output != source {
					t.Errorf("back: %+v", back)
				}
				after, _ := os.ReadFile(source)
				if !bytes.HasPrefix(after, before) {
					t.Error("the first bytes of the session changed")
				}
				gotUsers, gotResults = told(t, source)
				if diff := cmp.Diff(append(users, "And the zebra?"), gotUsers); diff != "" {
					t.Errorf("words of the user (-before +back):\n%s", diff)
				}
				if diff := cmp.Diff(results, gotResults); diff != "" {
					t.Errorf("results (-before +back):\n%s", diff)
				}
				if o := d.run("undo", source, "--in-place", "--force"); o.code != 0 && o.code != 5 {
					t.Errorf("undo: %d %s", o.code, o.stderr)
				}
			})
		}
	}
}

// A fold that was made there counts here, with what it keeps: the tail begins with
// a message that both have.
func TestContinue_aFoldComesBack(t *testing.T) {
	for _, to := range []string{"claude", "codex"} {
		t.Run(to, func(t *testing.T) {
			d := newDesk(t)
			home := filepath.Join(d.dir, "..", "home", ".pi", "agent", "sessions", "x")
			if err := os.MkdirAll(home, 0o755); err != nil {
				t.Fatal(err)
			}
			source := filepath.Join(home, "p.jsonl")
			if err := os.Rename(filepath.Join(d.dir, d.take("pi.jsonl")), source); err != nil {
				t.Fatal(err)
			}
			there := d.continued(source, "--in", to)
			if o := d.run("compact", there.Output, "--in-place", "--force"); o.code != 0 {
				t.Fatal(o.stderr)
			}
			goOn(t, there.Output)
			d.continued(there.Output, "--in", "pi")
			want, got := windowOf(t, there.Output), windowOf(t, source)
			if diff := cmp.Diff(want, got); diff != "" || len(want) >= there.Messages {
				t.Errorf("the window has %d of %d messages (-there +here):\n%s", len(want), there.Messages+2, diff)
			}
		})
	}
}

// windowOf is the texts of the messages that count in the session of a file.
func windowOf(t *testing.T, path string) (texts []string) {
	t.Helper()
	doc := docOf(t, path)
	for _, m := range view.Window(doc.Session.Messages, nil) {
		texts = append(texts, string(m.Role)+" "+m.Text())
	}
	return texts
}

// A session that went on in both products is not mixed.
func TestContinue_bothWentOn(t *testing.T) {
	d := newDesk(t)
	d.take("claude.jsonl")
	there := d.continued("claude.jsonl", "--in", "codex")
	goOn(t, filepath.Join(d.dir, "claude.jsonl"))
	text, err := os.ReadFile(there.Output)
	if err != nil {
		t.Fatal(err)
	}
	grown := string(text) + `{"timestamp":"2026-11-28T10:00:00.000Z","type":"response_item",` +
		`"payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"And the lion?"}]}}` + "\n"
	if err := os.WriteFile(there.Output, []byte(grown), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := lieIdle(there.Output); err != nil {
		t.Fatal(err)
	}
	o := d.run("continue", "claude.jsonl", "--in", "codex")
	if o.code != 1 || !strings.Contains(o.stderr, "went on by itself") {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
	if after, _ := os.ReadFile(there.Output); string(after) != grown {
		t.Error("the other session was touched")
	}
}

func TestContinue_refusals(t *testing.T) {
	d := newDesk(t)
	d.take("claude.jsonl")
	for _, tt := range []struct{ in, says string }{
		{"claude", "is a session of claude-code already"},
		{"gemini", "choose claude, codex, opencode or pi"},
		{"", "choose claude, codex, opencode or pi"},
	} {
		if o := d.run("continue", "claude.jsonl", "--in", tt.in); o.code != 2 || !strings.Contains(o.stderr, tt.says) {
			t.Errorf("--in %q: exit code %d, %s", tt.in, o.code, o.stderr)
		}
	}
}
