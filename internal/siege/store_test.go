package siege

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"iter"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/memory"
	"github.com/winnowhq/winnow/store/sqlite"
	"github.com/winnowhq/winnow/token"
)

// sick is a store with which something is the matter at each use, while that is set.
type sick struct {
	store.Store
	matter atomic.Pointer[func(ctx context.Context) error]
}

func (s *sick) ail(ctx context.Context) error {
	if m := s.matter.Load(); m != nil {
		return (*m)(ctx)
	}
	return nil
}

func (s *sick) Create(ctx context.Context, info session.Info) error {
	if err := s.ail(ctx); err != nil {
		return err
	}
	return s.Store.Create(ctx, info)
}

func (s *sick) List(ctx context.Context) ([]store.Listing, error) {
	if err := s.ail(ctx); err != nil {
		return nil, err
	}
	return s.Store.List(ctx)
}

func (s *sick) State(ctx context.Context, id string) (store.State, error) {
	if err := s.ail(ctx); err != nil {
		return store.State{}, err
	}
	return s.Store.State(ctx, id)
}

func (s *sick) Revision(ctx context.Context, id string) (int64, error) {
	if err := s.ail(ctx); err != nil {
		return 0, err
	}
	return s.Store.Revision(ctx, id)
}

func (s *sick) Messages(ctx context.Context, id string) iter.Seq2[session.Message, error] {
	if err := s.ail(ctx); err != nil {
		return func(yield func(session.Message, error) bool) { yield(session.Message{}, err) }
	}
	return s.Store.Messages(ctx, id)
}

func (s *sick) Apply(ctx context.Context, id string, c store.Change) (int64, error) {
	if err := s.ail(ctx); err != nil {
		return 0, err
	}
	return s.Store.Apply(ctx, id, c)
}

// TestGateway_aSickStore lets everything happen to the store while a client works: each request is
// answered, and goes out pruned or as it came; when the store is well again the conversation is
// pruned again, and is in it.
func TestGateway_aSickStore(t *testing.T) {
	never := make(chan struct{})
	t.Cleanup(func() { close(never) }) // before the listener ends
	for name, matter := range map[string]func(ctx context.Context) error{
		"errors": func(context.Context) error { return errors.New("the disk is full") },
		"panics": func(context.Context) error { panic("an index out of range") },
		"hangs until it is told to stop": func(ctx context.Context) error {
			select {
			case <-ctx.Done():
			case <-never:
			}
			return errors.New("stopped")
		},
		"hangs for ever": func(context.Context) error { <-never; return errors.New("the test has ended") },
	} {
		for i, protocol := range llmtest.Protocols() {
			if i > 0 && testing.Short() {
				break
			}
			t.Run(name+", "+string(protocol), func(t *testing.T) {
				kept := &sick{Store: memory.New()}
				besieged(t, protocol, kept, func(bad bool) {
					kept.matter.Store(nil)
					if bad {
						kept.matter.Store(&matter)
					}
				}, name == "hangs for ever")
			})
		}
	}
}

// besieged lets a client work while its gateway's store is bad twice. forever: what hung in the
// store never ends.
func besieged(t *testing.T, protocol llmtest.Protocol, kept store.Store, bad func(bool), forever bool) {
	t.Helper()
	besiegedWith(t, protocol, &gate{store: kept, patience: 50 * time.Millisecond}, bad, forever)
}

func besiegedWith(t *testing.T, protocol llmtest.Protocol, g *gate, bad func(bool), forever bool) {
	t.Helper()
	v := visit(t, protocol, true, 7, 50)
	up := provide(t, v)
	g.log = slog.New(slog.DiscardHandler)
	g.open(t, up.URL)
	steps, pruned := v.steps(), 0
	for i, at := range steps {
		ill := i >= 4 && i < 7 || i >= 30 && i < 34
		bad(ill)
		for !ill && !forever && g.way.Load().Lost() { // a question to the store may still be under way
			time.Sleep(time.Millisecond)
		}
		g.pass(20 * time.Second)
		g.tap.forget()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		h := v.hear(v.request(ctx, g.url, at))
		cancel()
		sent, said := g.tap.seen()
		if h.status != 200 || h.err != nil || !bytes.Equal(h.body, said.body) || len(sent) != 1 {
			t.Fatalf("step %d: %d %.200q, %v; it was sent %d times", at, h.status, h.body, h.err, len(sent))
		}
		original := v.body(at)
		edited := !bytes.Equal(sent[0], original)
		if edited && len(sent[0]) >= len(original) {
			t.Errorf("step %d: %d bytes were sent, %d came", at, len(sent[0]), len(original))
		}
		if edited && i >= 40 {
			pruned++
		}
	}
	bad(false)
	if pruned == 0 && !forever {
		t.Error("with the store well again, nothing was left out any more")
	}
	if problems := up.Problems(); len(problems) > 0 {
		t.Errorf("the provider finds fault: %s", problems)
	}
	if forever {
		return
	}
	most := 0
	for _, l := range must(g.store.List(t.Context())) {
		most = max(most, l.Messages)
	}
	if most < len(v.log)-4 {
		t.Errorf("the store has %d messages, the conversation %d", most, len(v.log))
	}
}

