package trial

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	asking "github.com/winnowhq/winnow/summarize/model"
	"github.com/winnowhq/winnow/summarize/offline"
	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/view"
)

// Stage is a request of a compaction.
type Stage string

const (
	Aligned Stage = "the request that extends the conversation"
	Plain   Stage = "the request that stands by itself"
	Retry   Stage = "the request after an answer that did not count"
	Piece   Stage = "the second piece of several"
	Every   Stage = "every request"
)

// Stages are all of them.
func Stages() []Stage { return []Stage{Aligned, Plain, Retry, Piece, Every} }

// Words by which a request is known, whatever wire format it is written in.
const (
	alignedWords = "Do not call tools, although they are offered"
	retryWords   = "An earlier answer did not count"
	systemWords  = "You are the agent of this test."
	pieceWords   = "Notes on the first piece."
)

// Suite runs every fault at every stage.
type Suite struct {
	Upstream Upstream
	// Faults are what it does wrong. Empty takes those that any upstream can do.
	Faults []Fault
	// Strict forbids the engine to fall back to the offline summariser; nil leaves these cases out.
	Strict func(*winnow.Engine)
	// Retry is put around the client: with it a failure that passes must end in a summary by the model all the same. nil for nothing.
	Retry func(llm.Client) llm.Client
	// Model is asked; zero takes p/m with a window of 200,000 tokens. For Piece the window is 16,000.
	Model model.Model
	// Patience is how long a compaction may take to end once it is told to. 0 takes two seconds, for machines that do much else; what is
	// promised is 250 ms.
	Patience time.Duration
}

// Run runs it.
func (s Suite) Run(t *testing.T) {
	faults := s.Faults
	if len(faults) == 0 {
		faults = Faults()
	}
	for _, stage := range Stages() {
		for _, fault := range faults {
			for _, strict := range []bool{false, true} {
				if strict && s.Strict == nil {
					continue
				}
				name := fmt.Sprintf("%s at %s", fault, stage)
				if strict {
					name += ", nothing else allowed"
				}
				t.Run(name, func(t *testing.T) { s.run(t, stage, fault, strict) })
			}
		}
	}
}

// Case is one compaction under way.
type Case struct {
	*winnow.Engine
	ID       string
	requests func() int
	strict   bool
	before   []byte
	events   *winnow.Subscription
}

// Start opens an engine with a session in it that asks a model as scripted.
func (s Suite) Start(t TB, stage Stage, strict bool, script func(string) Reply) *Case {
	t.Helper()
	m := s.model()
	if stage == Piece {
		m.Limits = model.Limits{Context: 16_000, Output: 4_000}
	}
	client, requests := s.Upstream.Client(t, m, script)
	if s.Retry != nil {
		client = s.Retry(client)
	}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	settings := winnow.DefaultSettings()
	settings.Compaction.Summarizer = "llm"
	c := winnow.Config{
		Settings: &settings, Model: m.String(), Models: &model.Catalogue{Models: []model.Model{m}}, ForceModel: true, Counter: token.Linear{},
		Now:           func() time.Time { return now },
		SummarizerFor: func(m model.Model) (pivot.Summarizer, error) { return asking.New(client, m, asking.Options{}), nil },
	}
	if stage == Aligned || stage == Every {
		c.Prefix = func(context.Context, string) (winnow.Prefix, error) { return winnow.Prefix{System: systemWords}, nil }
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
	last := "That was the last one."
	if stage == Piece {
		last = strings.Repeat("I looked at the parser again and found another place that has to be changed.\n", 1700)
	}
	if err := e.Append(t.Context(), id, conversation(m, last)...); err != nil {
		t.Fatal(err)
	}
	started := &Case{Engine: e, ID: id, requests: requests, strict: strict}
	started.before = started.state(t)
	started.events = e.Subscribe(1 << 16)
	return started
}

func (s Suite) model() model.Model {
	if s.Model.ID != "" {
		return s.Model
	}
	return model.Model{Provider: "p", ID: "m", Limits: model.Limits{Context: 200_000, Output: 16_000},
		Price: model.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}}
}

