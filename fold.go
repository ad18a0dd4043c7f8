package winnow

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/recall"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/summarize/ask"
	"github.com/winnowhq/winnow/summarize/offline"
	"github.com/winnowhq/winnow/text/quantity"
)

// factsFor measures as the model named does, as far as that was learned.
func (e *Engine) factsFor(name string) *rule.Facts {
	facts := rule.NewFacts(e.config.Counter)
	if e.calibrated != nil {
		facts.Scale(e.calibrated.Factor(name))
	}
	return facts
}

// valid checks an answer that takes the place of replaces tokens. The letter takes whatever was
// answered, as the specification's program does, but for nothing at all.
func (e *Engine) valid(f *folding, a pivot.Answer, replaces int) error {
	if f.settings.SummaryAlone {
		if strings.TrimSpace(a.Text) != "" {
			return nil
		}
		return pivot.Validate(a, 0, 0)
	}
	return pivot.Validate(a, e.factsFor(f.model.String()).Count(a.Text), replaces)
}

// inBackground is the trigger of a compaction for which nothing had to wait.
const inBackground = "background"

// asks reports whether summaries are something that one waits for: a model may be asked. The
// offline summariser's is there at once.
func (e *Engine) asks() bool {
	c := &e.config
	if c.Summarizer != nil {
		return c.Summarizer.Name() != offline.Name
	}
	return c.SummarizerFor != nil && c.Settings.Compaction.Summarizer != "offline"
}

func (e *Engine) isPreparing(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.preparations[id] != nil
}

// goesOn reports whether the work goes on by itself behind a summary: because the user has said
// something, or, where it was prepared, from what stays.
func (f *folding) goesOn() bool {
	if len(f.cut.Tail) == 0 {
		return f.told
	}
	return f.told || f.prepared != nil && f.trigger == inBackground || f.cut.Tail[len(f.cut.Tail)-1].Written()
}

// CompactOptions say how to fold.
type CompactOptions struct {
	// Auto appends the synthetic "continue" afterwards, so that an agent goes on by itself.
	Auto bool
	// Rejected repeats the newest user message after the summary, because the provider refused its
	// turn.
	Rejected bool
	// Focus is what the summary is to dwell on.
	Focus string
	// To is how many tokens the view may have afterwards, system prompt and tools not counted: less
	// is kept word for word, and the summary is shorter. 0 is without a bound but the model's
	// window. What cannot be made so small ends in NoProgress, and the session is as it was. A
	// policy that folds by the letter keeps nothing else, and is not bound by it.
	To int
	// Later only appends a marker: "compact here", to be executed by a later Compact. At most one
	// waits; a second request changes nothing. There is no receipt.
	Later bool
	// Agent and Model are those of a marker that Later appends (S001 create): Model is asked for
	// the summary, unless compaction.model names another. Default: those of the last user message.
	Agent string
	Model *session.ModelRef
	// Waiting only executes a marker that waits; without one nothing is done, and there is no
	// receipt. A loop does this before each step (S001, the loop's order). A marker whose
	// compaction fails is withdrawn, unless the context has ended: the error comes once, and the
	// session is as it was before the marker.
	Waiting bool
	// Prepared only makes a summary count that Prepare has written; while there is none nothing is
	// done, and there is no receipt. See Prepare.
	Prepared bool
	// KeepSecrets leaves keys, tokens and passwords in what is written under the pivot as they are.
	// Otherwise those of a known shape are masked there, but for what is pinned; the log keeps them
	// either way.
	KeepSecrets bool
}

