package llmtest_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/outside"
)

// long is a text of about the given number of tokens, another one for each seed.
func long(seed, tokens int) string {
	var b strings.Builder
	for i := 0; b.Len() < tokens*5; i++ {
		fmt.Fprintf(&b, "line %d of file %d says something. ", i, seed)
	}
	return b.String()
}

// conversation has turns of about 800 tokens each, its last message marked.
func conversation(turns int) ask {
	var texts []string
	for i := range turns {
		texts = append(texts, long(i, 800))
	}
	a := say(texts...)
	a.stream = false
	a.turns[turns-1].marked = true
	return a
}

// clock is a clock that is set by hand.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Unix(1_800_000_000, 0)} }

func TestCache_secondRequestReadsWhatTheFirstOneHad(t *testing.T) {
	for _, p := range llmtest.Protocols() {
		t.Run(string(p), func(t *testing.T) {
			s := llmtest.Start(t, llmtest.Script{})
			first := hear(t, s, p, conversation(5))
			if first.read != 0 || first.prompt < 3000 {
				t.Fatalf("the first request read %d of %d", first.read, first.prompt)
			}
			if p == llmtest.Anthropic && first.write != first.prompt {
				t.Errorf("%d of %d were written", first.write, first.prompt)
			}
			second := hear(t, s, p, conversation(7))
			if second.read < first.prompt*95/100 || second.read > first.prompt {
				t.Errorf("the second read %d; the first had %d", second.read, first.prompt)
			}
			if p == llmtest.Anthropic && second.read+second.write != second.prompt {
				t.Errorf("read %d and wrote %d of %d", second.read, second.write, second.prompt)
			}
			if r := settled(t, s)[1]; r.Usage.Cache.Read != second.read || r.Usage.Prompt() != second.prompt ||
				r.Usage.Cache.Write != second.write {
				t.Errorf("recorded %+v, reported %d of %d", r.Usage, second.read, second.prompt)
			}
		})
	}
}

func TestCache_everythingBehindAChangeIsFresh(t *testing.T) {
	for _, p := range llmtest.Protocols() {
		t.Run(string(p), func(t *testing.T) {
			s := llmtest.Start(t, llmtest.Script{})
			before := conversation(9)
			before.turns[1].marked, before.turns[3].marked = true, true
			hear(t, s, p, before)
			changed := conversation(9)
			changed.turns[1].marked, changed.turns[3].marked = true, true
			changed.turns[4].text = "elided"
			h := hear(t, s, p, changed)
			upTo := conversation(4) // what stands before the change
			kept := hear(t, llmtest.Start(t, llmtest.Script{}), p, upTo).prompt
			if h.read > kept+10 || h.read < kept*95/100 {
				t.Errorf("read %d of %d; %d tokens stand before the change", h.read, h.prompt, kept)
			}
			if again := hear(t, s, p, changed); again.read < again.prompt*95/100 {
				t.Errorf("the same once more read %d of %d", again.read, again.prompt)
			}
		})
	}
}

func TestCache_formCostsNothingContentDoes(t *testing.T) {
	for _, p := range []llmtest.Protocol{llmtest.Anthropic, llmtest.Chat, llmtest.Responses} {
		schema := `{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"string"}}}`
		tool := func(order string) string {
			switch p {
			case llmtest.Anthropic:
				return `{"name":"read","input_schema":` + order + `}`
			case llmtest.Chat:
				return `{"type":"function","function":{"name":"read","parameters":` + order + `}}`
			}
			return `{"type":"function","name":"read","parameters":` + order + `}`
		}
		with := func(json string) ask {
			a := conversation(5)
			a.extra = map[string]any{"tools": rawJSON("[" + json + "]")}
			return a
		}
		s := llmtest.Start(t, llmtest.Script{})
		hear(t, s, p, with(tool(schema)))
		spaced := strings.ReplaceAll(strings.ReplaceAll(tool(schema), ":", " : "), `"a"`, `"\u0061"`)
		if h := hear(t, s, p, with(spaced)); h.read < h.prompt*95/100 {
			t.Errorf("%s: spaces and escapes cost: %d of %d read", p, h.read, h.prompt)
		}
		if p == llmtest.Anthropic {
			if h := hear(t, s, p, with(`{"input_schema":`+schema+`,"name":"read"}`)); h.read < h.prompt*95/100 {
				t.Errorf("%s: the order of a block's members costs: %d of %d read", p, h.read, h.prompt)
			}
		}
		reordered := `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`
		if h := hear(t, s, p, with(tool(reordered))); h.read != 0 {
			t.Errorf("%s: another order within a schema is another text: %d read", p, h.read)
		}
	}
}

type rawJSON string

