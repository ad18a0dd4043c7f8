package torture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/sqlite"
	"github.com/winnowhq/winnow/token"
)

// An agent is killed at random moments and resumed by the next process, until its work is done.
// Without -kills it is a handful of times; `make torture` kills 100.
func TestKilledAgents_finishWithTheSameFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("each process does one thing after the other: -short is for the race detector")
	}
	seed := *seedArg
	if seed == 0 {
		seed = rand.Uint64() >> 16
	}
	dice := rand.New(rand.NewPCG(seed, 1))
	want := max(5, *kills/5)
	began, sum := time.Now(), map[string]int{}
	var undisturbed map[string]string
	for n := 0; sum["kills"] < want; n++ {
		protocol := []llmtest.Protocol{llmtest.Anthropic, llmtest.Chat}[n%2]
		a := &killedAgent{dice: dice, sum: sum, dir: t.TempDir()}
		a.errand = errand{Protocol: protocol, Folder: filepath.Join(a.dir, "work"), Rounds: 14, Lines: 150, Window: 16_000, Scribe: n%4 < 2,
			Letter: dice.IntN(2) == 0}
		got, err := a.run(t.Context(), undisturbed != nil)
		if err != nil {
			t.Fatalf("seed %d, agent %d (%s, after %d kills): %v\nto run it again: go test ./internal/torture -run TestKilledAgents -kills %d -seed %d",
				seed, n, protocol, a.killed, err, *kills, seed)
		}
		if undisturbed == nil {
			undisturbed = got
			if len(got) != 2*a.errand.Rounds+2 {
				t.Fatalf("%d files: the errand does not do what it is to do", len(got))
			}
			continue
		}
		if d := cmp.Diff(undisturbed, got); d != "" {
			t.Errorf("seed %d, agent %d: after %d kills the files are not those of a run that nobody disturbed (-want +got):\n%s", seed, n, a.killed, d)
		}
		sum["agents"]++
	}
	var figures []string
	for _, what := range slices.Sorted(maps.Keys(sum)) {
		figures = append(figures, fmt.Sprintf("%s %d", what, sum[what]))
	}
	t.Logf("seed %d, %v: %s", seed, time.Since(began).Round(time.Second/10), strings.Join(figures, ", "))
	if sum["folded"] == 0 {
		t.Error("nothing was folded: the test does not show what it is to show")
	}
}

// With -torture it is a session of 300 steps and more than a million tokens from tools, in a window
// of 64,000.
func TestAgent_takesLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("-short is for the race detector, which takes memory of its own")
	}
	a := &killedAgent{sum: map[string]int{}, dir: t.TempDir()}
	a.errand = errand{Protocol: llmtest.Anthropic, Folder: filepath.Join(a.dir, "work"), Rounds: 75, Lines: 900, Window: 64_000}
	if !*long {
		a.errand.Rounds = 15
	}
	if _, err := a.run(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d requests, %d tokens from tools, %d compactions: %d KB resident at most", len(a.upstream.Records()), a.output, a.sum["folded"], a.memory)
	if a.memory == 0 {
		t.Skip("how much memory a process takes is not known here")
	}
	if most := 150 << 10; a.memory > most || a.sum["folded"] == 0 && *long {
		t.Errorf("%d KB were resident, after %d compactions; want at most %d", a.memory, a.sum["folded"], most)
	}
}

// killedAgent is one errand with its upstream, which outlives the processes.
type killedAgent struct {
	errand   errand
	dir      string
	dice     *rand.Rand
	sum      map[string]int
	killed   int
	output   int // of the tools, in tokens
	memory   int // resident at most, of the last process, in KB; 0 where that is not known
	upstream *llmtest.Server
}

func (a *killedAgent) path() string { return filepath.Join(a.dir, "winnow.db") }

// run lets processes work until the errand is done, and returns the files.
func (a *killedAgent) run(ctx context.Context, disturbed bool) (map[string]string, error) {
	if err := a.errand.prepare(); err != nil {
		return nil, err
	}
	var err error
	if a.upstream, err = llmtest.New(llmtest.Script{Answer: a.errand.answer, Window: a.errand.Window}); err != nil {
		return nil, err
	}
	defer a.upstream.Close()
	a.errand.URL = a.upstream.BaseURL(a.errand.Protocol)
	for lives := 0; ; lives++ {
		finished, err := a.life(disturbed)
		if err != nil {
			return nil, err
		}
		if err := a.checked(ctx, finished); err != nil {
			return nil, err
		}
		if finished {
			break
		}
		if lives > 500 {
			return nil, errors.New("it comes to no end")
		}
	}
	all, unfinished, err := files(a.errand.Folder)
	a.sum["temporary files left"] += unfinished
	return all, err
}

// life is that of one process. It is killed after a random time, unless it finishes first.
func (a *killedAgent) life(disturbed bool) (finished bool, err error) {
	p, err := prepared(orders{Path: a.path(), Agent: &a.errand})
	if err != nil {
		return false, err
	}
	// The commands that it runs have this pipe too: it ends when the last of them has.
	left, held, err := os.Pipe()
	if err != nil {
		return false, err
	}
	defer left.Close()
	p.cmd.ExtraFiles = []*os.File{held}
	err = p.cmd.Start()
	held.Close()
	if err != nil {
		return false, err
	}
	for {
		line, err := p.lines.ReadString('\n')
		if err != nil {
			break
		}
		switch line = strings.TrimSpace(line); line {
		default:
			if _, err := fmt.Sscanf(line, "memory %d", &a.memory); err != nil {
				return false, fmt.Errorf("the process said %q", line)
			}
		case "working":
			if disturbed {
				after := time.Duration(a.dice.Int64N(int64(400 * time.Millisecond)))
				defer time.AfterFunc(after, func() { p.cmd.Process.Kill() }).Stop()
			}
		case "finished":
			finished = true
		}
	}
	killed, err := p.killed()
	if err != nil {
		return false, err
	}
	if _, err := io.Copy(io.Discard, left); err != nil {
		return false, err
	}
	if killed && !finished {
		a.killed++
		a.sum["kills"]++
	}
	return finished, nil
}

