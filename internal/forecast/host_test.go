package forecast

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/memory"
	"github.com/winnowhq/winnow/summarize/offline"
	"github.com/winnowhq/winnow/token"
)

// deed is something that was done to a session before the request of a step.
type deed struct {
	Step   int
	Kind   lab.EventKind
	Parts  []string // that were elided, sorted
	Tokens int      // by which the prompt became smaller
}

// course is how a session went.
type course struct {
	Sizes  []int // of the prompts
	Cached int   // tokens of all of them that the provider's cache had; -1 where a forecast has more in it than the session's own requests
	Deeds  []deed

	triggers map[string]int // of the engine's receipts
}

// foretold is the course that the lab gives, as far as nothing that was left out is needed again:
// what an agent would have asked for again is not in the log.
func foretold(t *testing.T, trace *lab.Trace, p lab.Setup, terms lab.Terms) (course, int) {
	t.Helper()
	out, err := lab.Run(t.Context(), trace, p, lab.Options{Terms: &terms, Detail: true, FreeSummaries: true,
		Summarizer: offline.New()})
	if err != nil {
		t.Fatal(err)
	}
	steps := out.Steps
	for _, e := range out.Events {
		if e.Kind == lab.Regretted {
			steps = min(steps, e.Step+1) // its own request is the last that is comparable
		}
	}
	c := course{Sizes: out.Sizes[:steps], Cached: out.Tokens.Cached}
	if steps < out.Steps || out.Folds > 0 {
		c.Cached = -1
	}
	for _, e := range out.Events {
		if e.Step < steps && (e.Kind == lab.Committed || e.Kind == lab.Folded) {
			c.Deeds = append(c.Deeds, deed{e.Step, e.Kind, sorted(e.Parts), e.Tokens})
		}
	}
	return c, steps
}

// host is a program around the engine: an agent's loop, with a provider that says what the log says
// and keeps what it was sent in its cache.
type host struct {
	*testing.T
	*winnow.Engine
	id     string
	config winnow.Config
	now    time.Time
	model  model.Model
	base   int

	facts  *rule.Facts
	sent   []piece   // of the newest request
	at     time.Time // when that was answered
	course course
}

// piece is what the cache tells apart: a part's text or arguments, and what a call gave back.
type piece struct {
	text   string
	tokens int
}

