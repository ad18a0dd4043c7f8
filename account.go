package winnow

import (
	"cmp"
	"slices"
	"time"

	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/schedule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
)

// meter counts what the requests of a session took, as its log grows. What was decided before the
// session was at hand is found in what is stored.
type meter struct {
	account schedule.Account // Steps, Colds, SinceCommit and Bill
	upTo    int              // how many messages of the log are counted
	step    int              // position of the newest step among them
	sent    int              // tokens of the messages that were sent with it and stand as they were
	newest  float64          // what it added to the bill
	// when the provider was last at work; what happened beside one another may stand in another
	// order than that of its times
	last session.Millis

	// What the messages so far take: all of them, and, to estimate a step without a report, those
	// that it was sent and those of them that the step before it was sent.
	total, prompt, cached int
	had                   int // what the next step's will be
}

// isStep reports whether a message is a request of the session and its answer.
func isStep(m *session.Message) bool { return m.Role == session.Assistant && !m.IsSummary() }

// called reports whether a message calls tools that have given back what they had to, so that the
// loop goes on with it. Where that is still to come, what pays is left to the next Begin: a call
// that has not ended may quote what nothing else has quoted for long.
func called(m *session.Message) bool {
	n := 0
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Type == session.ToolPart {
			if n++; p.State == nil || !p.State.Final() {
				return false
			}
		}
	}
	return n > 0
}

// overhead is what system prompt and tools take: what the first step reported beyond the messages
// that it was sent, in tokens. 0 when no step of the log has a report. A first step stays the
// first, so that it is looked for once.
func (l *live) overhead() int {
	if l.fixed.tokens > 0 {
		return l.fixed.tokens
	}
	for l.fixed.upTo < len(l.log) {
		m := &l.log[l.fixed.upTo]
		if m.Role == session.Assistant && m.Tokens != nil && m.Tokens.Prompt() > 0 && !m.IsSummary() {
			l.fixed.tokens = max(0, m.Tokens.Prompt()-l.fixed.before)
			break
		}
		if m.Marker() == nil {
			l.fixed.before += view.Message(m, rule.Ledger{}, l.facts)
		}
		l.fixed.upTo++
	}
	return l.fixed.tokens
}

// account is what a schedule must know of the requests so far. Its Before holds until the session
// changes.
func (l *live) account() schedule.Account {
	l.read()
	now := l.look()
	a := l.meter.account
	a.Sent, a.Base, a.Size = min(l.meter.sent, now.Tokens()), l.overhead(), now.Tokens()
	a.Left, a.Missed, a.Back = l.state.Ledger.Len(), len(l.state.Info.Missed), 0
	for _, missed := range l.state.Info.Missed {
		a.Back += missed.Tokens
	}
	a.Before = func(el rule.Elision) int {
		if at, ok := now.Before(el, l.state.Ledger, l.facts); ok {
			return at
		}
		return a.Size // it is not sent anyway
	}
	return a
}

// read counts the messages that came in since. The view must be the one that the newest step was
// sent, so whatever changes the view reads first.
func (l *live) read() {
	m := &l.meter
	var made commits
	first := m.upTo == 0
	if first {
		*m = meter{step: -1}
		made = l.commits()
	}
	if m.step >= 0 && m.step < len(l.log) { // it may have been reported meanwhile
		m.account.Bill -= m.newest
		m.newest = l.bill(&l.log[m.step])
		m.account.Bill += m.newest
		m.worked(&l.log[m.step])
	}
	now := l.look()
	for i := m.upTo; i < len(l.log); i++ {
		msg := &l.log[i]
		size := view.Message(msg, rule.Ledger{}, l.facts)
		switch {
		case msg.Completes() && !l.state.Undone[msg.ParentID]:
			m.account.Folded()
			m.sent, m.total, m.had = 0, 0, 0
		case isStep(msg):
			made.before(i, msg, &m.account)
			if life := l.model.CacheLifetime(); m.step >= 0 && life > 0 && m.last > 0 && pause(m.last, msg) > life &&
				pause(l.kept(msg.Time.Created), msg) > life {
				m.account.Colds++
			}
			m.account.Steps++
			m.account.SinceCommit++
			m.account.SincePivot++
			m.account.Carried += l.carried(msg, now.TokensBefore(i))
			m.prompt, m.cached, m.had = m.total, m.had, m.total
			m.newest = l.bill(msg)
			m.account.Bill += m.newest
			m.worked(msg)
			m.step, m.sent = i, max(0, now.TokensBefore(i))
		}
		m.total += size
	}
	m.upTo = len(l.log)
	if !first {
		return
	}
	made.before(len(l.log), nil, &m.account)
	if m.step < 0 {
		return
	}
	for _, el := range l.state.Ledger.All() {
		if c := made.of[el.Time]; el.Time != 0 && !c.before(m.step, &l.log[m.step]) {
			if at, ok := now.Before(el, l.state.Ledger, l.facts); ok {
				m.sent = min(m.sent, at)
			}
		}
	}
}

