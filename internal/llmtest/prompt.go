package llmtest

import (
	"crypto/sha256"
	"slices"
	"strings"
	"sync"

	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/wire"
)

const (
	// perBlock is what a block costs beside its text: the signs around it.
	perBlock = 4
	// perMedia is what an image or a document costs, of any size: about that of a picture of 1,092
	// by 1,092.
	perMedia = 1590
)

type level int

const (
	tools level = iota
	system
	conversation
)

// block is a piece of a prompt: a tool, a text, a call, a result, a thought. Two blocks with one
// sum are the same to a cache.
type block struct {
	level  level
	kind   string // the block's own type, for blocks of messages
	sum    [32]byte
	text   string // what its tokens were counted from
	tokens int
	media  bool
	mark   string // lifetime that its cache_control asks for: "5m", "1h", or "" without one
	first  int    // index of the first block of its message
	// signature is what a thought brings back: Anthropic's signature, or the data of a redacted one
	signature string
}

// prompt is a request as a provider reads it: tools, system, messages.
type prompt struct {
	blocks []block
	tokens int
	// manner are the parameters that a provider writes into the prompt before the conversation:
	// thinking, tool_choice.
	manner string
	// route decides which cache is asked: OpenAI's prompt_cache_key.
	route string
}

// ordered are the members whose value reaches the model as the text that it is: the order of its
// members counts, though not its spaces.
var ordered = map[string]bool{
	"input": true, "args": true, "arguments": true, "parameters": true, "input_schema": true, "schema": true,
	"parametersJsonSchema": true, "response": true,
}

// unspoken are the members that take no tokens: names of the form, ids, secrets.
var unspoken = map[string]bool{
	"cache_control": true, "signature": true, "encrypted_content": true, "thoughtSignature": true,
	"thought_signature": true, "id": true, "call_id": true, "tool_use_id": true, "tool_call_id": true, "type": true,
	"role": true, "status": true, "mimeType": true, "mime_type": true, "media_type": true, "phase": true,
	"is_error": true, "detail": true,
}

// reader reads the body of a request, which is well-formed.
type reader struct {
	protocol Protocol
	count    token.Counter
	bare     bool // blocks take what their texts do, each for itself
	texts    int  // tokens of those of the block that is being read, of a bare one
	earlier  *earlier
	prompt
}

func read(p Protocol, body []byte, count token.Counter, bare bool, before *earlier) prompt {
	r := reader{protocol: p, count: count, bare: bare, earlier: before}
	root := wire.ValueOf(body)
	for at := range root.Get("tools").Values() {
		r.add(tools, "tool", "", at)
	}
	switch p {
	case Anthropic:
		r.content(system, "system", "", root.Get("system"))
		for at := range root.Get("messages").Values() {
			first := len(r.blocks)
			r.content(conversation, at.Get("role").String(), "", at.Get("content"))
			for i := first; i < len(r.blocks); i++ {
				r.blocks[i].first = first
			}
		}
		for _, name := range []string{"tool_choice", "thinking"} {
			r.manner += string(r.canonical(nil, root.Get(name), false)) + "\n"
		}
		r.manner += string(r.canonical(nil, root.Get("output_config", "effort"), false))
		if kind := root.Get("cache_control").Kind(); kind == '{' { // marks the last block that can be marked
			for i := range slices.Backward(r.blocks) {
				if r.blocks[i].mark == "" && r.blocks[i].kind != "thinking" && r.blocks[i].kind != "redacted_thinking" {
					r.blocks[i].mark = r.lifetime(root.Get("cache_control"))
					break
				}
			}
		}
	case Chat:
		for at := range root.Get("messages").Values() {
			role := at.Get("role").String()
			with := at.Get("tool_call_id").String()
			r.content(conversation, role, with, at.Get("reasoning_content"))
			r.content(conversation, role, with, at.Get("content"))
			for call := range at.Get("tool_calls").Values() {
				r.add(conversation, role, "", call)
			}
		}
		r.route = root.Get("prompt_cache_key").String()
	case Responses:
		r.content(system, "system", "", root.Get("instructions"))
		if root.Get("input").Kind() == '"' {
			r.content(conversation, "user", "", root.Get("input"))
		}
		for at := range root.Get("input").Values() {
			if content := at.Get("content"); !content.Empty() && at.Get("role").String() != "" {
				r.content(conversation, at.Get("role").String(), "", content)
				continue
			}
			r.add(conversation, "", "", at, "id", "status")
		}
		r.route = root.Get("prompt_cache_key").String()
	case Gemini:
		for _, name := range []string{"systemInstruction", "system_instruction"} {
			for at := range root.Get(name, "parts").Values() {
				r.add(system, "system", "", at)
			}
		}
		for at := range root.Get("contents").Values() {
			for part := range at.Get("parts").Values() {
				r.add(conversation, at.Get("role").String(), "", part)
			}
		}
	}
	return r.prompt
}

// content adds the blocks of a value that is a text, a block of text by another way to write it, or
// a list of blocks.
func (r *reader) content(l level, role, with string, at wire.Value) {
	switch at.Kind() {
	case '"':
		if len(at.Bytes()) > len(`""`) {
			r.append(source{r.protocol, l, role, with, "", string(at.Bytes())}, func() block { return r.text(l, role, with, at) })
		}
	case '[':
		for part := range at.Values() {
			r.add(l, role, with, part)
		}
	}
}

