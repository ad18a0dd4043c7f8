package stories

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/protocols"
)

// history is a conversation of so many steps as a protocol has it: each step reads a file of 6,500
// tokens, now and then one again, and every tenth says something between.
func history(t *testing.T, p wire.Protocol, steps int) []json.RawMessage {
	all := []session.Message{{MessageInfo: session.MessageInfo{ID: "u", Role: session.User},
		Parts: []session.Part{{Type: session.TextPart, Text: "Fix the parser. Never touch the lexer."}}}}
	for i := range steps {
		if i%10 == 9 {
			all = append(all, session.Message{MessageInfo: session.MessageInfo{ID: fmt.Sprint("u", i), Role: session.User},
				Parts: []session.Part{{Type: session.TextPart, Text: fmt.Sprintf("Go on with part %d.", i)}}})
		}
		all = append(all, session.Message{
			MessageInfo: session.MessageInfo{ID: fmt.Sprint("a", i), Role: session.Assistant, Finish: "tool-calls"},
			Parts: []session.Part{{ID: fmt.Sprint("p", i), Type: session.ToolPart, Tool: "read", CallID: fmt.Sprint("call_", i),
				State: &session.ToolState{Status: session.Completed, Input: fmt.Appendf(nil, `{"filePath":"file%d.go"}`, i%23),
					Output: strings.Repeat(fmt.Sprintf("func parse%d() error { return nil }\n", i%23), 700)}}}})
	}
	body, err := protocols.Of(p).Encode(all, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var list []json.RawMessage
	for _, element := range body.Elements {
		list = append(list, json.RawMessage(element))
	}
	return list
}

// accepted fails unless a provider would take the messages.
func accepted(t *testing.T, p wire.Protocol, messages []json.RawMessage) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"model": "m", protocols.Of(p).Form.List: messages})
	if err == nil {
		err = protocols.Of(p).Check(text)
	}
	if err != nil {
		t.Fatal(err)
	}
}

var doors = map[wire.Protocol]string{wire.Anthropic: "anthropic/claude-sonnet-4-5", wire.Chat: "openai/gpt-5",
	wire.Responses: "openai/gpt-5", wire.Gemini: "google/gemini-2.5-pro"}

// A program hands in its whole history before each request. What it sends fits, and begins with
// what it sent before, but for the few requests at which something was decided.
func TestDoor_theWholeHistoryEachTime(t *testing.T) {
	for p, model := range doors {
		t.Run(string(p), func(t *testing.T) {
			all := history(t, p, 60)
			asked := slices.Clone(all)
			o := winnow.Options{Model: model, Besides: 9000, Settings: upTo(100_000)}
			var before []json.RawMessage
			changes, requests, folds := 0, 0, 0
			for n := range requestsOf(all) {
				requests++
				sent, r, err := winnow.Prune(context.Background(), all[:n], o)
				if err != nil {
					t.Fatal(err)
				}
				accepted(t, p, sent)
				if len(before) > len(sent) || !slices.EqualFunc(before, sent[:len(before)], equal) {
					changes++
				}
				folds = max(folds, r.Folded)
				if (r.Folded > 0) != (r.Summary != "") || r.After > r.Before || r.After+o.Besides > 107_000 {
					t.Fatalf("%d messages: %d tokens of %d, %d folded", n, r.After, r.Before, r.Folded)
				}
				again, _, err := winnow.Prune(context.Background(), all[:n], o)
				if err != nil || !slices.EqualFunc(again, sent, equal) {
					t.Fatalf("%d messages: the same messages gave another result, %v", n, err)
				}
				before = sent
			}
			if changes == 0 || changes > requests/8 || folds == 0 {
				t.Errorf("%d of %d requests changed what was sent before, %d messages were folded", changes, requests, folds)
			}
			if !slices.EqualFunc(asked, all, equal) {
				t.Error("the program's messages were changed")
			}
		})
	}
}

// A program goes on with what came back, and forgets what it handed in. It fits as well.
func TestDoor_goesOnWithWhatCameBack(t *testing.T) {
	for p, model := range doors {
		t.Run(string(p), func(t *testing.T) {
			all := history(t, p, 60)
			o := winnow.Options{Model: model, Settings: upTo(100_000)}
			var mine []json.RawMessage
			had, folds := 0, 0
			for n := range requestsOf(all) {
				sent, r, err := winnow.Prune(context.Background(), append(mine, all[had:n]...), o)
				if err != nil {
					t.Fatal(err)
				}
				accepted(t, p, sent)
				if r.After > 107_000 {
					t.Fatalf("%d messages: %d tokens", n, r.After)
				}
				if r.Summary != "" {
					folds++
				}
				mine, had = slices.Clip(sent), n
			}
			text, _ := json.Marshal(mine)
			if folds < 2 || !strings.Contains(string(text), "Never touch the lexer.") {
				t.Errorf("%d folds, and the user's instruction is left: %t", folds, strings.Contains(string(text), "Never touch the lexer."))
			}
		})
	}
}

