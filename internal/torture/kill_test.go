package torture

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/sqlite"
)

// targets are the operations that processes are killed in, with how often one is chosen, and within
// how many operations of the disk it is usually over.
var targets = map[string]struct{ weight, disk int }{
	"append": {6, 40}, "prune": {6, 14}, "compact": {6, 24}, "undo": {6, 10}, "import": {6, 60}, "migrate": {6, 130},
	"redo": {1, 10}, "update": {1, 20}, "observe": {1, 20}, "restore": {1, 8}, "pin": {1, 8}, "delete": {1, 20}, "close": {2, 40}, "search": {3, 40},
	"fork": {3, 50}, "keep": {2, 16}, "publish": {2, 24}, "aside": {2, 60}, "rename": {1, 6}, "dismiss": {1, 6}, "charge": {1, 6},
	"execute": {2, 24},
}

// several are the operations of more than one change, each of which is whole: recording the usage,
// and then whatever follows from it; a queued compaction that only prunes, and the marker that is
// then withdrawn; a summary that is prepared, and then published.
var several = []string{"observe", "execute", "publish"}

// must are the operations that each have to be killed in at least 60 times in 500.
var must = []string{"append", "prune", "compact", "undo", "import", "migrate"}

// cyclesPerRound is how often one store is killed before the next one is begun.
const cyclesPerRound = 10

// tally counts what happened, for the report.
type tally struct {
	mu     sync.Mutex
	landed map[string]int // kills inside an operation, by its kind
	whole  int            // of these: the operation was there whole afterwards
	exact  int            // of these: at a chosen operation of the disk
	cycles int
	took   map[string]time.Duration // how long an operation takes, undisturbed
}

func (c *tally) total() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.landed {
		n += k
	}
	return n
}

func (c *tally) enough() bool {
	if c.total() < *kills {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return !slices.ContainsFunc(must, func(kind string) bool { return c.landed[kind] < *kills*60/500 })
}

// Without -kills it is a few; `make torture` kills 500.
func TestKilledProcesses_loseNothingThatWasAcknowledged(t *testing.T) {
	if testing.Short() {
		t.Skip("each process does one thing after the other: -short is for the race detector")
	}
	count := &tally{landed: map[string]int{}, took: map[string]time.Duration{}}
	seed := *seedArg
	if seed == 0 {
		seed = rand.Uint64() >> 16
	}
	began := time.Now()
	next := make(chan uint64)
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for seed := range next {
				r := &round{t: t, seed: seed, count: count, dir: t.TempDir(), dice: rand.New(rand.NewPCG(seed, 0))}
				if err := r.run(context.Background()); err != nil {
					t.Errorf("seed %d, cycle %d: %v\nto run it again: go test ./internal/torture -run TestKilledProcesses -kills 1 -seed %d", seed, r.cycle, err, seed)
				}
			}
		})
	}
	for n := uint64(0); !count.enough() && !t.Failed() && (*seedArg == 0 || n == 0); n++ {
		next <- seed + n
	}
	close(next)
	all.Wait()
	t.Logf("first seed %d: %d kills in %d cycles, %v: %s", seed, count.total(), count.cycles, time.Since(began).Round(time.Second/10), count)
}

func (c *tally) String() string {
	var b strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(c.landed)) {
		fmt.Fprintf(&b, "%s %d, ", kind, c.landed[kind])
	}
	fmt.Fprintf(&b, "%d of them at a chosen operation of the disk; afterwards %d operations were there whole, the others not at all", c.exact, c.whole)
	return b.String()
}

// round kills processes that work on one store, again and again.
type round struct {
	t     *testing.T
	seed  uint64
	count *tally
	dir   string
	dice  *rand.Rand
	cycle int
	n     int // number of the last operation
	model *replica
	made  bool // the main session is there
	// appended are the acknowledged operations that appended messages.
	appended []op
}

func (r *round) path() string { return filepath.Join(r.dir, "winnow.db") }

func (r *round) op(kind string) op {
	r.n++
	return op{r.n, kind}
}

