package bill_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
)

func prices() *bill.Prices { return bill.NewPrices(model.Default().Lookup) }

func answer(m session.Message) session.Message {
	m.Role, m.Parts = session.Assistant, append(m.Parts, session.Part{Type: session.TextPart, Text: "done"})
	return m
}

func by(provider, id string, u *session.Usage) session.Message {
	return answer(session.Message{MessageInfo: session.MessageInfo{ProviderID: provider, ModelID: id, Tokens: u}})
}

func TestOf(t *testing.T) {
	const opus = "claude-opus-4-5"
	half := 0.5
	with := func(m session.Message, change func(*session.Message)) session.Message { change(&m); return m }
	step := func(u session.Usage) session.Part { return session.Part{Type: session.StepFinishPart, Tokens: &u} }
	for name, tt := range map[string]struct {
		log                            []session.Message
		requests, unpriced, unreported int
		cost                           float64
		differs                        bool
	}{
		"each step at the price of its own model": {[]session.Message{
			by("anthropic", opus, &session.Usage{Input: 1_000_000}), by("anthropic", "claude-haiku-4-5", &session.Usage{Input: 1_000_000})}, 2, 0, 0, 6, false},
		"an hour in the cache is dearer": {[]session.Message{
			by("anthropic", opus, &session.Usage{Cache: session.CacheUsage{Write: 100_000, Write1h: 60_000}})}, 1, 0, 0, 0.04*6.25 + 0.06*10, false},
		"a message of the same request took nothing more": {[]session.Message{
			by("anthropic", opus, &session.Usage{Input: 1_000_000}),
			with(by("anthropic", opus, nil), func(m *session.Message) { m.Repeats = "a" })}, 1, 0, 0, 5, false},
		"steps of one message that report themselves, each at its own tier": {[]session.Message{
			with(by("anthropic", "claude-sonnet-4-5", &session.Usage{Input: 150_000}), func(m *session.Message) {
				m.Parts = append(m.Parts, step(session.Usage{Input: 150_000}), step(session.Usage{Input: 150_000}))
			})}, 2, 0, 0, 0.9, false},
		"nothing is reported":            {[]session.Message{by("anthropic", opus, nil)}, 1, 0, 1, 0, false},
		"less than nothing":              {[]session.Message{by("anthropic", opus, &session.Usage{Input: -5, Output: 10})}, 1, 0, 1, 0, false},
		"more than there can be":         {[]session.Message{by("anthropic", opus, &session.Usage{Input: math.MaxInt, Output: math.MaxInt})}, 1, 0, 1, 0, false},
		"more for an hour than written":  {[]session.Message{by("anthropic", opus, &session.Usage{Cache: session.CacheUsage{Write: 1, Write1h: 2}})}, 1, 0, 1, 0, false},
		"a model that nobody prices":     {[]session.Message{by("loom", "l1", &session.Usage{Input: 5})}, 1, 1, 0, 0, false},
		"the log prices what we do not":  {[]session.Message{with(by("loom", "l1", &session.Usage{Input: 5}), func(m *session.Message) { m.Cost = &half })}, 1, 0, 0, 0.5, false},
		"the log says another price":     {[]session.Message{with(by("anthropic", opus, &session.Usage{Input: 1_000_000}), func(m *session.Message) { m.Cost = &half })}, 1, 0, 0, 5, true},
		"the product said it, no model":  {[]session.Message{by("", "<synthetic>", &session.Usage{})}, 0, 0, 0, 0, false},
		"a summary that asked nobody":    {[]session.Message{with(by("winnow", "offline", nil), func(m *session.Message) { m.Summary = []byte("true") })}, 0, 0, 0, 0, false},
		"a user asks, and takes nothing": {[]session.Message{{MessageInfo: session.MessageInfo{Role: session.User}}}, 0, 0, 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := bill.Of(tt.log, nil, prices()).Total()
			if got.Requests != tt.requests || got.Unpriced != tt.unpriced || got.Unreported != tt.unreported || math.Abs(got.Cost-tt.cost) > 1e-9 || got.Differs() != tt.differs {
				t.Errorf("got %+v, want %d requests for $%g, %d without a price, %d without a report", got, tt.requests, tt.cost, tt.unpriced, tt.unreported)
			}
			if known := got.Dollars() != nil; known != (tt.requests == 0 || tt.unpriced+tt.unreported < tt.requests) {
				t.Errorf("Dollars() = %v", got.Dollars())
			}
		})
	}
}

