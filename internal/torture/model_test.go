package torture

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/memory"
)

// contents are all that a store says, by session: JSON for people, with a hash of the exact bytes
// of every text.
type contents map[string]string

// dump reads all of a store.
func dump(ctx context.Context, s store.Store) (contents, error) {
	list, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	all := contents{}
	for _, l := range list {
		if all[l.Info.ID], err = dumpSession(ctx, s, l.Info.ID); err != nil {
			return nil, fmt.Errorf("session %s: %w", l.Info.ID, err)
		}
	}
	if f, ok := s.(store.Filer); ok {
		files, err := f.Files(ctx)
		if err != nil {
			return nil, err
		}
		for path, file := range files {
			file.Seen = 0 // by the clock
			all[fileOf+path] = fmt.Sprint(file)
		}
	}
	return all, nil
}

// fileOf is what the names of files begin with among the sessions of a dump.
const fileOf = "file "

// sessions are the ids in a dump.
func (c contents) sessions() (ids []string) {
	for id := range c {
		if !strings.HasPrefix(id, fileOf) {
			ids = append(ids, id)
		}
	}
	return ids
}

func dumpSession(ctx context.Context, s store.Store, id string) (string, error) {
	state, err := s.State(ctx, id)
	if err != nil {
		return "", err
	}
	exact := sha256.New()
	write := func(texts ...string) {
		for _, t := range texts {
			fmt.Fprintf(exact, "%d %s", len(t), t)
		}
	}
	var log []session.Message
	keeper, _ := s.(store.Keeper)
	kept := 0
	for m, err := range s.Messages(ctx, id) {
		if err != nil {
			return "", err
		}
		for i := range m.Parts {
			if p := &m.Parts[i]; p.State != nil {
				write(p.ID, string(p.State.Input), p.State.Output, p.State.Error)
				switch text, err := keeper.Kept(ctx, id, p.ID); {
				case err == nil:
					kept++
					write("kept", text)
				case !errors.Is(err, store.ErrNotKept):
					return "", err
				}
			} else {
				write(p.ID, p.Text)
			}
		}
		log = append(log, m)
	}
	if len(log) != state.Messages {
		return "", fmt.Errorf("it says that it has %d messages, and has %d", state.Messages, len(log))
	}
	slices.Reverse(log)
	for _, e := range state.Ledger.All() {
		write(e.Part, e.Shown)
	}
	source, err := s.Source(ctx, id)
	if err != nil {
		return "", err
	}
	if source != nil {
		write(source.Format, source.Path, string(source.Data))
	}
	undone := []string{}
	for marker := range state.Undone {
		undone = append(undone, marker)
	}
	slices.Sort(undone)
	text, err := json.Marshal(struct {
		Info      session.Info
		Messages  []session.Message
		Ledger    []rule.Elision
		Pins      []rule.Pin
		Undone    []string
		Dismissed map[string]bool
		Receipts  []pivot.Receipt
		Spent     []store.Spend
		Prepared  *store.Prepared
		Source    bool
		Kept      int
		Exact     string
	}{state.Info, log, state.Ledger.All(), state.Pins, undone, state.Dismissed, state.Receipts, state.Spent, state.Prepared, source != nil, kept, fmt.Sprintf("%x", exact.Sum(nil))},
		json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.WithIndent(" "))
	return string(text), err
}

func (c contents) equal(d contents) bool {
	if len(c) != len(d) {
		return false
	}
	for id := range c {
		if c[id] != d[id] {
			return false
		}
	}
	return true
}

// difference shows where two stores begin to differ.
func difference(want, got contents) string {
	var b strings.Builder
	for id, text := range want {
		if other, ok := got[id]; !ok {
			fmt.Fprintf(&b, "session %s is missing\n", id)
		} else if text != other {
			w, g := strings.Split(text, "\n"), strings.Split(other, "\n")
			at := 0
			for at < min(len(w), len(g)) && w[at] == g[at] {
				at++
			}
			cut := func(lines []string) string {
				text := strings.Join(lines[max(0, at-4):min(len(lines), at+6)], "\n")
				return text[:min(len(text), 1500)]
			}
			fmt.Fprintf(&b, "session %s differs at line %d of %d and %d; wanted\n%s\ngot\n%s\n", id, at, len(w), len(g), cut(w), cut(g))
		}
	}
	for id := range got {
		if _, ok := want[id]; !ok {
			fmt.Fprintf(&b, "there is a session %s too many\n", id)
		}
	}
	return b.String()
}

// replica does in memory what the process did that was killed.
type replica struct {
	seed      uint64
	done      []step
	worker    *worker
	kept      *recorder
	restarted bool // since the last operation
}

// step is an operation with how many of its changes were kept; all of them with -1. Restarted tells
// that the engine is a new one from here on.
type step struct {
	op
	changes   int
	restarted bool
}

func newReplica(seed uint64) (*replica, error) {
	r := &replica{seed: seed}
	return r, r.replay(context.Background())
}

// replay does everything again.
func (r *replica) replay(ctx context.Context) error {
	r.kept = &recorder{Store: memory.New(), limit: -1}
	if err := r.restart(); err != nil {
		return err
	}
	for _, s := range r.done {
		if s.restarted {
			if err := r.restart(); err != nil {
				return err
			}
		}
		r.kept.limit = s.changes
		if _, err := r.worker.do(ctx, s.op); err != nil && !errors.Is(err, errStopped) {
			return err
		}
		r.kept.limit = -1
	}
	r.restarted = false
	return nil
}

