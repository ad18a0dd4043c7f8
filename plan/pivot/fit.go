package pivot

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/wire"
)

// cutOutput is how many characters of a tool output a summariser needs at most: enough for a stack
// trace and the lines around it.
const cutOutput = 2_000

// correction is how many tokens stay free in every request, so that a second attempt can be told
// what was wrong with the first.
const correction = 64

// framing is how many tokens a provider adds to each message for roles and separators.
const framing = 8

// Fit makes a request fit a summariser that takes limit tokens; 0 means unlimited. It goes only as
// far as it must. A request that extends the conversation stays so if it fits with Budget tokens to
// spare; otherwise the messages are sent by themselves. If they do not fit, media become text,
// outputs are cut to 2,000 characters, and the oldest exchanges are dropped with a note of how
// many. Elisions are applied already. If the newest exchange alone is too long, the request is
// split into chunks that are summarised one after the other: Fit then returns several requests, and
// each after the first needs the previous answer as its Previous. Every request returned fits. If
// system prompt, instruction and previous summary alone are too long, ok is false, and only a
// summariser without a limit can help.
func Fit(r Request, limit int, facts *rule.Facts) (requests []Request, ok bool) {
	if r.Prefix != nil {
		size := r.Tokens(facts)
		if limit <= 0 || size+r.Budget <= limit {
			return []Request{r}, true
		}
		r = r.Plain(fmt.Sprintf("it would have %s tokens, %s with the answer, and the limit is %s",
			quantity.Number(size), quantity.Number(size+r.Budget), quantity.Number(limit)))
	}
	if limit <= 0 || r.Tokens(facts) <= limit {
		return []Request{r}, true
	}
	r.Messages = slices.Clone(r.Messages)
	if n := mediaToText(r.Messages); n > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d images or documents were sent as text", n))
		if r.Tokens(facts) <= limit {
			return []Request{r}, true
		}
	}
	if n := cutOutputs(r.Messages); n > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d tool outputs were cut to %d characters", n, cutOutput))
		if r.Tokens(facts) <= limit {
			return []Request{r}, true
		}
	}
	fixed := r.fixed(facts)
	room := limit - fixed
	if room < limit/8 && r.Previous != "" {
		// The previous summary leaves no room: it is cut rather than everything else.
		r.Previous = cutTo(r.Previous, max(0, limit/2-(fixed-facts.Count(r.Previous))), facts)
		r.Notes = append(r.Notes, "the previous summary was cut")
		room = limit - r.fixed(facts)
	}
	if room <= 0 {
		return nil, false
	}
	dropped := dropOldest(&r, room, facts)
	if dropped > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("the %d oldest exchanges were left out", dropped))
	}
	if r.Tokens(facts) <= limit {
		return []Request{r}, true
	}
	return chunks(r, limit, facts)
}

// Plain returns the request without the conversation's prefix and notes why.
func (r Request) Plain(because string) Request {
	r.Prefix = nil
	r.Notes = append(slices.Clip(r.Notes), "the request did not extend the conversation: "+because)
	return r
}

// AsText returns the request with its messages written as text, for a model that rejects them as
// messages: calls of tools that it is not offered, reasoning that is not its own.
func (r Request) AsText() Request {
	messages := make([]session.Message, 0, len(r.Messages))
	for i := range r.Messages {
		m := &r.Messages[i]
		text := Transcript(r.Messages[i : i+1])
		if text == "" {
			continue
		}
		messages = append(messages, session.Message{
			MessageInfo: session.MessageInfo{ID: m.ID, SessionID: m.SessionID, Role: session.User},
			Parts:       []session.Part{{Type: session.TextPart, Text: text, Synthetic: !m.Written()}},
		})
	}
	r.Messages = messages
	return r
}

// Tokens returns the size of a request as it is sent to the summariser.
func (r Request) Tokens(facts *rule.Facts) int {
	if r.Prefix != nil {
		total := r.Prefix.Overhead + facts.Count(r.Aligned()) + correction + framing
		for i := range r.Prefix.Messages {
			total += messageTokens(&r.Prefix.Messages[i], facts)
		}
		return total
	}
	total := r.fixed(facts)
	for i := range r.Messages {
		total += messageTokens(&r.Messages[i], facts)
	}
	return total
}

// fixed is the size of what every request has: prompts, the previous summary, framing.
func (r Request) fixed(facts *rule.Facts) int {
	return facts.Count(r.System) + max(facts.Count(r.Instruction), facts.Count(r.Update)) + facts.Count(r.Digest) +
		facts.Count(r.length()) + facts.Count(r.Previous) + 2*facts.Count(wire.Question) +
		5*framing + correction
}

func messageTokens(m *session.Message, facts *rule.Facts) int {
	total := framing
	for j := range m.Parts {
		p := m.Parts[j]
		// Cut parts have the ids of whole ones: measured under them, they would take the place of
		// what is known.
		p.ID = ""
		total += facts.Size(&p).Total()
	}
	return total
}

// rewrite changes copies of parts and returns the sum of what change counts. A part for which it
// counts 0 stays as it is.
func rewrite(messages []session.Message, change func(session.Part) (session.Part, int)) int {
	changed := 0
	for i := range messages {
		m := &messages[i]
		copied := false
		for j := range m.Parts {
			p, n := change(m.Parts[j])
			if n == 0 {
				continue
			}
			if !copied {
				m.Parts, copied = slices.Clone(m.Parts), true
			}
			m.Parts[j] = p
			changed += n
		}
	}
	return changed
}

func mediaToText(messages []session.Message) int {
	return rewrite(messages, func(p session.Part) (session.Part, int) {
		media := 0
		if p.IsMedia() {
			p, media = asText(p), 1
		}
		if p.State != nil {
			for _, a := range p.State.Attachments {
				if a.IsMedia() {
					media++
				}
			}
			if media > 0 {
				p.State = withoutMedia(p.State)
			}
		}
		return p, media
	})
}

// asText replaces a file that cannot be sent.
func asText(p session.Part) session.Part {
	name := p.Filename
	if name == "" {
		name = "file"
	}
	return session.Part{
		ID: p.ID, SessionID: p.SessionID, MessageID: p.MessageID, Type: session.TextPart, Synthetic: true,
		Text: fmt.Sprintf("[Attached %s: %s]", p.Mime, name),
	}
}

func withoutMedia(s *session.ToolState) *session.ToolState {
	state := *s
	state.Attachments = nil
	for _, a := range s.Attachments {
		if a.IsMedia() {
			text := "\n" + asText(a).Text
			if state.Status == session.Failed {
				state.Error += text
			} else {
				state.Output += text
			}
		} else {
			state.Attachments = append(state.Attachments, a)
		}
	}
	return &state
}

func cutOutputs(messages []session.Message) int {
	return rewrite(messages, func(p session.Part) (session.Part, int) {
		s := p.State
		if s == nil || len(s.Output) <= cutOutput && len(s.Error) <= cutOutput {
			return p, 0
		}
		state := *s
		state.Output, state.Error = cutText(s.Output, cutOutput), cutText(s.Error, cutOutput)
		p.State = &state
		return p, 1
	})
}

// cutText keeps the first size bytes of a text, ending at a whole character, and says that it was
// cut.
func cutText(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return call.Beginning(text, size) + "\n[truncated]"
}

// cutTo keeps about the first tokens of a text. It measures no more than it must: text cut into a
// thousand pieces is not measured a thousand times.
func cutTo(text string, tokens int, facts *rule.Facts) string {
	for size := 8*max(0, tokens) + 64; size < len(text); size *= 2 {
		if head := call.Beginning(text, size); facts.Count(head) > tokens {
			text = head
			break
		}
	}
	for total := facts.Count(text); total > tokens && text != ""; total = facts.Count(text) {
		size := len(text) * tokens / total * 9 / 10
		if size < 16 {
			return ""
		}
		text = call.Beginning(text, size)
	}
	return text
}

// dropOldest drops whole exchanges from the beginning until the rest fits; the newest always stays.
// An exchange is a turn or, inside the last turn, an assistant message.
func dropOldest(r *Request, room int, facts *rule.Facts) int {
	total := 0
	for i := range r.Messages {
		total += messageTokens(&r.Messages[i], facts)
	}
	const note = 24 // tokens of the note that takes their place
	dropped, at := 0, 0
	for total+note > room {
		next := nextExchange(r.Messages, at)
		if next >= len(r.Messages) {
			break
		}
		for ; at < next; at++ {
			total -= messageTokens(&r.Messages[at], facts)
		}
		dropped++
	}
	if dropped == 0 {
		return 0
	}
	first := r.Messages[at]
	told := session.Message{
		MessageInfo: session.MessageInfo{ID: first.ID + "-omitted", SessionID: first.SessionID, Role: session.User},
		Parts: []session.Part{{Type: session.TextPart, Synthetic: true,
			Text: fmt.Sprintf("[%d older exchanges omitted]", dropped)}},
	}
	r.Messages = append([]session.Message{told}, r.Messages[at:]...)
	return dropped
}

func nextExchange(messages []session.Message, at int) int {
	for i := at + 1; i < len(messages); i++ {
		if messages[i].Written() {
			return i
		}
	}
	return min(at+1, len(messages)) // the last turn: step by step
}

// Split cuts a request into pieces that fit, without dropping anything. It is used when a piece
// turned out to be too long.
func Split(r Request, limit int, facts *rule.Facts) (requests []Request, ok bool) {
	if limit <= 0 || r.Tokens(facts) <= limit {
		return []Request{r}, true
	}
	return chunks(r, limit, facts)
}

// chunks splits the messages into pieces that fit. A message that is too long by itself is cut into
// several.
func chunks(r Request, limit int, facts *rule.Facts) ([]Request, bool) {
	// Each request but the first has the answer before it as its previous summary, of Budget tokens
	// at the most.
	r.Budget = min(r.Budget, limit/4)
	room := limit - r.fixed(facts) + facts.Count(r.Previous) - max(facts.Count(r.Previous), r.Budget)
	if room < limit/8 {
		return nil, false
	}
	var pieces []session.Message
	for i := range r.Messages {
		pieces = append(pieces, splitMessage(r.Messages[i], room, facts)...)
	}
	var requests []Request
	next, size := r, 0
	next.Messages = nil
	flush := func() {
		if len(next.Messages) > 0 {
			requests = append(requests, next)
		}
		next.Messages, size = nil, 0
		next.Previous = ""
	}
	for i := range pieces {
		n := messageTokens(&pieces[i], facts)
		if size+n > room {
			flush()
		}
		next.Messages = append(next.Messages, pieces[i])
		size += n
	}
	flush()
	for i := range requests {
		if len(requests) > 1 {
			requests[i].Notes = append(slices.Clone(r.Notes),
				fmt.Sprintf("it was summarised in %d pieces", len(requests)))
		}
		if requests[i].Tokens(facts) > limit {
			return nil, false
		}
	}
	return requests, len(requests) > 0
}

// splitMessage cuts a message that is larger than room into smaller messages of plain text.
func splitMessage(m session.Message, room int, facts *rule.Facts) []session.Message {
	if messageTokens(&m, facts) <= room {
		return []session.Message{m}
	}
	text := Transcript([]session.Message{m})
	var pieces []session.Message
	for text != "" {
		piece := cutTo(text, max(1, room-2*framing), facts)
		if piece == "" {
			_, size := utf8.DecodeRuneInString(text)
			piece = text[:size]
		}
		text = text[len(piece):]
		info := m.MessageInfo
		info.Role = session.User
		pieces = append(pieces, session.Message{MessageInfo: info,
			Parts: []session.Part{{Type: session.TextPart, Synthetic: true, Text: piece}}})
	}
	return pieces
}