// pause is how long a request came after the provider was last at work.
func pause(last session.Millis, step *session.Message) time.Duration {
	return time.Duration(step.Time.Created-last) * time.Millisecond
}

func (m *meter) worked(step *session.Message) {
	m.last = max(m.last, step.Time.Created, step.Time.Completed)
}

// commits are the commits that still stand. What was committed with a pivot counts with the pivot.
type commits struct {
	// not yet passed: those of receipts, in their order, and those that came without, in the order
	// of their times
	waiting [2][]commitment
	of      map[session.Millis]commitment
}

type commitment struct {
	log  int // messages that the log had; 0: not known
	time session.Millis
}

func (l *live) commits() commits {
	c := commits{of: map[session.Millis]commitment{}}
	for i := range l.state.Receipts {
		r := &l.state.Receipts[i]
		made := commitment{r.Log, r.Time}
		c.of[r.Time] = made
		if len(r.Committed) > 0 && r.Marker == "" && r.Trigger != pivot.FirstSend {
			c.waiting[0] = append(c.waiting[0], made)
		}
	}
	for _, el := range l.state.Ledger.All() {
		if _, known := c.of[el.Time]; !known && el.Time != 0 {
			c.of[el.Time] = commitment{time: el.Time}
			c.waiting[1] = append(c.waiting[1], c.of[el.Time])
		}
	}
	slices.SortStableFunc(c.waiting[1], func(a, b commitment) int { return cmp.Compare(a.time, b.time) })
	return c
}

// before counts the commits that were made before a step was asked for; all of them if step is nil.
func (c *commits) before(position int, step *session.Message, account *schedule.Account) {
	for i := range c.waiting {
		for w := &c.waiting[i]; len(*w) > 0 && (step == nil || (*w)[0].before(position, step)); *w = (*w)[1:] {
			account.Committed()
		}
	}
}

// before reports whether a commit was made before a step was asked for. Where only the clock can
// tell, a message that says when it was complete was created when it was asked for, and any other
// when it came in.
func (c commitment) before(position int, step *session.Message) bool {
	if c.log > 0 {
		return c.log <= position
	}
	return c.time < step.Time.Created || c.time == step.Time.Created && step.Time.Completed > step.Time.Created
}

// carried is what the messages took that a step was sent: as reported, or as they are shown now.
func (l *live) carried(m *session.Message, shown int) int {
	if u := m.Tokens; u != nil && u.Prompt() > 0 {
		return max(0, u.Prompt()-l.overhead())
	}
	return max(0, shown)
}

// bill is what a step cost, in tokens at the input price: as reported, or else by its messages
// alone, those that the request before it had read from the cache.
func (l *live) bill(m *session.Message) float64 {
	if u := m.Tokens; u != nil && u.Prompt()+u.Output > 0 {
		read, write, output := l.model.Terms(u.Prompt())
		return float64(u.Input) + float64(u.Cache.Read)*read + float64(u.Cache.Write)*write +
			float64(u.Output+u.Reasoning)*output
	}
	if price := l.model.Price.Input; m.Cost != nil && *m.Cost > 0 && price > 0 {
		return *m.Cost * 1e6 / price
	}
	read, write, output := l.model.Terms(l.meter.prompt)
	return float64(l.meter.cached)*read + float64(l.meter.prompt-l.meter.cached)*write + float64(view.Message(m,
		rule.Ledger{}, l.facts))*output
}

// rewrite is what a change does to what the provider's cache has: how many tokens of the messages
// before the first place that it changes stay as they were, and how many behind it are written
// again.
type rewrite struct{ stays, rewritten int }

// rewrites tells what a change of the ledger or the pivots does.
func (l *live) rewrites(c store.Change) rewrite {
	l.read()
	if len(c.Undo)+len(c.Redo) > 0 {
		return rewrite{0, l.meter.sent}
	}
	now, had := l.look(), l.meter.sent
	stays, saves := had, 0
	note := func(el rule.Elision) bool {
		at, ok := now.Before(el, l.state.Ledger, l.facts)
		if !ok || at >= had {
			return false
		}
		stays = min(stays, at)
		return true
	}
	standing, replaced := map[rule.Key]bool{}, map[rule.Key]bool{}
	for _, key := range c.Restore {
		standing[key] = true
	}
	for _, el := range c.Commit {
		replaced[el.Key()] = standing[el.Key()]
		if (!l.state.Ledger.Has(el.Key()) || standing[el.Key()]) && note(el) {
			saves += el.Saves
		}
	}
	if len(standing) > 0 {
		for _, el := range l.state.Ledger.All() {
			if standing[el.Key()] && note(el) && replaced[el.Key()] {
				saves -= el.Saves // what was shown in its place is not shown any more, either
			}
		}
	}
	return rewrite{stays, max(0, had-stays-saves)}
}

