package stories

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	asking "github.com/winnowhq/winnow/summarize/model"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/anthropic"
	"github.com/winnowhq/winnow/wire/gemini"
	"github.com/winnowhq/winnow/wire/openaichat"
	"github.com/winnowhq/winnow/wire/responses"
)

// recorder answers with notes and keeps what it was asked.
type recorder struct{ asked []llm.Request }

func (r *recorder) Ask(_ context.Context, q llm.Request) (llm.Answer, error) {
	r.asked = append(r.asked, q)
	return llm.Answer{Parts: []session.Part{{Type: session.TextPart, Text: "## Goal\n\nThe parser."}},
		Finish: llm.Stop}, nil
}

// agent is a loop that sends the view of its session to a model, and remembers what it sent last.
type agent struct {
	*winnow.Engine
	t    *testing.T
	id   string
	n    int
	sent []session.Message
}

var theirs = winnow.Prefix{System: "You are the agent.", Tools: jsontext.Value(`[{"name":"read"}]`)}

func newAgent(t *testing.T, m model.Model, client llm.Client, change func(*winnow.Config)) *agent {
	settings := settings.Default()
	settings.Compaction.Protect, settings.Compaction.Minimum = 1000, 500
	keep := 2000
	settings.Compaction.Keep = &keep
	c := winnow.Config{
		Settings: &settings, Model: m.String(), Models: &model.Catalogue{Models: []model.Model{m}},
		SummarizerFor: func(m model.Model) (pivot.Summarizer, error) {
			return asking.New(client, m, asking.Options{}),
				nil
		},
		Prefix: func(context.Context, string) (winnow.Prefix, error) { return theirs, nil },
	}
	if change != nil {
		change(&c)
	}
	e, err := winnow.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	a := &agent{Engine: e, t: t}
	if a.id, err = e.Create(t.Context(), session.Info{}); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *agent) append(m session.Message) {
	a.t.Helper()
	if err := a.Append(a.t.Context(), a.id, m); err != nil {
		a.t.Fatal(err)
	}
}

// turn is a request of the user and what the model of that name makes of it, sent step by step.
func (a *agent) turn(m model.Model, steps ...int) {
	a.t.Helper()
	a.n++
	said := func(parts ...session.Part) {
		v, err := a.View(a.t.Context(), a.id)
		if err != nil {
			a.t.Fatal(err)
		}
		a.sent = v.Messages
		a.append(session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant, ProviderID: m.Provider,
			ModelID: m.ID, Finish: "stop"}, Parts: parts})
	}
	a.append(session.Message{MessageInfo: session.MessageInfo{Role: session.User,
		Model: &session.ModelRef{ProviderID: m.Provider, ModelID: m.ID}},
		Parts: []session.Part{{Type: session.TextPart, Text: fmt.Sprintf("Request %d: the parser.", a.n)},
			{Type: session.FilePart, Mime: "image/png", Filename: "shot.png",
				URL: "data:image/png;base64,iVBORw0KGgo="}}})
	signed := session.Part{Type: session.ReasoningPart, Text: "Let me see.",
		Metadata: jsontext.Value(`{"anthropic":{"signature":"c2ln"}}`)}
	for step := range append(steps, 1)[0] {
		said(signed, session.Part{Type: session.ToolPart, Tool: "read", CallID: fmt.Sprintf("call_%d_%d", a.n, step),
			State: &session.ToolState{
				Status: session.Completed, Input: []byte(`{"filePath":"parser.go"}`),
				Output: strings.Repeat(fmt.Sprintf("line %d\n", a.n), 600)}})
	}
	said(session.Part{Type: session.TextPart, Text: fmt.Sprintf("Request %d is done.", a.n)})
}

func (a *agent) fold() *pivot.Receipt {
	a.t.Helper()
	r, err := a.Compact(a.t.Context(), a.id, winnow.CompactOptions{})
	if err != nil {
		a.t.Fatal(err)
	}
	return r
}

var reader = model.Model{Provider: "p", ID: "m", Limits: model.Limits{Context: 200_000, Output: 16_000}}

// encoders write a request's messages down in each format, element by element.
var encoders = map[string]func([]session.Message, wire.Options) ([]jsontext.Value, error){
	"anthropic": func(m []session.Message, o wire.Options) ([]jsontext.Value, error) {
		b, err := anthropic.Encode(m, o)
		return b.Elements, err
	},
	"openaichat": func(m []session.Message, o wire.Options) ([]jsontext.Value, error) {
		b, err := openaichat.Encode(m, o)
		return b.Elements, err
	},
	"responses": func(m []session.Message, o wire.Options) ([]jsontext.Value, error) {
		b, err := responses.Encode(m, o)
		return b.Elements, err
	},
	"gemini": func(m []session.Message, o wire.Options) ([]jsontext.Value, error) {
		b, err := gemini.Encode(m, o)
		return b.Elements, err
	},
}