// conversation is a session of some turns, the last answer of which is long in Piece.
func conversation(m model.Model, last string) []session.Message {
	var log []session.Message
	for i := range 6 {
		log = append(log,
			session.Message{MessageInfo: session.MessageInfo{Role: session.User, Agent: "build"},
				Parts: []session.Part{{Type: session.TextPart, Text: fmt.Sprintf("Request %d: change the parser, and never touch the lexer.", i)}}},
			session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant, ProviderID: m.Provider, ModelID: m.ID, Finish: "tool-calls"},
				Parts: []session.Part{{Type: session.ToolPart, Tool: "read", CallID: fmt.Sprintf("call_%d", i), State: &session.ToolState{
					Status: session.Completed, Input: []byte(fmt.Sprintf(`{"filePath":"parser%d.go"}`, i)), Output: strings.Repeat("func parse() {}\n", 300)}}}},
			session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant, ProviderID: m.Provider, ModelID: m.ID, Finish: "stop"},
				Parts: []session.Part{{Type: session.TextPart, Text: fmt.Sprintf("Request %d is done.", i)}}})
	}
	log[len(log)-1].Parts[0].Text = last
	return log
}

func (s Suite) run(t *testing.T, stage Stage, fault Fault, strict bool) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stop := func() {}
	var mu sync.Mutex
	struck, pieces := 0, 0
	script := func(body string) Reply {
		mu.Lock()
		defer mu.Unlock()
		good := Reply{Good, "## Goal\n\nChange the parser.\n\n## Constraints\n\nNever touch the lexer."}
		hit := false
		switch stage {
		case Aligned:
			hit = strings.Contains(body, alignedWords)
		case Plain:
			hit = struck == 0
		case Retry:
			if hit = struck == 0 && strings.Contains(body, retryWords); !hit && struck == 0 {
				return Reply{Fault: NoHeadings}
			}
		case Piece:
			if pieces++; pieces == 1 {
				good.Text += "\n\n" + pieceWords
			}
			hit = struck == 0 && strings.Contains(body, pieceWords)
		case Every:
			hit = true
		}
		if !hit {
			return good
		}
		struck++
		stop()
		return Reply{Fault: fault}
	}
	c := s.Start(t, stage, strict, script)
	var stopped time.Time
	does := fault.like()
	if does == Hang {
		stop = func() {
			time.AfterFunc(20*time.Millisecond, func() { stopped = time.Now(); cancel() })
		}
	}
	receipt, err := c.Compact(ctx, c.ID, winnow.CompactOptions{})
	ended := time.Now()
	c.Check(t, receipt, err)
	switch want := s.outcome(stage, fault, strict); {
	case struck == 0:
		t.Error("the request was never made")
	case want == "":
		if does == Hang {
			if winnow.CodeOf(err) != winnow.Cancelled || !errors.Is(err, context.Canceled) {
				t.Errorf("the error is %v", err)
			}
			if took := ended.Sub(stopped); took > cmp.Or(s.Patience, 2*time.Second) {
				t.Errorf("it ended %v after it was told to", took)
			}
			return
		}
		if winnow.CodeOf(err) != winnow.BadSummary {
			t.Errorf("the error is %v, want %s", err, winnow.BadSummary)
		}
	case err != nil:
		t.Errorf("it failed: %v", err)
	case receipt.Summarizer != want:
		t.Errorf("written by %s, want %s; notes %q", receipt.Summarizer, want, receipt.Notes)
	case len(receipt.Notes) == 0 && does != Good:
		t.Error("the receipt does not say what happened")
	}
}

// Check holds that whatever a provider answers, in whatever order, and whenever it is stopped, the session is as it was or folded and each
// request is counted.
func (s Suite) Check(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stage := rapid.SampledFrom(Stages()).Draw(t, "stage")
		faults := rapid.SliceOfN(rapid.SampledFrom(append(Faults(), Good, Good)), 1, 8).Draw(t, "faults")
		stopAt := rapid.IntRange(0, 2*len(faults)).Draw(t, "stopped at request")
		strict := s.Strict != nil && rapid.Bool().Draw(t, "nothing else allowed")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var mu sync.Mutex
		n := 0
		c := s.Start(t, stage, strict, func(string) Reply {
			mu.Lock()
			defer mu.Unlock()
			fault := faults[min(n, len(faults)-1)]
			if n++; n == stopAt || fault == Hang {
				cancel()
			}
			return Reply{fault, fmt.Sprintf("## Goal\n\nChange the parser, %d.", n)}
		})
		receipt, err := c.Compact(ctx, c.ID, winnow.CompactOptions{Auto: rapid.Bool().Draw(t, "auto")})
		c.Check(t, receipt, err)
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
	if strict {
		fallback = ""
	}
	switch {
	case fault.like() == Hang:
		return ""
	case fault.like() == Good:
		return s.model().String()
	case stage == Every, stage == Retry && fault.Bad():
		return fallback
	case fault.Bad(), fault.like() == TooLong, fault.like() == BadRequest, fault.passes() && s.Retry != nil && stage != Aligned:
		return s.model().String()
	}
	return fallback
}

