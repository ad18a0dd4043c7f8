package llmtest

import (
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// Reply is what the upstream answers: reasoning, text and calls, in this order. The zero value is a
// complete answer that says nothing.
type Reply struct {
	// Reasoning is what the model thought. It goes out with what the provider wants back: a
	// signature (Anthropic, Gemini) or encrypted content (Responses, when the request includes it).
	// Chat has it in reasoning_content, as compatible servers do.
	Reasoning string
	// Redacted sends the reasoning as Anthropic's redacted_thinking: encrypted, without a readable
	// text.
	Redacted bool
	Text     string
	Calls    []Call
	// Finish is why the answer ends; empty means llm.Calls with calls, llm.Length when the text was
	// cut at the request's own limit, and llm.Stop otherwise.
	Finish llm.Finish

	// Fault makes the request fail, or the answer be a bad one.
	Fault Fault
	// RetryAfter is what the faults that ask for a wait ask for; 0 means one second.
	RetryAfter time.Duration

	// Output and Reasoned are the tokens to report for the answer and for its reasoning; 0 means
	// the estimate.
	Output, Reasoned int
	// Usage is reported in place of what the cache model and the estimates find; nil leaves it to
	// them.
	Usage *session.Usage

	// Tier is the service to report; "" is the usual one.
	Tier string

	// Pieces is in how many pieces each text is streamed; 0 means one for every 12 characters, at
	// most 64.
	Pieces int
	// Delay is waited between two events of a stream.
	Delay time.Duration
	// Hold withholds the answer until it is closed, the client leaves or the server is closed.
	Hold <-chan struct{}
}

// Call is a tool call.
type Call struct {
	ID   string // made up when empty; Gemini sends none unless it is given
	Name string
	// Namespace is that of the tool, where the request has tools in namespaces: on Responses alone.
	Namespace string
	// Arguments is a JSON object; "{}" when empty. Anything else reaches the client where arguments
	// are text on the wire: OpenAI, and Anthropic's streams. Elsewhere it becomes {}.
	Arguments string
}

// object is the arguments as JSON.
func (c Call) object() jsontext.Value {
	if v := jsontext.Value(c.Arguments); v.IsValid() && v.Kind() == '{' {
		return v
	}
	return jsontext.Value("{}")
}

// Answer decides what is answered. It is called by one request at a time, so that it may keep a
// count; to wait it returns a Reply with a Hold.
type Answer func(Request) Reply

// Text always says the same.
func Text(text string) Answer { return func(Request) Reply { return Reply{Text: text} } }

// Sequence gives one reply after the other, the last one for ever.
func Sequence(replies ...Reply) Answer {
	var mu sync.Mutex
	next := 0
	return func(Request) Reply {
		mu.Lock()
		defer mu.Unlock()
		if len(replies) == 0 {
			return Reply{}
		}
		r := replies[min(next, len(replies)-1)]
		next++
		return r
	}
}

// Fails puts faults before an answer: the first requests have one each, later ones have none. The
// answer decides what is said in all of them, which matters to faults that begin well.
func (a Answer) Fails(faults ...Fault) Answer {
	next := 0
	return func(r Request) Reply {
		reply := a(r)
		if next < len(faults) {
			reply.Fault = faults[next]
		}
		next++
		return reply
	}
}

// FailsAt puts a fault on the request of that number, 1 being the first.
func (a Answer) FailsAt(number int, f Fault) Answer {
	return a.FailsWhen(func(r Request) bool { return r.Number == number }, f)
}

// FailsWhen puts a fault on every request that the predicate picks.
func (a Answer) FailsWhen(picks func(Request) bool, f Fault) Answer {
	return func(r Request) Reply {
		reply := a(r)
		if picks(r) {
			reply.Fault = f
		}
		return reply
	}
}

// Then lets another answer take over after the first n requests.
func (a Answer) Then(n int, b Answer) Answer {
	asked := 0
	return func(r Request) Reply {
		asked++
		if asked <= n {
			return a(r)
		}
		return b(r)
	}
}

// complete fills in what the script left open, and cuts the text where the request's own limit cuts
// it.
func (r Reply) complete(q Request, count token.Counter) Reply {
	prefix := map[Protocol]string{Anthropic: "toolu_", Chat: "call_", Responses: "call_"}[q.Protocol]
	calls := make([]Call, len(r.Calls))
	for i, c := range r.Calls {
		if c.ID == "" && prefix != "" {
			c.ID = fmt.Sprintf("%s%06d%02d", prefix, q.Number, i)
		}
		if c.Arguments == "" {
			c.Arguments = "{}"
		}
		calls[i] = c
	}
	r.Calls = calls
	if r.Reasoned == 0 {
		r.Reasoned = count.Count(r.Reasoning)
	}
	said := count.Count(r.Text)
	called := 0
	for _, c := range r.Calls {
		called += 8 + count.Count(c.Name) + count.Count(c.Arguments)
	}
	if limit := q.MaxTokens - r.Reasoned - called; q.MaxTokens > 0 && r.Output == 0 && said > max(0, limit) {
		for said > max(0, limit) && r.Text != "" {
			r.Text = shorter(r.Text, max(0, limit), said)
			said = count.Count(r.Text)
		}
		if r.Finish == "" {
			r.Finish = llm.Length
		}
	}
	if r.Output == 0 {
		r.Output = max(1, r.Reasoned+said+called)
	}
	r.Output = max(r.Output, r.Reasoned)
	if r.Finish == "" {
		r.Finish = llm.Stop
		if len(r.Calls) > 0 {
			r.Finish = llm.Calls
		}
	}
	return r
}

// shorter cuts a text of that many tokens to about a limit; it always cuts something.
func shorter(text string, limit, tokens int) string {
	at := min(len(text)-1, len(text)*limit/tokens)
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return text[:at]
}

// pieces cuts a text for streaming; together they are the text. An empty text has none.
func (r Reply) pieces(text string) []string {
	runes := utf8.RuneCountInString(text)
	n := r.Pieces
	if n <= 0 {
		n = min(64, (runes+11)/12)
	}
	n = max(1, min(n, runes))
	var pieces []string
	var piece strings.Builder
	at := 0
	for i, c := range []rune(text) {
		piece.WriteRune(c)
		if i+1 == (at+1)*runes/n {
			pieces = append(pieces, piece.String())
			piece.Reset()
			at++
		}
	}
	return pieces
}

// Said is the reply that says what a message of a log says: its texts and its calls.
func Said(m *session.Message) (r Reply) {
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Type {
		case session.TextPart:
			r.Text += p.Text
		case session.ToolPart:
			r.Calls = append(r.Calls, Call{ID: p.CallID, Name: p.Tool, Arguments: string(p.State.Input)})
		}
	}
	return r
}