// folding is one attempt at a compaction, from the moment the session was looked at to the moment
// it is published.
type folding struct {
	id        string
	options   CompactOptions
	trigger   string
	log       []session.Message // as it was looked at, up to a pending marker
	size      int               // of the whole log then
	window    []session.Message
	pending   *session.Message // the marker that waited
	told      bool             // the user has said something behind it
	commit    []rule.Elision
	ledger    rule.Ledger // with commit
	stood     rule.Ledger // without
	cut       pivot.Cut
	settings  pivot.Settings
	usable    int // 0: unlimited
	overhead  int
	replaces  int // tokens of what is folded
	request   pivot.Request
	past      pivot.Past // what the summary will stand for, as the log has it
	repeats   error      // why this fold would only repeat the last one, nil when it would not
	info      session.Info
	pins      []rule.Pin
	dismissed map[string]bool
	guard     *rule.Guard // which files the carry-over does not quote
	model     model.Model // that reads the session
	offer     model.Model // the same, of the provider that the session names
	// what is folded as the conversation itself sent it last; only where Config.Prefix asks for it
	sent []session.Message
	cold time.Duration // how long the session was idle, when that is longer than the provider's cache lives

	record *ask.Record // of all attempts at this compaction
	answer pivot.Answer
	struck []pivot.Struck
	// masked and masks count the secrets that were masked in the carry-over and in the summary.
	masked, masks int
	// unwritten is how many tokens a summary is taken to have that was not asked for: see Preview.
	unwritten int
	last      bool            // no other attempt follows: what does not fit by itself is shown in part
	ahead     bool            // it is written before it is needed: see Prepare
	took      time.Duration   // to write it
	had       *store.Prepared // what the session had prepared when it was looked at
	prepared  *store.Prepared // what it was prepared as, and is recorded as paid; nil if it was not
	began     time.Time
}

// sameFold reports whether an earlier attempt folded the same messages and has a summary of them.
func (f *folding) sameFold(before *folding) bool {
	n := len(f.cut.Fold)
	return before.answer.Text != "" && n == len(before.cut.Fold) && f.size == before.size &&
		(n == 0 || f.cut.Fold[n-1].ID == before.cut.Fold[n-1].ID)
}

// shortShare is the part of the window, or of what a fold is to leave, that short messages of the
// user's may have: 5 %.
const shortShare = 20

// prepare looks at the session and decides what to fold. Nothing is written. Beside NothingToFold
// there is a folding of nothing.
func (e *Engine) prepare(ctx context.Context, id string, o CompactOptions, attempt int) (*folding, error) {
	l, err := e.lock(ctx, "compact", id)
	if err != nil {
		return nil, err
	}
	defer e.unlock(l)
	f := e.looked(l, o)
	keep := f.settings.Tail(f.usable)
	f.settings.Short = f.settings.UserMessages
	if f.usable > 0 {
		f.settings.Short = f.usable / shortShare
	}
	if to := f.options.To; to > 0 {
		keep, f.settings.UserMessages = min(keep, to/3), min(f.settings.UserMessages, to/4)
		f.settings.Short = min(f.settings.Short, to/4)
	}
	usual := keep
	if attempt > 0 {
		keep, f.settings.UserMessages, f.last = 0, f.settings.UserMessages/8, true
		if f.options.To > 0 {
			f.settings.Short = min(f.settings.Short, f.options.To/shortShare)
		}
	}
	f.cut = pivot.Find(f.window, f.ledger, l.facts, f.wanted(keep))
	f.repeats = e.repeats(l, f, usual)
	empty := len(pivot.WithoutKept(f.cut.Fold)) == 0
	if empty && (f.cut.Previous == nil || f.settings.SummaryAlone || f.repeats == nil && !e.anew(l, f)) {
		return f, f.nothing()
	}
	if empty && f.repeats != nil {
		return f, f.repeats
	}
	e.request(l, f)
	return f, nil
}

// wanted says what the cut is to leave, if keep tokens may stay word for word.
func (f *folding) wanted(keep int) pivot.Wanted {
	room := pivot.Room(f.usable, f.overhead)
	if to := f.options.To; to > 0 && (room == 0 || to/4 < room) {
		room = max(1, to/4)
	}
	return pivot.Wanted{Keep: keep, Room: room, Rejected: f.options.Rejected, Everything: f.settings.SummaryAlone}
}