func (r rawJSON) MarshalJSON() ([]byte, error) { return []byte(r), nil }

func TestCache_aTextIsAListOfOneText(t *testing.T) {
	text := long(1, 1500)
	for p, forms := range map[llmtest.Protocol][2]map[string]any{
		llmtest.Anthropic: {
			{"system": text, "cache_control": object{"type": "ephemeral"}},
			{"system": []object{{"type": "text", "text": text}}, "cache_control": object{"type": "ephemeral"}},
		},
		llmtest.Chat: {
			{"messages": []object{{"role": "user", "content": text}}},
			{"messages": []object{{"role": "user", "content": []object{{"type": "text", "text": text}}}}},
		},
		llmtest.Responses: {
			{"input": text}, {"input": []object{{"role": "user", "content": []object{{"type": "input_text",
				"text": text}}}}},
		},
	} {
		s := llmtest.Start(t, llmtest.Script{})
		var prompts [2]heard
		for i, form := range forms {
			a := say("go on")
			a.extra = form
			prompts[i] = hear(t, s, p, a)
		}
		if prompts[0].prompt != prompts[1].prompt || prompts[1].read < prompts[1].prompt-2*128 {
			t.Errorf("%s: %d tokens as a text; %d as a list, of which %d read", p, prompts[0].prompt, prompts[1].prompt,
				prompts[1].read)
		}
	}
}

func TestCache_marksMayMove(t *testing.T) {
	s := llmtest.Start(t, llmtest.Script{})
	first := hear(t, s, llmtest.Anthropic, conversation(5))
	moved := conversation(7)
	moved.turns[4].marked = false // as in conversation(7); the text of the fifth turn is the same without its mark
	if h := hear(t, s, llmtest.Anthropic, moved); h.read != first.prompt {
		t.Errorf("read %d, want the %d that were written", h.read, first.prompt)
	}
}

func TestCache_anthropicWritesAtMarksAlone(t *testing.T) {
	s := llmtest.Start(t, llmtest.Script{})
	unmarked := conversation(5)
	unmarked.turns[4].marked = false
	for range 2 {
		if h := hear(t, s, llmtest.Anthropic, unmarked); h.read+h.write != 0 {
			t.Errorf("read %d and wrote %d without a mark", h.read, h.write)
		}
	}
	// A prefix that was only passed over on the way to a mark is no entry.
	hear(t, s, llmtest.Anthropic, conversation(5))
	if h := hear(t, s, llmtest.Anthropic, conversation(3)); h.read != 0 || h.write != h.prompt {
		t.Errorf("a beginning that ended at no mark: read %d, wrote %d of %d", h.read, h.write, h.prompt)
	}
}

func TestCache_anthropicLooksBackTwentyBlocks(t *testing.T) {
	for _, c := range []struct {
		added int
		hit   bool
	}{{18, true}, {20, false}} { // a mark sees 20 places, its own included
		s := llmtest.Start(t, llmtest.Script{})
		first := hear(t, s, llmtest.Anthropic, conversation(3))
		h := hear(t, s, llmtest.Anthropic, conversation(3+c.added))
		if (h.read == first.prompt) != c.hit || !c.hit && h.read != 0 {
			t.Errorf("%d blocks behind the entry: read %d of the %d written", c.added, h.read, first.prompt)
		}
	}
}

func TestCache_callsInARowAreOnePlace(t *testing.T) {
	s := llmtest.Start(t, llmtest.Script{})
	opening := object{"role": "user", "content": []object{{"type": "text", "text": long(1, 1500),
		"cache_control": object{"type": "ephemeral"}}}}
	a := say("unused")
	a.extra = map[string]any{"messages": []object{opening}}
	first := hear(t, s, llmtest.Anthropic, a)
	var calls, results []object
	for i := range 30 {
		id := fmt.Sprint("toolu_", i)
		calls = append(calls, object{"type": "tool_use", "id": id, "name": "ls", "input": object{}})
		results = append(results, object{"type": "tool_result", "tool_use_id": id, "content": "a file"})
	}
	results[29]["cache_control"] = object{"type": "ephemeral"}
	a.extra = map[string]any{"messages": []object{opening, {"role": "assistant", "content": calls},
		{"role": "user", "content": results}}}
	// The opening's own mark would find the entry by itself: without it only the last mark looks
	// back.
	a.extra["messages"].([]object)[0] = object{"role": "user", "content": long(1, 1500)}
	if h := hear(t, s, llmtest.Anthropic, a); h.read != first.prompt {
		t.Errorf("read %d over 60 blocks of calls and results, want the %d that were written", h.read, first.prompt)
	}
}