// text is the block of a text that is written without one.
func (r *reader) text(l level, role, with string, at wire.Value) block {
	text, kind := at.String(), "text"
	if r.protocol == Responses {
		kind = map[bool]string{true: "output_text", false: "input_text"}[role == "assistant"]
	}
	// As canonical writes the block that it stands for.
	var said strings.Builder
	r.say(&said, text)
	return r.summed(block{level: l, kind: kind, text: said.String()},
		role+" "+with+` {"text":`+string(span.Quote(text))+`,"type":"`+kind+`",}`)
}

// add adds a value as a block, members that are dropped left out.
func (r *reader) add(l level, role, with string, at wire.Value, dropped ...string) {
	of := source{r.protocol, l, role, with, strings.Join(dropped, " "), string(at.Bytes())}
	r.append(of, func() block { return r.block(l, role, with, at, dropped) })
}

func (r *reader) block(l level, role, with string, at wire.Value, dropped []string) block {
	b := block{level: l, kind: at.Get("type").String()}
	switch b.kind {
	case "thinking":
		b.signature = at.Get("signature").String()
	case "redacted_thinking":
		b.signature = at.Get("data").String()
	}
	if mark := at.Get("cache_control"); mark.Kind() == '{' {
		b.mark = r.lifetime(mark)
	}
	var said strings.Builder
	media := 0
	if b.kind != "redacted_thinking" {
		media = r.spoken(&said, "", at)
	}
	b.text, b.media, b.tokens = said.String(), media > 0, media*perMedia
	return r.summed(b, role+" "+with+" "+string(r.canonical(nil, at, false, dropped...)))
}

// summed counts the tokens of a block and gives it its sum.
func (r *reader) summed(b block, canonical string) block {
	if r.bare {
		b.tokens, r.texts = b.tokens+r.texts, 0
	} else {
		b.tokens += r.count.Count(b.text) + perBlock
	}
	b.sum = sha256.Sum256([]byte(canonical))
	return b
}

func (r *reader) append(of source, read func() block) {
	b := r.earlier.get(of, read)
	r.tokens += b.tokens
	r.blocks = append(r.blocks, b)
}

func (r *reader) lifetime(mark wire.Value) string {
	if ttl := mark.Get("ttl").String(); ttl != "" {
		return ttl
	}
	return "5m"
}

// canonical writes a value in one form: no spaces, one way to write a string, members by name
// except where their order is content. Marks are left out.
func (r *reader) canonical(to []byte, at wire.Value, inOrder bool, dropped ...string) []byte {
	switch at.Kind() {
	case '"':
		return append(to, span.Quote(at.String())...)
	case '[':
		to = append(to, '[')
		for value := range at.Values() {
			to = append(r.canonical(to, value, inOrder), ',')
		}
		return append(to, ']')
	case '{':
		type member struct {
			name  string
			value wire.Value
		}
		var members []member
		for n, value := range at.Members() {
			if inOrder || n != "cache_control" && !slices.Contains(dropped, n) {
				members = append(members, member{n, value})
			}
		}
		if !inOrder {
			slices.SortStableFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
		}
		to = append(to, '{')
		for _, m := range members {
			to = append(append(to, span.Quote(m.name)...), ':')
			to = append(r.canonical(to, m.value, inOrder || ordered[m.name]), ',')
		}
		return append(to, '}')
	}
	return append(to, at.Bytes()...)
}

// say adds a text to those of a block.
func (r *reader) say(to *strings.Builder, text string) {
	to.WriteString(text)
	to.WriteByte('\n')
	if r.bare {
		r.texts += r.count.Count(text)
	}
}

// spoken collects what of a value is text to the model, and counts images and documents.
func (r *reader) spoken(to *strings.Builder, name string, at wire.Value) (media int) {
	if unspoken[name] {
		return 0
	}
	switch at.Kind() {
	case '"':
		text := at.String()
		if name == "data" || strings.HasPrefix(text, "data:") {
			return 1
		}
		r.say(to, text)
	case '[':
		for value := range at.Values() {
			media += r.spoken(to, name, value)
		}
	case '{':
		if ordered[name] && r.bare && name != "response" {
			r.say(to, string(at.Bytes()))
			return 0
		}
		if ordered[name] && !r.bare {
			r.say(to, string(r.canonical(nil, at, true)))
			return 0
		}
		for member, value := range at.Members() {
			media += r.spoken(to, member, value)
		}
	}
	return media
}

// earlier keeps the blocks of a server's requests: most of a request was in the one before it.
type earlier struct {
	mu     sync.Mutex
	blocks map[source]block
	size   int // of their JSON
}

// mostEarlier is how much JSON is kept.
const mostEarlier = 32 << 20

// source is everything that a block is made from.
type source struct {
	protocol                  Protocol
	level                     level
	role, with, dropped, json string
}

func (e *earlier) get(of source, read func() block) block {
	e.mu.Lock()
	b, known := e.blocks[of]
	e.mu.Unlock()
	if known {
		return b
	}
	b = read()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.size += len(of.json); e.blocks == nil || e.size > mostEarlier {
		e.blocks, e.size = map[source]block{}, len(of.json)
	}
	e.blocks[of] = b
	return b
}
