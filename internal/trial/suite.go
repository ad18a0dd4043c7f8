package trial

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/memory"
	asking "github.com/winnowhq/winnow/summarize/model"
	"github.com/winnowhq/winnow/summarize/offline"
	"github.com/winnowhq/winnow/token"
)

// Suite runs every fault at every stage.
type Suite struct {
	// Upstreams are the providers that are asked, by their names. Each of them meets every fault at
	// the first stages of Stages, those at which a client is asked in another form or again; at the
	// others, which differ in what the engine does, they take turns.
	Upstreams map[string]Upstream
	// Turns has them take turns at all stages.
	Turns bool
	// Sparse tries one case in this many, so that each fault is met at some stage and each stage
	// has some faults: for the race detector. 0 tries all.
	Sparse int
	// Faults are what they do wrong. Empty takes those that any upstream can do.
	Faults []Fault
	// Strict forbids the engine to fall back to the offline summariser; nil leaves these cases out.
	Strict func(*winnow.Engine)
	// Retry is put around the client: with it a failure that passes must end in a summary by the
	// model all the same. nil for nothing.
	Retry func(llm.Client) llm.Client
	// Model is asked; zero takes p/m with a window of 200,000 tokens. Where the session is to be
	// too long the window is smaller.
	Model model.Model
}

// promptly is how long a compaction may take to end once it is told to.
const promptly = 250 * time.Millisecond

// Run runs it, and fails where a fault was not met at a stage.
func (s Suite) Run(t *testing.T) {
	faults := s.Faults
	if len(faults) == 0 {
		faults = Faults()
	}
	names := slices.Sorted(maps.Keys(s.Upstreams))
	m := matrix{met: map[[2]string]int{}, want: map[[2]string]int{}, sparse: s.Sparse > 1}
	for turn, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i, stage := range Stages() {
				for j, fault := range faults {
					if (s.Turns || i >= inEvery) && (i+j)%len(names) != turn || s.Sparse > 1 && (i+j)%s.Sparse != 0 {
						continue
					}
					for _, strict := range []bool{false, true} {
						if strict && s.Strict == nil {
							continue
						}
						title := fmt.Sprintf("%s at %s", fault, stage)
						if strict {
							title += ", nothing else allowed"
						}
						m.wants(stage, fault)
						t.Run(title, func(t *testing.T) {
							if s.run(t, s.Upstreams[name], stage, fault, strict) {
								m.meets(stage, fault)
							}
						})
					}
				}
			}
		})
	}
	t.Cleanup(func() {
		if run := flag.Lookup("test.run"); run == nil ||
			strings.Count(run.Value.String(), "/") <= strings.Count(t.Name(), "/") {
			m.check(t, Stages(), faults)
		}
	})
}

// matrix counts which fault was met at which stage.
type matrix struct {
	mu        sync.Mutex
	met, want map[[2]string]int
	sparse    bool // some cases are not wanted
}

func (m *matrix) wants(stage Stage, fault Fault) { m.count(m.want, stage, fault) }
func (m *matrix) meets(stage Stage, fault Fault) { m.count(m.met, stage, fault) }

func (m *matrix) count(of map[[2]string]int, stage Stage, fault Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	of[[2]string{string(stage), string(fault)}]++
}

// check holds that none was left out.
func (m *matrix) check(t interface{ Errorf(string, ...any) }, stages []Stage, faults []Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, stage := range stages {
		for _, fault := range faults {
			key := [2]string{string(stage), string(fault)}
			if m.met[key] == 0 && !m.sparse || m.met[key] != m.want[key] {
				t.Errorf("%s was met at %s in %d of %d cases", fault, stage, m.met[key], m.want[key])
			}
		}
	}
}

// Start opens an engine with a session in it that asks a model as scripted.
func (s Suite) Start(t TB, u Upstream, stage Stage, strict bool, script func(string) Reply) *Case {
	t.Helper()
	m := s.model()
	switch {
	case stage.pieces():
		m.Limits = model.Limits{Context: 16_000, Output: 4_000}
	case stage == Threshold:
		m.Limits = model.Limits{Context: 10_000, Output: 2_000}
	}
	client, bills := u.Client(t, m, script)
	if s.Retry != nil {
		client = s.Retry(client)
	}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	settings := settings.Default()
	settings.Compaction.Summarizer = "llm"
	settings.Compaction.Prune = stage != Threshold // else that would do
	c := winnow.Config{
		Settings: &settings, Model: m.String(), Models: &model.Catalogue{Models: []model.Model{m}}, ForceModel: true,
		Counter: token.Linear{},
		Now:     func() time.Time { return now }, Store: memory.New(),
		SummarizerFor: func(m model.Model) (pivot.Summarizer, error) {
			return asking.New(client, m, asking.Options{}),
				nil
		},
	}
	if stage.aligned() {
		c.Prefix = func(context.Context, string) (winnow.Prefix, error) {
			return winnow.Prefix{System: systemWords},
				nil
		}
	}
	e, err := winnow.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	if strict {
		s.Strict(e)
	}
	id, err := e.Create(t.Context(), session.Info{Title: "trial"})
	if err != nil {
		t.Fatal(err)
	}
	started := &Case{Engine: e, ID: id, config: c, model: m, bills: bills, pieces: stage.pieces(),
		uneven: stage == Update || stage == Rejection}
	started.append(t, conversation(m, lastAnswer(stage))...)
	started.mark(t)
	return started
}

