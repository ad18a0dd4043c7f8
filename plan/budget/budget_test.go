package budget_test

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/session"
)

func limited(context, input, output int) model.Model {
	return model.Model{Provider: "test", ID: "model", Limits: model.Limits{Context: context, Input: input, Output: output}}
}

func used(input, output, read, write int) session.Usage {
	return session.Usage{Input: input, Output: output, Cache: session.CacheUsage{Read: read, Write: write}}
}

func TestUsable(t *testing.T) {
	tests := []struct {
		name                   string
		context, input, output int
		letter, full           int
		fallback               bool // in the full form
	}{
		{"200k, 32k of output", 200_000, 0, 32_000, 168_000, 148_000, false},
		{"a prompt limit", 400_000, 272_000, 128_000, 272_000, 252_000, false},
		{"a million, 64k of output", 1_000_000, 0, 64_000, 968_000, 948_000, false},
		{"a small output needs a small reserve", 128_000, 0, 8192, 119_808, 111_616, false},
		{"64k", 65_536, 0, 8192, 57_344, 49_152, false},
		{"unknown output, large window", 200_000, 0, 0, 168_000, 148_000, false},
		{"unknown output, 32k window", 32_768, 0, 0, 768, 16_384, true},
		{"unknown output, window below the cap", 16_384, 0, 0, 12_288, 8192, true},
		{"output as large as the window", 32_000, 0, 32_000, 24_000, 16_000, true},
		{"output larger than the window", 16_000, 0, 128_000, 12_000, 8000, true},
		{"prompt limit beyond the window", 100_000, 300_000, 32_000, 300_000, 80_000, false},
		{"tiny window", 3, 0, 1, 2, 1, false},
		{"one token", 1, 0, 0, 1, 1, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := limited(tt.context, tt.input, tt.output)
			if got := (budget.Settings{}).Usable(m); got.Tokens != tt.letter || got.Threshold != tt.letter || got.Reserved != 0 {
				t.Errorf("letter: %+v, want %d tokens", got, tt.letter)
			}
			got := budget.Settings{Full: true}.Usable(m)
			if got.Tokens != tt.full {
				t.Errorf("full: %+v, want %d tokens", got, tt.full)
			}
			if (got.Fallback != "") != tt.fallback {
				t.Errorf("full: fallback %q, want one: %t", got.Fallback, tt.fallback)
			}
		})
	}
}

func TestUsable_unknownWindowIsUnlimited(t *testing.T) {
	for _, s := range []budget.Settings{{Auto: true}, {Auto: true, Full: true}} {
		u := s.Usable(model.Model{})
		if !u.Unlimited || u.Tokens != math.MaxInt || u.Fallback == "" {
			t.Errorf("%+v: %+v, want unlimited, and why", s, u)
		}
		if v := s.Check(model.Model{}, used(9e9, 9e9, 9e9, 0), 9e9); v.Overflow || v.Code != budget.CodeUnknown {
			t.Errorf("%+v: %+v, want no overflow", s, v)
		}
	}
	// The user may say so: then nothing is unknown.
	set := model.Model{Provider: "house", ID: "x", Limits: model.Limits{Output: 10_000}, Set: []string{"context"}}
	for _, s := range []budget.Settings{{Auto: true}, {Auto: true, Full: true}} {
		if u := s.Usable(set); !u.Unlimited || u.Fallback != "" {
			t.Errorf("%+v: %+v, want unlimited as it was set", s, u)
		}
		if v := s.Check(set, used(9e9, 9e9, 9e9, 0), 9e9); v.Overflow || v.Code != budget.CodeUnlimited {
			t.Errorf("%+v: %+v, want no overflow", s, v)
		}
	}
	// The letter looks at the context alone; the full form takes a prompt limit for a window.
	m := limited(0, 100_000, 10_000)
	if u := (budget.Settings{}).Usable(m); !u.Unlimited {
		t.Errorf("letter: %+v, want unlimited", u)
	}
	if u := (budget.Settings{Full: true}).Usable(m); u.Tokens != 90_000 {
		t.Errorf("full: %+v, want 90,000", u)
	}
}

func TestUsable_reserved(t *testing.T) {
	for reserved, want := range map[int]int{0: 168_000, 5000: 163_000, -1: 168_000, 500_000: 168_000} {
		s := budget.Settings{Full: true, Reserved: &reserved}
		if u := s.Usable(limited(200_000, 0, 64_000)); u.Tokens != want {
			t.Errorf("reserved %d: %+v, want %d", reserved, u, want)
		}
	}
}

