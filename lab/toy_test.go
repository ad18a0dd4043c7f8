package lab

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/schedule"
	"github.com/winnowhq/winnow/session"
)

// byWord counts one token a word, so that what a session takes can be counted by hand.
type byWord struct{}

func (byWord) Name() string          { return "words" }
func (byWord) Count(text string) int { return len(strings.Fields(text)) }

// words are n words that stand nowhere else: w1 w2 w3 ….
func words(w string, n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s%d", w, i+1)
	}
	return strings.Join(all, " ")
}

// from are the words of a text from the i-th on, n of them.
func from(text string, i, n int) string { return strings.Join(strings.Fields(text)[i-1:i-1+n], " ") }

// toy is a session written by hand. The messages have the ids m0, m1, …, and their parts p0.0,
// p1.0, p1.1, ….
type toy struct{ session.Session }

func (y *toy) add(m session.Message, parts ...session.Part) *toy {
	m.Parts = parts
	y.Messages = append(y.Messages, m)
	return y
}

// user says something, so many seconds after the session began; 0 for a log without a clock.
func (y *toy) user(at int, text string) *toy {
	m := session.Message{MessageInfo: session.MessageInfo{Role: session.User}}
	m.Time.Created = session.Millis(at * 1000)
	return y.add(m, say(text))
}

// step is a model's answer, from so many seconds on for two seconds.
func (y *toy) step(at int, parts ...session.Part) *toy {
	m := session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant, Finish: "tool-calls"}}
	if at > 0 {
		m.Time = session.MessageTime{Created: session.Millis(at * 1000), Completed: session.Millis(at*1000 + 2000)}
	}
	return y.add(m, parts...)
}

// reported says how many tokens the newest step's prompt had.
func (y *toy) reported(u session.Usage) *toy {
	y.Messages[len(y.Messages)-1].Tokens = &u
	return y
}

func (y *toy) trace() *Trace { return NewTrace(y.Session, model.Model{}, byWord{}) }

func say(text string) session.Part { return session.Part{Type: session.TextPart, Text: text} }

// looks takes a token for the tool's name, and of the arguments one for each word: {"q":"w1 and w2"}
// are two words for as many.
func looks(arguments, output string) session.Part {
	return session.Part{Type: session.ToolPart, Tool: "look", CallID: "c", State: &session.ToolState{
		Status: session.Completed, Input: jsontext.Value(`{"q":"` + arguments + `"}`), Output: output,
	}}
}

// plain are prices that keep bills whole: a token costs 1 from the cache, 12 to write, 50 to
// produce, and 10 without a cache.
func plain() Terms {
	return Terms{Price: model.Price{Input: 10e6, CacheRead: 1e6, CacheWrite: 12e6, Output: 50e6}, Lifetime: 5 * time.Minute}
}

// nothing is a policy that does nothing.
func nothing() policy.Policy { return policy.Policy{Schedule: schedule.Eager{}} }

// eliding is a policy that leaves these out, each as soon as the message named in Because is there.
func eliding(e ...rule.Elision) policy.Policy {
	return policy.Policy{Prune: true, Schedule: schedule.Eager{}, Rules: []rule.Rule{script(e)}}
}

// script is a rule that does what it is told.
type script []rule.Elision

func (script) Name() string { return "script" }

func (s script) Find(w rule.Window) rule.Found {
	var found rule.Found
	for _, e := range s {
		if session.Index(w.Messages, e.Because) >= 0 && !w.Ledger.Has(e.Key()) {
			e.Rule, e.Saves = "script", 1
			found.Elisions = append(found.Elisions, e)
		}
	}
	return found
}

// folding is the letter's pivot, made when what a step was sent, what it produced and what it was
// given back are so many tokens.
func folding(p policy.Policy, threshold int) Setup {
	p.Auto, p.Pivot.SummaryAlone = true, true
	p.Budget = budget.Settings{Auto: true, Full: true, Thresholds: map[string]budget.Threshold{"**": budget.Threshold(threshold)}}
	return Setup{Policy: p, Window: 1_000_000}
}

// writes is a summariser that always writes the same.
type writes string

func (writes) Name() string { return "toy" }
func (writes) Limit() int   { return 0 }
func (w writes) Summarize(context.Context, pivot.Request) (pivot.Answer, error) {
	return pivot.Answer{Text: string(w), Finish: "stop"}, nil
}