// nothing is the error when the cut has left nothing to fold.
func (f *folding) nothing() error {
	if len(f.cut.Tail) == 0 {
		return fail(NothingToFold, "compact", f.id, "the session is empty", "there is nothing to fold")
	}
	return fail(NothingToFold, "compact", f.id,
		"the last exchange stays word for word, unless a smaller view is asked for "+
			"(compact --to TOKENS, CompactOptions.To)",
		"there is nothing to fold before the last exchange")
}

// looked is a folding of the session as it stands, with what can be elided, and without a cut.
func (e *Engine) looked(l *live, o CompactOptions) *folding {
	f := e.standing(l, o)
	state := l.plannerState()
	state.Log, state.Window = f.log, f.window
	plan := e.policy.Plan(state, policy.Occasion{FoldAsked: true, Rejected: f.options.Rejected})
	f.commit = slices.DeleteFunc(plan.Commit, func(el rule.Elision) bool { return l.state.Ledger.Has(el.Key()) })
	f.ledger = l.state.Ledger.With(f.commit...)
	return f
}

// standing is a folding of the session as it stands.
func (e *Engine) standing(l *live, o CompactOptions) *folding {
	f := &folding{
		record: &ask.Record{}, id: l.id, options: o, log: l.log, size: len(l.log), settings: e.policy.Folding(l.plannerState()),
		info: l.state.Info, pins: l.state.Pins, dismissed: l.state.Dismissed, guard: e.policy.Guard,
		model: l.model, stood: l.state.Ledger, had: l.state.Prepared,
	}
	if at := view.Pending(l.log, l.state.Undone); at >= 0 {
		marker := l.log[at]
		f.pending, f.log = &marker, l.log[:at]
		f.told = slices.ContainsFunc(l.log[at:], func(m session.Message) bool { return m.Written() })
		f.options.Rejected = f.options.Rejected || marker.Marker().Overflow
		f.options.Auto = f.options.Auto || marker.Marker().Auto
	}
	f.log = append([]session.Message(nil), f.log...)
	f.window = view.Window(f.log, l.state.Undone)
	f.overhead = l.overhead()
	if usable := e.policy.Budget.Usable(l.model); !usable.Unlimited {
		f.usable = usable.Threshold
	}
	return f
}

// request writes what a summariser is asked about the cut.
func (e *Engine) request(l *live, f *folding) {
	if f.cut.Previous != nil {
		f.replaces = view.Message(f.cut.Previous, f.ledger, l.facts)
		f.request.Previous = pivot.PreviousText(f.cut.Previous)
	}
	fold := pivot.WithoutKept(f.cut.Fold) // what is shown again stays so
	for i := range fold {
		f.replaces += view.Message(&fold[i], f.ledger, l.facts)
	}
	if f.cut.Previous == nil {
		fold, f.request.Previous = recall.WithoutHanded(fold)
	}
	f.offer = e.offer(e.modelName(f.info, f.log))
	if f.pending != nil && f.pending.Answers() != nil && !e.config.ForceModel {
		f.offer = e.offer(f.pending.Answers().String()) // S001 process, 3
	}
	if e.config.Prefix != nil && !f.settings.SummaryAlone {
		f.sent = l.view.Render(f.window[:f.cut.End], l.state.Ledger)
		f.cold = e.cold(l)
	}
	f.request.SessionID, f.request.Focus, f.request.Directory = f.id, f.options.Focus, f.info.Directory
	f.request.Messages = e.policy.Markers().Of(view.Render(fold, f.ledger))
	f.past = pivot.PastOf(f.log, l.state.Undone, f.cut)
	f.request.Log, f.request.Tail, f.request.Past = fold, f.cut.Tail, &f.past
	f.request.System = pivot.System(f.settings)
	f.request.Instruction = pivot.Instruction(f.settings, f.request.Previous, f.options.Focus)
	f.request.Update = pivot.Instruction(f.settings, "an earlier piece", f.options.Focus)
	f.request.Dismissed = f.dismissed
	if none := noConstraints(f); none != "" && !f.settings.SummaryAlone {
		f.request.Instruction += none
		f.request.Update += none
	}
	f.request.Budget = pivot.AnswerBudget(f.usable, f.replaces, l.facts.Count(f.request.Previous))
	if f.options.To > 0 {
		f.request.Budget = min(f.request.Budget, max(f.options.To/2, 64))
	}
	f.request.OwnLength = f.settings.SummaryAlone || f.settings.Prompt != ""
}