// Check holds what must hold whatever the provider did: the session is as it was or folded, and each request is counted once.
func (c *Case) Check(t TB, receipt *pivot.Receipt, err error) {
	t.Helper()
	c.events.Close()
	after := c.state(t)
	v, viewed := c.View(context.Background(), c.ID)
	if viewed != nil {
		t.Errorf("the view: %v", viewed)
	}
	log, state, read := c.Session(context.Background(), c.ID)
	if read != nil {
		t.Fatal(read)
	}
	switch {
	case (err == nil) != (receipt != nil):
		t.Errorf("receipt %v beside the error %v", receipt, err)
	case err != nil && !bytes.Equal(c.before, after):
		t.Errorf("it failed (%v), and the session changed:\n%s\nbut\n%s", err, c.before, after)
	case err == nil && receipt.Kind == pivot.Compaction:
		if view.Pivot(view.Window(log.Messages, state.Undone)) == nil || v.Tokens != receipt.TokensAfter || v.Tokens >= receipt.TokensBefore {
			t.Errorf("the view of %d tokens is not folded as the receipt says: %d → %d", v.Tokens, receipt.TokensBefore, receipt.TokensAfter)
		}
	}
	if at := view.Pending(log.Messages, state.Undone); at >= 0 {
		t.Error("a marker was left behind")
	}
	c.checkMoney(t, receipt, err, state.Spent)
}

func (c *Case) checkMoney(t TB, receipt *pivot.Receipt, err error, spent []store.Spend) {
	t.Helper()
	if made := c.requests(); len(spent) != made {
		t.Errorf("%d requests arrived, %d calls are recorded", made, len(spent))
	}
	sum := 0.0
	for _, s := range spent {
		sum += s.Cost
		if err != nil && !s.Failed {
			t.Errorf("%+v is not recorded as in vain", s)
		}
	}
	for i, s := range spent {
		switch {
		case receipt != nil && receipt.Summarizer == offline.Name && !s.Failed:
			t.Errorf("%+v is not recorded as in vain, though nothing of it is in the summary", s)
		case receipt != nil && receipt.Summarizer == s.Model && i == len(spent)-1 && s.Failed:
			t.Errorf("%+v is recorded as in vain, and is the summary", s)
		}
	}
	if receipt != nil && (len(receipt.Usage) != len(spent) || math.Abs(receipt.Cost-sum) > 1e-9) {
		t.Errorf("the receipt has %d calls for $%g, the store %d for $%g", len(receipt.Usage), receipt.Cost, len(spent), sum)
	}
	var types []winnow.EventType
	recorded := 0
	for e := range c.events.C {
		switch e.Type {
		case winnow.UsageRecorded:
			recorded++
		case winnow.CompactionDelta:
		default:
			types = append(types, e.Type)
		}
	}
	if recorded != len(spent) {
		t.Errorf("%d calls were published, %d are recorded", recorded, len(spent))
	}
	want := []winnow.EventType{winnow.CompactionStarted, winnow.Compacted}
	if err != nil {
		want[1] = winnow.CompactionFailed
	} else if receipt.Kind == pivot.Pruning {
		want[1] = winnow.ElisionCommitted
	}
	if !slices.Equal(types, want) {
		t.Errorf("the events are %v, want %v", types, want)
	}
}

// state is everything that is kept of the session but what it cost.
func (c *Case) state(t TB) []byte {
	t.Helper()
	log, state, err := c.Session(context.Background(), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	v, err := c.View(context.Background(), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{
		"log": log.Messages, "view": v.Messages, "ledger": state.Ledger.All(), "pins": state.Pins, "undone": state.Undone, "receipts": state.Receipts,
	}, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
