package upstream

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/bill"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/wire"
)

// Options are what a request says to the encoder of its protocol. MaxTokens is the bound that was asked for, never more than the
// model has, and 0 where none was asked for.
func Options(r llm.Request) wire.Options {
	o := wire.Options{Model: r.Model.ID, Provider: r.Model.Provider, System: r.System, MaxTokens: max(r.MaxOutput, 0)}
	if len(r.Tools) > 0 {
		o.Tools = r.Tools
	}
	if limit := r.Model.Limits.Output; limit > 0 {
		o.MaxTokens = min(o.MaxTokens, limit)
	}
	return o
}

// Cost is what a usage costs by the prices of a model, in US dollars; 0 where they are not known.
func Cost(m model.Model, u session.Usage) float64 {
	cost, _ := m.Cost(bill.Usage(u))
	return cost
}

// Split makes a usage of what providers report that count everything in the prompt and all of the answer: tokens of the prompt that
// were read from or written to the cache, and tokens of the answer that were thought. Reports that cannot be are bounded.
func Split(prompt, read, write, answer, thought, total int64) session.Usage {
	prompt, read, write, answer, thought = max(prompt, 0), max(read, 0), max(write, 0), max(answer, 0), max(thought, 0)
	read = min(read, prompt)
	write = min(write, prompt-read)
	if thought <= answer && !(thought > 0 && total == prompt+answer+thought) { // xAI counts thoughts beside the answer
		answer -= thought
	}
	return session.Usage{
		Total: int(max(total, 0)), Input: int(prompt - read - write), Output: int(answer), Reasoning: int(thought),
		Cache: session.CacheUsage{Read: int(read), Write: int(write)},
	}
}

// Tool makes the part of a call: its arguments where they are JSON, else as far as they came.
func Tool(id, name, arguments string, metadata jsontext.Value) session.Part {
	state := &session.ToolState{Status: session.Pending}
	switch input := jsontext.Value(arguments); {
	case arguments == "":
		state.Input = jsontext.Value(`{}`)
	case input.IsValid(session.ReadOptions()):
		state.Input = input
	default:
		state.Raw = arguments
	}
	return session.Part{Type: session.ToolPart, CallID: id, Tool: name, Metadata: metadata, State: state}
}

// Bare takes the ids of a decoded body from parts: an answer is not part of a session yet.
func Bare(parts []session.Part) []session.Part {
	for i := range parts {
		parts[i].ID, parts[i].MessageID = "", ""
	}
	return parts
}

// Extend adds members to a request body, in pairs of a name and its JSON; those of the configuration come last and count: one that is
// null leaves out what we would send.
func (c Config) Extend(body []byte, members ...string) []byte {
	add := func(name string, value []byte) {
		root := wire.Root(body)
		if at := wire.Member(body, root, name); !at.Empty() {
			body = wire.Splice(body, []wire.Edit{{Span: at, With: value}})
			return
		}
		end := wire.Span{Start: root.End - 1, End: root.End - 1}
		member := append(append(wire.Quote(name), ':'), value...)
		if len(body) > len("{}") {
			member = append([]byte{','}, member...)
		}
		body = wire.Splice(body, []wire.Edit{{Span: end, With: member}})
	}
	for i := 0; i+1 < len(members); i += 2 {
		add(members[i], []byte(members[i+1]))
	}
	for name, value := range wire.Members(c.Body, wire.Root(c.Body)) {
		if wire.Kind(c.Body, value) == 'n' {
			body = without(body, string(name))
			continue
		}
		add(string(name), value.Of(c.Body))
	}
	return body
}

// without leaves a member out of an object.
func without(object []byte, name string) []byte {
	root := wire.Root(object)
	if wire.Member(object, root, name).Empty() {
		return object
	}
	kept := []byte{'{'}
	for other, value := range wire.Members(object, root) {
		if string(other) == name {
			continue
		}
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		kept = append(append(append(kept, wire.Quote(string(other))...), ':'), value.Of(object)...)
	}
	return append(kept, '}')
}

// CacheKey names a conversation by how it begins, for providers that keep the prompts of one key together: the requests of a
// conversation, and the summary request that extends it, have the same key, whoever sends them.
func CacheKey(tools jsontext.Value, beginning ...jsontext.Value) string {
	h := sha256.New()
	h.Write(tools)
	for _, element := range beginning {
		h.Write([]byte{0})
		h.Write(element)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