// cold is how long a session was idle, 0 while the provider's cache may still have what was sent.
func (e *Engine) cold(l *live) time.Duration {
	idle := e.idle(l)
	if l.model.Cache.Lifetime <= 0 || idle <= l.model.Cache.Lifetime {
		return 0
	}
	return idle.Round(time.Second)
}

// noConstraints tells a summariser which sentences of what is folded are not instructions, "" if
// nothing was dismissed.
func noConstraints(f *folding) string {
	if len(f.dismissed) == 0 {
		return ""
	}
	text := ""
	for _, c := range recall.Constraints(f.log) {
		if f.dismissed[recall.Key(c.Text)] {
			text += "\n- " + c.Text
		}
	}
	if text == "" {
		return ""
	}
	return "\n\nThe user said that these sentences are no standing constraints. Do not list them as such:" + text
}

// stays says what no compaction can remove, and what else would help.
func stays(f budget.Floor) string {
	what := "offer fewer tools, a shorter system prompt, or a larger model"
	if f.Pins > 0 {
		what = "unpin something, " + what
	}
	return fmt.Sprintf("what no compaction can remove: %s; %s", f, what)
}

// floor itemises what a compaction leaves, for a window and a ledger.
func (l *live) floor(window []session.Message, ledger rule.Ledger) budget.Floor {
	f := budget.Floor{System: l.overhead()} // system prompt and tools cannot be told apart in a log
	for i := range window {
		n := view.Message(&window[i], ledger, l.facts) + l.view.Labels.Tokens(&window[i], ledger, l.facts)
		switch m := &window[i]; {
		case i == 1 && m.IsSummary():
			f.Summary = n
		case isKept(m):
			f.Pins += n
		case m.Marker() == nil:
			f.Tail += n
		}
	}
	return f
}

func (f *folding) stamped(now session.Millis) []rule.Elision {
	pinned := rule.Window{Pins: f.pins} // also what was pinned since the elisions were found
	committed := make([]rule.Elision, 0, len(f.commit))
	for _, el := range f.commit {
		if pinned.Pinned(el.Part, el.Message) {
			continue
		}
		el.Time = now
		committed = append(committed, el)
	}
	return committed
}

// ErrNothingNew is what an error of the code NothingToFold wraps when a summary was asked for again
// although nothing was said since the last one. Another summary of the same messages would say no
// more, and what stays word for word behind the last one would be gone.
var ErrNothingNew = errors.New("nothing was said since the last summary")

// repeats is why a fold would only repeat the one before it, nil when it would not: there is
// something new, or a reason to fold the same messages once more. keep is how many tokens may stay
// word for word.
//
// A reason is a focus or a size that is asked for, a provider that refused the view, a view that is
// over its budget, and more behind the summary than may stay. A pin is not one: what it keeps is
// shown since it was pinned.
func (e *Engine) repeats(l *live, f *folding, keep int) error {
	o := f.options
	if f.cut.Previous == nil || f.settings.SummaryAlone || o.Rejected || f.saidSince() || e.anew(l, f) {
		return nil
	}
	shown := l.look().Tokens()
	if f.usable > 0 && shown+f.overhead > f.usable || l.tokens(f.behind(), l.state.Ledger) > keep {
		return nil
	}
	hint := fmt.Sprintf("the view has %s tokens; "+
		"ask for fewer to have it folded further (compact --to TOKENS, CompactOptions.To)", quantity.Number(shown))
	if o.To > 0 {
		hint = fmt.Sprintf("the view has %s tokens, and %s were asked for", quantity.Number(shown),
			quantity.Number(o.To))
	}
	return &Error{Code: NothingToFold, Op: "compact", Session: f.id, Err: ErrNothingNew, Hint: hint}
}