// restart makes the engine a new one, as that of a new process is.
func (r *replica) restart() (err error) {
	r.restarted = true
	r.worker, err = newWorker(r.seed, r.kept)
	return err
}

func (r *replica) remember(o op) {
	r.done = append(r.done, step{op: o, changes: -1, restarted: r.restarted})
	r.restarted = false
}

// scheduled are the times at which markers were queued, or may have been: an engine that is told to
// queue does so when a step's usage overflows.
func (r *replica) scheduled() map[session.Millis]bool {
	times := map[session.Millis]bool{}
	queues := configOf(r.seed, nil).Queue
	for _, s := range r.done {
		if s.Kind == "schedule" || queues && s.Kind == "observe" {
			times[session.Millis(timeOf(s.N).UnixMilli())] = true
		}
	}
	return times
}

// apply does one operation more, and returns what the store said before it and after each change
// that it made.
func (r *replica) apply(ctx context.Context, o op) (states []contents, result string, err error) {
	before, err := dump(ctx, r.kept.Store)
	if err != nil {
		return nil, "", err
	}
	r.kept.states = []contents{before}
	r.kept.recording = true
	result, err = r.worker.do(ctx, o)
	r.kept.recording = false
	r.remember(o)
	return r.kept.states, result, errors.Join(err, r.kept.err)
}

// do is apply without looking.
func (r *replica) do(ctx context.Context, o op) (string, error) {
	r.remember(o)
	return r.worker.do(ctx, o)
}

// back makes the last operation one that was stopped after some changes.
func (r *replica) back(ctx context.Context, changes int) error {
	r.done[len(r.done)-1].changes = changes
	return r.replay(ctx)
}

// recorder is a store in memory that tells what it said after each change, and can stop to take
// changes.
type recorder struct {
	*memory.Store
	limit     int // changes that are still taken; -1 is all
	recording bool
	states    []contents
	err       error
}

var errStopped = errors.New("the process was killed here")

func (r *recorder) change(ctx context.Context, do func() error) error {
	if r.limit == 0 {
		return errStopped
	}
	err := do()
	if err == nil && r.limit > 0 {
		r.limit--
	}
	if err == nil && r.recording {
		now, err := dump(ctx, r.Store)
		r.states, r.err = append(r.states, now), errors.Join(r.err, err)
	}
	return err
}

func (r *recorder) Create(ctx context.Context, info session.Info) error {
	return r.change(ctx, func() error { return r.Store.Create(ctx, info) })
}

func (r *recorder) Delete(ctx context.Context, id string) error {
	return r.change(ctx, func() error { return r.Store.Delete(ctx, id) })
}

func (r *recorder) Apply(ctx context.Context, id string, c store.Change) (revision int64, err error) {
	err = r.change(ctx, func() error { revision, err = r.Store.Apply(ctx, id, c); return err })
	return revision, err
}

func (r *recorder) Keep(ctx context.Context, id, part, text string) error {
	return r.change(ctx, func() error { return r.Store.Keep(ctx, id, part, text) })
}

func (r *recorder) SetSource(ctx context.Context, id string, s store.Source) error {
	return r.change(ctx, func() error { return r.Store.SetSource(ctx, id, s) })
}

// coherent checks what holds in every session whatever was done to it, without knowing what that
// was: no half pivot, no mark without its receipt, and a view that a provider takes. scheduled are
// the times at which a marker was queued: such a one may stay without a summary.
func coherent(ctx context.Context, e *winnow.Engine, id string, scheduled map[session.Millis]bool) error {
	log, state, err := e.Session(ctx, id)
	if err != nil {
		return err
	}
	for i := range log.Messages {
		m := &log.Messages[i]
		switch {
		case m.Marker() != nil && !scheduled[m.Time.Created]:
			if !slices.ContainsFunc(log.Messages, func(s session.Message) bool { return s.IsSummary() && s.ParentID == m.ID && s.Completes() }) {
				return fmt.Errorf("marker %s has no summary, and nobody asked for it", m.ID)
			}
		case m.IsSummary():
			if at := session.Index(log.Messages, m.ParentID); at < 0 || log.Messages[at].Marker() == nil {
				return fmt.Errorf("summary %s has no marker", m.ID)
			}
		}
	}
	receipted := map[rule.Key]bool{}
	for _, r := range state.Receipts {
		for _, el := range r.Committed {
			receipted[el.Key()] = true
		}
		if r.Kind == pivot.Compaction && (session.Index(log.Messages, r.Marker) < 0 || session.Index(log.Messages, r.Summary) < 0) {
			return fmt.Errorf("receipt %s is for a pivot that is not there", r.ID)
		}
	}
	for _, el := range state.Ledger.All() {
		if _, p := session.FindPart(log.Messages, el.Part); p == nil {
			return fmt.Errorf("an elision is about part %s, which is not there", el.Part)
		}
		if !receipted[el.Key()] && el.Rule != rule.Mark {
			return fmt.Errorf("the elision of %s %s has no receipt", el.Part, el.Field)
		}
	}
	v, err := e.View(ctx, id)
	if err != nil {
		return err
	}
	return view.Check(v.Messages)
}