func TestCache_smallPromptsAreNotCached(t *testing.T) {
	for _, p := range llmtest.Protocols() {
		s := llmtest.Start(t, llmtest.Script{})
		small := say(long(1, 600))
		small.turns[0].marked = true
		for range 2 {
			if h := hear(t, s, p, small); h.read+h.write != 0 {
				t.Errorf("%s: %d tokens: read %d, wrote %d", p, h.prompt, h.read, h.write)
			}
		}
	}
}

// The smallest prefix is the model's own, where the model is known and the script does not say
// another.
func TestCache_theSmallestPrefixIsTheModels(t *testing.T) {
	for _, c := range []struct {
		protocol llmtest.Protocol
		model    string
		set      int
		least    int
	}{
		{llmtest.Anthropic, "claude-haiku-4-5", 0, 4096},
		{llmtest.Anthropic, "claude-opus-4-7", 0, 2048},
		{llmtest.Anthropic, "claude-sonnet-4-5-20250929", 0, 1024},
		{llmtest.Anthropic, "claude-haiku-4-5", 1500, 1500},
		{llmtest.Gemini, "gemini-2.5-pro", 0, 4096},
		{llmtest.Gemini, "gemini-2.5-flash", 0, 1024},
		{llmtest.Chat, "gpt-5", 0, 1024},
		{llmtest.Chat, "llama", 0, 1024},
	} {
		s := llmtest.Start(t, llmtest.Script{CacheMinimum: c.set})
		for _, tokens := range []int{c.least * 8 / 10, c.least * 12 / 10} {
			a := say(long(tokens, tokens*2/3))
			a.model, a.turns[0].marked, a.stream, a.limit = c.model, true, false, 0
			a.extra = map[string]any{"max_tokens": nil}
			if c.protocol == llmtest.Anthropic {
				a.extra = map[string]any{"max_tokens": 100}
			}
			if c.protocol == llmtest.Gemini {
				a.extra["generationConfig"] = nil
			}
			first := hear(t, s, c.protocol, a)
			if got := hear(t, s, c.protocol, a).read > 0; got != (first.prompt >= c.least) {
				t.Errorf("%s, minimum %d: a prompt of %d tokens is read from the cache: %t", c.model, c.least,
					first.prompt, got)
			}
			if (first.prompt >= c.least) != (tokens > c.least) {
				t.Errorf("a prompt of about %d tokens has %d", tokens, first.prompt)
			}
		}
	}
}

func TestCache_openAIReadsInSteps(t *testing.T) {
	for _, p := range []llmtest.Protocol{llmtest.Chat, llmtest.Responses} {
		s := llmtest.Start(t, llmtest.Script{})
		a := conversation(3)
		hear(t, s, p, a)
		a.turns[2].text += " And one thing more."
		if h := hear(t, s, p, a); h.read%128 != 0 || h.read < h.prompt-3*128 {
			t.Errorf("%s: read %d of %d, with a longer last message", p, h.read, h.prompt)
		}
		a.extra = map[string]any{"prompt_cache_key": "another"}
		if h := hear(t, s, p, a); h.read != 0 {
			t.Errorf("%s: read %d under another key", p, h.read)
		}
	}
}

func TestCache_forgets(t *testing.T) {
	hour := func(a ask) ask { // the mark with a lifetime, on the system prompt
		a.extra = map[string]any{"system": []object{{"type": "text", "text": long(77, 1200),
			"cache_control": object{"type": "ephemeral", "ttl": "1h"}}}}
		return a
	}
	for name, c := range map[string]struct {
		protocol llmtest.Protocol
		ask      func() ask
		waits    []time.Duration
		reads    []bool
	}{
		"after five minutes": {llmtest.Anthropic, func() ask { return conversation(3) },
			[]time.Duration{5*time.Minute - time.Second, 5*time.Minute + time.Second}, []bool{true, false}},
		"not while it is read": {llmtest.Anthropic, func() ask { return conversation(3) },
			[]time.Duration{4 * time.Minute, 4 * time.Minute, 4 * time.Minute}, []bool{true, true, true}},
		"after an hour when that was asked": {llmtest.Anthropic, func() ask { return hour(conversation(3)) },
			[]time.Duration{59 * time.Minute, 61 * time.Minute}, []bool{true, false}},
		"OpenAI's after ten minutes": {llmtest.Chat, func() ask { return conversation(3) },
			[]time.Duration{9 * time.Minute, 11 * time.Minute}, []bool{true, false}},
		"Gemini's after five minutes": {llmtest.Gemini, func() ask { return conversation(3) },
			[]time.Duration{4 * time.Minute, 6 * time.Minute}, []bool{true, false}},
		"the clock stands still": {llmtest.Responses, func() ask { return conversation(3) },
			[]time.Duration{0, 0}, []bool{true, true}},
	} {
		t.Run(name, func(t *testing.T) {
			clock := newClock()
			s := llmtest.Start(t, llmtest.Script{Now: func() time.Time { return clock.now }})
			hear(t, s, c.protocol, c.ask())
			for i, wait := range c.waits {
				clock.now = clock.now.Add(wait)
				if h := hear(t, s, c.protocol, c.ask()); (h.read > 0) != c.reads[i] {
					t.Errorf("wait %d of %v: read %d of %d", i, wait, h.read, h.prompt)
				}
			}
		})
	}
}

