package transport

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/schedule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
)

// ClearToolUses, as Options.Delegate, lets the provider itself clear old results of tools.
//
// A model that binds its reasoning to its exact prompt refuses what was made behind anything that
// is changed on the way. What its own API clears is exempt: there the reasoning stays valid. So
// conversations with such models, and with unknown ones, get a "context_management" with the edit
// clear_tool_uses_20250919, if the client sends none of its own. It stays the same for as long as
// the conversation lasts. What the API cleared is counted apart from what winnow leaves out.
const ClearToolUses = "clear_tool_uses"

// anthropicHost is where server-side edits are known to be had.
const anthropicHost = "api.anthropic.com"

const (
	contextManagement = "context_management"
	editsBeta         = "context-management-2025-06-27" // the value of Anthropic-Beta that goes with it
	betaHeader        = "Anthropic-Beta"

	// clearFrom is from how many tokens of a prompt on the API may clear: its own default.
	clearFrom = 100_000
	// clearKeeps is how many of the newest uses of tools it leaves alone. Its default is 3, of
	// which is reported that the model's next action is another one nearly always; of outputs that
	// lie idle in recorded sessions 10 steps are enough, and a step may have several uses.
	clearKeeps = 20
	// growth is by how many tokens a recorded session grew in a step: 1,442,000 in 2,974 steps.
	growth = 500
)

// delegation is what a conversation leaves to its provider, as the session's info keeps it.
type delegation struct {
	known  bool           // it was decided
	edits  jsontext.Value // value of context_management; nil if the conversation is sent without
	uses   int            // of tools: what the provider said last that it had cleared of them
	tokens int
}

// member is the member of a session's info that holds its delegation.
const member = "winnow"

// delegationOf reads what a session's info keeps.
func delegationOf(info session.Info) (d delegation) {
	v := wire.ValueOf(info.Unknown).Get(member)
	if d.known = v.Get("delegate").Kind() != 0; v.Get("delegate").Kind() == '{' {
		d.edits = v.Get("delegate").Raw()
	}
	d.uses, d.tokens = v.Get("cleared", "toolUses").Int(), v.Get("cleared", "tokens").Int()
	return d
}

// value is the member of a session's info for it.
func (d delegation) value() jsontext.Value {
	edits := d.edits
	if edits == nil {
		edits = jsontext.Value("null")
	}
	return span.Make("delegate", []byte(edits), "cleared", span.Make("toolUses", d.uses, "tokens", d.tokens))
}

// delegate decides what is left to the provider: in the store before it is sent, once for a
// conversation. The lineage's lock is held.
func (t *Transport) delegate(ctx context.Context, r *http.Request, x *exchange, d *wire.Decoded) {
	l := x.conversation
	if t.options.Delegate != ClearToolUses || t.options.Mode == Observe || x.protocol.kind != wire.Anthropic ||
		r.URL.Host != t.options.anthropic || l.frozen != "" {
		return
	}
	root := wire.ValueOf(d.Text)
	for _, own := range []string{contextManagement, "compaction"} {
		if root.Get(own).Kind() != 0 {
			return
		}
	}
	if !l.delegation.known {
		if !x.model.BoundReasoning && !x.model.BindingUnknown || !hasTools(d) {
			return
		}
		next := delegation{known: true, edits: clearing(x.model, d.Tools)}
		if err := t.keep(ctx, l, next); err != nil {
			t.options.Log.Error("could not delegate to the provider", "session", l.id, "error", err)
			return
		}
	}
	x.delegated = l.delegation.edits
}

// keep writes down what is delegated.
func (t *Transport) keep(ctx context.Context, l *conversation, d delegation) error {
	err := t.engine.Amend(ctx, l.id, winnow.Amendment{Own: map[string]jsontext.Value{member: d.value()}})
	if err == nil {
		l.delegation = d
	}
	return err
}

