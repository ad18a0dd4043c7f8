package torture

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/sqlite"
)

// together is what processes do at the same time.
var together = []string{"append", "append", "append", "append", "update", "observe", "prune", "compact", "undo", "redo", "restore", "pin", "import", "search", "keep", "fork", "rename", "dismiss"}

// TestProcesses_shareAStore lets processes work on one session, and on one each, while others that
// do so are killed.
func TestProcesses_shareAStore(t *testing.T) {
	each := 25
	if *long {
		each = 250
	}
	for _, same := range []bool{true, false} {
		t.Run(map[bool]string{true: "oneSession", false: "oneSessionEach"}[same], func(t *testing.T) {
			if err := share(t, same, each); err != nil {
				t.Error(err)
			}
		})
	}
}

func share(t *testing.T, same bool, each int) error {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "winnow.db")
	kept, err := sqlite.Open(ctx, sqlite.Config{Path: path})
	if err != nil {
		return err
	}
	defer kept.Close()
	const processes = 3 // this one, and two more
	sessions := make([]string, processes)
	workers := make([]*worker, processes)
	ops := make([][]op, processes)
	dice := rand.New(rand.NewPCG(7, 7))
	for i := range processes {
		sessions[i] = mainSession
		if !same {
			sessions[i] = fmt.Sprint("ses_", i)
		}
		if workers[i], err = newWorker(faultySeed, kept); err != nil {
			return err
		}
		workers[i].session = sessions[i]
		if i == 0 || !same {
			if _, err := workers[i].do(ctx, op{i, "create"}); err != nil {
				return err
			}
		}
		for n := range each {
			ops[i] = append(ops[i], op{(i+1)*100_000 + n, together[dice.IntN(len(together))]})
		}
	}
	results := make([]results, processes)
	errs := make([]error, processes+1)
	var all sync.WaitGroup
	for i := 1; i < processes; i++ {
		all.Go(func() {
			errs[i] = results[i].follow(orders{Path: path, Seed: faultySeed, Session: sessions[i], Ops: ops[i]})
		})
	}
	stop := make(chan struct{})
	all.Go(func() { errs[processes] = killOthers(path, sessions[0], stop) })
	for _, o := range ops[0] { // and this process
		result, err := workers[0].do(ctx, o)
		results[0].add(o, result)
		errs[0] = errors.Join(errs[0], err)
	}
	close(stop)
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i := range processes {
		for kind, n := range results[i].busy {
			// A compaction that comes too late is told so, and so is who loses against the others
			// eight times in a row.
			if kind != "compact" && kind != "observe" {
				t.Errorf("process %d: %s was told %d times that the session is busy", i, kind, n)
			}
		}
		// workers[0] was there all the time, the others look at it now: all see every message, in
		// the same order.
		if err := acknowledged(ctx, workers[i], results[i].appended); err != nil {
			t.Errorf("process %d: %v", i, err)
		}
		if err := coherent(ctx, workers[i].engine, sessions[i], nil); err != nil {
			t.Errorf("process %d: %v", i, err)
		}
	}
	fresh, err := newWorker(faultySeed, kept)
	if err != nil {
		return err
	}
	old, _, err := workers[0].engine.Session(ctx, sessions[0])
	if err != nil {
		return err
	}
	now, _, err := fresh.engine.Session(ctx, sessions[0])
	if err != nil {
		return err
	}
	if !slices.EqualFunc(old.Messages, now.Messages, func(a, b session.Message) bool { return a.ID == b.ID }) {
		t.Error("who was there all the time sees another order than who looks at it now")
	}
	return sound(ctx, path)
}

// results are what a process did.
type results struct {
	appended []op
	busy     map[string]int
}

func (r *results) add(o op, result string) {
	switch {
	case result == "busy":
		if r.busy == nil {
			r.busy = map[string]int{}
		}
		r.busy[o.Kind]++
	case result == "ok" && o.Kind == "append":
		r.appended = append(r.appended, o)
	}
}

// follow lets a process follow orders to their end.
func (r *results) follow(o orders) error {
	o.Arm = noNumber
	p, err := start(o)
	if err != nil {
		return err
	}
	for {
		line, ok, err := p.next()
		if err != nil {
			p.cmd.Process.Kill()
			return errors.Join(err, p.cmd.Wait())
		}
		if !ok {
			break
		}
		if line.done {
			r.add(line.op, line.result)
		}
	}
	killed, err := p.killed()
	if killed {
		return errors.New("somebody killed it")
	}
	return err
}

// killOthers starts processes that work on a session too, and kills them, until it is told to stop.
func killOthers(path, id string, stop <-chan struct{}) error {
	for n := 9; ; n++ {
		o := orders{Path: path, Seed: faultySeed, Session: id, Arm: noNumber}
		for i := range 1000 {
			o.Ops = append(o.Ops, op{n*100_000 + i, together[i%len(together)]})
		}
		p, err := start(o)
		if err != nil {
			return err
		}
		lines := make(chan struct{})
		go func() {
			defer close(lines)
			for {
				if _, ok, err := p.next(); !ok || err != nil {
					return
				}
			}
		}()
		ended := false
		select {
		case <-stop:
			ended = true
		case <-time.After(time.Duration(200+n*17%300) * time.Millisecond):
		}
		p.cmd.Process.Kill()
		<-lines
		if _, err := p.killed(); err != nil || ended {
			return err
		}
	}
}