// billed replays a toy and holds its bill against one that was made by hand.
func billed(t *testing.T, y *toy, s Setup, o Options, want Bill) Outcome {
	t.Helper()
	if o.Terms == nil {
		terms := plain()
		o.Terms = &terms
	}
	o.Detail = true
	got, err := Run(context.Background(), y.trace(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := difference(want, got.Bill); diff != "" {
		t.Errorf("the bill differs from the one made by hand:\n%s%+v", diff, got.Events)
	}
	return got
}

// difference tells the fields of two bills that are not the same to a millionth of a token.
func difference(want, got Bill) string {
	text := ""
	for _, f := range []struct {
		name      string
		want, got float64
	}{
		{"read", want.Read, got.Read}, {"write", want.Write, got.Write}, {"output", want.Output, got.Output},
		{"compact", want.Compact, got.Compact}, {"regret", want.Regret, got.Regret},
		{"warm", want.Warm, got.Warm},
	} {
		if d := f.want - f.got; d > 1e-6 || d < -1e-6 {
			text += fmt.Sprintf("  %-7s by hand %v, replayed %v\n", f.name, f.want, f.got)
		}
	}
	return text
}

// at is the i-th time of a clock, 0 where there is none.
func at(clock []int, i int) int {
	if i < len(clock) {
		return clock[i]
	}
	return 0
}

// three is a session of three steps: Base 100, and a prompt of 110, 140 and 178 tokens.
func three(clock ...int) *toy {
	at := func(i int) int { return at(clock, i) }
	y := &toy{}
	y.user(at(0), words("u", 10))
	y.step(at(1), say(words("a", 6)), looks("a1 a2 a3", words("o", 20))).reported(session.Usage{Input: 110}) // 6 + (1+3), and 20
	y.step(at(2), say(words("b", 4)), looks("b1 b2 b3", words("p", 30)))                                     // 4 + (1+3), and 30
	y.step(at(3), say(words("c", 7)))
	return y
}

func TestToy_pricesAlone(t *testing.T) {
	// step 1: T = 100+10           = 110, C = 0,   output 10
	// step 2: T = 110+10+20        = 140, C = 110, output 8
	// step 3: T = 140+8+30         = 178, C = 140, output 7
	// read:   110·1 + 140·1                  = 250
	// write:  110·12 + 30·12 + 38·12 = 178·12 = 2136
	// output: (10+8+7)·50                    = 1250
	got := billed(t, three(), Setup{Policy: nothing(), Window: Unlimited}, Options{}, Bill{Read: 250, Write: 2136, Output: 1250})
	// sent 110+140+178 = 428, of them 250 from the cache
	if want := (Tokens{Sent: 428, Cached: 250, Output: 25, Largest: 178}); got.Tokens != want {
		t.Errorf("tokens %+v, want %+v", got.Tokens, want)
	}
}

func TestToy_coldAfterAGap(t *testing.T) {
	// Cold at step 2: 140 tokens are written, none read; cold at step 3: 178.
	warm := Bill{Read: 250, Write: 2136, Output: 1250}
	second := Bill{Read: 140, Write: 110*12 + 140*12 + 38*12, Output: 1250}
	third := Bill{Read: 110, Write: 110*12 + 30*12 + 178*12, Output: 1250}
	// turns is three with a message of the user before the third step, so that what it sends is 5
	// tokens more, which are written.
	turns := func(clock ...int) *toy {
		y := three(clock...)
		y.Messages = y.Messages[:3]
		return y.user(at(clock, 3), words("v", 5)).step(at(clock, 4), say(words("c", 7)))
	}
	wait := Bill{Read: 110, Write: 110*12 + 30*12 + 183*12, Output: 1250}
	goes := Bill{Read: 250, Write: 110*12 + 30*12 + 43*12, Output: 1250}
	for _, c := range []struct {
		name    string
		session *toy
		idle    time.Duration
		want    Bill
	}{
		{"none", three(1, 2, 10, 20), 0, warm},
		{"before the first step, which is cold anyway", three(1, 2000, 2010, 2020), 0, warm},
		{"of five minutes between the second step's end and the third's beginning: the cache still has it", three(1, 2, 10, 312), 0, warm},
		{"of a second more", three(1, 2, 10, 313), 0, third},
		{"before the second step: a tool ran long", three(1, 2, 305, 310), 0, second},
		{"while the user was away: what he then said is no use of the cache", turns(1, 2, 10, 400, 401), 0, wait},
		{"while the user was away for less", turns(1, 2, 10, 300, 301), 0, goes},
		{"that the clock did not see, within a turn", three(), time.Hour, warm},
		{"that the clock did not see, between turns", turns(), time.Hour, wait},
		{"that the clock did not see, between turns, but shorter than the cache's lifetime", turns(), time.Minute, goes},
		{"that the clock knows better", turns(1, 2, 10, 20, 21), time.Hour, goes},
	} {
		t.Run(c.name, func(t *testing.T) {
			billed(t, c.session, Setup{Policy: nothing(), Window: Unlimited}, Options{Idle: c.idle}, c.want)
		})
	}
}

func TestToy_terms(t *testing.T) {
	price := model.Price{Input: 10, CacheRead: 1, CacheWrite: 12, CacheWrite1h: 20, Output: 50}
	fiveMinutes := model.Model{Price: price, Cache: model.Cache{Lifetime: 5 * time.Minute}}
	tiered, short, uncached, free := fiveMinutes, fiveMinutes, fiveMinutes, fiveMinutes
	tiered.Price.Tiers = []model.Tier{{Above: 110, Price: model.Price{Input: 20, CacheRead: 2, CacheWrite: 24, CacheWrite1h: 40, Output: 100}}}
	short.Cache.MinPrefix = 111
	uncached.Cache.Lifetime = 0
	free.Price.CacheWrite, free.Price.CacheWrite1h = 0, 0
	unknown := model.Model{Cache: fiveMinutes.Cache}
	chosen := Reference()
	gap := []int{1, 2, 10, 400} // step 3 is cold after five minutes
	for _, c := range []struct {
		name  string
		clock []int
		model model.Model
		opts  Options
		want  Bill // in millionths
	}{
		// T = 110, 140, 178: the second and third request are of the dearer tier, all of them.
		{"tiers", nil, tiered, Options{}, Bill{Read: 110*2 + 140*2, Write: 110*12 + 30*24 + 38*24, Output: 10*50 + 15*100}},
		{"tiers, with an hour's cache", nil, tiered, Options{Hour: true}, Bill{Read: 110*2 + 140*2, Write: 110*20 + 30*40 + 38*40, Output: 10*50 + 15*100}},
		// 110 tokens are too short to be cached, and cost the input price; 140 are not.
		{"a prompt too short to be cached", nil, short, Options{}, Bill{Read: 140, Write: 110*10 + 140*12 + 38*12, Output: 1250}},
		{"the model's own", gap, fiveMinutes, Options{}, Bill{Read: 110, Write: 140*12 + 178*12, Output: 1250}},
		{"chosen", gap, fiveMinutes, Options{Terms: &chosen}, Bill{Read: 11, Write: 140*1.25 + 178*1.25, Output: 125}},
		// What is written for an hour costs 20, and is there after six minutes.
		{"an hour's cache", gap, fiveMinutes, Options{Hour: true}, Bill{Read: 250, Write: 178 * 20, Output: 1250}},
		{"an hour's cache where none is offered", gap, free, Options{Hour: true}, Bill{Read: 110, Write: 140*10 + 178*10, Output: 1250}},
		{"no cache: all is input", nil, uncached, Options{}, Bill{Write: (110 + 140 + 178) * 10, Output: 1250}},
		{"a cache that is written to for nothing", nil, free, Options{}, Bill{Read: 250, Write: 178 * 10, Output: 1250}},
		{"no price: multiples of the input's", nil, unknown, Options{}, Bill{Read: 25, Write: 178 * 1.25, Output: 125}},
	} {
		t.Run(c.name, func(t *testing.T) {
			trace := NewTrace(three(c.clock...).Session, c.model, byWord{})
			got, err := Run(t.Context(), trace, Setup{Policy: nothing(), Window: Unlimited}, c.opts)
			if err != nil {
				t.Fatal(err)
			}
			b := got.Bill
			scaled := Bill{Read: b.Read * 1e6, Write: b.Write * 1e6, Output: b.Output * 1e6}
			if diff := difference(c.want, scaled); diff != "" {
				t.Error("the bill differs from the one made by hand:\n" + diff)
			}
		})
	}
}

func TestToy_base(t *testing.T) {
	for _, c := range []struct {
		name    string
		session func(y *toy)
		want    int
		known   bool
	}{
		{"from the first step's report: 110 less the user's 10", func(*toy) {}, 100, true},
		{"however it was cached", func(y *toy) {
			y.Messages[1].Tokens = &session.Usage{Input: 10, Output: 7, Cache: session.CacheUsage{Read: 70, Write: 50}}
		}, 120, true},
		{"without any report", func(y *toy) { y.Messages[1].Tokens = nil }, 18_000, false},
		{"from a report of nothing", func(y *toy) { y.Messages[1].Tokens = &session.Usage{Output: 7} }, 18_000, false},
	} {
		y := three()
		c.session(y)
		if got := y.trace(); got.Base != c.want || got.BaseKnown != c.known {
			t.Errorf("%s: base %d, known %v; want %d, %v", c.name, got.Base, got.BaseKnown, c.want, c.known)
		}
	}
	// Without a report each request has 17,900 tokens more: 17,900·12 to write once, and 2·17,900
	// to read.
	y := three()
	y.Messages[1].Tokens = nil
	billed(t, y, Setup{Policy: nothing(), Window: Unlimited}, Options{}, Bill{Read: 250 + 35_800, Write: 2136 + 214_800, Output: 1250})
}

func TestToy_recordedCompactionsAreLeftOut(t *testing.T) {
	y := three()
	marker := session.Message{MessageInfo: session.MessageInfo{ID: "c", Role: session.User}, Parts: []session.Part{{Type: session.CompactionPart, Auto: true}}}
	summary := session.Message{MessageInfo: session.MessageInfo{
		ID: "s", Role: session.Assistant, ParentID: "c", Summary: []byte("true"), Finish: "stop", Tokens: &session.Usage{Input: 900, Output: 40},
	}, Parts: []session.Part{say(words("s", 40))}}
	on := session.Message{MessageInfo: session.MessageInfo{ID: "k", Role: session.User}, Parts: []session.Part{{
		Type: session.TextPart, Text: pivot.ContinueText, Synthetic: true, Metadata: session.Note{Pivot: "c"}.Metadata(),
	}}}
	last := y.Messages[3]
	y.Messages = append(y.Messages[:3:3], marker, summary, on, last)
	billed(t, y, Setup{Policy: nothing(), Window: Unlimited}, Options{}, Bill{Read: 250, Write: 2136, Output: 1250})
}