// rewrote notes that a change was made. A pivot is noted when its summary is read.
func (l *live) rewrote(c store.Change, done rewrite) {
	l.meter.sent = min(l.meter.sent, done.stays)
	r := c.Receipt
	if pruned := len(c.Commit) > 0 && (r == nil || r.Marker == "" && r.Trigger != pivot.FirstSend); pruned {
		l.meter.account.Committed()
	}
}

// updated notes that a message of the log was replaced.
func (l *live) updated(position int) {
	if position < l.fixed.upTo {
		l.fixed.upTo, l.fixed.before = 0, 0
	}
	if position < l.meter.step {
		if at := l.view.TokensBefore(position); at >= 0 {
			l.meter.sent = min(l.meter.sent, at)
		}
	}
}

// idle is how long the session waited since its newest step, 0 when the log does not say.
func (e *Engine) idle(l *live) time.Duration {
	l.read()
	if l.meter.last <= 0 {
		return 0
	}
	now := e.config.Now()
	last := max(l.meter.last, l.kept(session.Millis(now.UnixMilli())))
	return max(0, now.Sub(time.UnixMilli(int64(last))))
}

// cached reports whether the provider's cache can have anything of the prompt that is sent next:
// there is a cache, there was a request, by the model that answers the next one, and it is not
// longer ago than the cache lives.
func (e *Engine) cached(l *live) bool {
	l.read()
	at := l.meter.step
	if at < 0 || l.model.CacheLifetime() <= 0 || e.idle(l) > l.model.CacheLifetime() {
		return false
	}
	by := l.log[at].Answers()
	return e.config.ForceModel || by == nil || by.String() == "" ||
		e.models.Lookup(by.String()).String() == l.model.String()
}

// warnOfCut says once that the server seems to cut what it is sent.
func (e *Engine) warnOfCut(l *live) {
	if cut, ok := l.sent.watch.Cut(); ok && !l.sent.warned {
		l.sent.warned = true
		e.emit(l.id, Event{Type: BudgetWarning, Text: cut.Explain(l.model), Code: budget.CodeCut})
	}
}

// learn calibrates the counter by the difference between two reports: what the prompt grew by,
// against what the messages between were estimated at. System prompt and tools are in both and
// cancel out; what is too little to tell is ignored.
func (e *Engine) learn(l *live, usage session.Usage, at int) {
	now := l.look().TokensBefore(at)
	turn := false
	for ; l.sent.upTo < at; l.sent.upTo++ {
		m := &l.log[l.sent.upTo]
		l.sent.unsure += report.Unsure(m, l.facts)
		turn = turn || m.Role == session.User
	}
	l.sent.watch = l.sent.watch.Next(budget.Sent{Tokens: now - l.sent.unsure, Reported: usage.Prompt(),
		Changed: l.reported.estimated < 0 || now < 0, Turn: turn})
	if e.calibrated != nil && l.reported.estimated >= 0 && now >= 0 {
		uncorrected := int(float64(now-l.reported.estimated) / l.facts.Factor())
		e.calibrated.Observe(l.model.String(), uncorrected, usage.Prompt()-l.reported.usage.Prompt())
	}
	l.reported = reported{usage, now}
}

// starting is the occasion of a request that is about to be sent, and the state that it finds.
func (e *Engine) starting(l *live) (policy.State, policy.Occasion) {
	state, o := l.plannerState(), policy.Occasion{Starting: true}
	if at := session.LastStep(l.log); at >= 0 && l.reported.estimated >= 0 {
		o.Usage, o.Pending = l.reported.usage, report.Pending(l.log, at, l.facts)
	}
	if !e.cached(l) {
		state.Account.Sent = 0
		if o.Cold = l.model.CacheLifetime() > 0; o.Cold && state.Account.Steps > 0 {
			state.Account.Colds++ // the step will be counted as one
		}
	}
	return state, o
}

// current is a session at hand as what decides about it looks at it, with no request in sight.
func (e *Engine) current(l *live) *report.Session {
	l.handles.Name(l.log)
	return &report.Session{
		State: l.state, Log: l.log, Model: l.model, Policy: *l.policy, Facts: l.facts, Handles: &l.handles,
		View: l.look(), Prices: e.prices(l), Overhead: l.overhead(), Planner: l.plannerState(),
		Reported: l.reported.usage, Estimated: l.reported.estimated, Scale: &l.scale,
	}
}

// session is a session at hand as reports look at it: before the next request.
func (e *Engine) session(l *live) *report.Session {
	s := e.current(l)
	s.Planner, s.Next = e.starting(l)
	return s
}

func (l *live) plannerState() policy.State {
	l.handles.Name(l.log)
	return policy.State{Log: l.log, Window: l.look().Peek(), Ledger: l.state.Ledger, Pins: l.state.Pins, Facts: l.facts,
		Model: l.model, Handles: &l.handles, Restored: l.takenBack(), Shown: l.look().Tokens(), Account: l.account()}
}