// anew reports whether the summary is to be written again although nothing else may be folded: it
// is to dwell on something, or to be shorter.
func (e *Engine) anew(l *live, f *folding) bool {
	return f.options.Focus != "" || f.options.To > 0 && l.look().Tokens() > f.options.To
}

// saidSince reports whether anything was said or done since the pivot that the window begins with.
// What the engine appended with it is nothing new, nor is an elision or a pin.
func (f *folding) saidSince() bool {
	return pivot.Spoken(f.log[session.Index(f.log, f.cut.Previous.ParentID)+1:])
}

// behind are the messages that the last pivot left word for word.
func (f *folding) behind() []session.Message {
	marker := session.Index(f.log, f.cut.Previous.ParentID)
	start := session.Index(f.log[:marker], f.log[marker].Marker().TailStartID)
	if start < 0 {
		return nil
	}
	unsent := session.Unsent(f.log[start:marker]) // these stay, whatever they take
	return f.log[start : start+unsent]
}

// refoldRefused is why Compact would do nothing now, where that is because nothing was said since
// the last summary.
func (e *Engine) refoldRefused(l *live) *rule.Refusal {
	window := l.window()
	if view.Pivot(window) == nil {
		return nil
	}
	f := e.standing(l, CompactOptions{})
	keep := f.settings.Tail(f.usable)
	f.ledger = f.stood
	f.cut = pivot.Find(f.window, f.ledger, l.facts, f.wanted(keep))
	err := e.repeats(l, f, keep)
	if err == nil {
		return nil
	}
	return &rule.Refusal{Code: NothingToFold, Reason: reason(err)}
}

// left is the window that a change leaves, and its ledger.
func (f *folding) left(l *live, c store.Change) ([]session.Message, rule.Ledger) {
	state, _, window := l.with(c)
	return window, state.Ledger
}

// seen is a window as rules look at it.
func (f *folding) seen(l *live, window []session.Message, ledger rule.Ledger) rule.Window {
	return rule.Window{Messages: window, Ledger: ledger, Pins: l.state.Pins, Facts: l.facts, Guard: f.guard,
		Handles: &l.handles}
}

// draft is a summary that was prepared, as it is in the store (store.Prepared): with what it stands
// for, so that any engine can tell whether it still fits.
type draft struct {
	Messages []string        `json:"messages"`          // digests of what is folded
	Previous string          `json:"previous,omitzero"` // id of the summary before
	Stood    []rule.Key      `json:"stood"`             // what was left out of it
	Split    bool            `json:"split,omitzero"`
	Tail     int             `json:"tail"` // messages behind it
	Answer   pivot.Answer    `json:"answer"`
	Struck   []pivot.Struck  `json:"struck"`
	Notes    []string        `json:"notes"`
	Usages   []session.Usage `json:"usages"`
	Spent    []store.Spend   `json:"spent"`
	Paid     int             `json:"paid"` // where they begin among all that was spent
	Took     int64           `json:"took"` // nanoseconds, to write it
}

// written reports whether a summary behind a pivot is there.
func written(p *store.Prepared, pivot string) bool {
	return p != nil && p.Written != "" && p.Pivot == pivot
}

// pivot is the id of the marker that the window of a folding begins with, "" without one.
func (f *folding) pivot() string {
	if f.cut.Previous == nil {
		return ""
	}
	return f.cut.Previous.ParentID
}

