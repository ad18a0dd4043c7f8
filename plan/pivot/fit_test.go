package pivot

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

func request(words string) Request {
	return Request{System: System(Settings{}), Instruction: Instruction(Settings{}, "", ""), Messages: windowOf(words),
		Budget: 1000}
}

func TestFit_escalatesOnlyAsFarAsItMust(t *testing.T) {
	fixed := request("").Tokens(facts())
	for name, c := range map[string]struct {
		words    string
		room     int
		notes    []string
		messages int
		requests int
	}{
		"it fits":              {"u1:10 a1:10", 100, nil, 2, 1},
		"media become text":    {"i1 a1:10", 100, []string{"1 images"}, 2, 1},
		"then outputs are cut": {"u1:10 t1:3000 a1:10", 700, []string{"1 tool outputs were cut"}, 3, 1},
		"then the oldest exchanges go": {"u1:300 a1:300 u2:10 a2:10", 200, []string{"the 1 oldest exchanges"}, 3,
			1},
		"then it is summarised in pieces":    {"u1:9000", 4000, []string{"in 4 pieces"}, 1, 4},
		"a giant last turn loses old steps":  {"u1:10 a1:500 a2:500 a3:100", 400, []string{"oldest exchanges"}, 2, 1},
		"an error of a tool is cut as well":  {"u1:10 t1:3000 a1:10", 700, []string{"1 tool outputs were cut"}, 3, 1},
		"what elisions hide is hidden":       {"u1:10 t1:10 a1:10", 100, nil, 3, 1},
		"a previous summary is kept at hand": {"u1:10 a1:10", 100, nil, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := request(c.words)
			before := names(r.Messages)
			requests, ok := Fit(r, fixed+c.room, facts())
			if !ok || len(requests) != c.requests {
				t.Fatalf("%d requests, ok %v; want %d", len(requests), ok, c.requests)
			}
			notes := strings.Join(requests[0].Notes, "; ")
			for _, want := range c.notes {
				if !strings.Contains(notes, want) {
					t.Errorf("notes are %q, want %q among them", notes, want)
				}
			}
			if len(c.notes) == 0 && notes != "" {
				t.Errorf("notes are %q, want none", notes)
			}
			if got := len(requests[0].Messages); got != c.messages {
				t.Errorf("%d messages, want %d", got, c.messages)
			}
			if names(r.Messages) != before {
				t.Error("the request that was handed in was changed")
			}
		})
	}
}

// Whatever the history and the window from 4,000 tokens on, every request fits, and only the
// prompts themselves can make it impossible.
func TestFit_alwaysFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var words []string
		for i := range rapid.IntRange(0, 30).Draw(t, "messages") {
			kind := rapid.SampledFrom([]string{"u", "a", "t", "t", "i"}).Draw(t, "kind")
			size := rapid.SampledFrom([]int{0, 1, 40, 400, 4000, 40000}).Draw(t, "size")
			words = append(words, fmt.Sprintf("%s%d:%d", kind, i, size))
		}
		r := request(strings.Join(words, " "))
		r.Previous = strings.Repeat("abcd", rapid.SampledFrom([]int{0, 100, 3000, 30000}).Draw(t, "previous"))
		r.Budget = rapid.SampledFrom([]int{64, 1000, 8000}).Draw(t, "budget")
		limit := rapid.IntRange(4000, 200000).Draw(t, "limit")
		requests, ok := Fit(r, limit, facts())
		if !ok {
			t.Fatalf("%d tokens do not fit %d", r.Tokens(facts()), limit)
		}
		for i, one := range requests {
			if i > 0 {
				one.Previous = strings.Repeat("abcd", one.Budget) // the answer before it
			}
			if n := one.Tokens(facts()); n > limit {
				t.Fatalf("request %d of %d has %d tokens, limit %d", i+1, len(requests), n, limit)
			}
		}
	})
}

func TestFit_saysWhenThePromptsAloneAreTooMuch(t *testing.T) {
	if requests, ok := Fit(request("u1:9000"), 50, facts()); ok {
		t.Errorf("%d requests fit 50 tokens", len(requests))
	}
}

