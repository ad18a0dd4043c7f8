package trial

import (
	"context"
	"strings"
	"time"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/providers"
	"github.com/winnowhq/winnow/model"
)

// HTTP is an upstream on loopback that speaks a wire format, asked through the client of that
// provider.
type HTTP struct{ Protocol llmtest.Protocol }

// wire are our faults as the upstream has them.
var wire = map[Fault]llmtest.Fault{
	Empty: llmtest.Empty, ReasoningOnly: llmtest.ReasoningOnly, Markup: llmtest.MarkupCall, Called: llmtest.RealCall,
	CutByLength: llmtest.LengthCut,
	Filtered:    llmtest.Refused, NoHeadings: llmtest.NoHeadings, TooLarge: llmtest.Larger,
	Unauthorised: llmtest.Unauthorized, TooLong: llmtest.TooLong,
	BadRequest: llmtest.BadRequest, RateLimited: llmtest.RateMillis, Failed: llmtest.Failed,
	Overloaded: llmtest.Overloaded,
	CutStream:  llmtest.CutMidEvent, Garbage: llmtest.BadJSON, Hang: llmtest.HangMidStream,
}

// theirs marks a fault of the upstream's own list.
const theirs = "llmtest: "

// UpstreamFaults are all that the upstream has, each by its own name. Only HTTP does them.
func UpstreamFaults() []Fault {
	var all []Fault
	for _, f := range llmtest.Faults() {
		all = append(all, Fault(theirs+f))
	}
	return all
}

// upstream is the fault as the upstream has it.
func (f Fault) upstream() llmtest.Fault {
	if name, ok := strings.CutPrefix(string(f), theirs); ok {
		return llmtest.Fault(name)
	}
	return wire[f]
}

// like is the fault of ours that has the same consequences.
func (f Fault) like() Fault {
	if !strings.HasPrefix(string(f), theirs) {
		return f
	}
	switch their := f.upstream(); {
	case their.Hangs():
		return Hang
	case their == llmtest.SlowDrip, their == llmtest.NoUsage:
		return Good
	case len(their.Kinds()) == 0:
		return Empty
	case their == llmtest.BadRequest:
		return BadRequest
	case their.Kinds()[0] == llm.Overflow:
		return TooLong
	case their.Kinds()[0] == llm.Auth, their.Kinds()[0] == llm.Rejected:
		return Unauthorised
	}
	return Failed
}

// Client starts an upstream that does what the script says.
func (h HTTP) Client(t TB, m model.Model, script func(string) Reply) (llm.Client, func() []Bill) {
	t.Helper()
	server, err := llmtest.New(llmtest.Script{Answer: func(r llmtest.Request) llmtest.Reply {
		said := script(string(r.Body))
		text := said.Text
		if text == "" {
			text = "## Constraints\n\nTo leave the lexer as it is.\n\n## Goal\n\n" + goodWords + "\n"
		}
		return llmtest.Reply{Text: text, Fault: said.Fault.upstream(), RetryAfter: time.Millisecond}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	set, err := providers.New(func(string) string { return "key" }, map[string]providers.Provider{
		m.Provider: {Protocol: h.Protocol, BaseURL: server.BaseURL(h.Protocol), KeyEnv: "KEY"},
	})
	if err != nil {
		t.Fatal(err)
	}
	client, err := set.Client(m.Provider)
	if err != nil {
		t.Fatal(err)
	}
	return client, func() []Bill {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		records, err := server.Settled(ctx)
		if err != nil {
			t.Error("requests are still open:", err)
		}
		for _, problem := range server.Problems() {
			t.Error("the provider would refuse:", problem)
		}
		bills := make([]Bill, len(records))
		for i, r := range records {
			switch f := r.Reply.Fault; {
			case r.Status != 200, f == llmtest.HTML, f == llmtest.EmptyBody: // nothing was reported
				bills[i] = Bill{Exact: true}
			default:
				bills[i] = Bill{Usage: r.Usage, Exact: f != llmtest.NoUsage && len(f.Kinds()) == 0}
			}
		}
		return bills
	}
}
