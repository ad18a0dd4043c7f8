package simulation

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/desk/discover"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/lab/advise"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/summarize/offline"
	"github.com/winnowhq/winnow/text/quantity"
)

// Measured is what was measured of sessions for advice.
type Measured struct {
	Sessions []advise.Session
	Replay   lab.Report // of those whose logs report what they cost
}

// Found are discovered sessions as sources. What could not be looked at is among r's problems.
func (r *Reader) Found(found []discover.Found, problems []discover.Problem) []lab.Source {
	for _, p := range problems {
		r.failed = append(r.failed, p)
	}
	r.parents = map[string]string{}
	for _, f := range found {
		s := r.source(source.Candidate{Path: f.Source})
		r.parents[s.Path] = f.Parent
		r.all = append(r.all, s)
	}
	return r.all
}

// advisable are the policies that advice compares: what products do by themselves, at several
// sizes, and what winnow does if nothing is set. They are few, so that a hundred sessions take a
// minute.
var advisable = []string{lab.Compact, lab.Compact + "@100k", lab.Compact + "@168k", policy.Balanced}

// Measure measures sessions, and replays those of them whose logs report what they cost. Results of
// replays are remembered. What could not be read is among r's problems.
func (r *Reader) Measure(ctx context.Context, settings config.Settings, sources []lab.Source) (Measured, error) {
	setups, err := Setups(r.app, settings, Flags{Policies: advisable})
	if err != nil {
		return Measured{}, err
	}
	run := lab.Lab{Setups: setups, Baseline: lab.Compact, Regrets: lab.DefaultRegrets,
		Options: lab.Options{Logged: true, Summarizer: offline.New()}}
	if run.Memory = OpenMemory(r.app, false, r.Version()); run.Memory != nil {
		defer run.Memory.Close()
	}
	m := measuring{reader: r, apart: map[string]bool{}, of: map[string]advise.Session{}}
	for _, parent := range r.parents {
		m.apart[parent] = true
	}
	r.seen = m.see
	defer func() { r.seen = nil }()
	say, done := r.app.Counting()
	defer done()
	run.Progress = func(done, of int) {
		say(done, of, "looking at sessions: %s of %s", quantity.Number(done), quantity.Number(of))
	}
	var all Measured
	if all.Replay, err = run.Run(ctx, sources); err != nil {
		return all, err
	}
	return all, m.rest(ctx, sources, &all, say)
}

// measuring measures sessions as they are loaded.
type measuring struct {
	reader *Reader
	apart  map[string]bool // ids of sessions whose sub-agents are among the others
	mu     sync.Mutex
	of     map[string]advise.Session // by path
}

// see measures a session, and says whether it is worth replaying.
func (m *measuring) see(path string, doc *format.Document, t *lab.Trace) bool {
	r, name := m.reader, answering(doc.Session.Messages)
	prices := bill.NewPrices(func(step string) model.Model { return r.models.Lookup(cmp.Or(step, name)) })
	s := advise.Measure(advise.Source{Doc: doc, Trace: t, Count: r.counter, Zone: r.app.Env.Now().Location(),
		Prices: prices, Parent: r.parents[path], Apart: m.apart[doc.Session.Info.ID]})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of[path] = s
	return s.Requests > 0
}

// rest measures those whose replays were remembered, so that they were not loaded, and lists all in
// the order of their paths.
func (m *measuring) rest(ctx context.Context, sources []lab.Source, all *Measured,
	say func(done, all int, format string, args ...any)) error {
	for i := range all.Replay.Sessions {
		path := all.Replay.Sessions[i].Path
		if _, measured := m.of[path]; measured {
			continue
		}
		say(i+1, len(all.Replay.Sessions), "measuring sessions: %s of %s", quantity.Number(i+1),
			quantity.Number(len(all.Replay.Sessions)))
		at := slices.IndexFunc(sources, func(s lab.Source) bool { return s.Path == path })
		_, _ = sources[at].Load(ctx) // what went wrong is among the reader's problems
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	for _, path := range slices.Sorted(maps.Keys(m.of)) {
		all.Sessions = append(all.Sessions, m.of[path])
	}
	return nil
}
