package codex

import (
	"bytes"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/outside"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/session"
)

// shared reads a recorded rollout; the test is skipped where it is missing.
func shared(t testing.TB, name string) []byte {
	return outside.Read(t, outside.Path(t, "fixtures", name))
}

func TestRead_recordedJob(t *testing.T) {
	doc := read(t, shared(t, "codex-rollout.jsonl"))
	want := format.Counts{Entries: 234, Messages: 3, ToolCalls: 44, ToolResults: 44}
	if diff := cmp.Diff(want, doc.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	messages := doc.Session.Messages
	if got := session.Steps(messages); got != 45 {
		t.Errorf("steps = %d, want 45", got)
	}
	if got := len(session.Turns(messages)); got != 1 {
		t.Errorf("turns = %d, want 1", got)
	}
	if problems := session.Check(messages); len(problems) > 0 {
		t.Errorf("problems: %v", problems)
	}
	tools := 0
	for i := range messages {
		m := &messages[i]
		if m.Role == session.Assistant && (m.Tokens == nil || m.Tokens.Input == 0 || m.Finish == "") {
			t.Errorf("step %s has usage %+v and finish %q", m.ID, m.Tokens, m.Finish)
		}
		for j := range m.Parts {
			if p := &m.Parts[j]; p.Type == session.ToolPart {
				tools++
				if p.State.Status != session.Completed || p.ID != p.CallID || !strings.Contains(p.State.Output, "Process exited") {
					t.Errorf("part %s: status %s, output %.40q", p.ID, p.State.Status, p.State.Output)
				}
			}
		}
	}
	if tools != 44 {
		t.Errorf("tool parts = %d, want 44", tools)
	}
}

func TestRead_recordedCompactions(t *testing.T) {
	doc := read(t, shared(t, "codex-rollout-compacted.jsonl.gz"))
	var markers, summaries int
	for i := range doc.Session.Messages {
		m := &doc.Session.Messages[i]
		if p := m.Marker(); p != nil {
			markers++
			if !p.Auto {
				t.Errorf("marker %s is not automatic", m.ID)
			}
		}
		if m.Completes() {
			summaries++
			carried := 0
			for j := range m.Parts {
				if n, ok := m.Parts[j].Note(); ok && n.Carry && strings.HasPrefix(m.Parts[j].Text, "Add request logging") {
					carried++
				}
			}
			if carried != 1 || m.Tokens == nil {
				t.Errorf("summary %s carries the request %d times, want once; usage %+v", m.ID, carried, m.Tokens)
			}
		}
	}
	if markers != 2 || summaries != 2 {
		t.Errorf("markers %d, summaries %d; want 2 of each", markers, summaries)
	}
	if doc.Counts.Aside != 2 { // the model's answers to the two requests for a summary
		t.Errorf("aside = %d, want 2", doc.Counts.Aside)
	}
	if problems := session.Check(doc.Session.Messages); len(problems) > 0 {
		t.Errorf("problems: %v", problems)
	}
}

func TestWrite_recordedJobsUnchanged(t *testing.T) {
	for _, name := range []string{"codex-rollout.jsonl", "codex-rollout-compacted.jsonl.gz"} {
		src := shared(t, name)
		doc := read(t, src)
		if got := write(t, doc, format.Change{Session: doc.Session, Ledger: doc.Ledger}); !bytes.Equal(got, src) {
			t.Errorf("%s: %d bytes were written, want the %d that were read", name, len(got), len(src))
		}
	}
}
