package view_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/internal/wiretest"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/wire"
	"github.com/winnowhq/winnow/wire/anthropic"
	"github.com/winnowhq/winnow/wire/gemini"
	"github.com/winnowhq/winnow/wire/openaichat"
	"github.com/winnowhq/winnow/wire/responses"
)

// steps is an assistant's message with parts by their kinds: "<" and ">" begin and finish a step, "t" is a text, "d" a diff, anything else a call.
func steps(kinds string) session.Message {
	m := session.Message{MessageInfo: session.MessageInfo{ID: "m", Role: session.Assistant, Finish: "stop"}}
	for j, kind := range kinds {
		id := string(kind) + string(rune('0'+j))
		switch kind {
		case '<':
			m.Parts = append(m.Parts, session.Part{ID: id, Type: session.StepStartPart})
		case '>':
			m.Parts = append(m.Parts, session.Part{ID: id, Type: session.StepFinishPart, Reason: "tool-calls"})
		case 't':
			m.Parts = append(m.Parts, session.Part{ID: id, Type: session.TextPart, Text: "It is " + id + "."})
		case 'd':
			m.Parts = append(m.Parts, session.Part{ID: id, Type: session.PatchPart, Hash: "0a"})
		default:
			m.Parts = append(m.Parts, call(id, "output of "+id))
		}
	}
	return m
}

func kindsOf(messages []session.Message) string {
	var kinds strings.Builder
	for _, m := range messages {
		for _, p := range m.Parts {
			kinds.WriteString(p.ID[:1])
		}
		kinds.WriteString(" ")
	}
	return strings.TrimSpace(kinds.String())
}

func TestS002_t37_stepMarkersAreLeftOut(t *testing.T) {
	for _, c := range []struct{ name, log, separating, none string }{
		{"one step", "<tc>", "tc", "tc"},
		{"two steps", "<tc><c>", "tc<c", "tcc"},
		{"two steps without a start", "tc>c>", "tc>c", "tcc"},
		{"a step that says nothing", "<t><><c>", "t<c", "tc"},
		{"a diff between two steps", "<c>d<c>d", "cd<cd", "cdcd"},
		{"a diff before the first", "d<c>", "dc", "dc"},
		{"nothing but markers", "<>", "", ""},
		{"no markers", "tc", "tc", "tc"},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := []session.Message{steps(c.log)}
			for markers, want := range map[view.Markers]string{view.AllMarkers: c.log, view.SeparatingMarkers: c.separating, view.NoMarkers: c.none} {
				if got := kindsOf(markers.Of(log)); got != want {
					t.Errorf("form %d shows %q, want %q", markers, got, want)
				}
			}
			if got := kindsOf(log); got != c.log {
				t.Errorf("the log became %q", got)
			}
		})
	}
}

// encoders are the wire formats.
var encoders = map[string]func([]session.Message) (string, error){
	"anthropic": func(m []session.Message) (string, error) {
		body, err := anthropic.Encode(m, wire.Options{Model: wiretest.Model, MaxTokens: 9})
		return text(body.JSON, err)
	},
	"openai chat": func(m []session.Message) (string, error) {
		body, err := openaichat.Encode(m, wire.Options{Model: wiretest.Model})
		return text(body.JSON, err)
	},
	"responses": func(m []session.Message) (string, error) {
		body, err := responses.Encode(m, wire.Options{Model: wiretest.Model})
		return text(body.JSON, err)
	},
	"gemini": func(m []session.Message) (string, error) {
		body, err := gemini.Encode(m, wire.Options{Model: wiretest.Model})
		return text(body.JSON, err)
	},
}

func text(body func() ([]byte, error), err error) (string, error) {
	if err != nil {
		return "", err
	}
	b, err := body()
	return string(b), err
}

// Two steps in one message: calls and results keep their order.
func TestMarkers_twoStepsOfOneMessageStayTwo(t *testing.T) {
	log := []session.Message{
		{MessageInfo: session.MessageInfo{ID: "u", Role: session.User}, Parts: []session.Part{{ID: "q", Type: session.TextPart, Text: "Look."}}},
		steps("<ta><bt>"),
	}
	for name, encode := range encoders {
		t.Run(name, func(t *testing.T) {
			want, err := encode(log)
			if err != nil {
				t.Fatal(err)
			}
			got, err := encode(view.SeparatingMarkers.Of(log))
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("error %v, and what is sent changed (-all +separating):\n%s", err, diff)
			}
			if a, b := strings.Index(got, "output of a2"), strings.Index(got, "output of b5"); a < 0 || b < a {
				t.Errorf("the results stand at %d and %d", a, b)
			}
		})
	}
}

func TestMarkers_thatSeparateNothingChangeNothingThatIsSent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := wiretest.Messages(t)
		shown := view.SeparatingMarkers.Of(log)
		for name, encode := range encoders {
			want, wantErr := encode(log)
			got, err := encode(shown)
			if diff := cmp.Diff(want, got); diff != "" || (err != nil) != (wantErr != nil) {
				t.Fatalf("%s: error %v, was %v; what is sent changed (-all +separating):\n%s", name, err, wantErr, diff)
			}
		}
		all := wiretest.Says(log, wire.Options{}, true).Calls
		if diff := cmp.Diff(all, wiretest.Says(view.NoMarkers.Of(log), wire.Options{}, true).Calls); diff != "" {
			t.Fatalf("without markers the calls are others:\n%s", diff)
		}
		facts := rule.NewFacts(token.Chars4{})
		if got, want := view.Tokens(view.NoMarkers.Of(log), rule.Ledger{}, facts), view.Tokens(log, rule.Ledger{}, facts); got != want {
			t.Fatalf("%d tokens without markers, %d with them", got, want)
		}
	})
}

func TestMarkers_whatWasShownOfAMessageStaysAsItGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := steps(rapid.StringOfN(rapid.SampledFrom([]rune("<>tcd")), 1, 20, -1).Draw(t, "kinds"))
		markers := rapid.SampledFrom([]view.Markers{view.AllMarkers, view.SeparatingMarkers, view.NoMarkers}).Draw(t, "markers")
		before := ""
		for n := range m.Parts {
			grown := m
			grown.Parts = m.Parts[:n+1]
			after := kindsOf(markers.Of([]session.Message{grown}))
			if !strings.HasPrefix(after, before) {
				t.Fatalf("with part %d %q became %q", n, before, after)
			}
			before = after
		}
	})
}

func TestLive_leavesMarkersOut(t *testing.T) {
	log := []session.Message{steps("<tc><c>")}
	for markers, want := range map[view.Markers]string{view.AllMarkers: "<tc><c>", view.SeparatingMarkers: "tc<c", view.NoMarkers: "tcc"} {
		live := view.Live{Markers: markers}
		for range 2 {
			live.Reset()
			live.Sync(log, nil, rule.Ledger{}, rule.NewFacts(token.Chars4{}), 0)
			if got := kindsOf(live.Rendered()); got != want {
				t.Errorf("form %d shows %q, want %q", markers, got, want)
			}
		}
	}
}
