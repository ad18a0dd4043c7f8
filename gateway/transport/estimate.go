package transport

import (
	"strings"
	"sync"
	"time"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/wire"
)

// estimator estimates what requests take that no provider reports, by our counter and by what was
// reported of others. The zero value knows no report. It is safe for concurrent use.
type estimator struct {
	mu       sync.Mutex
	prompts  map[string]ratio // by model
	answers  map[string]ratio
	sessions map[string]reportOf // of the newest request of a conversation
}

// ratio is how many tokens were reported for how many that were counted. Newer ones weigh more.
type ratio struct{ reported, counted float64 }

// reportOf is what was reported of a request.
type reportOf struct {
	bytes, prompt int
	read, write   bool // some of it was read from the cache, written to it
	at            time.Time
}

const (
	// older is how much of what was known counts beside a new report.
	older = 0.8
	// mostFactor bounds what is believed: no tokenizer is further from ours on ordinary text.
	mostFactor = 2.0
	// mostSized is how many conversations are remembered.
	mostSized = 4096
	// mostSampled is how many bytes a request has at most from which the ratio of a model is learned:
	// longer ones belong to conversations, which have a ratio of their own.
	mostSampled = 256 << 10
	// perMedia is what an image or a document takes, of any size: about that of a picture of a
	// megapixel.
	perMedia = 1590
	// longWord is how many characters without a space are data and not a text.
	longWord = 2000
)

func (r ratio) with(reported, counted int) ratio {
	return ratio{older*r.reported + float64(reported), older*r.counted + float64(counted)}
}

// of is a count corrected by the ratio.
func (r ratio) of(counted int) int {
	factor := 1.0
	if r.counted > 0 {
		factor = min(max(r.reported/r.counted, 1/mostFactor), mostFactor)
	}
	return int(factor*float64(counted) + 0.5)
}

// learn takes a report.
func (e *estimator) learn(m *meter, u session.Usage, answer string) {
	name := m.model.String()
	counted := 0
	if len(m.text) <= mostSampled {
		counted = countRequest(m.text)
	}
	said := token.Linear{}.Count(answer)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.prompts == nil || len(e.sessions) > mostSized {
		e.sessions = map[string]reportOf{}
	}
	if e.prompts == nil {
		e.prompts, e.answers = map[string]ratio{}, map[string]ratio{}
	}
	if counted > 0 {
		e.prompts[name] = e.prompts[name].with(u.Prompt(), counted)
	}
	if u.Reasoning == 0 && said > 0 && u.Output > 0 { // thoughts may be hidden
		e.answers[name] = e.answers[name].with(u.Output, said)
	}
	if m.session != "" {
		e.sessions[m.session] = reportOf{len(m.text), u.Prompt(), u.Cache.Read > 0, u.Cache.Write > 0, m.t.options.Now()}
	}
}

// prompt is what the prompt of a request takes: as many tokens a byte as the newest request of its
// conversation, without one by our counter. What that request had, the cache has, if it had
// anything before and has not forgotten it.
func (e *estimator) prompt(m *meter) (u session.Usage) {
	e.mu.Lock()
	last, known := e.sessions[m.session]
	model := e.prompts[m.model.String()]
	e.mu.Unlock()
	if !known || m.session == "" || last.bytes == 0 {
		u.Input = model.of(countRequest(m.text))
		return u
	}
	u.Input = int(float64(last.prompt)*float64(len(m.text))/float64(last.bytes) + 0.5)
	if (last.read || last.write) && !m.cold && m.t.options.Now().Sub(last.at) < m.model.CacheLifetime() {
		u.Cache.Read = min(last.prompt, u.Input)
		u.Input -= u.Cache.Read
	}
	if last.write {
		u.Cache.Write, u.Input = u.Input, 0
	}
	return u
}

// answer is what a text takes that a model wrote.
func (e *estimator) answer(model, text string) int {
	e.mu.Lock()
	r := e.answers[model]
	if r.counted == 0 {
		r = e.prompts[model]
	}
	e.mu.Unlock()
	return r.of(token.Linear{}.Count(text))
}

// wordsOf is everything that an answer says.
func wordsOf(a wire.Answer) string {
	var b strings.Builder
	for i := range a.Parts {
		p := &a.Parts[i]
		b.WriteString(p.Text)
		if p.State != nil {
			b.WriteString(p.Tool)
			b.Write(p.State.Input)
			b.WriteString(p.State.Raw)
		}
	}
	return b.String()
}

// unspoken are the members of a request whose values no model reads.
var unspoken = map[string]bool{
	"model": true, "type": true, "role": true, "id": true, "call_id": true, "tool_use_id": true, "tool_call_id": true,
	"signature": true, "thought_signature": true, "thoughtSignature": true, "encrypted_content": true,
	"cache_control": true, "metadata": true, "mimeType": true, "mime_type": true, "media_type": true, "user": true,
	"prompt_cache_key": true, "service_tier": true, "stream_options": true,
}

// countRequest is how many tokens a request has by our counter: its texts, and a guess for each image.
func countRequest(text []byte) int {
	whole, _ := wire.Complete(text)
	return countValue(wire.ValueOf(whole))
}

func countValue(v wire.Value) (n int) {
	switch v.Kind() {
	case '"':
		text := v.String()
		if len(text) > longWord && !strings.ContainsAny(text[:longWord], " \n\t") {
			return perMedia
		}
		return token.Linear{}.Count(text)
	case '[':
		for each := range v.Values() {
			n += countValue(each)
		}
	case '{':
		for name, each := range v.Members() {
			if !unspoken[name] {
				n += countValue(each) + 1
			}
		}
	default:
		return 1
	}
	return n
}
