package lab

import (
	"strings"
	"testing"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
)

func TestPaid_namesWhyTheBaselineDiffers(t *testing.T) {
	step := func(id, by string, u session.Usage) session.Message {
		return session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.Assistant, ProviderID: "anthropic", ModelID: by, Tokens: &u}}
	}
	opus, haiku := "claude-opus-4-5", "claude-haiku-4-5"
	log := []session.Message{
		step("a", opus, session.Usage{Input: 10_000, Output: 500, Reasoning: 300, Cache: session.CacheUsage{Write: 20_000, Write1h: 20_000}}),
		step("b", haiku, session.Usage{Input: 5_000, Output: 100, Cache: session.CacheUsage{Read: 30_000}}),
		{MessageInfo: session.MessageInfo{ID: "c", Role: session.Assistant, Repeats: "b"}},
		{MessageInfo: session.MessageInfo{ID: "d", Role: session.User}, Parts: []session.Part{{Type: session.CompactionPart}}},
	}
	beside := []bill.Request{{Kind: bill.Agent, Model: "anthropic/" + haiku, Usage: &session.Usage{Input: 1}}, {Kind: bill.Left, Model: "loom/l1", Usage: &session.Usage{Input: 1}}}
	p := PaidFor(log, beside, bill.NewPrices(model.Default().Lookup))
	if p.Thinking != 300 || p.Hour != 20_000 || p.Compactions != 1 || p.Copies != 1 || len(p.Models) != 2 || p.Steps.Requests != 2 {
		t.Errorf("got %+v", p)
	}
	base := Standing{Tokens: Tokens{Sent: 40_000, Cached: 20_000, Output: 900}}
	terms := Reference()
	got := strings.Join(p.differs(base, Options{Terms: &terms}), "\n")
	for _, want := range []string{
		"leaves out 1 request of unknown cost", "1 request of sub-agents", "1 request whose answers are not part of the session",
		"2 models answered", "compacted once", "repeats 1 answer,", "65,000 tokens as recorded and are 40,000", "46.2 % of the prompts as recorded and 50.0 %", "300 tokens of thinking", "20,000 tokens were written to the cache for an hour",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not said:\n%s", want, got)
		}
	}
	if strings.Contains(strings.Join(p.differs(base, Options{Hour: true}), "\n"), "for an hour") {
		t.Error("where the replay's cache lives an hour, that is no difference")
	}
	same := PaidFor([]session.Message{step("a", opus, session.Usage{Input: 20_000, Output: 900, Cache: session.CacheUsage{Read: 20_000}})}, nil, bill.NewPrices(model.Default().Lookup))
	if why := same.differs(base, Options{}); len(why) != 0 {
		t.Errorf("nothing differs: %q", why)
	}
}
