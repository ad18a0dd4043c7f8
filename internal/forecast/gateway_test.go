package forecast

import (
	"flag"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/internal/workday"
	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/summarize/offline"
	"github.com/winnowhq/winnow/token"
)

var (
	longest = flag.Int("longest", 20, "how many steps a recorded session has at most that is played; 0: any number")
	only    = flag.String("only", "", "what is in the names of the recorded sessions that are played, one or more with commas")
	folds   = flag.Bool("folds", true, "the past is folded in the mode full, as it is by default")
	modes   = flag.String("modes", "off,observe,safe,full,warm", "the gateway's modes in which recorded sessions are played")
)

// mode is a way to run the gateway, and what stands for it in a replay.
type mode struct {
	name     string
	schedule string
	mode     transport.Mode
	warm     int // requests at most that keep the cache in a pause, where the provider is Anthropic
	coldFold int // tokens above which a cold cache has the past folded
}

var gatewayModes = []mode{
	{name: "off", mode: transport.Off}, {name: "observe", mode: transport.Observe},
	{name: "safe", schedule: "cold", mode: transport.Safe}, {name: "full", mode: transport.Full},
	{name: "warm", mode: transport.Full, warm: 2, coldFold: 100_000},
}

// settings are those of engine and replay.
func (m mode) settings() settings.Settings {
	s := settings.Default()
	s.Counter, s.Schedule, s.Compaction.Auto = "linear", m.schedule, *folds && m.mode == transport.Full
	s.Compaction.ColdFold = m.coldFold
	return s
}