func TestCache_anthropicLevels(t *testing.T) {
	base := func() ask {
		a := conversation(5)
		a.tools = []string{"read"}
		a.extra = map[string]any{"system": []object{{"type": "text", "text": long(88, 1500),
			"cache_control": object{"type": "ephemeral"}}}}
		return a
	}
	s := llmtest.Start(t, llmtest.Script{})
	first := hear(t, s, llmtest.Anthropic, base())
	for name, c := range map[string]struct {
		change func(*ask)
		least  int // tokens
		most   int
	}{
		"nothing":        {func(*ask) {}, first.prompt, first.prompt},
		"more to say":    {func(a *ask) { a.limit = 2000 }, first.prompt, first.prompt},
		"thinking":       {func(a *ask) { a.extra["thinking"] = object{"type": "adaptive"} }, 1500, 2500},
		"tool choice":    {func(a *ask) { a.extra["tool_choice"] = object{"type": "none"} }, 1500, 2500},
		"effort":         {func(a *ask) { a.extra["output_config"] = object{"effort": "low"} }, 1500, 2500},
		"a tool more":    {func(a *ask) { a.tools = append(a.tools, "write") }, 0, 0},
		"a tool less":    {func(a *ask) { a.tools = nil }, 0, 0},
		"another model":  {func(a *ask) { a.model = "model-b" }, 0, 0},
		"another system": {func(a *ask) { a.extra["system"] = "Be brief." }, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			a := base()
			c.change(&a)
			if h := hear(t, s, llmtest.Anthropic, a); h.read < c.least || h.read > c.most {
				t.Errorf("read %d of %d, want %d to %d", h.read, h.prompt, c.least, c.most)
			}
		})
	}
}

func TestCache_refusedRequestsLeaveNothing(t *testing.T) {
	for _, p := range llmtest.Protocols() {
		s := llmtest.Start(t, llmtest.Script{})
		s.Inject(llmtest.Status529)
		if h := hear(t, s, p, conversation(5)); h.status < 500 {
			t.Fatalf("%s: status %d", p, h.status)
		}
		if h := hear(t, s, p, conversation(5)); h.read != 0 {
			t.Errorf("%s: read %d of what was never answered", p, h.read)
		}
	}
}

// What real agents sent, with their own marks, is read from the cache for the most part, as their
// bills say.
func TestCache_recordedClients(t *testing.T) {
	for file, p := range map[string]llmtest.Protocol{"claude-code": llmtest.Anthropic, "codex": llmtest.Responses,
		"opencode": llmtest.Chat} {
		t.Run(file, func(t *testing.T) {
			recorded := outside.Read(t, outside.Path(t, "fixtures", "http", file+".jsonl.gz"))
			s := llmtest.Start(t, llmtest.Script{})
			asked := 0
			for line := range bytes.Lines(recorded) {
				var r struct {
					Method, URL, Body string
					Headers           map[string]string
				}
				if err := json.Unmarshal(line, &r, json.MatchCaseInsensitiveNames(true)); err != nil {
					t.Fatal(err)
				}
				if r.Method != "POST" || strings.Contains(r.URL, "count_tokens") {
					continue
				}
				asked++
				request := ask{}.request(t, p, s.URL)
				request.Body, request.ContentLength = readCloser{strings.NewReader(r.Body)}, int64(len(r.Body))
				for name, value := range r.Headers {
					if strings.HasPrefix(name, "Anthropic-") {
						request.Header.Set(name, value)
					}
				}
				if h, err := listen(request, p, true); err != nil || h.status != 200 {
					t.Fatalf("request %d: status %d, %v: %.300s", asked, h.status, err, h.body)
				}
			}
			if problems := s.Problems(); problems != nil {
				t.Errorf("a real client's requests are refused: %q", problems)
			}
			prompt, read := 0, 0
			for _, r := range settled(t, s) {
				prompt, read = prompt+r.Prompt, read+r.Usage.Cache.Read
			}
			t.Logf("%d requests, %d tokens, %d %% read from the cache", asked, prompt, read*100/prompt)
			if read*100 < prompt*80 {
				t.Errorf("%d of %d tokens were read from the cache", read, prompt)
			}
		})
	}
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }
