package siege

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/jackc/pgx/v5"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/tworuns"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// canaries are the words by which it is told whose a text is: canary-TENANT-CLIENT-….
var canaries = regexp.MustCompile(`canary-t[0-9]+x[0-9]+-[0-9]+-`)

const (
	askHeader  = "X-Test-Ask"  // numbers the attempts of a client
	gateHeader = "X-Test-Gate" // the gateway that is asked, as HAProxy names its servers
	lifeHeader = "X-Test-Life" // how often each gateway was killed before, by commas
)

// hostile is a client that does to its history what clients do, and a provider of its own, at which
// it is held against what was sent before.
type hostile struct {
	*visitor
	team     *team
	dice     *rand.Rand
	number   int
	up       string // the name of its upstream
	tenant   string // with which it stays
	token    string // of the tenant
	key      string // for its provider
	word     string // a canary, in all that it and its provider say
	provider *llmtest.Server
	made     int  // messages
	held     int  // conversations
	stopped  bool // by the budget of the tenant

	since    int64 // the conversation's rows in the store come behind this number
	attempts int

	mu       sync.Mutex
	said     map[string]session.Message // what the model says, by the header of a request
	history  []session.Message          // the client's, as of the newest request
	body     []byte                     // as the client has sent it
	loose    bool                       // what arrives may come in any order
	prefixes                            // of what arrives, by gateway and life
	newest   int                        // attempt that has arrived
	asked    []byte                     // by the client, when it did
	sent     []byte                     // by the gateway
	asof     map[int][]string           // decisions there were when an attempt began, nil if the database was away
	trace    []string                   // of the newest requests that arrived
	leaves   context.CancelFunc         // ends the client's request when it arrives, if it is not nil
}

// besieger is a hostile client.
func besieger(m *team, number int) *hostile {
	h := &hostile{team: m, number: number, up: fmt.Sprintf("up%d", number),
		dice: rand.New(rand.NewPCG(*first, uint64(number)))}
	protocols := llmtest.Protocols()
	h.visitor = visit(m.t, protocols[number%len(protocols)], true, 1, 0)
	terms := tworuns.Terms()
	terms.Answer = h.answer
	h.provider = llmtest.Start(m.t, terms)
	return h
}

// converse has one conversation. It is false if that cannot be gone on with.
func (h *hostile) converse() bool {
	h.mu.Lock()
	h.tenant = tenantOf(h.number, min(h.held/perStay, h.team.stays-1))
	h.word = fmt.Sprintf("canary-%s-%d-", h.tenant, h.number)
	h.token, h.key = h.team.tokens[h.tenant], "sk-"+h.word+"key"
	h.held++
	h.said, h.asof = map[string]session.Message{}, map[int][]string{}
	h.history, h.asked = nil, nil
	h.prefixes = prefixes{anew: true, showed: map[string]map[[sha256.Size]byte]bool{}}
	h.mu.Unlock()
	h.session, h.stopped = "", false
	if h.number%perTenant != perTenant-1 {
		h.session = fmt.Sprintf("s%d-%d", h.number, h.made)
	}
	err := h.team.row(h.team.t.Context(), `SELECT COALESCE(max(num), 0) FROM session WHERE tenant = $1`,
		h.tenant).Scan(&h.since)
	if err != nil {
		h.team.wrong("unreadable", "the store of %s: %v", h.tenant, err)
		return false
	}
	h.log = []session.Message{h.user("Add logging to the server.")}
	h.team.add("conversations", 1)
	for range 30 + h.dice.IntN(40) {
		if !h.team.goesOn() {
			break
		}
		ok := true
		switch n := h.dice.IntN(20); {
		case n == 0:
			h.rewind()
		case n == 1:
			h.edit()
		case n == 2:
			ok = h.beside()
		default:
			ok = h.step()
		}
		if h.stopped { // it goes to the next tenant
			h.held = (h.held-1)/perStay*perStay + perStay
			break
		}
		if !ok {
			return false
		}
	}
	for _, problem := range h.provider.Problems() {
		h.team.wrong("refused", "the provider would refuse: %s", problem)
	}
	h.settle()
	h.team.billed(h.tenant, h.provider.Records())
	h.provider.Forget()
	return true
}

// user says something.
func (h *hostile) user(text string) session.Message {
	h.made++
	said := fmt.Sprintf("%s %s%d", text, h.word, h.made)
	m := session.Message{Parts: []session.Part{{Type: session.TextPart, Text: said}}}
	m.ID, m.Role = fmt.Sprintf("u%d", h.made), session.User
	return m
}

// next is what the model says next: mostly calls, whose results are long, and often of the same
// file; sometimes the end of a turn.
func (h *hostile) next() session.Message {
	h.made++
	m := session.Message{}
	m.ID, m.Role = fmt.Sprintf("a%d", h.made), session.Assistant
	say := func(text string) {
		m.Parts = append(m.Parts, session.Part{Type: session.TextPart, Text: fmt.Sprintf("%s %s%d.", text, h.word, h.made)})
	}
	if h.dice.IntN(3) == 0 {
		say("Next")
	}
	if h.dice.IntN(8) == 0 {
		say("Done")
		return m
	}
	for i := range 1 + h.dice.IntN(2) {
		id := fmt.Sprintf("%s%d-%d", h.word, h.made, i)
		file := h.dice.IntN(6)
		m.Parts = append(m.Parts, session.Part{
			ID: id, Type: session.ToolPart, CallID: id, Tool: "read",
			State: &session.ToolState{
				Status: session.Completed, Input: jsontext.Value(fmt.Sprintf(`{"file_path":"/src/f%d.go"}`, file)),
				Output: strings.Repeat(fmt.Sprintf("line of file %d of %s\n", file, h.word), 5+h.dice.IntN(50)),
			},
		})
	}
	return m
}

// calls reports whether a message has calls.
func calls(m *session.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p session.Part) bool { return p.Type == session.ToolPart })
}

// rewind takes the history back to some point before an answer.
func (h *hostile) rewind() {
	for at := len(h.log) - 1 - h.dice.IntN(min(10, len(h.log))); at > 1; at-- {
		if h.log[at].Role == session.Assistant {
			h.log = slices.Clone(h.log[:at])
			h.other()
			return
		}
	}
}

// edit changes what the user said some time ago.
func (h *hostile) edit() {
	for at := len(h.log) - 1; at > 0; at-- {
		if h.log[at].Role == session.User && h.dice.IntN(2) == 0 {
			h.log = slices.Clone(h.log)
			h.log[at] = h.user("I meant something else.")
			h.other()
			return
		}
	}
}

// other notes that the history is another one.
func (h *hostile) other() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.anew = true
	clear(h.showed)
}

// beside sends requests that are not of the conversation: for a title, and of a sub-agent.
func (h *hostile) beside() bool {
	title := []session.Message{h.log[0]}
	agent := []session.Message{h.user("You look for things.")}
	for i, history := range [][]session.Message{title, agent} {
		v := *h.visitor
		v.log = history
		body := v.body(1)
		ok := h.patiently(func(ctx context.Context) heard {
			return h.ask(ctx, body, "beside", func(r *http.Request) {
				if i == 1 {
					r.Header.Set("X-Claude-Code-Agent-Id", "a1")
				}
			})
		})
		if !ok {
			return false
		}
	}
	return true
}

// step asks for the next answer; the client has it then.
func (h *hostile) step() bool {
	last := &h.log[len(h.log)-1]
	if last.Role == session.Assistant && (!calls(last) || h.dice.IntN(8) == 0) {
		h.log = append(h.log, h.user("Go on."))
	}
	m := h.next()
	body := h.visitor.body(len(h.log))
	h.mu.Lock()
	h.said[m.ID], h.history, h.body = m, h.log, body
	h.mu.Unlock()
	switch h.dice.IntN(16) {
	case 0: // it leaves when its request has arrived
		ctx, leave := context.WithCancel(h.team.t.Context())
		h.mu.Lock()
		h.leaves = leave
		h.mu.Unlock()
		h.ask(ctx, body, m.ID, nil)
		leave()
		h.mu.Lock()
		h.leaves = nil
		h.mu.Unlock()
		h.team.add("clients that left", 1)
		h.settle()
	case 1: // two ask the same at one moment
		h.mu.Lock()
		h.loose = true
		h.mu.Unlock()
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if a := h.ask(h.team.t.Context(), body, m.ID, nil); a.status == 0 && a.err == nil {
					h.team.add("found no gateway", 1)
				}
			})
		}
		both.Wait()
		h.settle()
		h.mu.Lock()
		h.loose = false
		h.mu.Unlock()
		h.team.add("pairs of the same request at one moment", 1)
	case 2: // the answer is lost, and asked for again
		h.ask(h.team.t.Context(), body, m.ID, nil)
	}
	if !h.patiently(func(ctx context.Context) heard { return h.ask(ctx, body, m.ID, nil) }) {
		return false
	}
	h.log = append(h.log, m)
	return true
}

// settle waits until the provider is done with what was asked.
func (h *hostile) settle() {
	ctx, stop := context.WithTimeout(h.team.t.Context(), within)
	defer stop()
	if _, err := h.provider.Settled(ctx); err != nil {
		h.team.wrong("unfinished", "the provider of client %d: %v", h.number, err)
	}
}

// patiently asks until there is an answer, as clients do.
func (h *hostile) patiently(ask func(context.Context) heard) bool {
	ctx, stop := context.WithTimeout(h.team.t.Context(), within)
	defer stop()
	pause := 5 * time.Millisecond
	for {
		a := ask(ctx)
		if a.status == 200 && a.err == nil {
			return true
		}
		if a.status == http.StatusPaymentRequired {
			h.stopped = true
			return false
		}
		h.settle()
		select {
		case <-ctx.Done():
			h.team.wrong("unanswered", "client %d: the last answer is %d %.500s, %v", h.number, a.status, a.body, a.err)
			return false
		case <-time.After(pause): // a client waits before it asks again
			pause = min(2*pause, time.Second)
		}
	}
}

// ask asks through HAProxy, or the gateway whose turn it is, or if that takes no connection the next
// one, as a round-robin does, and holds what it hears to what a client understands.
func (h *hostile) ask(ctx context.Context, body []byte, step string, set func(*http.Request)) (a heard) {
	m := h.team
	for range m.gates {
		name, address := "", m.front
		if address == "" {
			at := int(m.turn.Add(1)) % len(m.gates)
			name, address = gateName(at), m.gates[at].address
		}
		before, away := m.lives(), m.away()
		number := h.attempt(ctx, step)
		r := must(http.NewRequestWithContext(ctx, "POST", "http://"+address+"/"+h.up+h.path(), bytes.NewReader(body)))
		r.Header = http.Header{
			"Content-Type": {"application/json"}, "X-Api-Key": {h.key}, "Authorization": {"Bearer " + h.key},
			"X-Goog-Api-Key": {h.key}, "Anthropic-Version": {"2023-06-01"}, "X-Winnow-Token": {h.token},
			stepHeader: {step}, askHeader: {strconv.Itoa(number)}, gateHeader: {name}, lifeHeader: {before},
		}
		if h.session != "" {
			// By the one HAProxy keeps a session at one gateway, by the other it does not.
			r.Header.Set([]string{"X-Session-Id", "X-Session-Affinity"}[h.number%2], h.session)
		}
		if set != nil {
			set(r)
		}
		a = h.hear(r)
		if errors.Is(a.err, syscall.ECONNREFUSED) {
			m.add("turned to the next gateway", 1)
			continue
		}
		m.add("requests", 1)
		left := ctx.Err() != nil
		switch {
		case left:
		case a.status == 0 || a.status == 200 && a.err != nil || m.front != "" && bytes.HasPrefix(a.body, []byte("<html>")):
			m.add("answers that broke off with their gateway", 1)
			if m.lives() == before && !away {
				m.wrong("errors without a cause", "client %d: %d %.300s, %v, and no gateway was killed", h.number, a.status,
					a.body, a.err)
			}
		case a.status != 200:
			kind := understood(h.protocol, a.body)
			m.add(fmt.Sprintf("answers %d %s", a.status, kind), 1)
			if kind == "" || a.err != nil {
				m.wrong("errors that no client understands", "client %d: %d %.500s, %v", h.number, a.status, a.body, a.err)
			}
		case !whole(h.protocol, a.body):
			m.wrong("answers cut short", "client %d: %q", h.number, a.body[max(0, len(a.body)-300):])
		case step != "beside" && !bytes.Contains(a.body, []byte(h.word)):
			m.wrong("leaks", "client %d: its answer is not its own: %.500s", h.number, a.body)
		}
		h.own(a.body, "an answer")
		return a
	}
	return heard{}
}

// gateName is HAProxy's name for a gateway.
func gateName(at int) string { return fmt.Sprint("winnow-", at+1) }

// came is the gateway through which a request came, and how often that was killed when the client
// asked.
func came(q *llmtest.Request) (gate int, life string) {
	gate = must(strconv.Atoi(strings.TrimPrefix(q.Header.Get(gateHeader), "winnow-"))) - 1
	return gate, strings.Split(q.Header.Get(lifeHeader), ",")[gate]
}

// attempt is the number of another attempt to ask, at the beginning of which it is noted what was
// decided by then. It does not wait for the database.
func (h *hostile) attempt(ctx context.Context, step string) int {
	var d standing
	if step != "beside" {
		var err error
		if d, err = h.decided(ctx, h.team.books.QueryRow); err != nil {
			d.receipts = nil
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.attempts++
	h.asof[h.attempts] = d.receipts
	return h.attempts
}

// own fails the test if a text has words of another client.
func (h *hostile) own(text []byte, what string) {
	for _, word := range canaries.FindAll(text, -1) {
		if string(word) != h.word {
			h.team.wrong("leaks", "%s of client %s has %s", what, h.word, word)
		}
	}
}

// understood is the kind of an error in the words of a protocol, "" if a client understands none.
func understood(p llmtest.Protocol, body []byte) string {
	var e struct {
		Type  string `json:"type"`
		Error struct {
			Type    string         `json:"type"`
			Message string         `json:"message"`
			Status  string         `json:"status"`
			Code    jsontext.Value `json:"code"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &e) != nil || e.Error.Message == "" {
		return ""
	}
	switch p {
	case llmtest.Anthropic:
		if e.Type != "error" {
			return ""
		}
	case llmtest.Gemini:
		if e.Error.Code.Kind() != '0' {
			return ""
		}
		return e.Error.Status
	}
	return e.Error.Type
}

// whole reports whether an answer has come to its end.
func whole(p llmtest.Protocol, body []byte) bool {
	return bytes.Contains(body, []byte(map[llmtest.Protocol]string{
		llmtest.Anthropic: "message_stop", llmtest.Chat: "data: [DONE]", llmtest.Responses: "response.completed",
		llmtest.Gemini: "finishReason",
	}[p]))
}

// answer is what the provider says, when it has looked at the request.
func (h *hostile) answer(q llmtest.Request) (r llmtest.Reply) {
	m := h.team
	m.add("requests that arrived", 1)
	h.own(q.Body, "a request")
	if q.Header.Get("X-Api-Key") != h.key || q.Header.Get("X-Winnow-Token") != "" {
		m.wrong("leaks", "a request of client %d arrives with the key %q", h.number, q.Header.Get("X-Api-Key"))
	}
	if trap := m.trap.Swap(nil); trap != nil {
		gate, _ := came(&q)
		(*trap)(gate)
	}
	h.mu.Lock()
	message, ok := h.said[q.Header.Get(stepHeader)]
	leaves := h.leaves
	h.mu.Unlock()
	if !ok {
		return llmtest.Reply{Text: "ok"}
	}
	h.arrived(&q)
	r = llmtest.Said(&message)
	r.Pieces = 1 // so that words are whole
	if h.number%2 == 0 {
		r.Delay = 200 * time.Microsecond
	}
	if leaves != nil {
		r.Hold = make(chan struct{})
		leaves()
	}
	return r
}

// arrived holds a request against the one before it.
func (h *hostile) arrived(q *llmtest.Request) {
	m := h.team
	d, err := h.decided(m.t.Context(), m.row)
	if err != nil {
		m.wrong("unreadable", "the store of %s: %v", h.tenant, err)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, receipt := range h.known {
		if !slices.Contains(d.receipts, receipt) {
			m.wrong("lost decisions", "of client %d: %s is not in the store any more: %s", h.number, receipt, d.receipts)
		}
	}
	out := h.placed(q, d)
	number := must(strconv.Atoi(q.Header.Get(askHeader)))
	if h.loose || number < h.newest {
		return
	}
	now := make(hashes, len(q.Messages))
	for i := range q.Messages {
		now[i] = sha256.Sum256([]byte(said(&q.Messages[i])))
	}
	since := time.Since(time.Unix(0, m.struck.Load()))
	again := !h.anew && len(d.receipts) == len(h.known) && bytes.Equal(h.asked, h.body)
	anew, before := h.anew, h.before
	gate, life := came(q)
	at, v := h.follow(now, fmt.Sprint(gate, " ", life), d.receipts, out, since < away)
	h.trace = append(h.trace[max(0, len(h.trace)-9):], fmt.Sprintf(
		"%s attempt %d at gateway %s: %d decisions, %d when it was asked, %d messages, another one from %d on, as it came: %t, another history: %t",
		time.Now().Format("05.000"), number, q.Header.Get(gateHeader), len(d.receipts), len(h.asof[number]), len(now), at,
		bytes.Equal(q.Body, h.body), anew))
	switch v {
	case lacks:
		m.add("requests without what others had decided while the database was away", 1)
		m.latest(since)
		return
	case diverges:
		told := fmt.Sprintf("client %d: message %d of %d is another one, and nothing was decided\n%s\n%s\n%s after a fault",
			h.number, at, len(now), around(h.sent, q.Body), strings.Join(h.trace, "\n"), since)
		m.reports.Go(func() {
			time.Sleep(time.Second) // the gateways have logged the request then
			m.wrong("diverging prefixes", "%s\n%s", told, h.kept(m.t.Context()))
		})
	}
	if again && differ(before, now) < 0 {
		m.add("asked again to the byte", 1)
		if !bytes.Equal(h.sent, q.Body) {
			m.wrong("diverging bytes", "client %d: asked again it is another request, %s\n%s", h.number, around(h.sent, q.Body),
				strings.Join(h.trace, "\n"))
		}
	}
	h.newest, h.asked, h.sent = number, h.body, slices.Clone(q.Body)
}

// kept is the conversation as the store has it, a session a line, and the gateways' log of these
// sessions.
func (h *hostile) kept(ctx context.Context) string {
	rows, err := h.team.books.Query(ctx, `SELECT convert_from(id, 'UTF8'), num, messages, to_timestamp(updated / 1000)::text, left(convert_from(info, 'UTF8'), 400),
			ARRAY(SELECT convert_from(part, 'UTF8') FROM elision e WHERE e.tenant = s.tenant AND e.session = s.num)::text
		FROM session s WHERE tenant = $1 AND num > $2 ORDER BY num`, h.tenant, h.since)
	if err != nil {
		return err.Error()
	}
	type kept struct {
		ID                   string
		Num, Messages        int64
		Updated, Info, Parts string
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[kept])
	if err != nil {
		return err.Error()
	}
	var lines []string
	for _, s := range all {
		lines = append(lines, fmt.Sprintf("%s (%d): %d messages, %s, without %s: %s", s.ID, s.Num, s.Messages, s.Updated, s.Parts, s.Info))
	}
	for i, g := range h.team.gates {
		var about []string
		for line := range strings.Lines(g.log.String()) {
			if strings.Contains(line, "upstream="+h.up+" ") || slices.ContainsFunc(all, func(s kept) bool { return strings.Contains(line, s.ID) }) {
				about = append(about, strings.TrimSpace(line))
			}
		}
		lines = append(lines, fmt.Sprintf("%s:", gateName(i)))
		lines = append(lines, about[max(0, len(about)-60):]...)
	}
	return strings.Join(lines, "\n")
}

// placed looks for each result that is not as the client has it in the store, and counts them.
func (h *hostile) placed(q *llmtest.Request, d standing) (n int) {
	outputs := map[string]string{}
	for i := range h.history {
		for _, p := range h.history[i].Parts {
			if p.State != nil {
				outputs[p.CallID] = p.State.Output
			}
		}
	}
	for i := range q.Messages {
		for _, p := range q.Messages[i].Parts {
			if p.State == nil || outputs[p.CallID] == "" || p.State.Output == outputs[p.CallID] {
				continue
			}
			n++
			if !d.shown[p.State.Output] {
				h.team.wrong("decisions that are not in the store", "client %d: %q arrives in the place of %s",
					h.number, p.State.Output, p.CallID)
			}
		}
	}
	h.team.add("placeholders that arrived", n)
	return n
}

// decided is what the store has of this conversation.
func (h *hostile) decided(ctx context.Context, query func(context.Context, string, ...any) pgx.Row) (
	d standing, err error) {
	mine, word := `position($3 in info) > 0`, []byte(`"session":"`+h.session+`"`)
	if h.session == "" {
		mine, word = `position($3 in info) = 0`, []byte(`"session":"s`)
	}
	var elisions [][]byte
	asked := time.Now()
	defer func() {
		if ctx.Err() == nil && (err != nil || time.Since(asked) > slow) {
			h.team.struck.Store(time.Now().UnixNano())
		}
	}()
	err = query(ctx, `WITH s AS MATERIALIZED (SELECT num FROM session WHERE tenant = $1 AND num > $2 AND `+mine+`)
		SELECT ARRAY(SELECT r.session || '.' || r.revision || '.' || r.ordinal
				FROM receipt r JOIN s ON r.session = s.num WHERE r.tenant = $1),
			ARRAY(SELECT e.data FROM elision e JOIN s ON e.session = s.num WHERE e.tenant = $1)`,
		h.tenant, h.since, word).Scan(&d.receipts, &elisions)
	if err != nil {
		return d, err
	}
	d.shown = map[string]bool{}
	for _, data := range elisions {
		var e rule.Elision
		if err := json.Unmarshal(data, &e); err != nil {
			return d, fmt.Errorf("%q: %w", data, err)
		}
		d.shown[e.Shown] = true
	}
	return d, nil
}
