package shaping

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
)

// host is an agent that is made up: OpenCode, as far as it is asked here.
type host struct {
	t interface {
		Helper()
		Fatal(...any)
		Context() context.Context
	}
	*Shaper
	model string
	log   []session.Message
	now   session.Millis
}

func newHost(t *testing.T) *host {
	h := &host{t: t, model: "claude-sonnet-4-5"}
	h.open(t)
	return h
}

func (h *host) open(t interface{ Fatal(...any) }) {
	s := settings.Default()
	s.Compaction.Auto = false
	h.now = 1_790_000_000_000
	now := func() time.Time { return time.UnixMilli(int64(h.now)) }
	config := winnow.Config{Settings: &s, Hooks: transport.Hooks(winnow.Hooks{}), Now: now}
	engine, err := winnow.Open(config)
	if err != nil {
		t.Fatal(err)
	}
	h.Shaper = &Shaper{Engine: engine, Now: now, Scratch: func() (*winnow.Engine, error) { return winnow.Open(config) }}
}

// says appends a message of the user's.
func (h *host) says(text string) {
	h.now += 1000
	id := fmt.Sprintf("msg_%04d", len(h.log))
	h.log = append(h.log, session.Message{
		MessageInfo: session.MessageInfo{ID: id, SessionID: "ses_1", Role: session.User, Time: session.MessageTime{Created: h.now},
			Model: &session.ModelRef{ProviderID: "anthropic", ModelID: h.model}},
		Parts: []session.Part{{ID: "prt_" + id, SessionID: "ses_1", MessageID: id, Type: session.TextPart, Text: text}}})
}

// runs appends a step that runs a command, and its report.
func (h *host) runs(command, output string) session.Message {
	h.now += 1000
	id := fmt.Sprintf("msg_%04d", len(h.log))
	input, _ := json.Marshal(map[string]string{"command": command})
	prompt := 5000
	for i := range h.log {
		for j := range h.log[i].Parts {
			if s := h.log[i].Parts[j].State; s != nil {
				prompt += len(s.Output) / 4
			}
		}
	}
	m := session.Message{
		MessageInfo: session.MessageInfo{ID: id, SessionID: "ses_1", Role: session.Assistant, ProviderID: "anthropic",
			ModelID: h.model, Finish: "tool-calls", Time: session.MessageTime{Created: h.now, Completed: h.now + 10},
			Tokens: &session.Usage{Input: 10, Output: 50, Cache: session.CacheUsage{Read: prompt}}},
		Parts: []session.Part{{ID: "prt_" + id, SessionID: "ses_1", MessageID: id, Type: session.ToolPart, Tool: "bash",
			CallID: "call_" + id, State: &session.ToolState{Status: session.Completed, Input: input, Output: output, Metadata: jsontext.Value("{}"),
				Time: &session.Span{Start: h.now, End: h.now + 5}}}}}
	h.log = append(h.log, m)
	return m
}

// shape asks, as OpenCode does.
func (h *host) shape(event string) *Answer {
	h.t.Helper()
	about := session.Info{ID: "ses_1", Title: "Lamps"}
	about.Time.Created, about.Time.Updated = 1, h.now
	info, err := json.Marshal(about, session.ReadOptions())
	if err != nil {
		h.t.Fatal(err)
	}
	messages := jsontext.Value("[")
	for i := range h.log {
		info, err := json.Marshal(h.log[i].MessageInfo, session.ReadOptions())
		if err != nil {
			h.t.Fatal(err)
		}
		parts, err := json.Marshal(h.log[i].Parts, session.ReadOptions())
		if err != nil {
			h.t.Fatal(err)
		}
		if i > 0 {
			messages = append(messages, ',')
		}
		messages = fmt.Appendf(messages, `{"info":%s,"parts":%s}`, info, parts)
	}
	a, err := h.Shape(h.t.Context(), "opencode", &Handed{Event: event, Session: info, Messages: append(messages, ']')})
	if err != nil {
		h.t.Fatal(err)
	}
	return a
}

// takes appends a compaction as OpenCode writes it down.
func (h *host) takes(f *Fold) {
	h.says("")
	marker := &h.log[len(h.log)-1]
	marker.Parts = []session.Part{{ID: "prt_" + marker.ID, SessionID: "ses_1", MessageID: marker.ID, Type: session.CompactionPart,
		TailStartID: f.Keep}}
	parent := marker.ID
	h.runs("", "")
	summary := &h.log[len(h.log)-1]
	summary.ParentID, summary.Summary, summary.Finish, summary.Tokens = parent, jsontext.Value("true"), "stop", nil
	summary.Parts = []session.Part{{ID: "prt_" + summary.ID, SessionID: "ses_1", MessageID: summary.ID, Type: session.TextPart, Text: f.Summary}}
}

// job is a session with something to fold and something to leave out.
func (h *host) job() {
	h.says("Find the lamps. Never touch the pier.")
	page := strings.Repeat("a lamp on the pier\n", 400)
	for i := range 6 {
		h.runs(fmt.Sprintf("cat lamps-%d", i%2), fmt.Sprint(i%2)+page)
		h.shape("request")
	}
	h.says("And now the buoys.")
	h.runs("cat buoys", "three buoys")
}