// stumbling is a counter of tokens that panics while it is told to: what else is wrong in a step of
// ours.
type stumbling struct {
	token.Linear
	now atomic.Bool
}

func (c *stumbling) Count(text string) int {
	if c.now.Load() {
		panic("an index out of range")
	}
	return c.Linear.Count(text)
}

// TestGateway_aStepThatPanics lets decisions panic with the conversation in their hands.
func TestGateway_aStepThatPanics(t *testing.T) {
	for i, protocol := range llmtest.Protocols() {
		if i > 0 && testing.Short() {
			break
		}
		t.Run(string(protocol), func(t *testing.T) {
			c := &stumbling{}
			besiegedWith(t, protocol, &gate{store: memory.New(), counter: c}, c.now.Store, false)
		})
	}
}

// TestGateway_aSickFile lets the same happen to a store on disk: another process locks it, or
// overwrites it.
func TestGateway_aSickFile(t *testing.T) {
	for name, sicken := range map[string]func(t *testing.T, path string) (bad func(bool)){
		"locked":  locking,
		"corrupt": corrupting,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "winnow.db")
			kept := must(sqlite.Open(t.Context(), sqlite.Config{Path: path}))
			t.Cleanup(func() { kept.Close() })
			besieged(t, llmtest.Anthropic, kept, sicken(t, path), name == "corrupt")
		})
	}
}

// other is another program's connection to a store.
func other(t *testing.T, path string) *sql.Conn {
	t.Helper()
	db := must(sql.Open("sqlite", path))
	t.Cleanup(func() { db.Close() })
	c := must(db.Conn(t.Context()))
	t.Cleanup(func() { c.Close() })
	return c
}

func locking(t *testing.T, path string) func(bool) {
	c, locked := other(t, path), false
	return func(bad bool) {
		if bad == locked {
			return
		}
		locked = bad
		words := map[bool]string{true: "BEGIN IMMEDIATE", false: "ROLLBACK"}[bad]
		if _, err := c.ExecContext(t.Context(), words); err != nil {
			t.Fatal(err)
		}
	}
}

// corrupting overwrites the whole store, once, with what is no database.
func corrupting(t *testing.T, path string) func(bool) {
	done := false
	return func(bad bool) {
		if !bad || done {
			return
		}
		done = true
		for _, name := range []string{path, path + "-wal"} {
			size := must(os.Stat(name)).Size()
			f := must(os.OpenFile(name, os.O_WRONLY, 0))
			if _, err := f.Write(bytes.Repeat([]byte("no database "), int(size)/12+1)); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// fullDisk names the folder on a small disk of its own in which the test binary is to work.
const fullDisk = "WINNOW_SIEGE_DISK"

// filling fills the disk that a store is on, and makes room again.
func filling(t *testing.T, path string) func(bool) {
	ballast := path + ".ballast"
	return func(bad bool) {
		if !bad {
			if err := os.RemoveAll(ballast); err != nil {
				t.Fatal(err)
			}
			return
		}
		f := must(os.OpenFile(ballast, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600))
		defer f.Close()
		for {
			if _, err := f.Write(make([]byte, 4096)); err != nil {
				return
			}
		}
	}
}

// TestGateway_aFullDisk fills a real disk of a few megabytes below the gateway's store.
func TestGateway_aFullDisk(t *testing.T) {
	if dir := os.Getenv(fullDisk); dir != "" {
		path := filepath.Join(dir, "winnow.db")
		kept := must(sqlite.Open(t.Context(), sqlite.Config{Path: path}))
		t.Cleanup(func() { kept.Close() })
		besieged(t, llmtest.Anthropic, kept, filling(t, path), false)
		return
	}
	if testing.Short() {
		t.Skip("one client asks one thing after the other: -short is for the race detector")
	}
	dir := t.TempDir()
	const mount = `mount -t tmpfs -o size=12m none "$1"`
	if out, err := exec.Command("unshare", "-rm", "sh", "-c", mount, "sh", dir).CombinedOutput(); err != nil {
		t.Skipf("this needs a mount namespace, which is not to be had here: %v %s", err, out)
	}
	cmd := exec.Command("unshare", "-rm", "sh", "-c", mount+` && exec "$0" -test.v -test.run '^TestGateway_aFullDisk$'`,
		must(os.Executable()), dir)
	cmd.Env = append(os.Environ(), fullDisk+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS")) {
		t.Fatalf("%v: %s", err, out)
	}
}