// What a summary request shares with the conversation is written down as the conversation wrote it,
// to the byte, in every format: before and after a pivot, and although this compaction commits
// elisions of its own.
func TestCompact_theRequestExtendsWhatTheConversationSentLast(t *testing.T) {
	r := &recorder{}
	a := newAgent(t, reader, r, nil)
	for round := range 3 {
		if round == 1 { // it is cut between two steps, and the instruction follows results
			a.turn(reader, 20)
		} else {
			for range 8 {
				a.turn(reader)
			}
		}
		receipt := a.fold()
		asked := r.asked[len(r.asked)-1]
		if asked.System != theirs.System || string(asked.Tools) != string(theirs.Tools) || !asked.Cache {
			t.Fatalf("round %d: it does not extend the conversation: %q, notes %q", round, asked.System, receipt.Notes)
		}
		if round == 0 && len(receipt.Committed) == 0 {
			t.Error("nothing was elided with the pivot: the test does not show what it is to show")
		}
		for name, encode := range encoders {
			o := wire.Options{Model: "m", Provider: "p"}
			want, err := encode(a.sent, o)
			if err != nil {
				t.Fatal(err)
			}
			got, err := encode(asked.Messages, o)
			if err != nil {
				t.Fatal(err)
			}
			same := 0
			for same < min(len(got), len(want)) && bytes.Equal(got[same], want[same]) {
				same++
			}
			// The last element holds the instruction, behind the results before it where a format
			// has the user's messages in one.
			begins := same < len(want) && same < len(got) &&
				bytes.HasPrefix(got[same], bytes.TrimSuffix(want[same], []byte("]}")))
			if same < len(got)-1 || same < 4 || name == "anthropic" && round == 1 && !begins {
				t.Errorf("round %d, %s: %d of %d elements are as they were sent\n got %s\nwant %s", round, name, same,
					len(got), got[same], want[min(same, len(want)-1)])
			}
		}
		if round > 0 && strings.Count(wholeText(asked.Messages), "## Goal\n\nThe parser.") != 1 {
			t.Errorf("round %d: the previous summary is not in the request once", round)
		}
	}
}

func wholeText(messages []session.Message) string {
	var b strings.Builder
	for i := range messages {
		for _, p := range messages[i].Parts {
			b.WriteString(p.Text + "\n")
		}
	}
	return b.String()
}

func TestCompact_standsByItselfWhereExtendingIsInVain(t *testing.T) {
	other := model.Model{Provider: "p", ID: "small", Limits: model.Limits{Context: 200_000, Output: 16_000}}
	cached, later := reader, time.Duration(0)
	cached.Cache.Lifetime = 5 * time.Minute
	tight := reader
	tight.Limits = model.Limits{Context: 14_000, Output: 3_000}
	for name, c := range map[string]struct {
		model  model.Model
		change func(*winnow.Config)
		note   string
	}{
		"another model writes": {reader, func(c *winnow.Config) {
			c.Models.Models = append(c.Models.Models, other)
			c.Settings.Compaction.Model = "p/small"
		}, ""},
		"nothing is known of the program's requests": {reader, func(c *winnow.Config) { c.Prefix = nil }, ""},
		"the program does not know either": {reader, func(c *winnow.Config) {
			c.Prefix = func(context.Context, string) (winnow.Prefix, error) {
				return winnow.Prefix{}, fmt.Errorf("no tools yet")
			}
		}, "no tools yet"},
		"the cache has forgotten it": {cached, func(c *winnow.Config) {
			c.Now = func() time.Time { return time.Now().Add(later) }
		}, "the session was idle for 1h0m"},
		"it does not fit": {tight, nil, "and the limit is 11,000"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{}
			a := newAgent(t, c.model, r, c.change)
			for range 8 {
				a.turn(c.model)
			}
			later = time.Hour
			receipt := a.fold()
			later = 0
			if asked := r.asked[0]; asked.System != pivot.System(pivot.Settings{}) || asked.Cache ||
				len(asked.Tools) > 0 {
				t.Errorf("asked with the system prompt %q", asked.System)
			}
			noted := slices.ContainsFunc(receipt.Notes, func(n string) bool {
				return strings.HasPrefix(n, "the request did not extend the conversation: ") &&
					strings.Contains(n, c.note)
			})
			if noted != (c.note != "") {
				t.Errorf("the notes are %q, want %q", receipt.Notes, c.note)
			}
		})
	}
}

func TestSummarizerFor_isAskedForTheConfiguredModelFirst(t *testing.T) {
	r := &recorder{}
	var wanted []string
	a := newAgent(t, reader, r, func(c *winnow.Config) {
		c.Settings.Compaction.Model = "q/cheap"
		c.SummarizerFor = func(m model.Model) (pivot.Summarizer, error) {
			wanted = append(wanted, m.String())
			if m.Provider == "q" {
				return nil, fmt.Errorf("no key for q")
			}
			return asking.New(r, m, asking.Options{}), nil
		}
	})
	for range 8 {
		a.turn(reader)
	}
	receipt := a.fold()
	if diff := cmp.Diff([]string{"q/cheap", "p/m"}, wanted); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
	if receipt.Summarizer != "p/m" || !strings.Contains(strings.Join(receipt.Notes, "\n"),
		"no key for q; p/m was asked") {
		t.Errorf("written by %s, notes %q", receipt.Summarizer, receipt.Notes)
	}
}

func TestSummarizerFor_mustBeThereForLLM(t *testing.T) {
	settings := settings.Default()
	settings.Compaction.Summarizer = "llm"
	if _, err := winnow.Open(winnow.Config{Settings: &settings}); winnow.CodeOf(err) != winnow.BadConfig ||
		!strings.Contains(err.Error(), "SummarizerFor") {
		t.Errorf("the error is %v", err)
	}
	a := newAgent(t, reader, nil, func(c *winnow.Config) {
		c.Settings.Compaction.Summarizer = "llm"
		c.SummarizerFor = func(model.Model) (pivot.Summarizer, error) { return nil, fmt.Errorf("no key") }
	})
	for range 8 {
		a.turn(reader)
	}
	before, _, _ := a.Session(t.Context(), a.id)
	_, err := a.Compact(t.Context(), a.id, winnow.CompactOptions{})
	if winnow.CodeOf(err) != winnow.BadConfig || !strings.Contains(err.Error(),
		"p/m cannot be asked for a summary: no key") || !strings.Contains(err.Error(), "offline") {
		t.Errorf("the error is %v", err)
	}
	if after, _, _ := a.Session(t.Context(), a.id); len(after.Messages) != len(before.Messages) {
		t.Error("the session was changed")
	}
}
