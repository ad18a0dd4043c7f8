package policy_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/internal/lavish"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/anthropic"
)

func TestMain(m *testing.M) { lavish.Checks(m, 40) }

// everything is a policy with every rule on, the user's blocks of code among them, and limits small enough for short sessions.
func everything(name string, quiet int) policy.Policy {
	o := policy.Defaults()
	o.Protect, o.Minimum = 2000, 500
	s := policy.DefaultStrategies(name)
	s.Code, s.QuietSteps = true, quiet
	s.IdleSteps, s.IdleInputSteps = quiet+2, quiet+4
	o.Strategies = &s
	p, _ := policy.New(name, o)
	return p
}

// house is a session under a policy, and holds what must hold of it whenever something happened.
type house struct {
	policy  policy.Policy
	count   token.Counter
	facts   *rule.Facts
	handles rule.Handles
	log     []session.Message
	was     []string // the log as text, message by message
	ledger  rule.Ledger
	pins    []rule.Pin
	view    []session.Message // after the last thing that happened
	shown   []string          // its text, message by message, once somebody asked
	wired   [][]byte          // the same as it is written down for a provider
	parts   map[string]bool
	commit  int // how many elisions were committed
}

func newHouse(p policy.Policy, count token.Counter) *house {
	return &house{policy: p, count: count, facts: factsOf(count), parts: map[string]bool{}}
}

func (h *house) state(facts *rule.Facts) policy.State {
	names := &h.handles
	if facts != h.facts {
		names = &rule.Handles{}
	}
	names.Name(h.log)
	return policy.State{Log: h.log, Window: view.Window(h.log, nil), Ledger: h.ledger, Pins: h.pins, Facts: facts, Handles: names}
}

func (h *house) find() []rule.Elision { return h.policy.Find(h.state(h.facts)).Elisions }

// happens lets an event happen, and looks at the view after it.
func (h *house) happens(e ruletest.Event) error {
	pivoted := e.Message.Completes()
	before, wired := h.texts(), h.wired
	from := len(h.log)
	if e.Updates {
		from = session.Index(h.log, e.Message.ID)
		h.was[from] = textOf(e.Message)
	} else {
		h.was = append(h.was, textOf(e.Message))
	}
	h.log = e.On(h.log)
	for _, p := range e.Message.Parts {
		h.parts[p.ID] = true
	}
	if err := h.look(); err != nil {
		return err
	}
	if pivoted {
		return nil
	}
	after := h.texts()
	// What was shown of the messages before the one that changed is still shown, to the byte.
	stays := len(before)
	if e.Updates {
		stays = slices.IndexFunc(before, func(text string) bool { return strings.Contains(text, `"info":{"id":"`+h.log[from].ID+`"`) })
	}
	if stays < 0 {
		stays = len(before) // the message is not shown
	}
	if len(after) < stays {
		return fmt.Errorf("after %s the view has %d messages, before %d", e.Message.ID, len(after), len(before))
	}
	if !slices.Equal(before[:stays], after[:stays]) {
		return fmt.Errorf("%s changed what was shown before it:\n%s", e.Message.ID, cmp.Diff(before[:stays], after[:stays]))
	}
	if n := len(wired) - 1; !e.Updates && n > 0 && (len(h.wired) < n || !slices.EqualFunc(wired[:n], h.wired[:n], bytes.Equal)) {
		return fmt.Errorf("%s changed the request before its last message", e.Message.ID)
	}
	return nil
}

// look renders the view and checks it.
func (h *house) look() error {
	window := view.Window(h.log, nil)
	rendered := view.Render(window, h.ledger)
	if err := view.Check(rendered); err != nil {
		return err
	}
	if err := sameShape(view.Render(window, rule.Ledger{}), rendered); err != nil {
		return err
	}
	h.view, h.shown = rendered, nil
	body, err := encode(rendered)
	if err != nil {
		return err
	}
	text, err := body.JSON()
	if err != nil {
		return err
	}
	if err := anthropic.Check(text); err != nil && len(rendered) > 0 {
		return fmt.Errorf("a provider would refuse the request: %w", err)
	}
	h.wired = elements(body)
	return h.covered(rendered)
}