func TestUsable_thresholds(t *testing.T) {
	s := budget.Settings{Auto: true, Thresholds: map[string]budget.Threshold{
		"**": 150_000, "anthropic/*": 0.92, "anthropic/claude-opus-*": 0.5, "openai/*": 1, "google/*": budget.Threshold(math.NaN()),
	}}
	for name, want := range map[string]int{
		"local/x":                     150_000,
		"anthropic/claude-sonnet-4-5": 168_000, // 92 % of the window are 184,000: the budget fires first
		"Anthropic/Claude-Opus-4-5":   100_000, // the longest pattern
		"openai/gpt":                  168_000,
		"google/gemini":               168_000, // not a threshold
	} {
		m := limited(200_000, 0, 64_000)
		m.Provider, m.ID, _ = strings.Cut(name, "/")
		if u := s.Usable(m); u.Threshold != want || u.Tokens != 168_000 {
			t.Errorf("%s: %+v, want a threshold of %d", name, u, want)
		}
	}
	// 92 % of the window, where the answer's share is smaller than 8 %.
	m := limited(1_000_000, 0, 8192)
	at := budget.Settings{Auto: true, Thresholds: map[string]budget.Threshold{"test/model": 0.92}}
	if v := at.Check(m, used(920_000, 0, 0, 0), 0); v.Overflow {
		t.Errorf("at the threshold: %+v, want none in the letter", v)
	}
	if v := at.Check(m, used(920_001, 0, 0, 0), 0); !v.Overflow || !strings.Contains(v.Reason, "threshold 920,000") {
		t.Errorf("beyond the threshold: %+v, want overflow that names it", v)
	}
}

func TestValidate(t *testing.T) {
	negative := -1
	for _, s := range []budget.Settings{
		{Thresholds: map[string]budget.Threshold{"a[": 0.5}},
		{Thresholds: map[string]budget.Threshold{"a": 0}},
		{Thresholds: map[string]budget.Threshold{"a": -0.5}},
		{Thresholds: map[string]budget.Threshold{"a": 92}},
		{Thresholds: map[string]budget.Threshold{"a": 999}},
		{Thresholds: map[string]budget.Threshold{"a/*": 0.5, "*": 1.5}},
		{Thresholds: map[string]budget.Threshold{"a": budget.Threshold(math.NaN())}},
		{Thresholds: map[string]budget.Threshold{"a": budget.Threshold(math.Inf(1))}},
		{Reserved: &negative},
	} {
		if s.Validate() == nil {
			t.Errorf("Validate(%+v) has no error", s)
		}
	}
	if err := (budget.Settings{Thresholds: map[string]budget.Threshold{"anthropic/*": 0.92, "**": 150_000, "a": 1, "b": 1000}}).Validate(); err != nil {
		t.Error(err)
	}
}