func (h *host) stored() session.Session {
	h.t.Helper()
	s, _, err := h.Engine.Session(h.t.Context(), "ses_1")
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

// priced: the engine works out what a step cost where the product does not say.
var priced = cmpopts.IgnoreFields(session.MessageInfo{}, "Cost")

func TestShape_whatComesAgainIsLeftOut(t *testing.T) {
	h := newHost(t)
	h.job()
	a := h.shape("request")
	if len(a.Edits) == 0 || a.Window != nil || len(a.Added) != 0 {
		t.Fatalf("%+v", a)
	}
	for _, e := range a.Edits {
		if e.Result == nil || !strings.Contains(*e.Result, "lamps") && len(*e.Result) > 400 {
			t.Errorf("%+v", e)
		}
	}
	if again := h.shape("request"); !cmp.Equal(a.Edits, again.Edits) || again.Notice != "" {
		t.Errorf("asked again, it answers otherwise: %s", cmp.Diff(a.Edits, again.Edits))
	}
	if diff := cmp.Diff(h.log, h.stored().Messages, priced); diff != "" {
		t.Errorf("the store has another log (-handed over +stored):\n%s", diff)
	}
}

// A compaction is in the store before it is answered; the agent that writes it down has the same
// window, and the store has it once.
func TestShape_aFoldIsThatOfTheStore(t *testing.T) {
	h := newHost(t)
	h.job()
	var markers []string
	for fold := range 2 {
		f := h.shape("compact").Fold
		if f == nil || session.Index(h.log, f.Keep) < 0 || f.After >= f.Before {
			t.Fatalf("%+v", f)
		}
		markers = append(markers, f.Marker)
		size := len(h.stored().Messages)
		// It was not taken yet: as far as the store knows, the agent sends something else.
		if w := h.shape("request").Window; w == nil || w.Summary != f.Summary || w.From != f.Keep {
			t.Errorf("%+v", w)
		}
		if again := h.shape("compact").Fold; again == nil || again.Marker != f.Marker || again.Summary != f.Summary {
			t.Errorf("asked once more, it answers %+v", again)
		}
		h.takes(f)
		if a := h.shape("request"); a.Window != nil || len(h.stored().Messages) != size {
			t.Errorf("window %+v, %d messages, was %d", a.Window, len(h.stored().Messages), size)
		}
		if fold == 0 {
			h.says("Once more.")
			h.job()
		}
	}
	if _, err := h.Engine.Undo(t.Context(), "ses_1", markers[1]); err != nil {
		t.Fatal(err)
	}
	if w := h.shape("request").Window; w == nil || w.Summary == "" {
		t.Errorf("the newest one is undone, and the window is %+v", w)
	}
	if _, err := h.Engine.Undo(t.Context(), "ses_1", markers[0]); err != nil {
		t.Fatal(err)
	}
	if w := h.shape("request").Window; w == nil || w.Summary != "" || w.From != h.log[0].ID {
		t.Errorf("both are undone, and the window is %+v", w)
	}
}

// What the agent made of its marker, the marker that waits, is no part of what is folded.
func TestShape_aMarkerThatWaits(t *testing.T) {
	h := newHost(t)
	h.job()
	h.takes(&Fold{})
	h.log = h.log[:len(h.log)-1] // the summary is what is asked for
	f := h.shape("compact").Fold
	if f == nil {
		t.Fatal("it is not folded")
	}
	h.log = h.log[:len(h.log)-1]
	h.takes(f)
	if a := h.shape("request"); a.Window != nil {
		t.Errorf("%+v", a.Window)
	}
}

// A compaction that the agent made itself is its own.
func TestShape_itsOwnSummaryCounts(t *testing.T) {
	h := newHost(t)
	h.job()
	h.takes(&Fold{Summary: "## Goal\nLamps.", Keep: h.log[len(h.log)-2].ID})
	if a := h.shape("request"); a.Window != nil {
		t.Errorf("%+v", a.Window)
	}
}

func TestShape_anotherBranchIsAnotherSession(t *testing.T) {
	h := newHost(t)
	h.job()
	before := h.shape("request")
	h.log = slices.Clone(h.log[:len(h.log)-2])
	h.says("No: the bells.")
	a := h.shape("request")
	if diff := cmp.Diff(h.log, h.stored().Messages, priced); diff != "" {
		t.Errorf("the store has another log (-handed over +stored):\n%s", diff)
	}
	if diff := cmp.Diff(before.Edits, a.Edits); diff != "" {
		t.Errorf("what was left out before is shown (-before +after):\n%s", diff)
	}
	if _, _, err := h.Engine.Session(t.Context(), "ses_1~1"); err != nil {
		t.Error("what was left is gone:", err)
	}
	if source, err := h.Engine.Store().Source(t.Context(), "ses_1"); err != nil || source == nil {
		t.Errorf("what it is written as is not known: %v", err)
	}
}

func TestShape_whatIsRestoredIsAdded(t *testing.T) {
	h := newHost(t)
	h.job()
	f := h.shape("compact").Fold
	h.takes(f)
	h.shape("request")
	if _, err := h.Engine.Pin(t.Context(), "ses_1", rule.Pin{Text: "the ninth bell"}); err != nil {
		t.Fatal(err)
	}
	if a := h.shape("request"); len(a.Added) > 0 && !strings.Contains(a.Added[0].Text, "ninth bell") {
		t.Errorf("%+v", a.Added)
	}
}

// Of a model of which nobody knows whether it binds its reasoning nothing is changed that was sent,
// once it has reasoned.
func TestShape_reasoningOfAnUnknownModelHolds(t *testing.T) {
	h := newHost(t)
	h.model = "nobody-knows"
	h.job()
	at := len(h.log) - 1
	id := h.log[at].ID
	h.log[at].Parts = append([]session.Part{{ID: "prt_r", SessionID: "ses_1", MessageID: id, Type: session.ReasoningPart, Text: "hm"}},
		h.log[at].Parts...)
	before := h.shape("request").Edits
	h.now += 24 * 3600 * 1000 // any cache is cold
	if after := h.shape("request").Edits; !cmp.Equal(before, after) {
		t.Errorf("what was sent changes: %s", cmp.Diff(before, after))
	}
}

// As long as nothing is decided, what was answered is answered again, so that a request begins with
// the bytes of the one before it.
func TestShape_answersStayAsTheyAre(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := &host{t: rapidT{rt, t.Context()}, model: rapid.SampledFrom([]string{"claude-sonnet-4-5", "gpt-5", "nobody-knows"}).Draw(rt, "model")}
		h.open(rt)
		h.says("Find the lamps.")
		before := []Edit{}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			switch rapid.IntRange(0, 5).Draw(rt, "what") {
			case 0:
				h.says("Go on.")
			case 1:
				h.now += 3600 * 1000
			default:
				n := rapid.IntRange(0, 2).Draw(rt, "file")
				h.runs(fmt.Sprintf("cat %d", n), fmt.Sprint(n)+strings.Repeat("\x1b[31mlamp\x1b[0m pier ", rapid.IntRange(1, 400).Draw(rt, "long")))
			}
			a := h.shape("request")
			if a.Notice == "" && !cmp.Equal(before, a.Edits, cmp.Comparer(func(a, b jsontext.Value) bool { return string(a) == string(b) })) {
				rt.Fatalf("nothing was decided, and the answer is another one: %s", cmp.Diff(before, a.Edits))
			}
			before = a.Edits
			if again := h.shape("request"); !cmp.Equal(a.Edits, again.Edits) {
				rt.Fatalf("asked again: %s", cmp.Diff(a.Edits, again.Edits))
			}
		}
	})
}