// lived is the course that the engine gives: the first steps of a trace. again opens another engine
// on the same store before every so many steps, 0 never.
func lived(t *testing.T, trace *lab.Trace, settings settings.Settings, m model.Model, steps, again int) course {
	t.Helper()
	h := &host{T: t, model: m, base: trace.Base, facts: rule.NewFacts(token.Linear{}), now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	h.config = winnow.Config{
		Settings: &settings, Store: memory.New(), Models: &model.Catalogue{Models: []model.Model{m}}, Model: m.String(), Counter: token.Linear{},
		Summarizer: offline.New(), Now: func() time.Time { return h.now },
	}
	h.course.triggers = map[string]int{}
	s := trace.Session()
	if timed := slices.IndexFunc(s.Messages, func(m session.Message) bool { return m.Time.Created > 0 }); timed >= 0 {
		h.now = time.UnixMilli(int64(s.Messages[timed].Time.Created)).Add(-time.Minute)
	}
	h.open()
	id, err := h.Create(t.Context(), session.Info{Title: s.Info.Title, Directory: s.Info.Directory})
	if err != nil {
		t.Fatal(err)
	}
	h.id = id
	step := 0
	for i := range s.Messages {
		m := s.Messages[i]
		if m.Role == session.User {
			h.wait(m.Time)
			h.append(m)
			continue
		}
		if step == steps {
			break
		}
		if again > 0 && step%again == again-1 {
			h.open()
		}
		h.wait(session.MessageTime{Created: m.Time.Created - 5}) // what is done before a request is done before its answer is begun
		h.step(step, m, i+1 == len(s.Messages) || s.Messages[i+1].Written())
		step++
	}
	h.Close()
	// What came of the last step is done before the next, which is not compared.
	h.course.Deeds = slices.DeleteFunc(h.course.Deeds, func(d deed) bool { return d.Step >= steps })
	return h.course
}

func (h *host) open() {
	if h.Engine != nil {
		h.Close()
	}
	e, err := winnow.Open(h.config)
	if err != nil {
		h.Fatal(err)
	}
	h.Engine = e
}

// wait lets the time come at which a message was written. Time passes with everything else, too.
func (h *host) wait(at session.MessageTime) {
	h.now = h.now.Add(time.Millisecond)
	if then := time.UnixMilli(int64(max(at.Created, at.Completed))); at.Created > 0 && then.After(h.now) {
		h.now = then
	}
}

func (h *host) append(m session.Message) {
	m.SessionID, m.Tokens, m.Cost, m.Model, m.ModelID, m.ProviderID = "", nil, nil, nil, "", ""
	m.Parts = slices.Clone(m.Parts)
	if err := h.Append(h.Context(), h.id, m); err != nil {
		h.Fatal(err)
	}
}

// step sends a request, appends what the log says was answered, and reports.
func (h *host) step(k int, m session.Message, ends bool) {
	ctx := h.Context()
	h.did(k, h.look(ctx), func() (winnow.Outcome, error) { return h.Begin(ctx, h.id) })
	v, err := h.View(ctx, h.id)
	if err != nil {
		h.Fatalf("step %d: %v", k+1, err)
	}
	pieces := h.pieces(v.Messages)
	cached := 0
	for i := 0; i < min(len(pieces), len(h.sent)) && pieces[i] == h.sent[i]; i++ {
		cached += pieces[i].tokens
	}
	if k > 0 {
		cached += h.base
	}
	if h.model.Cache.Lifetime <= 0 || k > 0 && h.now.Sub(h.at) > h.model.Cache.Lifetime {
		cached = 0
	}
	prompt := h.base + v.Tokens
	h.sent = pieces
	h.course.Sizes = append(h.course.Sizes, prompt)
	h.course.Cached += cached

	h.append(m)
	h.wait(m.Time)
	h.at = h.now
	usage := session.Usage{Output: h.output(m)}
	usage.Cache.Read, usage.Cache.Write = cached, prompt-cached
	h.did(k+1, h.look(ctx), func() (winnow.Outcome, error) {
		out, err := h.Observe(ctx, h.id, usage)
		if winnow.CodeOf(err) == winnow.NothingToFold || winnow.CodeOf(err) == winnow.NoProgress {
			err = nil // the loop goes on until the provider refuses
		}
		return out, err
	})
	if ends {
		h.did(k+1, h.look(ctx), func() (winnow.Outcome, error) { return h.EndTurn(ctx, h.id) })
	}
}

func (h *host) look(ctx context.Context) int {
	v, err := h.View(ctx, h.id)
	if err != nil {
		h.Fatal(err)
	}
	return v.Tokens
}

// did notes what was done about a session whose view took so many tokens.
func (h *host) did(k, before int, do func() (winnow.Outcome, error)) {
	h.Helper()
	h.now = h.now.Add(time.Millisecond)
	out, err := do()
	if err != nil {
		h.Fatalf("step %d: %v", k, err)
	}
	for _, r := range []*pivot.Receipt{out.Pruned, out.Compacted} {
		if r == nil {
			continue
		}
		d := deed{Step: k, Kind: lab.Committed, Tokens: r.Saved}
		if r.Kind == pivot.Compaction {
			d.Kind = lab.Folded
		} else {
			for _, el := range r.Committed {
				d.Parts = append(d.Parts, el.Part)
			}
			d.Parts = sorted(d.Parts)
		}
		h.course.Deeds = append(h.course.Deeds, d)
		what := r.Trigger
		if d.Kind == lab.Folded {
			what = "fold: " + what
		}
		h.course.triggers[what]++
		before -= r.Saved
	}
	if now := h.look(h.Context()); now != before {
		h.Fatalf("step %d: the view has %d tokens, the receipts leave %d", k, now, before)
	}
}

// pieces are what a provider is sent, in its order.
func (h *host) pieces(messages []session.Message) []piece {
	var all []piece
	for i := range messages {
		for j := range messages[i].Parts {
			p := messages[i].Parts[j]
			p.ID = "sent:" + p.ID // it may be shown with less later
			size := view.Part(&p, rule.Ledger{}, h.facts)
			if p.Type != session.ToolPart {
				all = append(all, piece{p.Text, size.Total()})
				continue
			}
			all = append(all, piece{p.Tool + string(p.State.Input), size.Input}, piece{p.State.Result(), size.Output + size.Files})
		}
	}
	return all
}

// output is what a step produced, in tokens.
func (h *host) output(m session.Message) int {
	total := 0
	for j := range m.Parts {
		size := h.facts.Size(&m.Parts[j])
		total += size.Total() - size.Output - size.Files
	}
	return total
}

func sorted(ids []string) []string {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	if len(ids) == 0 {
		return nil
	}
	return ids
}