// pivot is the id of the marker that the window begins with, "" without one.
func (l *live) pivot() string {
	if summary := view.Pivot(l.window()); summary != nil {
		return summary.ParentID
	}
	return ""
}

// turn is the id of the user's newest message, "" without one.
func (l *live) turn() string {
	for i := len(l.log) - 1; i >= 0; i-- {
		if l.log[i].Written() {
			return l.log[i].ID
		}
	}
	return ""
}

// wanted reports whether a summary is to be prepared that nobody has written, nor failed to write
// in this turn.
func (l *live) wanted() bool {
	p := l.state.Prepared
	failed := p != nil && p.Failed && p.Pivot == l.pivot() && p.Turn == l.turn()
	return !l.prepared && !failed && !written(p, l.pivot())
}

// preparing is the change that puts something in the place of what is prepared.
func (l *live) preparing(p store.Prepared) store.Change {
	return store.Change{Prepared: &p, Vain: paidFor(l.state.Prepared)}
}

// paidFor are the requests for a summary that is prepared, by their positions among all that was
// spent.
func paidFor(p *store.Prepared) (all []int) {
	if p == nil || p.Written == "" {
		return nil
	}
	var d draft
	if json.Unmarshal([]byte(p.Written), &d, jsontext.AllowInvalidUTF8(true)) != nil {
		return nil // of another version
	}
	for i := range d.Spent {
		all = append(all, d.Paid+i)
	}
	return all
}

// same reports whether what is prepared is what it was.
func same(is, was *store.Prepared) bool { return is != nil && *is == *was }

// draft is what a folding leaves for another moment, or another engine.
func (f *folding) draft() draft {
	d := draft{Split: f.cut.Split, Tail: len(f.cut.Tail), Answer: f.answer, Struck: f.struck, Notes: f.record.Notes,
		Usages: f.record.Usages, Spent: f.record.Spent, Took: f.took.Nanoseconds()}
	if f.cut.Previous != nil {
		d.Previous = f.cut.Previous.ID
	}
	for i := range f.cut.Fold {
		m := &f.cut.Fold[i]
		d.Messages = append(d.Messages, digest(m))
		for j := range m.Parts {
			for _, el := range f.stood.Of(m.Parts[j].ID) {
				d.Stood = append(d.Stood, el.Key())
			}
		}
	}
	return d
}

// stale says why a summary that was prepared no longer stands for what a window begins with, ""
// when it does. Elisions that were committed since change nothing: it was written from more.
func (d *draft) stale(now *folding, l *live) string {
	fold, previous := now.cut.Fold, ""
	if now.cut.Previous != nil {
		previous = now.cut.Previous.ID
	}
	switch {
	case d.Previous != previous:
		return "another compaction was made or taken back meanwhile"
	case len(fold) < len(d.Messages):
		return "messages are gone"
	}
	stood := map[string][]rule.Key{}
	for _, k := range d.Stood {
		stood[k.Part] = append(stood[k.Part], k)
	}
	pinned := rule.Window{Pins: l.state.Pins}
	for i := range d.Messages {
		is := &fold[i]
		if digest(is) != d.Messages[i] {
			return fmt.Sprintf("message %s was changed", is.ID)
		}
		for j := range is.Parts {
			p := &is.Parts[j]
			for _, k := range stood[p.ID] {
				// what is pinned is carried over word for word
				if !l.state.Ledger.Has(k) && !pinned.Pinned(p.ID, is.ID) {
					return fmt.Sprintf("part %s is shown whole again", p.ID)
				}
			}
		}
	}
	return ""
}

// digest tells what a message holds from what another one does.
func digest(m *session.Message) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %t\n", m.ID, m.Failed())
	for i := range m.Parts {
		err := json.MarshalWrite(h, &m.Parts[i], json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
		if err != nil {
			return "" // it equals nothing that was digested
		}
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:12])
}