// clearing is the context_management for a model. What protects tools from being pruned protects
// them from being cleared.
func clearing(m model.Model, tools []byte) jsontext.Value {
	guard := rule.Guard{Tools: append(rule.DefaultProtectedTools(), "memory")}
	var excluded [][]byte
	for tool := range wire.ValueOf(tools).Values() {
		if name := tool.Get("name"); guard.Tool(name.String()) {
			excluded = append(excluded, name.Bytes())
		}
	}
	count := func(kind string, n int) []byte { return span.Make("type", kind, "value", n) }
	edit := new(span.Object).With("type", "clear_tool_uses_20250919", "trigger", count("input_tokens", clearFrom),
		"keep", count("tool_uses", clearKeeps), "clear_at_least", count("input_tokens", clearAtLeast(m)))
	if len(excluded) > 0 {
		edit = edit.With("exclude_tools", span.Array(excluded))
	}
	return span.Make("edits", span.Array([][]byte{edit.Bytes()}))
}

// clearAtLeast is how many tokens the provider must clear at once for it to pay, in thousands. What
// is cleared stands near the beginning, so that nearly all of the prompt is written to the cache
// again; what is saved is reading the cleared tokens at each step to come. Of these as many are
// expected as the economic schedule expects (schedule.DefaultAhead):
//
//	(T − d)·(write − read) ≤ d·read·steps
func clearAtLeast(m model.Model) int {
	read, write, _ := m.Terms(clearFrom)
	steps := schedule.DefaultAhead * clearFrom / growth
	extra := max(0, write-read)
	least := clearFrom * extra / (extra + read*steps)
	return max(1, int(math.Ceil(least/1000))) * 1000
}

// outgoing is what is sent of an exchange.
func (x *exchange) outgoing(r *http.Request) *http.Request {
	if x.delegated == nil {
		return with(r, x.body, x.edited)
	}
	return delegating(r, x.body, x.delegated)
}

// delegating is the request with a body to which a context_management is added, and with the beta
// header that it needs.
func delegating(r *http.Request, text, edits []byte) *http.Request {
	at := bytes.IndexByte(text, '{') + 1
	r = with(r, span.Splice(text, span.Edit{Span: span.Span{Start: at, End: at},
		With: fmt.Appendf(nil, `"%s":%s,`, contextManagement, edits)}), true)
	betas := r.Header.Values(betaHeader)
	asked := slices.ContainsFunc(strings.Split(strings.Join(betas, ","), ","),
		func(beta string) bool { return strings.TrimSpace(beta) == editsBeta })
	switch last := len(betas) - 1; {
	case asked:
	case last < 0:
		r.Header.Set(betaHeader, editsBeta)
	default:
		betas[last] += "," + editsBeta // of the clone's own header
	}
	return r
}

// aboutEdits reports whether a refusal is about what was delegated.
func aboutEdits(reason []byte) bool {
	return slices.ContainsFunc([]string{contextManagement, editsBeta, "clear_tool_uses", strings.ToLower(betaHeader)},
		func(word string) bool { return bytes.Contains(bytes.ToLower(reason), []byte(word)) })
}

// undelegate sends a conversation without context_management from now on, because a request with it
// was refused.
func (t *Transport) undelegate(x *exchange) {
	x.lineage.mu.Lock()
	defer x.lineage.mu.Unlock()
	t.options.Log.Warn("the provider refused what was delegated to it; the conversation goes on without",
		"session", x.conversation.id)
	ctx, stop := t.expected(x.conversation)
	defer stop()
	defer x.conversation.noted(ctx)
	off := delegation{known: true, uses: x.conversation.delegation.uses, tokens: x.conversation.delegation.tokens}
	if err := t.keep(ctx, x.conversation, off); err != nil {
		x.conversation.delegation = off
		t.options.Log.Error("could not note that the provider edits nothing", "session", x.conversation.id, "error", err)
	}
}

// cleared notes what the provider has cleared of a request. It says so of each one, of all that it
// cleared: what is new is written down. The lineage's lock is held.
func (t *Transport) cleared(ctx context.Context, x *exchange, e wire.Cleared) {
	d := x.conversation.delegation
	if x.delegated == nil || e == (wire.Cleared{ToolUses: d.uses, Tokens: d.tokens}) {
		return
	}
	d.uses, d.tokens = e.ToolUses, e.Tokens
	if err := t.keep(ctx, x.conversation, d); err != nil {
		t.options.Log.Error("could not note what the provider cleared", "session", x.conversation.id, "error", err)
	}
	t.options.Log.Info("the provider cleared results of tools", "session", x.conversation.id, "uses", e.ToolUses,
		"tokens", e.Tokens)
}