type rapidT struct {
	*rapid.T
	ctx context.Context
}

func (t rapidT) Context() context.Context { return t.ctx }

func FuzzShape_whateverIsHandedOver(f *testing.F) {
	f.Add("opencode", `{"event":"request","session":{"id":"s"},"messages":[]}`)
	f.Add("pi", `{"event":"compact","entries":[{"type":"session","id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}]}`)
	f.Add("pi", `{"event":"request","entries":[{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"},{"type":"message","id":"1","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"hi"}}]}`)
	f.Fuzz(func(t *testing.T, product, text string) {
		var h Handed
		if json.Unmarshal([]byte(text), &h, session.ReadOptions()) != nil {
			return
		}
		s := newHost(t).Shaper
		a, err := s.Shape(t.Context(), product, &h)
		if (a == nil) == (err == nil) {
			t.Errorf("%+v, %v", a, err)
		}
	})
}

// An agent that goes back to a point behind a fold has the fold still, can undo it, and has nothing
// of what it left. pi's entries lack the newest prompt.
func TestShape_backToAPointBehindAFold(t *testing.T) {
	for _, prompt := range []bool{true, false} {
		h := newHost(t)
		h.job()
		f := h.shape("compact").Fold
		h.takes(f)
		h.says("Once more.")
		h.runs("cat buoys", "three buoys")
		h.shape("request")
		at := len(h.log)
		h.says("And the bells.")
		h.runs("cat bells", "nine bells")
		h.shape("request")
		h.log = slices.Clone(h.log[:at])
		for range 2 { // the second request comes on the session that the first left
			if prompt {
				h.says("No: the gulls.")
			}
			if a := h.shape("request"); a.Window != nil || len(a.Added) > 0 {
				t.Errorf("%+v, added %+v", a.Window, a.Added)
			}
			for _, m := range h.stored().Messages {
				if strings.Contains(m.Text(), "bells") {
					t.Errorf("the store has what was left: %s", m.Text())
				}
			}
		}
		if _, err := h.Engine.Undo(t.Context(), "ses_1", f.Marker); err != nil {
			t.Fatal(err)
		}
		if w := h.shape("request").Window; w == nil || w.Summary != "" || w.From != h.log[0].ID {
			t.Errorf("the fold is undone, and the window is %+v", w)
		}
	}
}