func (s Suite) model() model.Model {
	if s.Model.ID != "" {
		return s.Model
	}
	return model.Model{Provider: "p", ID: "m", Limits: model.Limits{Context: 200_000, Output: 16_000},
		Price: model.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}}
}

// conversation is a session of some turns with a last answer.
func conversation(m model.Model, last string) []session.Message {
	var log []session.Message
	for i := range 6 {
		log = append(log,
			session.Message{MessageInfo: session.MessageInfo{Role: session.User, Agent: "build"},
				Parts: []session.Part{{Type: session.TextPart,
					Text: fmt.Sprintf("Request %d: change the parser, and never touch the lexer.", i)}}},
			session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant, ProviderID: m.Provider,
				ModelID: m.ID, Finish: "tool-calls"},
				Parts: []session.Part{{Type: session.ToolPart, Tool: "read", CallID: fmt.Sprintf("call_%d", i),
					State: &session.ToolState{
						// each file twice, so that there is something to elide
						Status: session.Completed, Input: []byte(fmt.Sprintf(`{"filePath":"parser%d.go"}`, i/2)),
						Output: strings.Repeat("func parse() {}\n", 300)}}}},
			session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant, ProviderID: m.Provider,
				ModelID: m.ID, Finish: "stop"},
				Parts: []session.Part{{Type: session.TextPart, Text: fmt.Sprintf("Request %d is done.", i)}}})
	}
	log[len(log)-1].Parts[0].Text = last
	return log
}

// run is one case; met says that the fault happened where it was to happen.
func (s Suite) run(t *testing.T, u Upstream, stage Stage, fault Fault, strict bool) (met bool) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := &play{stage: stage, fault: fault, hit: make(chan struct{}), stop: func() {}}
	does := fault.like()
	if does == Hang {
		p.stops(cancel)
	}
	c := s.Start(t, u, stage, strict, p.answer)
	p.ready(t, c)
	ending := p.fold(ctx, t, c)
	c.Check(t, ending)
	want := s.outcome(stage, fault, strict)
	switch receipt, err := ending.receipt, ending.err; {
	case p.struck == 0:
		t.Error("the request was never made")
	case want == "" && does == Hang:
		if winnow.CodeOf(err) != winnow.Cancelled || !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v", err)
		}
		if ending.took > promptly {
			t.Errorf("it ended %v after it was told to", ending.took)
		}
	case want == "":
		if winnow.CodeOf(err) != winnow.BadSummary {
			t.Errorf("the error is %v, want %s", err, winnow.BadSummary)
		}
	case err != nil:
		t.Errorf("it failed: %v", err)
	case receipt == nil:
		t.Error("nothing was folded")
	case receipt.Summarizer != want:
		t.Errorf("written by %s, want %s; notes %q", receipt.Summarizer, want, receipt.Notes)
	case len(receipt.Notes) == 0 && does != Good && !ending.beside:
		t.Error("the receipt does not say what happened")
	}
	// the provider is well again, and the session whole: the next fold is as good as any
	if ending.err != nil && stage != Aligned && stage != Every {
		receipt, err := c.Compact(t.Context(), c.ID, winnow.CompactOptions{})
		if err != nil || receipt.Summarizer != s.model().String() {
			t.Errorf("the fold after the one that failed is %+v, %v", receipt, err)
		}
	}
	return p.struck > 0
}

// Check holds that whatever a provider answers, in whatever order, and whenever it is stopped, the
// session is as it was or folded and each request is counted.
func (s Suite) Check(t *testing.T, u Upstream) {
	rapid.Check(t, func(t *rapid.T) {
		stage := rapid.SampledFrom([]Stage{Aligned, Plain, Piece}).Draw(t, "stage")
		faults := rapid.SliceOfN(rapid.SampledFrom(append(Faults(), Good, Good)), 1, 8).Draw(t, "faults")
		stopAt := rapid.IntRange(0, 2*len(faults)).Draw(t, "stopped at request")
		strict := s.Strict != nil && rapid.Bool().Draw(t, "nothing else allowed")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var mu sync.Mutex
		n := 0
		c := s.Start(t, u, stage, strict, func(string) Reply {
			mu.Lock()
			defer mu.Unlock()
			fault := faults[min(n, len(faults)-1)]
			if n++; n == stopAt || fault == Hang {
				cancel()
			}
			return Reply{fault, fmt.Sprintf("## Goal\n\nChange the parser, %d.", n)}
		})
		receipt, err := c.Compact(ctx, c.ID, winnow.CompactOptions{Auto: rapid.Bool().Draw(t, "auto")})
		c.Check(t, ending{receipt: receipt, err: err})
		switch code := winnow.CodeOf(err); {
		case err == nil, code == winnow.BadSummary && strict, code == winnow.Cancelled && ctx.Err() != nil:
		default:
			t.Errorf("the error is %v", err)
		}
	})
}

// outcome is who must have written the summary, "" for an error.
func (s Suite) outcome(stage Stage, fault Fault, strict bool) string {
	fallback := offline.Name
	if strict || stage == Ahead { // nothing has to be folded yet
		fallback = ""
	}
	switch {
	case fault.like() == Hang:
		return ""
	case fault.like() == Good, stage == Awaited: // the fold asks by itself for what was not written
		return s.model().String()
	case stage == Every, stage.again() && fault.Bad():
		return fallback
	case fault.Bad(), fault.like() == TooLong, fault.like() == BadRequest, fault.passes() && s.Retry != nil &&
		stage != Aligned:
		return s.model().String()
	}
	return fallback
}