// Where nothing may be folded, old results are left out, and each is named with its call.
func TestDoor_keepsTheMessages(t *testing.T) {
	all := history(t, wire.Anthropic, 60)
	sent, r, err := winnow.Prune(context.Background(), all, winnow.Options{Model: doors[wire.Anthropic], Keep: true})
	if err != nil || len(sent) != len(all) || r.Folded != 0 || r.Summary != "" || len(r.LeftOut) == 0 || r.After >= r.Before {
		t.Fatalf("%d of %d messages, %+v, %v", len(sent), len(all), r, err)
	}
	saved := 0
	for _, e := range r.LeftOut {
		if saved += e.Saves; e.Tool != "read" || !strings.HasPrefix(e.CallID, "call_") || e.Because == "" {
			t.Errorf("left out: %+v", e)
		}
	}
	if saved != r.Before-r.After {
		t.Errorf("%d tokens were saved, and %d are gone", saved, r.Before-r.After)
	}
	for i := range all {
		if !equal(all[i], sent[i]) && !slices.ContainsFunc(r.LeftOut, func(e report.LeftOut) bool {
			return strings.Contains(string(all[i]), `"`+e.CallID+`"`)
		}) {
			t.Errorf("message %d is another one, and nothing was left out of it", i)
		}
	}
}

// A model that binds its reasoning is sent none behind another prompt than the one that it was made
// for, and has that of a round of calls back. Of a model about which that is not known, all is sent
// as it is.
func TestDoor_boundReasoning(t *testing.T) {
	all := history(t, wire.Anthropic, 60)
	thought := 0
	for i := range all {
		if bytes.Contains(all[i], []byte(`"tool_use"`)) {
			block := fmt.Sprintf(`[{"type":"thinking","thinking":"Thought %d.","signature":"c2lnbmVk%02d"},`, thought, thought)
			all[i] = bytes.Replace(all[i], []byte(`"content":[`), []byte(`"content":`+block), 1)
			thought++
		}
	}
	signed := regexp.MustCompile(`"signature":"c2lnbmVk([0-9]{2})"`)
	const bound = "anthropic/claude-opus-5-5"
	if !model.BindsReasoning("claude-opus-5-5") {
		t.Fatal("the model does not bind its reasoning")
	}
	o := winnow.Options{Model: bound, Settings: upTo(100_000)}
	made := map[string][]json.RawMessage{} // what was sent when a thought came, by its number
	dropped, folds := 0, 0
	for n := range requestsOf(all) {
		sent, r, err := winnow.Prune(context.Background(), all[:n], o)
		if err != nil {
			t.Fatal(err)
		}
		accepted(t, wire.Anthropic, sent)
		folds += min(1, r.Folded)
		there := 0
		for i, m := range sent {
			for _, found := range signed.FindAllSubmatch(m, -1) {
				there++
				if before := made[string(found[1])]; len(before) != i || !slices.EqualFunc(before, sent[:i], equal) {
					t.Fatalf("%d messages: thought %s stands behind another prompt", n, found[1])
				}
			}
		}
		if n > 2 && !bytes.Contains(all[n-1], []byte("Go on with part")) {
			newest := signed.Find(all[n-2])
			if !bytes.Contains(bytes.Join(raw(sent), nil), newest) {
				t.Errorf("%d messages: the reasoning of the round, %s, is left out", n, newest)
			}
		}
		if had := len(signed.FindAll(bytes.Join(raw(all[:n]), nil), -1)); there < had {
			dropped++
		}
		if n < len(all) {
			if found := signed.FindSubmatch(all[n]); found != nil {
				made[string(found[1])] = sent
			}
		}
	}
	if dropped == 0 || folds == 0 {
		t.Errorf("%d requests had less reasoning, %d were folded", dropped, folds)
	}
	sent, r, err := winnow.Prune(context.Background(), all, winnow.Options{Model: "acme/unknown", Settings: upTo(100_000)})
	if err != nil || !slices.EqualFunc(sent, all, equal) || r.After != r.Before || r.Before == 0 || r.Folded+len(r.LeftOut) != 0 {
		t.Errorf("of an unknown model %d of %d messages, %d of %d tokens, %v", len(sent), len(all), r.After, r.Before, err)
	}
}

func raw(messages []json.RawMessage) (texts [][]byte) {
	for _, m := range messages {
		texts = append(texts, m)
	}
	return texts
}

// Messages that cannot be read come back with an error that says why.
func TestDoor_badInput(t *testing.T) {
	ctx := context.Background()
	numbers, _, err := winnow.Prune(ctx, []int{1, 2}, winnow.Options{})
	if winnow.CodeOf(err) != winnow.BadInput || len(numbers) != 2 {
		t.Errorf("%v, %v", numbers, err)
	}
	if _, _, err := winnow.Prune(ctx, []any{func() {}}, winnow.Options{}); winnow.CodeOf(err) != winnow.BadInput ||
		!strings.Contains(err.Error(), "message 1") {
		t.Error(err)
	}
	wrong := settings.Default()
	wrong.Policy = "bold"
	if _, _, err := winnow.Prune(ctx, []any{map[string]any{"role": "user", "content": "Hi."}},
		winnow.Options{Settings: &wrong}); winnow.CodeOf(err) != winnow.BadConfig {
		t.Error(err)
	}
	if none, r, err := winnow.Prune[any](ctx, nil, winnow.Options{}); err != nil || none != nil || r.Before != 0 {
		t.Errorf("%v, %+v, %v", none, r, err)
	}
}

// upTo are settings under which a prompt is folded at so many tokens.
func upTo(tokens int) *settings.Settings {
	s := settings.Default()
	s.Compaction.Threshold = budget.Thresholds{"*": budget.Threshold(tokens)}
	return &s
}

// requestsOf are the numbers of messages with which a history goes to the model: before each call.
func requestsOf(all []json.RawMessage) iter.Seq[int] {
	return func(yield func(int) bool) {
		for n := 1; n <= len(all); n++ {
			if (n == len(all) || strings.Contains(string(all[n]), "filePath")) && !yield(n) {
				return
			}
		}
	}
}

func equal(a, b json.RawMessage) bool { return bytes.Equal(a, b) }