// The known cases of overflow. The full column is the newer formula's, which subtracts a reserve and counts
// cache writes; the letter column is the specification's, which does neither.
func TestCheck_knownCases(t *testing.T) {
	tests := []struct {
		name             string
		usage            session.Usage
		context, in, out int
		letter, full     bool
	}{
		{"75k of 100k", used(75_000, 5000, 0, 0), 100_000, 0, 32_000, true, true},
		{"100k of 200k", used(100_000, 10_000, 0, 0), 200_000, 0, 32_000, false, false},
		{"cache reads count", used(60_000, 10_000, 10_000, 0), 100_000, 0, 32_000, true, true},
		{"beyond the prompt limit", used(271_000, 1000, 2000, 0), 400_000, 272_000, 128_000, true, true},
		{"within the prompt limit", used(200_000, 20_000, 10_000, 0), 400_000, 272_000, 128_000, false, false},
		{"a prompt limit below the window", used(50_000, 9999, 0, 0), 200_000, 120_000, 10_000, false, false},
		{"within the reserve of the prompt limit", used(180_000, 15_000, 3000, 0), 200_000, 200_000, 32_000, false, true},
		{"the same without a prompt limit", used(180_000, 15_000, 3000, 0), 200_000, 0, 32_000, true, true},
		{"181k within a prompt limit of 200k", used(166_000, 10_000, 5000, 0), 200_000, 200_000, 32_000, false, true},
		{"181k without one", used(166_000, 10_000, 5000, 0), 200_000, 0, 32_000, true, true},
		{"cache writes count in full", used(10_000, 1000, 0, 150_000), 200_000, 0, 32_000, false, true},
		{"reasoning is not added", session.Usage{Input: 100_000, Reasoning: 90_000}, 200_000, 0, 32_000, false, false},
		{"cache writes beside cache reads", used(100_000, 10_000, 26_000, 90_000), 200_000, 0, 32_000, false, true},
		{"one above the letter's budget", used(100_000, 10_000, 58_001, 0), 200_000, 0, 32_000, true, true},
		{"exactly the letter's budget", used(168_000, 0, 0, 0), 200_000, 0, 32_000, false, true},
		{"exactly the full budget", used(148_000, 0, 0, 0), 200_000, 0, 32_000, false, true},
		{"one below the full budget", used(147_999, 0, 0, 0), 200_000, 0, 32_000, false, false},
		{"nothing but a total", session.Usage{Total: 190_000}, 200_000, 0, 32_000, false, true},
		{"no window", used(900_000, 0, 0, 0), 0, 0, 32_000, false, false},
		{"nothing at all", session.Usage{}, 200_000, 0, 32_000, false, false},
		{"20 tokens of window, 100 used", used(100, 0, 0, 0), 20, 0, 10, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := limited(tt.context, tt.in, tt.out)
			if v := (budget.Settings{Auto: true}).Check(m, tt.usage, 0); v.Overflow != tt.letter || v.Reason == "" {
				t.Errorf("letter: %+v, want overflow %t", v, tt.letter)
			}
			if v := (budget.Settings{Auto: true, Full: true}).Check(m, tt.usage, 0); v.Overflow != tt.full || v.Reason == "" {
				t.Errorf("full: %+v, want overflow %t", v, tt.full)
			}
			for _, full := range []bool{false, true} {
				on, off := budget.Settings{Auto: true, Full: full}, budget.Settings{Full: full}
				v, same := off.Check(m, tt.usage, 0), on.Check(m, tt.usage, 0)
				if v.Overflow != same.Overflow || off.Folds(v) || on.Folds(same) != same.Overflow {
					t.Errorf("switched off: %+v, want %+v, and nothing folded", v, same)
				}
				if v.Overflow && !strings.HasSuffix(v.Reason, "automatic compaction is off") {
					t.Errorf("switched off: %q, want it said", v.Reason)
				}
			}
		})
	}
}

func TestCheck_countsWhatCameAfterTheReport(t *testing.T) {
	m, u := limited(200_000, 0, 32_000), used(140_000, 2000, 0, 0)
	if v := (budget.Settings{Auto: true, Full: true}).Check(m, u, 6000); !v.Overflow || v.Total != 148_000 {
		t.Errorf("full: %+v, want an overflow of 148,000", v)
	}
	if v := (budget.Settings{Auto: true}).Check(m, u, 60_000); v.Overflow || v.Total != 142_000 {
		t.Errorf("letter: %+v, want 142,000 and no overflow: it knows the report alone", v)
	}
}

func TestCheck_doubtsAReportLargerThanTheWindow(t *testing.T) {
	m := limited(200_000, 0, 32_000)
	v := budget.Settings{Auto: true, Full: true}.Check(m, used(5000, 500, 900_000, 0), 0)
	if !v.Overflow || v.Code != budget.CodeDoubtful || !strings.Contains(v.Reason, "905,000") {
		t.Errorf("%+v, want an overflow that is doubtful: no request was so large", v)
	}
	if v := (budget.Settings{Auto: true}).Check(m, used(5000, 500, 900_000, 0), 0); v.Code != budget.CodeOverflow {
		t.Errorf("letter: %+v, want a plain overflow", v)
	}
}

func TestUsable_isAlwaysMoreThanNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.OneOf(rapid.IntRange(-10, 100), rapid.IntRange(0, 2_000_000), rapid.Int())
		m := limited(limit.Draw(t, "context"), limit.Draw(t, "input"), limit.Draw(t, "output"))
		s := budget.Settings{Auto: true, Full: rapid.Bool().Draw(t, "full")}
		if rapid.Bool().Draw(t, "has reserve") {
			reserved := limit.Draw(t, "reserved")
			s.Reserved = &reserved
		}
		if rapid.Bool().Draw(t, "has threshold") {
			s.Thresholds = map[string]budget.Threshold{"**": budget.Threshold(rapid.Float64().Draw(t, "threshold"))}
		}
		u := s.Usable(m)
		if u.Tokens <= 0 || u.Threshold <= 0 || u.Threshold > u.Tokens {
			t.Fatalf("%+v for %+v", u, m.Limits)
		}
		if u.Context > 0 && s.Full && u.Tokens > u.Context {
			t.Errorf("%+v for %+v: more than the window", u, m.Limits)
		}
		if v := s.Check(m, session.Usage{}, 0); v.Overflow {
			t.Errorf("an empty session overflows: %+v for %+v", v, m.Limits)
		}
	})
}

