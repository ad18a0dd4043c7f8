package display

import (
	"cmp"
	"strings"
	"time"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// Fact is a name and what there is to say.
type Fact struct{ Name, Text string }

// Fit says whether a window has room for the next request.
type Fit int

// The fits of a window.
const (
	Unknown Fit = iota
	Fits
	Over
)

// Verdict says in words whether the window fits the model.
func Verdict(w report.Window, model string) (string, Fit) {
	used := w.Tokens + w.Overhead
	v := Reported(w)
	switch {
	case w.Usable <= 0 && v != nil && v.Code == budget.CodeUnlimited:
		return "the window of " + ModelName(model) + " is set to be unlimited", Fits
	case w.Usable <= 0:
		return "the window of " + ModelName(model) + " is unknown", Unknown
	case !w.Overflow && used > w.Usable:
		return "the next request is estimated " + quantity.Number(used-w.Usable) + " over the limit", Over
	case w.Overflow && used > w.Usable:
		return quantity.Number(used-w.Usable) + " over the limit", Over
	case v != nil && v.Overflow:
		return "over the limit, according to the provider", Over
	case w.Overflow:
		return "the usable window is full", Over
	}
	return room(w.Usable - used), Fits
}

// Reported is the policy's verdict on the newest report, nil where there is none that can be of one
// request and still stands.
func Reported(w report.Window) *report.Verdict {
	if v := w.Verdict; v != nil && !v.Stale && v.Code != budget.CodeDoubtful {
		return v
	}
	return nil
}

// Formula says in words what the verdict of a policy counts of a report.
func Formula(policyName string) string {
	if policy.Sound(policyName) {
		return "including cache writes and later messages"
	}
	return "input + cache reads + output, as " + policyName + " counts"
}

// VerdictAfter says the same of the window that a receipt left. It is "" if no limit is known.
func VerdictAfter(r *pivot.Receipt, w report.Window) (string, Fit) {
	used, usable := r.TokensAfter+w.Overhead, cmp.Or(max(0, w.Usable), max(0, r.Usable))
	switch {
	case usable == 0:
		return "", Unknown
	case used >= usable:
		return "still " + quantity.Number(used-usable) + " over the limit", Over
	}
	return room(usable - used), Fits
}

func room(n int) string { return "it fits, with room for " + quantity.Number(n) + " more" }

// ModelName is the model without its provider.
func ModelName(model string) string {
	return cmp.Or(model[strings.LastIndexByte(model, '/')+1:], "the model")
}

// mostClaims is how many inventions of a model are listed.
const mostClaims = 8

// Receipt lists what a receipt says besides its sizes and notes: what stays, what was carried over,
// who wrote the summary, what it cost and comes to.
func Receipt(r *pivot.Receipt) []Fact {
	var facts []Fact
	add := func(name, text string) {
		if text != "" {
			facts = append(facts, Fact{name, text})
		}
	}
	if r.Kind == pivot.Compaction {
		stays := "no message: the summary replaces all of them"
		if r.Tail > 0 {
			stays = quantity.Count(r.Tail, "message") + ", word for word"
		}
		add("stays", stays)
		add("carried", carried(&r.Carried))
		if n := r.Carried.Recallable; n > 0 {
			add("named", quantity.Count(n, "output")+" of the folded messages, by id")
		}
		by := asked(r)
		if r.Summarizer != "" {
			by = append([]string{r.Summarizer}, by...)
		}
		if r.Duration >= 0.1 && r.Duration < 1e9 {
			by = append(by, quantity.Duration(time.Duration(r.Duration*float64(time.Second))))
		}
		add("written by", strings.Join(by, ", "))
	} else { // calls for a summary that came to nothing
		add("asked", strings.Join(asked(r), ", "))
	}
	var claims []string
	for _, s := range r.Struck[:min(len(r.Struck), mostClaims)] {
		claims = append(claims, s.Kind+" "+s.Text)
	}
	if n := len(r.Struck) - mostClaims; n > 0 {
		claims = append(claims, quantity.Count(n, "claim")+" more")
	}
	add("made up", strings.Join(claims, ", "))
	if r.Money != nil {
		add("dollars", r.Money.Words(quantity.Dollars))
	}
	return facts
}

func carried(c *pivot.Carried) string {
	var things []string
	for _, thing := range []struct {
		n    int
		name string
	}{
		{c.Messages, "user message"}, {c.Constraints, "instruction"}, {c.Pins, "pin"}, {c.Todos, "todo list"},
		{c.Skills, "skill"}, {c.Files, "file"}, {c.Failures, "unresolved error"}, {c.Hot, "recent call"},
	} {
		if thing.n > 0 {
			things = append(things, quantity.Count(thing.n, thing.name))
		}
	}
	if len(things) == 0 {
		return ""
	}
	return strings.Join(things, ", ") + "; " + quantity.Count(c.Tokens, "token")
}

// asked says what the calls of a model took, the failed ones too.
func asked(r *pivot.Receipt) []string {
	if len(r.Usage) == 0 {
		return nil
	}
	var sum session.Usage
	for _, u := range r.Usage {
		sum = sum.Add(u)
	}
	facts := []string{quantity.Count(len(r.Usage), "call")}
	if in, out := sum.Prompt(), sum.Output+sum.Reasoning; in > 0 || out > 0 {
		facts = append(facts, quantity.Number(in)+" tokens in", quantity.Number(out)+" out")
	}
	if r.Cost > 0 {
		return append(facts, quantity.Dollars(r.Cost))
	}
	return append(facts, "cost unknown")
}

// SavedByRule sums up what the elisions of a receipt save. Those in hidden messages are summed
// apart.
func SavedByRule(r *pivot.Receipt, hidden map[string]bool) (saved map[string]int, beyond int) {
	saved = map[string]int{}
	for _, el := range r.Committed {
		if hidden[el.Message] {
			beyond += el.Saves
		} else {
			saved[cmp.Or(el.Rule, "other")] += el.Saves
		}
	}
	return saved, beyond
}

// Refused is the reason of a refusal, or its code in words.
func Refused(reason string, code rule.Code) string {
	return quantity.Sentence(cmp.Or(reason, strings.ReplaceAll(string(code), "-", " ")))
}

// Damage says where the first pieces are that could not be read, and why.
func Damage(all []format.Damage, most int) []Fact {
	var facts []Fact
	for _, d := range all[:min(len(all), most)] {
		where := "byte " + quantity.Number(int(d.Offset))
		if d.Line > 0 {
			where = "line " + quantity.Number(d.Line)
		}
		reason := cmp.Or(d.Reason, "not understood")
		if d.Bytes > 0 {
			reason = quantity.Bytes(d.Bytes) + ": " + reason
		}
		facts = append(facts, Fact{where, reason})
	}
	if n := len(all) - most; n > 0 {
		facts = append(facts, Fact{"", quantity.Number(n) + " more"})
	}
	return facts
}