func (r *round) run(ctx context.Context) (err error) {
	if r.model, err = newReplica(r.seed); err != nil {
		return err
	}
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(targets)) {
		kinds = append(kinds, slices.Repeat([]string{kind}, targets[kind].weight)...)
	}
	for r.cycle = range cyclesPerRound {
		kind := kinds[r.dice.IntN(len(kinds))]
		if kind == "migrate" {
			err = r.migrate(ctx)
		} else {
			err = r.kill(ctx, kind)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	return nil
}

// exact tells whether this round kills at chosen operations of the disk, so that it can be run
// again to the letter; otherwise it kills after a random time.
func (r *round) exact() bool { return r.seed%2 == 0 }

// kill lets a process do a few operations, kills it in one of a kind, and checks what is left.
func (r *round) kill(ctx context.Context, kind string) error {
	o := orders{Path: r.path(), Seed: r.seed}
	if !r.made {
		o.Ops = append(o.Ops, r.op("create"))
	}
	for range r.dice.IntN(5) {
		o.Ops = append(o.Ops, r.op(background[r.dice.IntN(len(background))]))
	}
	for _, before := range prelude[kind] {
		o.Ops = append(o.Ops, r.op(before))
	}
	target := op{closeNumber, "close"}
	if kind != "close" {
		target = r.op(kind)
		o.Ops = append(o.Ops, target, r.op("append"), r.op("append"))
	}
	spoken, err := r.start(o, target, targets[kind].disk)
	if err != nil {
		return err
	}
	return r.check(ctx, spoken)
}

// spoken is what a process said until its end.
type spoken struct {
	done  []said
	begun *op // and not done
}

// start starts a process and kills it in the target: by itself at an operation of the disk, or by
// us after a random time.
func (r *round) start(o orders, target op, disk int) (s spoken, err error) {
	o.Arm = target.N
	switch {
	case !r.exact():
	case r.dice.IntN(6) == 0:
		o.Silent = true
	default:
		o.At, o.How = 1+r.dice.Int64N(int64(disk)), trouble(r.dice.IntN(int(killAfter)+1))
	}
	r.count.mu.Lock()
	r.count.cycles++
	usual := r.count.took[target.Kind]
	r.count.mu.Unlock()
	p, err := start(o)
	if err != nil {
		return s, err
	}
	share := r.dice.Float64()
	var began time.Time
	for {
		line, ok, err := p.next()
		if err != nil {
			p.cmd.Process.Kill()
			return s, errors.Join(err, p.cmd.Wait())
		}
		if !ok {
			break
		}
		if !line.done {
			s.begun, began = &line.op, line.when
			if line.op == target && !r.exact() {
				defer time.AfterFunc(time.Duration(share*1.2*float64(usual)), func() { p.cmd.Process.Kill() }).Stop()
			}
			continue
		}
		s.begun = nil
		s.done = append(s.done, line)
		r.count.mu.Lock()
		if took := line.when.Sub(began); r.count.took[line.op.Kind] == 0 {
			r.count.took[line.op.Kind] = took
		} else {
			r.count.took[line.op.Kind] = (took + 3*r.count.took[line.op.Kind]) / 4
		}
		r.count.mu.Unlock()
	}
	killed, err := p.killed()
	if err != nil {
		return s, err
	}
	if !killed && s.begun != nil {
		return s, fmt.Errorf("the process ended well in the middle of operation %d, %s", s.begun.N, s.begun.Kind)
	}
	return s, nil
}

func (r *round) landed(kind string, whole bool) {
	r.count.mu.Lock()
	defer r.count.mu.Unlock()
	r.count.landed[kind]++
	if whole {
		r.count.whole++
	}
	if r.exact() {
		r.count.exact++
	}
}

// check compares what a killed process left with what it said, and goes on working with it.
func (r *round) check(ctx context.Context, s spoken) error {
	if err := r.model.restart(); err != nil {
		return err
	}
	for _, line := range s.done {
		if line.op.N < 0 {
			continue
		}
		result, err := r.model.do(ctx, line.op)
		if err != nil {
			return fmt.Errorf("the model: %w", err)
		}
		if result != line.result {
			return fmt.Errorf("operation %d, %s, ended with %s, in the model with %s", line.op.N, line.op.Kind, line.result, result)
		}
		r.made = true
		if line.op.Kind == "append" || line.op.Kind == "big" {
			r.appended = append(r.appended, line.op)
		}
	}
	kept, err := sqlite.Open(ctx, sqlite.Config{Path: r.path()})
	if err != nil {
		return fmt.Errorf("after the kill the store does not open: %w", err)
	}
	defer kept.Close()
	got, err := dump(ctx, kept)
	if err != nil {
		return fmt.Errorf("after the kill the store cannot be read: %w", err)
	}
	if err := r.settle(ctx, s.begun, got); err != nil {
		return err
	}
	if err := sound(ctx, r.path()); err != nil {
		return err
	}
	w, err := newWorker(r.seed, kept)
	if err == nil {
		err = r.model.restart()
	}
	if err != nil {
		return err
	}
	for _, id := range got.sessions() {
		if err := coherent(ctx, w.engine, id, r.model.scheduled()); err != nil {
			return fmt.Errorf("session %s: %w", id, err)
		}
	}
	if !r.made {
		return nil
	}
	if err := acknowledged(ctx, w, r.appended); err != nil {
		return err
	}
	for _, kind := range []string{"append", "compact", "undo"}[:1+r.dice.IntN(3)] { // and life goes on
		o := r.op(kind)
		want, err := r.model.do(ctx, o)
		if err != nil {
			return fmt.Errorf("the model: %w", err)
		}
		if got, err := w.do(ctx, o); err != nil || got != want {
			return fmt.Errorf("afterwards %s ended with %s, %v, in the model with %s", kind, got, err, want)
		}
	}
	if err := r.same(ctx, kept); err != nil {
		return err
	}
	if r.cycle%3 == 0 {
		return searchable(ctx, kept, filepath.Join(r.dir, fmt.Sprint("indexed-", r.cycle, ".db")))
	}
	return nil
}

// searchable compares what is found in the main session with what is found in a copy of it that was
// indexed undisturbed.
func searchable(ctx context.Context, kept *sqlite.Store, path string) error {
	state, err := kept.State(ctx, mainSession)
	if err != nil {
		return err
	}
	var log []session.Message
	for m, err := range kept.Messages(ctx, mainSession) {
		if err != nil {
			return err
		}
		log = append(log, m)
	}
	slices.Reverse(log)
	copied, err := sqlite.Open(ctx, sqlite.Config{Path: path})
	if err != nil {
		return err
	}
	defer copied.Close()
	if _, err := copied.Apply(ctx, mainSession, store.Change{Create: &state.Info, Append: log}); err != nil {
		return err
	}
	for i := range log {
		for j := range log[i].Parts {
			part := log[i].Parts[j].ID
			text, err := kept.Kept(ctx, mainSession, part)
			if err == nil {
				err = copied.Keep(ctx, mainSession, part, text)
			}
			if err != nil && !errors.Is(err, store.ErrNotKept) {
				return err
			}
		}
	}
	for _, words := range []string{"line", "request", "updated by", "the same text again", "filePath"} {
		query := store.Search{Words: words, Session: mainSession, Limit: 1 << 20}
		want, err := copied.Search(ctx, query)
		if err != nil {
			return err
		}
		got, err := kept.Search(ctx, query)
		if err != nil {
			return fmt.Errorf("searching: %w", err)
		}
		if want, got := hits(want), hits(got); !slices.Equal(want, got) {
			return fmt.Errorf("%q is found in %d parts, in a copy that nobody disturbed in %d", words, len(got), len(want))
		}
	}
	return nil
}

func hits(f store.Found) (parts []string) {
	for _, h := range f.Hits {
		parts = append(parts, h.Message+" "+h.Part)
	}
	slices.Sort(parts)
	return parts
}

// acknowledged checks, without the model's help, that every message of an acknowledged append is
// there, in order and its text to the byte unless an update was about it since.
func acknowledged(ctx context.Context, w *worker, ops []op) error {
	log, _, err := w.engine.Session(ctx, w.session)
	if err != nil {
		return err
	}
	rest := log.Messages
	for _, o := range ops {
		for _, want := range appended(o, w.begin(o.N)) {
			at := session.Index(rest, want.ID)
			if at < 0 {
				return fmt.Errorf("message %s of the acknowledged operation %d is not there, or not in order", want.ID, o.N)
			}
			got := rest[at]
			rest = rest[at+1:]
			if len(got.Parts) != len(want.Parts) {
				return fmt.Errorf("message %s has %d parts, not %d", want.ID, len(got.Parts), len(want.Parts))
			}
			for i := range want.Parts {
				a, b := text(&want.Parts[i]), text(&got.Parts[i])
				if a != b && !strings.Contains(b, "updated by ") {
					return fmt.Errorf("part %d of message %s is not what was appended: %q", i, want.ID, b)
				}
			}
		}
	}
	return nil
}

func text(p *session.Part) string {
	if p.State != nil {
		return string(p.State.Input) + "\n" + p.State.Output + "\n" + p.State.Error
	}
	return p.Text
}

// settle finds out how much there is of the operation that was not acknowledged: all of it or
// nothing, but for those of several changes.
func (r *round) settle(ctx context.Context, begun *op, got contents) error {
	var states []contents
	switch {
	case begun == nil, begun.N < 0:
		now, err := dump(ctx, r.model.kept.Store)
		if err != nil {
			return err
		}
		if !now.equal(got) {
			return fmt.Errorf("what was acknowledged is not what is there: %s", difference(now, got))
		}
		if begun != nil {
			r.landed(begun.Kind, false)
		}
		return nil
	default:
		var err error
		if states, _, err = r.model.apply(ctx, *begun); err != nil {
			return fmt.Errorf("the model: %w", err)
		}
	}
	last := len(states) - 1
	at := slices.IndexFunc(states, got.equal)
	switch {
	case at < 0:
		return fmt.Errorf("operation %d, %s, is there neither whole nor not at all; without it: %s\nwith it: %s",
			begun.N, begun.Kind, difference(states[0], got), difference(states[last], got))
	case at > 0 && at < last && !slices.Contains(several, begun.Kind):
		return fmt.Errorf("operation %d, %s, is there half: %d of %d changes: %s", begun.N, begun.Kind, at, last, difference(states[last], got))
	}
	r.landed(begun.Kind, at == last)
	r.made = r.made || at > 0
	if at < last {
		return r.model.back(ctx, at)
	}
	return nil
}

func (r *round) same(ctx context.Context, kept *sqlite.Store) error {
	want, err := dump(ctx, r.model.kept.Store)
	if err != nil {
		return err
	}
	got, err := dump(ctx, kept)
	if err != nil {
		return err
	}
	if !want.equal(got) {
		return fmt.Errorf("afterwards it is not as in the model: %s", difference(want, got))
	}
	return nil
}

// sound lets SQLite check its file.
func sound(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	defer db.Close()
	var answer string
	if err := db.QueryRowContext(ctx, `PRAGMA integrity_check`).Scan(&answer); err != nil || answer != "ok" {
		return fmt.Errorf("integrity_check: %s, %v", answer, err)
	}
	var broken int
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM pragma_foreign_key_check`).Scan(&broken); err != nil || broken > 0 {
		return fmt.Errorf("foreign_key_check: %d rows, %v", broken, err)
	}
	// Every content is somebody's, and who names one has it.
	var left, missing int
	if err := db.QueryRowContext(ctx, `WITH held AS (SELECT content FROM part WHERE content IS NOT NULL UNION SELECT content FROM apart UNION SELECT content FROM piece UNION SELECT content FROM kept)
		SELECT (SELECT count(*) FROM content WHERE num NOT IN held), (SELECT count(*) FROM held WHERE content NOT IN (SELECT num FROM content))`).Scan(&left, &missing); err != nil || left+missing > 0 {
		return fmt.Errorf("%d contents are nobody's, %d are missing, %v", left, missing, err)
	}
	return nil
}

// migrate kills a process that brings an older store to the form of this version: an empty file, or
// one that an earlier version wrote.
func (r *round) migrate(ctx context.Context) error {
	var old []byte
	var err error
	if files := oldStores(r.t); r.dice.IntN(2) < len(files) {
		if old, err = os.ReadFile(files[r.dice.IntN(len(files))]); err != nil {
			return err
		}
	}
	want, err := migrated(ctx, old, filepath.Join(r.dir, fmt.Sprint("undisturbed-", r.cycle, ".db")))
	if err != nil {
		return err
	}
	path := filepath.Join(r.dir, fmt.Sprint("old-", r.cycle, ".db"))
	for range 4 { // it is killed until it is through
		if _, err := os.Stat(path); err != nil {
			if err := os.WriteFile(path, old, 0o600); err != nil {
				return err
			}
		}
		s, err := r.start(orders{Path: path, Seed: r.seed}, op{openNumber, "open"}, targets["migrate"].disk)
		if err != nil {
			return err
		}
		if s.begun == nil {
			break
		}
		r.landed("migrate", false)
		if r.dice.IntN(3) > 0 {
			break // otherwise the next process takes it as it is, and is killed too
		}
	}
	kept, err := sqlite.Open(ctx, sqlite.Config{Path: path})
	if err != nil {
		return fmt.Errorf("after the kill the store does not open: %w", err)
	}
	defer kept.Close()
	got, err := dump(ctx, kept)
	if err != nil {
		return fmt.Errorf("after the kill the store cannot be read: %w", err)
	}
	if !want.equal(got) {
		return fmt.Errorf("it is not what was migrated: %s", difference(want, got))
	}
	w, err := newWorker(r.seed, kept)
	if err != nil {
		return err
	}
	if _, err := w.do(ctx, op{1_000_000, "import"}); err != nil {
		return fmt.Errorf("afterwards: %w", err)
	}
	return sound(ctx, path)
}
