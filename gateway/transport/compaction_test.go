package transport

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/tworuns"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/wire"
)

// summaries are the requests of a run with which the client asked for a summary.
func summaries(run tworuns.Run) (all []llmtest.Record) {
	for _, r := range run.Requests {
		if r.Header.Get("X-Test-Step") == "compact" {
			all = append(all, r)
		}
	}
	return all
}

// The client's own compaction of a folded conversation gets what it gets without the gateway, as long
// as the model's window has room: it is no summary of a summary.
func TestTransport_theClientsCompactionPassesAsItCame(t *testing.T) {
	sequential(t)
	for _, p := range llmtest.Protocols() {
		t.Run(string(p), func(t *testing.T) {
			s := tworuns.Scene{Protocol: p, Steps: 80, Session: "s1", Compacts: []int{55}}
			g := &gateway{t: t, foldsAt: 25_000}
			folds := 0
			alone := summaries(s.Play(t, nil))
			s.Before = func(step int) {
				if step == 55 {
					folds = g.folds()
				}
			}
			run := s.Play(t, g.between)
			if run.Ended >= 0 || len(run.Refused) > 0 || folds == 0 {
				t.Fatalf("ended at step %d, refused: %.300q; %d folds before", run.Ended, run.Refused, folds)
			}
			behind := summaries(run)
			if len(alone) != 1 || len(behind) != 1 || !bytes.Equal(alone[0].Body, behind[0].Body) {
				t.Errorf("%d and %d summaries are asked for; %d messages, alone %d", len(behind), len(alone),
					len(behind[0].Messages), len(alone[0].Messages))
			}
			if all := g.Totals(); all.Beside != 1 || all.Requests != s.Steps {
				t.Errorf("%d requests, %d beside", all.Requests, all.Beside)
			}
		})
	}
}

// Where it cannot pass, because the provider refuses reasoning behind another prompt than its own, or
// because the window has no room for it, the client's compaction gets what is left of the
// conversation, and that is said.
func TestTransport_aCompactionThatCannotPassIsReducedAndSaysSo(t *testing.T) {
	sequential(t)
	small := model.Default().With(must(model.Overrides(map[string]model.Patch{
		"anthropic/claude-sonnet-4-5": {Context: new(60_000)}}))...)
	for _, c := range []struct {
		name, said string
		scene      tworuns.Scene
		models     *model.Catalogue
	}{
		{"bound", "binds", tworuns.Scene{Model: "claude-opus-5-5", Thinks: true, Binds: true}, nil},
		{"too large", "window", tworuns.Scene{}, small},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.scene
			s.Steps, s.Session, s.Compacts = 90, "s1", []int{70}
			var failures []string
			g := &gateway{t: t, foldsAt: 25_000, options: Options{Models: c.models, Watch: func(n Notice) {
				if n.Failure != "" {
					failures = append(failures, n.Failure)
				}
			}}}
			run := s.Play(t, g.between)
			if run.Ended >= 0 || len(run.Refused) > 0 || g.folds() == 0 {
				t.Fatalf("ended at step %d, refused: %.300q; %d folds", run.Ended, run.Refused, g.folds())
			}
			before := slices.IndexFunc(run.Requests, func(r llmtest.Record) bool { return r.Number == summaries(run)[0].Number }) - 1
			sent, was := chained(summaries(run)[0].Messages), chained(run.Requests[before].Messages)
			if len(sent) > 100 || !slices.Equal(was[:len(was)-1], sent[:len(was)-1]) {
				t.Errorf("%d messages are sent, after %d", len(sent), len(was))
			}
			if len(failures) != 1 || !strings.Contains(failures[0], c.said) {
				t.Errorf("it is said: %q", failures)
			}
		})
	}
}

// Each client's own compaction is known, wherever its words stand in the newest message; a person who
// asks for a summary of something else is not taken for one.
func TestSummarizes_knowsTheClients(t *testing.T) {
	for _, c := range []struct {
		text   string
		header http.Header
		want   bool
	}{
		{text: "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\nYour task is to create a detailed summary of " +
			"the conversation so far, paying close attention to the user's explicit requests.", want: true},
		{text: "Your task is to create a detailed summary of the RECENT portion of the conversation", want: true},
		{text: "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary for another LLM.", want: true},
		{text: "Anything", header: http.Header{"X-Codex-Turn-Metadata": {`{"turn_id":"t","request_kind":"compaction"}`}},
			want: true},
		{text: "Anything", header: http.Header{"X-Codex-Turn-Metadata": {`{"turn_id":"t","request_kind":"turn"}`}}},
		{text: "Provide a detailed prompt for continuing our conversation above.", want: true},
		{text: "<conversation>\n…\n</conversation>\n\nCreate a new anchored summary from the conversation history in the " +
			"<conversation> tags above", want: true},
		{text: "The messages above are a conversation to summarize. Create a structured context checkpoint", want: true},
		{text: "First, reason in your scratchpad. Then, generate the <state_snapshot>.", want: true},
		{text: "A previous <state_snapshot> exists in the history.\n\nFirst, reason in your scratchpad. Then, generate the " +
			"updated <state_snapshot>.", want: true},
		{text: "<explicit_instructions type=\"summarize_task\">\nThe current conversation is rapidly running out of context. " +
			"Now, your urgent task", want: true},
		{text: "Please create a detailed summary of the conversation so far. The history is being compacted", want: true},
		{text: "Write a detailed summary of the release notes into NOTES.md"},
		{text: "Why does it say \"Your task is to create a detailed summary of \" in that file?"},
	} {
		quoted := bodyOf(c.text)
		r := must(http.NewRequest(http.MethodPost, "https://provider.example/v1/messages", bytes.NewReader(quoted)))
		for name, values := range c.header {
			r.Header[name] = values
		}
		read := must(New(nil, Options{}).read(incoming{Request: r, protocol: providerProtocols[wire.Anthropic], original: quoted}))
		if got := summarizes(r, read.doc); got != c.want {
			t.Errorf("%.60q: %t", c.text, got)
		}
	}
}

// bodyOf is a request whose newest message has a text of the user's behind a result.
func bodyOf(text string) []byte {
	return fmt.Appendf(nil, `{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"Begin."},`+
		`{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Read","input":{}}]},`+
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"package a"},`+
		`{"type":"text","text":%q}]},{"role":"system","content":"Be brief."}]}`, text)
}
