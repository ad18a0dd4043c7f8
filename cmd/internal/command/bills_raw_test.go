package command

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

// What the raw usage in files of other products comes to, read with nothing of ours.

// listPrices are those of the providers' own pages, in US dollars per million tokens: input and
// output. Reading from the cache costs a tenth of the input price (of Opus 5.5 a twentieth), writing to it for five minutes
// 1.25 times, for an hour twice; at OpenAI and Moonshot writing to it costs what input costs.
var listPrices = map[string][2]float64{
	"claude-opus-4-5": {5, 25}, "claude-opus-4-6": {5, 25}, "claude-opus-4-8": {5, 25}, "claude-opus-5-5": {4, 20}, "claude-sonnet-4-5": {3, 15}, "claude-sonnet-4-6": {3, 15}, "claude-haiku-4-5": {1, 5},
	"gpt-5-codex": {1.25, 10}, "gpt-5.3-codex": {1.75, 14}, "gpt-5.4": {2.5, 15}, "kimi-k2.5": {0.6, 3},
}

// figure is what a session cost.
type figure struct {
	dollars        float64
	known, unknown int  // requests
	more           bool // there may be requests of which the file tells nothing
}

type object = map[string]any

func of(o object, key string) object { v, _ := o[key].(object); return v }

func number(o object, key string) float64 { v, _ := o[key].(float64); return v }

func word(o object, key string) string { v, _ := o[key].(string); return v }

// objects are the lines of a file that are objects.
func objects(data []byte) []object {
	var all []object
	for line := range bytes.Lines(data) {
		var o object
		if json.Unmarshal(line, &o) == nil {
			all = append(all, o)
		}
	}
	return all
}

var spelled = regexp.MustCompile(`^openai/|-20\d{6}$|-bak$`)

// add adds a request: what it took of each kind, and what the file itself says that it cost.
func (f *figure) add(model string, in, out, read, write, hour, logged float64) {
	name := spelled.ReplaceAllString(model, "")
	price, known := listPrices[name]
	possible := min(in, out, read, write, hour, write-hour) >= 0 && max(in, out, read, write) <= 1e9
	if name == "claude-sonnet-4-5" && in+read+write > 200_000 {
		price = [2]float64{6, 22.5}
	}
	writing := 1.25
	if !strings.HasPrefix(name, "claude-") {
		writing = 1
	}
	switch {
	case known && possible && in+out+read+write > 0:
		reading := 0.1
		if name == "claude-opus-5-5" {
			reading = 0.05
		}
		f.dollars += (price[0]*(in+reading*read+writing*(write-hour)+2*hour) + price[1]*out) / 1e6
	case logged > 0:
		f.dollars += logged
	default:
		f.unknown++
		return
	}
	f.known++
}

// rawClaude reads a file of Claude Code's: one request a message id, however its lines are
// interleaved.
func rawClaude(data []byte) (f figure) {
	requests := map[string]object{}
	for _, o := range objects(data) {
		m := of(o, "message")
		if o["type"] == "progress" {
			m = of(of(of(o, "data"), "message"), "message")
		}
		id, model := word(m, "id"), word(m, "model")
		if id == "" || model == "" || model == "<synthetic>" || m["role"] != "assistant" {
			continue
		}
		before, known := requests[id]
		if !known || number(of(m, "usage"), "output_tokens") >= number(of(before, "usage"), "output_tokens") {
			requests[id] = m
		}
	}
	for _, m := range requests {
		u := of(m, "usage")
		model := word(m, "model")
		if u["speed"] == "fast" {
			model += " (fast)"
		}
		f.add(model, number(u, "input_tokens"), number(u, "output_tokens"), number(u, "cache_read_input_tokens"), number(u, "cache_creation_input_tokens"), number(of(u, "cache_creation"), "ephemeral_1h_input_tokens"), 0)
		f.dollars += 0.01 * number(of(u, "server_tool_use"), "web_search_requests")
	}
	return f
}

// rawPi reads a file of pi's: a request an answer, on whatever branch, but for those that failed
// with nothing said and nothing taken.
func rawPi(data []byte) (f figure) {
	for _, o := range objects(data) {
		m := of(o, "message")
		u := of(m, "usage")
		n := func(key string) float64 { return number(u, key) }
		content, _ := m["content"].([]any)
		nothing := n("input") == 0 && n("output") == 0 && n("cacheRead") == 0 && n("cacheWrite") == 0
		if o["type"] != "message" || m["role"] != "assistant" || nothing && (m["stopReason"] == "error" || m["stopReason"] == "aborted") && len(content) == 0 {
			continue
		}
		f.add(word(m, "model"), n("input"), n("output"), n("cacheRead"), n("cacheWrite"), n("cacheWrite1h"), number(of(u, "cost"), "total"))
	}
	return f
}

// rawCodex reads a rollout of Codex's: a request a record of usage, else one where an event counts
// more in all than the event before it. What the cache served is part of the input, reasoning of
// the output.
func rawCodex(data []byte) (f figure) {
	lines, model, total := objects(data), "", 0.0
	records := bytes.Contains(data, []byte(`"type":"token_usage_record"`))
	for _, o := range lines {
		p := of(o, "payload")
		u := of(p, "usage")
		switch counted := number(of(of(p, "info"), "total_token_usage"), "total_tokens"); {
		case o["type"] == "turn_context":
			model = word(p, "model")
			continue
		case o["type"] == "token_usage_record":
		case p["type"] == "token_count" && !records && of(p, "info") != nil && counted != total:
			u, total = of(of(p, "info"), "last_token_usage"), counted
		default:
			continue
		}
		n := func(key string) float64 { return number(u, key) }
		out := n("output_tokens")
		if n("reasoning_output_tokens") > out {
			out = -1 // it cannot be
		}
		f.add(model, n("input_tokens")-n("cached_input_tokens")-n("cache_write_input_tokens"), out, n("cached_input_tokens"), n("cache_write_input_tokens"), 0, 0)
	}
	f.more = true // what was interrupted is not counted
	return f
}

// rawOpenCode reads an export of OpenCode's: a request for each step that reports itself, and for
// an answer in which none does.
func rawOpenCode(data []byte) (f figure) {
	var export struct {
		Messages []struct {
			Info  object
			Parts []object
		}
	}
	if json.Unmarshal(data, &export) != nil {
		return f
	}
	for _, m := range export.Messages {
		var reports []object
		for _, p := range m.Parts {
			if p["type"] == "step-finish" {
				reports = append(reports, p)
			}
		}
		if m.Info["role"] != "assistant" || len(reports) == 0 && m.Info["error"] != nil {
			continue
		}
		if len(reports) == 0 {
			reports = []object{m.Info}
		}
		for _, r := range reports {
			n := func(key string) float64 { return number(of(r, "tokens"), key) }
			cache := of(of(r, "tokens"), "cache")
			f.add(word(m.Info, "modelID"), n("input"), n("output")+n("reasoning"), number(cache, "read"), number(cache, "write"), 0, number(r, "cost"))
		}
	}
	return f
}