// run plays a session through the gateway, and forecasts it. Of the mode observe the figures are
// those that it gives of the requests that it did not send.
func (m mode) run(t testing.TB, trace *lab.Trace, p llmtest.Protocol) (billed, forecast float64, misses int) {
	t.Helper()
	s := m.settings()
	policy := s.NewPolicy()
	if m.mode == transport.Off {
		policy.Rules, policy.Prune = nil, false
	}
	replay := func(o lab.Options) lab.Outcome {
		o.Summarizer = offline.New()
		setup := lab.Setup{Name: m.name, Policy: policy, KeepWarm: m.warm}
		if m.mode == transport.Safe { // what overflows is left to the client
			setup.Window = lab.Unlimited
		}
		out, err := lab.Run(t.Context(), trace, setup, o)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	c := play(t, trace, p, s, m)
	if billed = c.billed; m.mode == transport.Observe {
		billed = c.transport.Totals().Otherwise.Likely
	}
	if got := c.transport.Totals(); m.mode != transport.Off && math.Abs(float64(got.Billed)-c.billed) > 1e-9*c.billed {
		t.Errorf("%s, %s: the gateway says $%.4f were billed, the provider billed $%.4f", trace.Name, m.name,
			got.Billed, c.billed)
	}
	return billed, replay(lab.Options{Unmissed: true, Unsure: transport.Margin, FreeSummaries: true,
		FoldsFirst: m.mode != transport.Safe}).Bill.Total(), replay(lab.Options{}).Regrets
}

// known are recorded sessions whose bill without folds is further from the forecast, and by which
// share at most; why, docs/economics.md says. They fill the window, and the client has no summary of
// its own. One with folds has one a step earlier than forecast; it counts in the sum (ok is false).
func known(name string) (share float64, ok bool) {
	if *folds {
		if strings.Contains(name, "8eb5929b") {
			return 0.011, false
		}
		return 0, false
	}
	shares := map[string]float64{"8eb5929b": 0.03, "s006": 0.05, "s025": 0.03, "s027": 0.05}
	for part, share := range shares {
		if strings.Contains(name, part) {
			return share, true
		}
	}
	return 0, false
}

// compare plays traces in some modes, and holds the bill of each, and of all, against the forecast:
// all together may be off by a hundredth, each alone by the share that is given. Without folds the
// known ones are left out of the sum.
func compare(t *testing.T, traces []*lab.Trace, protocols []llmtest.Protocol, names string, each float64) {
	t.Helper()
	t.Logf("%-8s %-28s %-17s %6s %10s %10s %8s %7s", "mode", "session", "protocol", "steps", "billed", "forecast",
		"off by", "misses")
	for _, m := range gatewayModes {
		if !slices.Contains(strings.Split(names, ","), m.name) {
			continue
		}
		var sum, foreseen float64
		steps := 0
		for i, trace := range traces {
			billed, forecast, misses := m.run(t, trace, protocols[i])
			off := billed/forecast - 1
			t.Logf("%-8s %-28.28s %-17s %6d %10.4f %10.4f %7.2f%% %7d", m.name, trace.Name, protocols[i],
				trace.Steps(), billed, forecast, 100*off, misses)
			share, expected := known(trace.Name)
			if math.Abs(off) > max(each, share) {
				t.Errorf("%s, %s: $%.4f was billed, the forecast is $%.4f", trace.Name, m.name, billed, forecast)
			}
			if !expected {
				sum, foreseen, steps = sum+billed, foreseen+forecast, steps+trace.Steps()
			}
		}
		if steps == 0 {
			continue
		}
		t.Logf("%-8s %-28s %-17s %6d %10.4f %10.4f %7.2f%%", m.name, "all", "", steps, sum, foreseen, 100*(sum/foreseen-1))
		if math.Abs(sum/foreseen-1) > 0.01 {
			t.Errorf("%s: all together $%.4f were billed, the forecast is $%.4f", m.name, sum, foreseen)
		}
	}
}

// What a session costs that goes through the gateway is what the lab forecasts: the same is left out
// before the same requests, and the provider's cache has what it was taken to have.
func TestGateway_billsWhatTheLabForecasts(t *testing.T) {
	doc, err := all.Read(outside.Read(t, filepath.Join(outside.Root(t), "examples", "long-session.json")))
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range llmtest.Protocols() {
		of := *modes
		switch {
		case i > 0 && testing.Short():
			return
		case i > 0 && *longest > 0:
			of = "full"
		}
		var traces []*lab.Trace
		var protocols []llmtest.Protocol
		for _, s := range []session.Session{doc.Session, workday.Make(uint64(i), 60)} {
			trace := lab.NewTrace(sent(s, p), model.Default().Lookup(usual[p]), token.Linear{})
			trace.Name = s.Info.Title
			traces, protocols = append(traces, trace), append(protocols, p)
		}
		compare(t, traces, protocols, of, 0.01)
	}
}

// The same of recorded sessions: the short ones, and with -longest 0 all of them. A token more or
// less may let a commit fall some steps earlier or later, which moves the bill of that session.
func TestGateway_billsWhatTheLabForecastsOnRecordedSessions(t *testing.T) {
	type recording struct {
		*lab.Trace
		llmtest.Protocol
	}
	var found []recording
	for _, path := range outside.Sessions(t) {
		if !strings.Contains(filepath.ToSlash(path), "/corpus/") {
			continue
		}
		doc, err := all.Read(outside.Read(t, path))
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		p, m := spoken(doc.Format, doc.Session, model.Default())
		trace := lab.NewTrace(sent(doc.Session, p), m, token.Linear{})
		name, _, _ := strings.Cut(filepath.Base(path), ".")
		trace.Name = doc.Format + " " + name
		asked := slices.ContainsFunc(strings.Split(*only, ","), func(part string) bool { return strings.Contains(name, part) })
		if trace.Steps() > 0 && asked {
			found = append(found, recording{trace, p})
		}
	}
	slices.SortStableFunc(found, func(a, b recording) int { return a.Steps() - b.Steps() })
	var traces []*lab.Trace
	var protocols []llmtest.Protocol
	for _, r := range found {
		if r.Steps() <= *longest || *longest == 0 {
			traces, protocols = append(traces, r.Trace), append(protocols, r.Protocol)
		}
	}
	compare(t, traces, protocols, *modes, 0.01)
	if left := len(found) - len(traces); left > 0 {
		t.Logf("%d sessions of more than %d steps were left out; -longest 0 plays them too", left, *longest)
	}
}