func TestCheck_moreUsageNeverFitsBetter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(0, 300_000), rapid.Int())
		m := limited(n.Draw(t, "context"), 0, n.Draw(t, "output"))
		s := budget.Settings{Auto: true, Full: rapid.Bool().Draw(t, "full")}
		u := used(n.Draw(t, "in"), n.Draw(t, "out"), n.Draw(t, "read"), n.Draw(t, "write"))
		pending, more := rapid.IntRange(0, 1000).Draw(t, "pending"), rapid.IntRange(0, 1000).Draw(t, "more")
		before := s.Check(m, u, pending)
		if u.Input < math.MaxInt-more {
			u.Input += more
		}
		after := s.Check(m, u, pending+more)
		if before.Overflow && !after.Overflow || after.Total < before.Total {
			t.Errorf("%+v, then with more %+v", before, after)
		}
	})
}

func TestFloor(t *testing.T) {
	for _, tt := range []struct {
		floor budget.Floor
		want  string
	}{
		{budget.Floor{}, "nothing"},
		{budget.Floor{Tools: 90_000}, "tools 90,000"},
		{budget.Floor{System: 12_000, Tools: 90_000, Tail: 8050}, "system 12,000 + tools 90,000 + tail 8,050 = 110,050"},
		{budget.Floor{System: 1, Tools: 2, Pins: 3, Tail: 4, Summary: 1_000_000}, "system 1 + tools 2 + pins 3 + tail 4 + summary 1,000,000 = 1,000,010"},
	} {
		if got := tt.floor.String(); got != tt.want {
			t.Errorf("%#v reads %q, want %q", tt.floor, got, tt.want)
		}
	}
}

func TestEconomic_isOfTheModelsWhosePatternSaysSo(t *testing.T) {
	s := budget.Settings{Auto: true, Thresholds: map[string]budget.Threshold{"*": budget.Economic, "openai/*": 0.5}}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"anthropic/claude-opus-5": true, "openai/gpt-5": false} {
		provider, id, _ := strings.Cut(name, "/")
		m := model.Model{Provider: provider, ID: id, Limits: model.Limits{Context: 200_000, Output: 32_000}}
		if got := s.Economic(m); got != want {
			t.Errorf("%s: economic %t, want %t", name, got, want)
		}
		if u := s.Usable(m); want && u.Threshold != u.Tokens {
			t.Errorf("%s: %+v, want no threshold below the limit", name, u)
		}
	}
}

// S004 compacts at 92 % of the window, which is later than S001's formula where the answer's share is larger than 8 %.
func TestLate_is92PercentOfTheWindowInPlaceOfTheReserve(t *testing.T) {
	for _, tt := range []struct {
		name                   string
		context, input, output int
		want                   int // usable, in either form
	}{
		{"200k, 32k of output", 200_000, 0, 32_000, 184_000},
		{"a small output", 200_000, 0, 4_000, 184_000},
		{"a prompt limit below it", 200_000, 150_000, 32_000, 150_000},
		{"a prompt limit above it", 200_000, 190_000, 32_000, 184_000},
		{"limits that leave nothing", 32_000, 0, 64_000, 29_440},
		{"one token", 1, 0, 0, 1},
	} {
		for _, full := range []bool{false, true} {
			s := budget.Settings{Auto: true, Full: full, Thresholds: map[string]budget.Threshold{"*": budget.Late}}
			if err := s.Validate(); err != nil {
				t.Fatal(err)
			}
			m := limited(tt.context, tt.input, tt.output)
			u := s.Usable(m)
			if u.Tokens != tt.want || u.Threshold != tt.want || u.Reserved != 0 || u.Output > tt.context-tt.want {
				t.Errorf("%s, full %t: %+v, want %d", tt.name, full, u, tt.want)
			}
			if v := s.Check(m, used(tt.want+1, 0, 0, 0), 0); !v.Overflow {
				t.Errorf("%s, full %t: one more: %+v", tt.name, full, v)
			}
			if v := s.Check(m, used(tt.want-1, 0, 0, 0), 0); v.Overflow {
				t.Errorf("%s, full %t: one less: %+v", tt.name, full, v)
			}
		}
	}
	s := budget.Settings{Auto: true, Thresholds: map[string]budget.Threshold{"*": budget.Late}}
	if u := s.Usable(model.Model{}); !u.Unlimited {
		t.Errorf("of an unknown window: %+v", u)
	}
}
