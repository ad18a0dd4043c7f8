package stories

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/memory"
	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/anthropic"
)

// machine does random things to a session, under any policy, and holds what must hold after each of
// them.
type machine struct {
	*rapid.T
	engine *engine
	policy policy.Policy
	store  *memory.Store
	models winnow.Config
	id     string
	n      int
	last   [][]byte // the view before the last thing done, message by message
	marks  int      // how many commits, pivots, undos there were
	undone []undoable
}

type undoable struct {
	receipt string
	before  [][]byte
	length  int // of the log then
}

func (m *machine) view() (messages [][]byte, tokens int) {
	v, err := m.engine.View(context.Background(), m.id)
	if err != nil {
		m.Fatal(err)
	}
	if err := view.Check(v.Messages); err != nil {
		m.Fatalf("a provider would refuse the view: %v", err)
	}
	body, err := anthropic.Encode(v.Messages, wire.Options{Model: "m"})
	if err != nil {
		m.Fatal(err)
	}
	if text, err := body.JSON(); err != nil {
		m.Fatal(err)
	} else if err := anthropic.Check(text); err != nil && len(v.Messages) > 0 {
		m.Fatalf("written down for a provider it would be refused: %v", err)
	}
	for _, one := range v.Messages {
		text, err := json.Marshal(one, json.Deterministic(true))
		if err != nil {
			m.Fatal(err)
		}
		messages = append(messages, text)
	}
	measured := rule.NewFacts(m.engine.config.Counter).Total(v.Messages)
	if measured != v.Tokens {
		m.Fatalf("the view claims %d tokens, measured %d", v.Tokens, measured)
	}
	return messages, v.Tokens
}

func (m *machine) append(message session.Message) {
	m.n++
	if err := m.engine.Append(context.Background(), m.id, message); err != nil {
		m.Fatal(err)
	}
	after, _ := m.view()
	if len(after) < len(m.last) || !equalTo(m.last, after[:len(m.last)]) {
		m.Fatalf("one more message changed the view before it (%d messages, then %d)", len(m.last), len(after))
	}
}

func equalTo(a, b [][]byte) bool { return slices.EqualFunc(a, b, bytes.Equal) }

func (m *machine) User(*rapid.T) {
	text := fmt.Sprintf("Request %d: %s", m.n,
		strings.Repeat("do it ", rapid.SampledFrom([]int{1, 5, 300}).Draw(m.T, "words")))
	m.append(session.Message{MessageInfo: session.MessageInfo{Role: session.User},
		Parts: []session.Part{{Type: session.TextPart, Text: text}}})
}

func (m *machine) Step(*rapid.T) {
	status := rapid.SampledFrom([]session.Status{session.Completed, session.Completed, session.Failed}).Draw(m.T,
		"status")
	size := rapid.SampledFrom([]int{0, 10, 1000, 9000, 30000}).Draw(m.T, "size")
	state := &session.ToolState{Status: status, Input: []byte(fmt.Sprintf(`{"filePath":"/repo/f%d.go"}`, m.n%7))}
	if status == session.Failed {
		state.Error = strings.Repeat("no such file ", size/100+1)
	} else {
		state.Output = strings.Repeat("code", size)
	}
	tool := rapid.SampledFrom([]string{"read", "bash", "skill", "edit"}).Draw(m.T, "tool")
	m.append(session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant, ProviderID: "p", ModelID: "m",
		Finish: "tool-calls"},
		Parts: []session.Part{{Type: session.ToolPart, Tool: tool, CallID: fmt.Sprint("call", m.n), State: state}}})
}

func (m *machine) Answer(*rapid.T) {
	m.append(session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant, ProviderID: "p", ModelID: "m",
		Finish: "stop"},
		Parts: []session.Part{{Type: session.TextPart, Text: fmt.Sprint("Done with ", m.n)}}})
}

func (m *machine) Prune(*rapid.T) {
	before, tokens := m.view()
	out, err := m.engine.Prune(context.Background(), m.id, false)
	if err != nil {
		m.Fatal(err)
	}
	after, now := m.view()
	if out.Pruned == nil {
		if !equalTo(before, after) {
			m.Fatal("nothing was committed, and the view changed")
		}
		return
	}
	if out.Pruned.TokensBefore != tokens || out.Pruned.TokensAfter != now {
		m.Fatalf("the receipt says %d → %d, the views have %d → %d", out.Pruned.TokensBefore, out.Pruned.TokensAfter,
			tokens, now)
	}
	if m.policy.Name == policy.Balanced && now >= tokens {
		m.Fatalf("pruning made the view larger: %d → %d", tokens, now)
	}
	again, err := m.engine.Prune(context.Background(), m.id, false)
	if err != nil || again.Pruned != nil && !m.policy.Pivot.SummaryAlone && len(again.Pruned.Committed) == 0 {
		m.Fatal("pruned twice", err)
	}
	if again.Pruned != nil {
		m.Fatalf("a second pruning found %d more", len(again.Pruned.Committed))
	}
	m.marks++
	m.undone = append(m.undone, undoable{out.Pruned.ID, before, m.logged()})
}

