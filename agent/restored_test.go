package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/edit"
	"github.com/winnowhq/winnow/summarize/offline"
)

// A model that wants back what was folded has it in its next request, and goes on; what is shown
// again asks for nothing, so that a session that ended has ended.
func TestRun_restoresWhatWasFolded(t *testing.T) {
	const secret = "the valve opens at 418 turns"
	var b *bench
	var id, part string
	restore := tool{"context_restore", pathSchema, func(ctx context.Context, c agent.Call) (agent.Result, error) {
		done, err := b.engine.Edit(ctx, c.SessionID, edit.Request{Restore: []string{part}})
		if err != nil {
			return agent.Result{}, err
		}
		if !done.Targets[0].OK || done.Receipt == nil {
			t.Errorf("the tool restored %+v", done)
		}
		return agent.Result{Output: "it is shown again"}, nil
	}}
	requests := 0
	b = setUp(t, llmtest.Anthropic, llmtest.Script{Answer: func(r llmtest.Request) llmtest.Reply {
		if requests++; r.Contains(secret) {
			return llmtest.Reply{Text: "Done."}
		}
		return llmtest.Reply{Calls: []llmtest.Call{call("context_restore", `{"path":"a"}`)}}
	}}, nil, restore)
	e, err := winnow.Open(winnow.Config{Store: b.store, Model: "acme/reader", Summarizer: offline.New()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if id, err = e.Create(t.Context(), session.Info{}); err != nil {
		t.Fatal(err)
	}
	log := []session.Message{{MessageInfo: session.MessageInfo{Role: session.User},
		Parts: []session.Part{{Type: session.TextPart, Text: "Look at the plan."}}}}
	for _, output := range []string{strings.Repeat("a line of the plan\n", 300) + secret,
		strings.Repeat("other\n", 6_000), strings.Repeat("more\n", 6_000), strings.Repeat("much\n", 6_000)} {
		log = append(log, session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant,
			Finish: "tool-calls"}, Parts: []session.Part{{
			Type: session.ToolPart, Tool: "look", CallID: "toolu_" + output[:4],
			State: &session.ToolState{Status: session.Completed, Input: []byte(`{"path":"p"}`), Output: output},
		}}})
	}
	log = append(log, session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant, Finish: "stop"},
		Parts: []session.Part{{Type: session.TextPart, Text: "Looked."}}})
	if err := e.Append(t.Context(), id, log...); err != nil {
		t.Fatal(err)
	}
	part = log[1].Parts[0].ID
	if _, err := e.Compact(t.Context(), id, winnow.CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	got, err := b.Run(t.Context(), id, "How many turns?")
	if err != nil || got.Steps != 2 || got.Text != "Done." {
		t.Fatalf("%d steps, %q: %v; want 2 and Done.", got.Steps, got.Text, err)
	}
	if _, err := e.Edit(t.Context(), id, edit.Request{Restore: []string{log[2].Parts[0].ID}, All: true}); err != nil {
		t.Fatal(err)
	}
	asked := requests
	if _, err := b.Resume(t.Context(), id); requests != asked {
		t.Errorf("a session that ended is asked again because something was restored in it: %d requests, %v",
			requests-asked, err)
	}
}