// texts are the messages of the last view as text.
func (h *house) texts() []string {
	for i := len(h.shown); i < len(h.view); i++ {
		h.shown = append(h.shown, textOf(h.view[i]))
	}
	return h.shown
}

func encode(rendered []session.Message) (wire.Body, error) {
	return anthropic.Encode(rendered, wire.Options{Model: "m", Provider: "p"})
}

func elements(body wire.Body) [][]byte {
	all := make([][]byte, len(body.Elements))
	for i := range all {
		all[i] = body.Elements[i]
	}
	return all
}

func textOf(m session.Message) string {
	text, err := json.Marshal(m, session.ReadOptions(), json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return string(text)
}

// sameShape holds that a ledger takes no message, no call, no result and no reasoning away, and leaves nothing empty.
func sameShape(whole, rendered []session.Message) error {
	if len(whole) != len(rendered) {
		return fmt.Errorf("%d messages are shown, %d without the ledger", len(rendered), len(whole))
	}
	for i := range whole {
		a, b := &whole[i], &rendered[i]
		if a.ID != b.ID || a.Role != b.Role || len(a.Parts) != len(b.Parts) {
			return fmt.Errorf("message %s (%s, %d parts) is shown as %s (%s, %d parts)", a.ID, a.Role, len(a.Parts), b.ID, b.Role, len(b.Parts))
		}
		for j := range a.Parts {
			p, q := &a.Parts[j], &b.Parts[j]
			switch {
			case p.ID != q.ID || p.CallID != q.CallID || p.Tool != q.Tool:
				return fmt.Errorf("part %s is shown as %s", p.ID, q.ID)
			case p.Type == session.ReasoningPart && textOf(session.Message{Parts: []session.Part{*p}}) != textOf(session.Message{Parts: []session.Part{*q}}):
				return fmt.Errorf("reasoning %s was changed", p.ID)
			case p.Text != "" && q.Text == "", p.Type == session.FilePart && q.Type == session.TextPart && q.Text == "":
				return fmt.Errorf("part %s is shown empty", p.ID)
			case p.State == nil:
			case p.State.Status != q.State.Status:
				return fmt.Errorf("call %s ended as %s and is shown as %s", p.ID, p.State.Status, q.State.Status)
			case p.State.Result() != "" && q.State.Result() == "":
				return fmt.Errorf("the result of %s is shown empty", p.ID)
			case p.State.Input.Kind() == '{' && q.State.Input.Kind() != '{':
				return fmt.Errorf("the arguments of %s are shown as %s", p.ID, q.State.Input)
			}
		}
	}
	return nil
}

// covered holds that whatever is left out because of something newer is covered by parts that are shown whole, or by one that went because it lies idle and
// says by which handle it comes back. What the letter of S000 prunes answers to nobody, and what was pinned or marked in a file before is not the rules' doing.
func (h *house) covered(rendered []session.Message) error {
	visible, order := map[string]bool{}, map[string]int{}
	for i := range rendered {
		for j := range rendered[i].Parts {
			visible[rendered[i].Parts[j].ID] = true
			order[rendered[i].Parts[j].ID] = len(order)
		}
	}
	for _, e := range h.ledger.All() {
		if e.By == "" || !visible[e.Part] {
			continue
		}
		seen := map[string]bool{}
		for open := e.Covers(); len(open) > 0; open = open[1:] {
			part := open[0]
			if seen[part] {
				continue
			}
			seen[part] = true
			if at, is := order[part]; !is || at <= order[e.Part] {
				return fmt.Errorf("%s of %s went because of %s, which is not shown after it", e.Field, e.Part, part)
			}
			for _, f := range h.ledger.Of(part) {
				switch {
				case f.Rule == (*rule.Idle)(nil).Name():
					if err := h.leadsOn(f); err != nil {
						return fmt.Errorf("%s of %s went because of %s, which lies idle: %w", e.Field, e.Part, part, err)
					}
				case f.By == "" && !(h.policy.Pivot.SummaryAlone && f.Rule == rule.Backward{}.Name()):
					return fmt.Errorf("%s of %s (%s) went because of %s, of which the %s went too (%s: %s), covered by nothing", e.Field, e.Part, e.Rule, part, f.Field, f.Rule, f.Because)
				}
				open = append(open, f.Covers()...)
			}
		}
	}
	return nil
}

// leadsOn holds that what is shown in place of something names its handle, and the call with what it was about: the placeholder of an output does, and arguments
// that were stripped stay arguments of the same names.
func (h *house) leadsOn(e rule.Elision) error {
	_, p := session.FindPart(h.log, e.Part)
	h.handles.Name(h.log)
	names := []string{"[winnow " + h.handles.Of(p) + ": "}
	if e.Field == rule.Output {
		names = append(names, p.Tool, rule.Target(p))
	}
	for _, name := range names {
		if !strings.Contains(e.Shown, name) {
			return fmt.Errorf("%q does not say %q", e.Shown, name)
		}
	}
	return nil
}

// measured is what the view takes, counted from its own text. A policy that walks the whole log saves in it what no window shows any more.
func (h *house) measured(ledger rule.Ledger) int {
	messages := view.Window(h.log, nil)
	if h.policy.Log {
		messages = h.log
	}
	return factsOf(h.count).Total(rendering(messages, ledger))
}

// rendering is the log with a ledger, also of messages that no view shows.
func rendering(messages []session.Message, ledger rule.Ledger) []session.Message {
	var all []session.Message
	for i := range messages {
		m := messages[i]
		m.Summary, m.Parts = nil, slices.DeleteFunc(slices.Clone(m.Parts), func(p session.Part) bool { return p.Type == session.CompactionPart })
		all = append(all, view.Render([]session.Message{m}, ledger)...)
	}
	return all
}

// untouched holds that nobody changed the log.
func (h *house) untouched() error {
	for i, want := range h.was {
		if got := textOf(h.log[i]); got != want {
			return fmt.Errorf("the log was changed:\n got %s\nwant %s", got, want)
		}
	}
	return nil
}

// demanded is by how much some elisions let the view grow because the letter demands it: its backward scan prunes an output however small it is (S000), and what it
// shows instead may be longer. What it collects beside that to reach its minimum may be held back: other rules left out the attachments of those outputs before.
func (h *house) demanded(found []rule.Elision) (tokens int) {
	for _, e := range found {
		if h.policy.Pivot.SummaryAlone && e.Rule == (rule.Backward{}).Name() {
			tokens += max(0, -e.Saves)
		}
	}
	return tokens
}

// prune commits what the rules find, and holds what must hold of a commit.
func (h *house) prune() error {
	found := h.find()
	if diff := cmp.Diff(h.policy.Find(h.state(factsOf(h.count))).Elisions, found); diff != "" {
		return fmt.Errorf("facts that grew with the log find something else than fresh ones (-fresh +grown):\n%s", diff)
	}
	for _, e := range found {
		if err := h.sound(e); err != nil {
			return err
		}
	}
	before := h.measured(h.ledger)
	h.ledger = h.ledger.With(found...)
	h.commit += len(found)
	after := h.measured(h.ledger)
	if claimed := rule.Saves(found); claimed != before-after {
		return fmt.Errorf("claimed %d tokens, measured %d: %s", claimed, before-after, h.blame(found))
	}
	if more := h.demanded(found); after > before+more {
		return fmt.Errorf("it grew from %d to %d tokens, by more than the %d that the letter demands", before, after, more)
	}
	if more := h.find(); len(more) > 0 {
		return fmt.Errorf("what was found is committed, and %s finds more: %+v", more[0].Rule, more[0])
	}
	if err := h.look(); err != nil {
		return err
	}
	again, err := encode(view.Render(view.Window(h.log, nil), h.ledger))
	if err != nil {
		return err
	}
	if !slices.EqualFunc(h.wired, elements(again), bytes.Equal) {
		return errors.New("two views of one state differ")
	}
	return nil
}

// sound holds what must hold of one elision.
func (h *house) sound(e rule.Elision) error {
	_, p := session.FindPart(h.log, e.Part)
	// A session that was resumed may have a message twice, with the same parts.
	there := slices.ContainsFunc(h.log, func(m session.Message) bool {
		return m.ID == e.Message && slices.ContainsFunc(m.Parts, func(p session.Part) bool { return p.ID == e.Part })
	})
	switch {
	case !there:
		return fmt.Errorf("%s elides %s of %s, which is not there", e.Rule, e.Part, e.Message)
	case e.Because == "" || e.Rule == "" || e.Time != 0:
		return fmt.Errorf("%+v does not say why", e)
	case p.State != nil && !p.State.Final():
		return fmt.Errorf("%s elides %s, which has not ended", e.Rule, e.Part)
	case slices.ContainsFunc(h.pins, func(pin rule.Pin) bool { return pin.Part == e.Part }) && !h.policy.Pivot.SummaryAlone:
		return fmt.Errorf("%s elides %s, which is pinned", e.Rule, e.Part)
	case h.policy.Pivot.SummaryAlone && e.Rule == rule.Backward{}.Name():
		return nil // the letter asks for no more
	case e.Saves <= 0:
		return fmt.Errorf("%s elides the %s of %s and saves %d tokens", e.Rule, e.Field, e.Part, e.Saves)
	case len(e.Shown) >= max(lengthOf(p, e.Field), 1):
		return fmt.Errorf("%s shows %d bytes in place of %d: %s", e.Rule, len(e.Shown), lengthOf(p, e.Field), e.Shown)
	case p.State != nil && guards(h.policy, p):
		return fmt.Errorf("%s elides the %s of %s, which is protected", e.Rule, e.Field, e.Part)
	}
	return nil
}

// guards reports whether a call names what the policy protects, as far as its arguments say so plainly.
func guards(p policy.Policy, part *session.Part) bool {
	return part.Tool == "skill" || slices.ContainsFunc(rule.Paths(part), p.Guard.Path)
}

func lengthOf(p *session.Part, field rule.Field) int {
	switch {
	case field == rule.Attachments:
		return math.MaxInt // counted in tokens alone
	case p.State == nil:
		return len(p.Text) + len(p.URL)
	case field == rule.Input:
		return len(p.State.Input)
	case len(p.State.Attachments) > 0:
		return math.MaxInt // they go with the output
	}
	return len(p.State.Result())
}

// blame names elisions that do not save what they claim, each by itself.
func (h *house) blame(found []rule.Elision) string {
	base := rule.NewLedger(slices.DeleteFunc(slices.Clone(h.ledger.All()), func(e rule.Elision) bool { return slices.Contains(found, e) })...)
	before, wrong := h.measured(base), ""
	for _, e := range found {
		if saved := before - h.measured(base.With(e)); saved != e.Saves {
			wrong += fmt.Sprintf("\n%s claims %d and saves %d: %+v", e.Rule, e.Saves, saved, e)
		}
	}
	return wrong
}

// partial looks at pieces of the log, as a fork, a sub-agent and the input of a compaction are, and then at the whole again: nothing is lost by it.
func (h *house) partial(from, to int) error {
	before := h.policy.Find(h.state(h.facts))
	names := handles(h)
	piece := h.state(h.facts)
	piece.Log, piece.Window = h.log[from:to], view.Window(h.log[from:to], nil)
	h.policy.Find(piece)
	if diff := cmp.Diff(before.Elisions, h.find()); diff != "" {
		return fmt.Errorf("the rules looked at messages %d to %d alone, and then found something else in the whole:\n%s", from, to, diff)
	}
	if diff := cmp.Diff(names, handles(h)); diff != "" {
		return fmt.Errorf("the rules looked at messages %d to %d alone, and handles changed:\n%s", from, to, diff)
	}
	return nil
}

// handles are the names of all parts.
func handles(h *house) []string {
	var named rule.Handles
	named.Name(h.log)
	var all []string
	for i := range h.log {
		for j := range h.log[i].Parts {
			p := &h.log[i].Parts[j]
			name := named.Of(p)
			if name != "" && named.Part(name) != p.ID {
				name += " does not lead back"
			}
			all = append(all, name)
		}
	}
	return all
}

var counters = map[string]token.Counter{"chars4": token.Chars4{}, "linear": token.Linear{}, "learned": learned{}}

// learned is a counter that is asked for what another one gives times a factor: sizes are scaled, as they are once reports of usage were seen.
type learned struct{ token.Linear }

// factsOf counts with a counter, and scales when it has learned.
func factsOf(count token.Counter) *rule.Facts {
	facts := rule.NewFacts(count)
	if _, scaled := count.(learned); scaled {
		facts.Scale(1.17)
	}
	return facts
}

func TestRules_whateverASessionHolds(t *testing.T) {
	for _, name := range []string{policy.Balanced, policy.Aggressive} {
		for counter, count := range counters {
			t.Run(name+"/"+counter, func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(t *rapid.T) {
					events := ruletest.Sessions(40).Draw(t, "session")
					h := newHouse(everything(name, rapid.SampledFrom([]int{0, 1, 5}).Draw(t, "quiet")), count)
					for i, e := range events {
						if err := h.happens(e); err != nil {
							t.Fatal(err)
						}
						switch rapid.IntRange(0, 9).Draw(t, "then") {
						case 0, 1:
							if err := h.prune(); err != nil {
								t.Fatalf("event %d: %v\n%s", i, err, h.story())
							}
						case 2:
							from := rapid.IntRange(0, len(h.log)-1).Draw(t, "from")
							if err := h.partial(from, rapid.IntRange(from+1, len(h.log)).Draw(t, "to")); err != nil {
								t.Fatalf("event %d: %v\n%s", i, err, h.story())
							}
						case 4: // somebody takes back what was done
							if all := h.ledger.All(); len(all) > 0 {
								h.ledger = h.ledger.Without(all[rapid.IntRange(0, len(all)-1).Draw(t, "undone")].Key())
								if err := h.look(); err != nil {
									t.Fatalf("event %d: %v\n%s", i, err, h.story())
								}
							}
						case 3:
							if parts := e.Message.Parts; rapid.IntRange(0, 4).Draw(t, "pin") == 0 && !h.ledger.Touches(parts[len(parts)-1].ID) {
								h.pins = append(h.pins, rule.Pin{ID: parts[0].ID, Part: parts[len(parts)-1].ID})
							}
						}
					}
					if err := errors.Join(h.prune(), h.untouched()); err != nil {
						t.Fatalf("at the end: %v\n%s", err, h.story())
					}
				})
			})
		}
	}
}

// story tells the log, a line for each part, for messages of failures.
func (h *house) story() string {
	var b strings.Builder
	for i := range h.log {
		m := &h.log[i]
		fmt.Fprintf(&b, "%s %s %s\n", m.ID, m.Role, m.Finish)
		for j := range m.Parts {
			p := &m.Parts[j]
			fmt.Fprintf(&b, "  %s %s %s", p.ID, p.Type, rule.Shorten(strings.ReplaceAll(p.Text, "\n", "⏎"), 60))
			if p.State != nil {
				fmt.Fprintf(&b, "%s %s %s → %q", p.Tool, p.State.Status, rule.Shorten(string(p.State.Input), 120), rule.Shorten(p.State.Result(), 120))
			}
			for _, e := range h.ledger.Of(p.ID) {
				fmt.Fprintf(&b, "\n    – %s by %s (%s), shown as %q", e.Field, e.Rule, e.By, e.Shown)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}