func (m *machine) Compact(*rapid.T) {
	before, tokens := m.view()
	receipt, err := m.engine.Compact(context.Background(), m.id,
		winnow.CompactOptions{Auto: rapid.Bool().Draw(m.T, "auto")})
	after, now := m.view()
	if err != nil {
		if code := winnow.CodeOf(err); code != winnow.NothingToFold && code != winnow.NoProgress {
			m.Fatal(err)
		}
		if !equalTo(before, after) {
			m.Fatalf("the compaction failed (%v), and the view changed", err)
		}
		return
	}
	if receipt.TokensBefore != tokens || receipt.TokensAfter != now {
		m.Fatalf("the receipt says %d → %d, the views have %d → %d", receipt.TokensBefore, receipt.TokensAfter, tokens,
			now)
	}
	over := receipt.Usable > 0 && now > receipt.Usable
	if m.policy.Name == policy.Balanced && (now >= tokens || over && receipt.Kind == pivot.Compaction) {
		m.Fatalf("%d → %d tokens, budget %d", tokens, now, receipt.Usable)
	}
	if m.policy.Name == policy.Balanced && over { // all that could go has: the next one says what cannot
		_, err := m.engine.Compact(context.Background(), m.id, winnow.CompactOptions{Auto: true})
		if code := winnow.CodeOf(err); code != winnow.NoProgress && code != winnow.NothingToFold {
			m.Fatalf("%d tokens of %d are left, and the next compaction ends with %v", now, receipt.Usable, err)
		}
	}
	m.undone = append(m.undone, undoable{cmp.Or(receipt.Marker, receipt.ID), before, m.logged()})
}

func (m *machine) Undo(*rapid.T) {
	if len(m.undone) == 0 {
		m.Skip("nothing to undo")
	}
	last := m.undone[len(m.undone)-1]
	m.undone = m.undone[:len(m.undone)-1]
	folded, _ := m.view()
	if _, err := m.engine.Undo(context.Background(), m.id, last.receipt); err != nil {
		m.Fatal(err)
	}
	after, _ := m.view()
	if len(after) < len(last.before) || !equalTo(last.before, after[:len(last.before)]) {
		m.Fatalf("after undo the view does not begin as it was:\n%s\nbut\n%s", shorten(last.before), shorten(after))
	}
	if m.logged() == last.length && len(after) != len(last.before) {
		m.Fatalf("nothing was appended since, and the view has %d messages instead of %d", len(after), len(last.before))
	}
	if rapid.Bool().Draw(m.T, "redo") {
		if _, err := m.engine.Redo(context.Background(), m.id, last.receipt); err != nil {
			m.Fatal(err)
		}
		if redone, _ := m.view(); !equalTo(folded, redone) {
			m.Fatal("redo does not give the view that was undone")
		}
		m.undone = append(m.undone, last)
	}
}

func shorten(view [][]byte) string {
	var lines []string
	for _, one := range view {
		lines = append(lines, rule.Shorten(string(one), 300))
	}
	return strings.Join(lines, "\n")
}

func (m *machine) Restart(*rapid.T) {
	before, _ := m.view()
	c := m.models // its randomness goes on: ids are never given twice
	e, err := launch(c)
	if err != nil {
		m.Fatal(err)
	}
	m.engine = e
	if after, _ := m.view(); !equalTo(before, after) {
		m.Fatal("an engine that was opened anew shows another view")
	}
}

func (m *machine) logged() int {
	log, _, err := m.engine.Session(context.Background(), m.id)
	if err != nil {
		m.Fatal(err)
	}
	return len(log.Messages)
}

func (m *machine) Check(*rapid.T) {
	first, _ := m.view()
	second, _ := m.view()
	if !equalTo(first, second) {
		m.Fatal("two views of one state differ")
	}
	m.last = first
}

func TestEngine_whateverIsDoneToASession(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		settings := settings.Default()
		settings.Policy = rapid.SampledFrom([]string{policy.Classic, policy.Aggressive, policy.Balanced,
			policy.Balanced}).Draw(t, "policy")
		kept := memory.New()
		c := winnow.Config{Settings: &settings, Store: kept,
			Models: small(rapid.SampledFrom([]int{0, 16000, 200000}).Draw(t, "context"), 4000),
			Model:  "p/m", ForceModel: true, Now: clock(), Random: dice(), Counter: token.Chars4{}}
		e, err := launch(c)
		if err != nil {
			t.Fatal(err)
		}
		m := &machine{T: t, engine: e, policy: settings.NewPolicy(), store: kept, models: c}
		if m.id, err = e.Create(context.Background(), session.Info{}); err != nil {
			t.Fatal(err)
		}
		t.Repeat(rapid.StateMachineActions(m))
	})
}