func TestOf_whatIsBesideTheLogIsToldApart(t *testing.T) {
	u := &session.Usage{Input: 1_000_000}
	s := bill.Of([]session.Message{by("anthropic", "claude-opus-4-5", u)}, []bill.Request{
		{Kind: bill.Agent, Model: "anthropic/claude-haiku-4-5", Usage: u}, {Kind: bill.Left, Model: "anthropic/claude-opus-4-5", Usage: u}}, prices())
	if s.Steps.Cost != 5 || s.Agents.Cost != 1 || s.Left.Cost != 5 || s.Total().Cost != 11 {
		t.Errorf("%+v", s)
	}
	words := strings.Join(s.Words(func(d float64) string { return "$" + string(rune('0'+int(d))) }), ", ")
	if !strings.Contains(words, "of it sub-agents $1") || !strings.Contains(words, "of it what is no part of the session $5") {
		t.Errorf("words: %s", words)
	}
}

func TestBill_asJSON(t *testing.T) {
	for _, tt := range []struct {
		bill bill.Bill
		cost string
	}{
		{bill.Bill{Requests: 2, Cost: 1.5}, `"cost":1.5`},
		{bill.Bill{Requests: 2, Cost: 1.5, Unpriced: 1}, `"cost":1.5`},
		{bill.Bill{Requests: 2, Unpriced: 1, Unreported: 1}, `"cost":null`},
		{bill.Bill{}, `"cost":0`},
	} {
		text, err := json.Marshal(tt.bill)
		if err != nil || !strings.Contains(string(text), tt.cost) {
			t.Errorf("%+v is %s %v, want %s", tt.bill, text, err, tt.cost)
		}
		var again bill.Bill
		if err := json.Unmarshal(text, &again); err != nil || again.Cost != tt.bill.Cost || again.Unknown() != tt.bill.Unknown() {
			t.Errorf("%s is read as %+v, %v", text, again, err)
		}
	}
}

func TestBill_words(t *testing.T) {
	dollars := func(float64) string { return "$X" }
	for want, b := range map[string]bill.Bill{
		"$X": {Requests: 1, Cost: 1},
		"cost unknown: the log has no report of usage":            {Requests: 2, Unreported: 2},
		"cost unknown: no price for 2 requests":                   {Requests: 2, Unpriced: 2},
		"at least $X: no price for 1 request, 2 without a report": {Requests: 9, Cost: 1, Unpriced: 1, Unreported: 2},
		"at least $X: 1 request without a report":                 {Requests: 9, Cost: 1, Unreported: 1},
	} {
		if got := b.Words(dollars); got != want {
			t.Errorf("%+v: %q, want %q", b, got, want)
		}
	}
}

func TestSplit_saysWhatWasPaidFor(t *testing.T) {
	usage := &session.Usage{Input: 1000, Output: 90, Reasoning: 10, Searches: 2,
		Cache: session.CacheUsage{Read: 10_000, Write: 2000, Write1h: 500}}
	whole, alone := 0.5, &session.Usage{}
	for name, tt := range map[string]struct {
		r    bill.Request
		want bill.Split
	}{
		"by the price list": {bill.Request{Model: "anthropic/claude-opus-4-5", Usage: usage},
			bill.Split{Read: .005, Write: 1500*6.25e-6 + 500*10e-6, Input: .005, Output: .0025, Other: .02}},
		"a price of the log, as such usages are billed": {bill.Request{Model: "loom/l1", Logged: &whole,
			Usage: &session.Usage{Input: 100, Output: 20, Cache: session.CacheUsage{Read: 1000, Write: 80}}},
			bill.Split{Read: .125, Write: .125, Input: .125, Output: .125}},
		"a price and nothing else": {bill.Request{Model: "loom/l1", Logged: &whole, Usage: alone}, bill.Split{Other: .5}},
		"nobody knows":             {bill.Request{Model: "loom/l1", Usage: usage}, bill.Split{}},
	} {
		got := prices().Split(tt.r)
		for part, pair := range map[string][2]float64{"read": {got.Read, tt.want.Read}, "write": {got.Write, tt.want.Write},
			"input": {got.Input, tt.want.Input}, "output": {got.Output, tt.want.Output}, "other": {got.Other, tt.want.Other}} {
			if math.Abs(pair[0]-pair[1]) > 1e-12 {
				t.Errorf("%s: %s costs %v, want %v", name, part, pair[0], pair[1])
			}
		}
	}
}