func TestCutText_keepsWholeCharacters(t *testing.T) {
	text := strings.Repeat("日", 1000)
	if got := cutText(text, 2000); !strings.HasPrefix(text, strings.TrimSuffix(got, "\n[truncated]")) ||
		len(got) > 2012 {
		t.Errorf("cut to %d bytes: %q…", len(got), got[:10])
	}
	if got := cutText("short", 2000); got != "short" {
		t.Errorf("a short text became %q", got)
	}
}

func TestValidate(t *testing.T) {
	good := Answer{Text: "## Goal\n\nship it", Finish: "stop"}
	for name, c := range map[string]struct {
		answer Answer
		tokens int
		want   error
	}{
		"good":                {good, 10, nil},
		"empty":               {Answer{Text: " \n"}, 0, ErrEmpty},
		"reasoning only":      {Answer{ReasoningOnly: true}, 0, ErrReasoning},
		"a call":              {Answer{Text: good.Text, CalledTools: true}, 10, ErrCalled},
		"the filter":          {Answer{Text: good.Text, Refused: true}, 10, ErrRefused},
		"cut by length":       {Answer{Text: good.Text, Finish: "length"}, 10, ErrTruncated},
		"broken off":          {Answer{Text: good.Text, Finish: "other"}, 10, ErrBroken},
		"cut by max_tokens":   {Answer{Text: good.Text, Finish: "max_tokens"}, 10, ErrTruncated},
		"no heading":          {Answer{Text: "we did things"}, 10, ErrHeadings},
		"a hash is no title":  {Answer{Text: "#tag and #other"}, 10, ErrHeadings},
		"as large as before":  {good, 100, ErrTooLarge},
		"xml function calls":  {Answer{Text: "## a\n<function_calls>"}, 10, ErrMarkup},
		"invoke in a prefix":  {Answer{Text: "## a\n<x:invoke name=\"bash\">"}, 10, ErrMarkup},
		"tool_call":           {Answer{Text: "## a\n<tool_call>{}"}, 10, ErrMarkup},
		"deepseek":            {Answer{Text: "## a\n<｜tool▁calls▁begin｜>"}, 10, ErrMarkup},
		"mistral":             {Answer{Text: "## a\n[TOOL_CALLS] []"}, 10, ErrMarkup},
		"llama":               {Answer{Text: "## a\n<function=bash>"}, 10, ErrMarkup},
		"a generic in code":   {Answer{Text: "## a\nuse List<tool> and invoke it"}, 10, nil},
		"a deeper heading is": {Answer{Text: "#### Goal\nx"}, 10, nil},
	} {
		if got := Validate(c.answer, c.tokens, 100); !errorsIs(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func errorsIs(got, want error) bool {
	return want == nil && got == nil || want != nil && got != nil && strings.HasPrefix(got.Error(), want.Error())
}

func TestReplay_repeatsTheMessageWithMediaAsText(t *testing.T) {
	n := 0
	id := Identity{NewID: func(prefix string) string { n++; return fmt.Sprintf("%s_%d", prefix, n) }, Now: 7}
	rejected := windowOf("i1")[0]
	rejected.Agent, rejected.Model = "build", &session.ModelRef{ProviderID: "p", ModelID: "m", Variant: "high"}
	rejected.Parts = append(rejected.Parts, session.Part{ID: "t", Type: session.TextPart, Text: "look at this"})
	marker := Marker(id, "ses_1", &rejected, true, true)
	if marker.Agent != "build" || marker.Model.Variant != "high" || !marker.Marker().Overflow {
		t.Errorf("the marker is %+v", marker.MessageInfo)
	}
	replay := Replay(id, marker, rejected)
	if got := replay.Parts[0].Text + "|" + replay.Parts[1].Text; got != "[Attached image/png: big.png]|look at this" {
		t.Errorf("the replay says %q", got)
	}
	if replay.Companion() != marker.ID || !replay.Written() || replay.Agent != "build" ||
		replay.Model.Variant != "high" {
		t.Errorf("the replay is %+v of %q", replay.MessageInfo, replay.Companion())
	}
}

func TestFit_extendsTheConversationWhileThatFits(t *testing.T) {
	r := request("u1:10 t1:3000 a1:10")
	r.Prefix = &Prefix{System: "theirs", Messages: windowOf("u1:10 t1:3000 a1:10"), Overhead: 500}
	size := r.Tokens(facts())
	if size < 3520 || size > 3520+1000 {
		t.Errorf("it is counted as %d tokens: prefix, overhead and the instruction once", size)
	}
	for limit, aligned := range map[int]bool{0: true, size + r.Budget: true, size + r.Budget - 1: false, 3000: false} {
		requests, ok := Fit(r, limit, facts())
		if !ok || len(requests) != 1 || (requests[0].Prefix != nil) != aligned {
			t.Fatalf("limit %d: %d requests, %v", limit, len(requests), ok)
		}
		notes := strings.Join(requests[0].Notes, "; ")
		if strings.Contains(notes, "the request did not extend the conversation: it would have") == aligned {
			t.Errorf("limit %d: notes %q", limit, notes)
		}
		if !aligned && limit > 0 && requests[0].Tokens(facts()) > limit {
			t.Errorf("limit %d: it has %d tokens", limit, requests[0].Tokens(facts()))
		}
	}
	if r.Prefix == nil || len(r.Notes) > 0 {
		t.Error("the request that was handed in was changed")
	}
}

func TestFit_piecesAskForAnUpdateAndFitWithIt(t *testing.T) {
	r := request("u1:9000")
	r.Update = Instruction(Settings{}, "earlier", "")
	limit := r.Tokens(facts()) - 6000
	requests, ok := Fit(r, limit, facts())
	if !ok || len(requests) < 2 {
		t.Fatalf("%d requests, %v", len(requests), ok)
	}
	for i, one := range requests {
		if i > 0 {
			one = one.After(strings.Repeat("abcd", one.Budget))
			if !strings.HasPrefix(one.Instruction, updateInstruction) || one.Previous == "" {
				t.Errorf("piece %d does not go on from the one before", i)
			}
		}
		if n := one.Tokens(facts()); n > limit {
			t.Errorf("piece %d has %d tokens, limit %d", i, n, limit)
		}
	}
}

func TestSplit_leavesNothingOut(t *testing.T) {
	r := request("u1:900 a1:900 t1:900 u2:900 a2:900")
	whole := Transcript(r.Messages)
	requests, ok := Split(r, request("").Tokens(facts())+2500, facts())
	if !ok || len(requests) < 2 {
		t.Fatalf("%d requests, %v", len(requests), ok)
	}
	letters := 0
	for _, one := range requests {
		letters += strings.Count(Transcript(one.Messages), "abcd")
	}
	if want := strings.Count(whole, "abcd"); letters != want {
		t.Errorf("%d words are sent, want %d", letters, want)
	}
}

func TestAsText_hasNoCallsToBeAnswered(t *testing.T) {
	r := request("u1:10 t1:10 e1 a1:10").AsText()
	if got := names(r.Messages); got != "u1 t1 a1" {
		t.Errorf("messages %q", got)
	}
	for _, m := range r.Messages {
		if m.Role != session.User || len(m.Parts) != 1 || m.Parts[0].Type != session.TextPart {
			t.Errorf("%s is %+v", m.ID, m)
		}
	}
	if !r.Messages[0].Written() || r.Messages[1].Written() {
		t.Error("what the user wrote is not told from what was not")
	}
}

// reading counts how much is read to be counted.
type reading struct{ bytes int }

func (*reading) Name() string { return "reading" }
func (r *reading) Count(text string) int {
	r.bytes += len(text)
	return (len(text) + 2) / 4
}

func TestFit_aMessageThatIsCutIntoManyPiecesIsReadAFewTimes(t *testing.T) {
	r, counter := request(""), &reading{}
	text := strings.Repeat("one line of a log that was pasted\n", 30_000)
	r.Messages = []session.Message{{MessageInfo: session.MessageInfo{Role: session.User},
		Parts: []session.Part{{Type: session.TextPart, Text: text}}}}
	requests, ok := Fit(r, 4000, rule.NewFacts(counter))
	if !ok || len(requests) < 50 {
		t.Fatalf("%d requests, ok %v", len(requests), ok)
	}
	if times := counter.bytes / len(text); times > 20 {
		t.Errorf("the text was read %d times for %d pieces", times, len(requests))
	}
}