// checked looks at what a process left.
func (a *killedAgent) checked(ctx context.Context, finished bool) error {
	if err := sound(ctx, a.path()); err != nil {
		return err
	}
	kept, err := sqlite.Open(ctx, sqlite.Config{Path: a.path()})
	if err != nil {
		return fmt.Errorf("after the kill the store does not open: %w", err)
	}
	defer kept.Close()
	engine, err := winnow.Open(winnow.Config{Store: kept})
	if err != nil {
		return err
	}
	defer engine.Close()
	s, state, err := engine.Session(ctx, errandSession)
	if err != nil {
		if winnow.CodeOf(err) == winnow.NotFound {
			a.sum["before the session was there"]++
			return nil
		}
		return err
	}
	ids, open := map[string]bool{}, 0
	a.output = 0
	for _, m := range s.Messages {
		for _, id := range append([]string{m.ID}, partIDs(m)...) {
			if ids[id] {
				return fmt.Errorf("the id %s is there twice", id)
			}
			ids[id] = true
		}
		for _, p := range m.Parts {
			if p.Type != session.ToolPart {
				continue
			}
			a.output += token.Linear{}.Count(p.State.Result())
			if !p.State.Final() {
				open++
			}
		}
	}
	if !finished {
		if view.Pending(s.Messages, state.Undone) >= 0 {
			a.sum["with a compaction queued"]++
		}
		a.landed(s.Messages, open)
		return a.billed(ctx, engine, false)
	}
	if open > 0 {
		return fmt.Errorf("%d calls are open", open)
	}
	if view.Pending(s.Messages, state.Undone) >= 0 {
		return errors.New("a queued compaction was never made")
	}
	for _, r := range state.Receipts {
		if r.Marker != "" {
			a.sum["folded"]++
		}
	}
	v, err := engine.View(ctx, errandSession)
	if err == nil {
		err = view.Check(v.Messages)
	}
	if err != nil {
		return err
	}
	return a.billed(ctx, engine, true)
}

func partIDs(m session.Message) (ids []string) {
	for _, p := range m.Parts {
		ids = append(ids, p.ID)
		if p.Type == session.ToolPart {
			ids = append(ids, "call "+p.CallID)
		}
	}
	return ids
}

// landed counts where a kill landed.
func (a *killedAgent) landed(log []session.Message, open int) {
	records := a.upstream.Records()
	switch {
	case open > 0:
		a.sum["while tools worked"]++
	case len(records) > 0 && sums(records[len(records)-1].Request) && (len(log) == 0 || !log[len(log)-1].IsSummary()):
		a.sum["while a summary was written"]++
	case len(records) > 0 && (records[len(records)-1].Aborted || records[len(records)-1].Ended.IsZero()):
		a.sum["while the model answered"]++
	default:
		a.sum["elsewhere"]++
	}
}

// billed checks the requests, and that each that was paid for is in the books, once.
func (a *killedAgent) billed(ctx context.Context, engine *winnow.Engine, finished bool) error {
	s, state, err := engine.Session(ctx, errandSession)
	if err != nil {
		return err
	}
	records, err := a.upstream.Settled(ctx)
	if err != nil {
		return err
	}
	asked := map[int]llmtest.Record{} // by what the answer took, which is another number for each
	for _, r := range records {
		switch {
		case len(r.Body) == 0:
			continue // killed while it was sent
		case r.Problem != "" && !r.Aborted:
			return fmt.Errorf("the provider refuses request %d: %s", r.Number, r.Problem)
		case r.TooLong:
			return fmt.Errorf("request %d is too long: %d tokens", r.Number, r.Prompt)
		case r.Problem == "" && !r.Contains(errandRule) && !sums(r.Request): // a summariser of a summary is not told what the engine writes under it by itself
			return fmt.Errorf("request %d does not have the user's rule", r.Number)
		}
		asked[r.Usage.Output+r.Usage.Reasoning] = r
	}
	billed, messages := map[int]bool{}, map[string]bool{}
	for _, spent := range state.Spent {
		took := spent.Usage.Output + spent.Usage.Reasoning
		r, known := asked[took]
		switch {
		case !known && !spent.Failed:
			return fmt.Errorf("no request took what is billed: %+v", spent)
		case known && billed[took]:
			return fmt.Errorf("request %d is billed twice", r.Number)
		case known && !spent.Failed && r.Usage.Prompt() != spent.Usage.Prompt():
			return fmt.Errorf("request %d had a prompt of %d tokens, billed are %d", r.Number, r.Usage.Prompt(), spent.Usage.Prompt())
		case spent.Message != "" && messages[spent.Message]:
			return fmt.Errorf("message %s is billed twice", spent.Message)
		}
		billed[took], messages[spent.Message] = true, true
	}
	if !finished {
		return nil
	}
	for _, m := range s.Messages {
		if m.Role == session.Assistant && m.Tokens != nil && !m.IsSummary() && !messages[m.ID] {
			return fmt.Errorf("message %s is not billed", m.ID)
		}
	}
	return nil
}
