package transport

import (
	"bytes"
	"net/http"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/body"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// isAside reports whether a request is one that clients make beside their conversations, for a
// title or to sort what was said: it has no tools, and nothing was answered before. If a
// conversation begins so, it is known from its second request on.
func isAside(f *lineage, doc *format.Document) bool {
	d := doc.Native.(*body.Native).Decoded
	answered := slices.ContainsFunc(doc.Session.Messages, func(m session.Message) bool {
		return m.Role == session.Assistant
	})
	return len(f.conversations) == 0 && !hasTools(d) && !answered
}

// summaryPrompts begin a line of what clients say when they compact a conversation by themselves, by
// having the model write what they go on with.
var summaryPrompts = []string{
	"Your task is to create a detailed summary of ",                               // Claude Code, Roo Code
	"You are performing a CONTEXT CHECKPOINT COMPACTION",                          // Codex
	"Provide a detailed prompt for continuing our conversation",                   // OpenCode
	"Create a new anchored summary from the conversation history",                 // OpenCode, Kilo Code
	"Update the anchored summary below using the conversation history",            // the same
	"The messages above are a conversation to summarize",                          // pi
	"First, reason in your scratchpad. Then, generate the ",                       // Gemini CLI, Qwen Code
	"Critically evaluate the <state_snapshot> you just generated",                 // the same
	"The current conversation is rapidly running out of context",                  // Cline
	"Please create a detailed summary of the conversation so far",                 // Copilot CLI
	"Summarize the conversation history so far, paying special attention to the ", // Copilot in editors
	"Provide a detailed summary of our conversation above",                        // Crush
}

// mostPrompt is within how many bytes of a text one of them begins.
const mostPrompt = 8 << 10

// summarizes reports whether a request is a client's own compaction: what comes behind the newest
// answer asks for a summary in one of the known ways, or the client says so beside it, as Codex does.
func summarizes(r *http.Request, doc *format.Document) bool {
	if strings.Contains(r.Header.Get("X-Codex-Turn-Metadata"), `"request_kind":"compaction"`) ||
		r.Header.Get(codexAgentHeader) == "compact" {
		return true
	}
	for _, m := range slices.Backward(doc.Session.Messages) {
		if m.Role == session.Assistant {
			return false
		}
		if slices.ContainsFunc(m.Parts, func(p session.Part) bool {
			return p.Type == session.TextPart && asksForSummary(p.Text)
		}) {
			return true
		}
	}
	return false
}

// asksForSummary reports whether a text has a line that begins like one of the known prompts.
func asksForSummary(text string) bool {
	for line := range strings.Lines(text[:min(len(text), mostPrompt)]) {
		if slices.ContainsFunc(summaryPrompts, func(s string) bool { return strings.HasPrefix(line, s) }) {
			return true
		}
	}
	return false
}

// reduces says why a client's own compaction leaves with something left out of it, "" if it passes as
// it came: a summary of what a summary stands for is a loss. It may not fit the model's window then,
// and a provider that refuses reasoning behind another prompt than its own would refuse it.
func (x *exchange) reduces(known *remembered, read *reading) string {
	doc := read.doc
	room, tokens := budget.Settings{}.Usable(x.model), known.without.Whole
	for i := min(known.sent, len(doc.Session.Messages)); i < len(doc.Session.Messages); i++ {
		tokens += weight(&doc.Session.Messages[i]) / leastPerToken
	}
	if known.without.Whole == 0 {
		tokens = len(doc.Source) / leastPerToken
	}
	dropped := around(doc.Native.(*body.Native).Decoded).Get("thinking", "block_binding", "prefix_mismatch_behavior")
	binds := x.protocol.kind == wire.Anthropic && dropped.String() != "drop_block" &&
		(x.model.BoundReasoning || x.model.BindingUnknown)
	switch {
	case binds && reasons(doc.Session.Messages):
		return "the model binds its reasoning to what it was sent before"
	case !room.Unlimited && tokens > room.Tokens:
		return "the whole conversation does not fit the model's window"
	}
	return ""
}

// leastPerToken is how many bytes a token has at least, where only bytes are known.
const leastPerToken = 3

// holds reports whether nothing that was sent of a conversation may be left out. Of a model of
// which it is not known it is assumed that it binds its reasoning; of others the engine does what
// can be done.
func (x *exchange) holds(n *reading) bool {
	return x.conversation.frozen != "" || x.model.BindingUnknown && reasons(n.doc.Session.Messages) || n.isCompacted()
}

// isElsewhere reports whether the provider keeps what the conversation begins with: the request has
// only what is new. Gemini keeps it as cached content, for as long as whoever made that has said.
func isElsewhere(doc *format.Document) bool {
	root := around(doc.Native.(*body.Native).Decoded)
	for _, name := range []string{"previous_response_id", "conversation", "cachedContent", "cached_content"} {
		if kind := root.Get(name).Kind(); kind != 0 && kind != 'n' {
			return true
		}
	}
	return false
}

// isCompacted reports whether a conversation holds what the provider compacted of it, or asks for
// that. What it holds then is opaque, may be bound to what stands behind it, and is not folded.
func (n *reading) isCompacted() bool {
	return n.compacted >= 0 || around(n.doc.Native.(*body.Native).Decoded).Get("compaction").Kind() == '{'
}

// signs are where in a body something begins that counts wherever it stands, -1 where it does not
// stand: within a text its quotes would be escaped.
type signs struct {
	hour      int // a wish for a cache that lasts an hour
	compacted int // what the provider compacted, among the messages
}

// signsOf are the signs of a body. before are those of one that begins with the same bytes, as many
// as n tells.
func signsOf(n *body.Native, before signs) signs {
	d, same := n.Decoded, n.Same()
	if same == 0 {
		before = signs{-1, -1}
	}
	found := func(before, from, to int, words ...string) int {
		if 0 <= before && before < same {
			return before
		}
		from = max(from, same)
		text, first := d.Text[min(from, to):to], -1
		for _, word := range words {
			if at := bytes.Index(text, []byte(word)); at >= 0 && (first < 0 || from+at < first) {
				first = from + at
			}
		}
		return first
	}
	list := d.List
	m := signs{hour: found(before.hour, 0, len(d.Text), `"1h"`), compacted: -1}
	if found(before.compacted, list.Start, list.End, "compaction") >= 0 { // rarer than what is before it
		m.compacted = found(before.compacted, list.Start, list.End, `"type":"compaction`, `"type": "compaction`,
			`"type":"context_compaction"`, `"type": "context_compaction"`)
	}
	return m
}
