package replay

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/budget"
	"github.com/winnowhq/winnow/policy"
	"github.com/winnowhq/winnow/rule"
	"github.com/winnowhq/winnow/rule/letter"
	"github.com/winnowhq/winnow/schedule"
)

// Words for the policies that are compared and are none of the engine's.
const (
	Nothing   = "nothing"   // no rules, and a model that takes everything
	Compact   = "compact"   // no rules: the past is folded when the window is full
	Supersede = "supersede" // S002 10 by the letter, at every step
	InForce   = "config"    // what the configuration says
	mask      = "mask"      // all outputs but those of the newest steps go, at every step
	clearing  = "clear"     // all outputs but the newest go when the prompt has reached so many tokens
	economic  = "economic"  // in place of a number of tokens: the past is folded when that has become worth what it costs
)

// Defaults of clear: those that are published with it.
const (
	DefaultClearKeep = 3
	DefaultClearAt   = 100_000
)

// Usual are the policies that are compared when none are named.
func Usual() []string {
	return []string{Nothing, Compact, policy.Classic, policy.Aggressive, policy.Balanced, policy.Balanced + "/compact@economic", "clear:3@100k", "mask:10"}
}

// Forms say how policies are written, for errors and help.
func Forms() string {
	return "nothing, compact, compact@168k, compact@84%, compact@economic, classic, aggressive, balanced, supersede, mask:STEPS, clear:KEEP@TRIGGER, clear:KEEP@TRIGGER+LEAST, " +
		"config or the path of a winnow.jsonc; each may be followed by /compact@168k, /compact@economic, /200k (a window) or /nolimit"
}

// room is the window of policies that compact at a number of tokens of their own, whatever the model: wide enough to leave that to them.
const room = 1_000_000

// Named makes the policy that a word names:
//
//   - classic, aggressive and balanced, with these options;
//   - nothing, which keeps all and has no limit; compact, which folds when the window is full, compact@168k at so many tokens and compact@84% at that
//     share of the window, compact@economic when it has become worth what it costs;
//   - rules that others publish: mask:10 masks all outputs but those of the last 10 steps, at every step; clear:3@100k clears all outputs but the last 3
//     whenever the prompt has 100,000 tokens, clear:3@100k+5k if 5,000 go with it (clear alone is clear:3@100k); supersede is what S002 10 says
//     of files to the letter, at every step;
//   - config, or the path of a winnow.jsonc: what file makes of it, of "" for config. A nil file knows none.
//
// After any of them /compact@168k folds at so many tokens and /compact@economic when it pays, /200k is a window in place of the model's, and /nolimit takes it away. The error of a word is a
// *WordError.
func Named(spec string, defaults policy.Options, file func(path string) (Setup, error)) (Setup, error) {
	spec = strings.TrimSpace(spec)
	base, after, err := split(spec)
	if err != nil {
		return Setup{}, err
	}
	var s Setup
	if base == InForce || isFile(base) {
		path := base
		if base == InForce {
			path = ""
		}
		if file == nil {
			return s, bad(spec, "there is no configuration to read it from")
		}
		if s, err = file(path); err != nil {
			return s, fmt.Errorf("policy %q: %w", spec, err)
		}
	} else if s, err = based(spec, base, defaults); err != nil {
		return s, err
	}
	s.Name = spec
	windowed := false
	for _, a := range after {
		switch {
		case a == "nolimit":
			s.Window, windowed = Unlimited, true
		case strings.HasPrefix(a, Compact+"@"):
			if s, err = s.compacting(spec, strings.TrimPrefix(a, Compact+"@")); err != nil {
				return s, err
			}
		default:
			n, err := ParseTokens(a)
			if err != nil || n < leastWindow {
				return s, bad(spec, "%q is neither a window of %s tokens or more nor compact@TOKENS nor compact@economic nor nolimit", a, "1,000")
			}
			s.Window, windowed = n, true
		}
	}
	if at, ok := s.Policy.Budget.Thresholds["*"]; s.Settings == nil && !windowed && ok && at > 1 {
		s.Window = max(room, 2*int(at))
	}
	return s, nil
}

// leastWindow is the smallest window that is believed, in tokens.
const leastWindow = 1_000

// split takes a word apart: the policy, and what follows it.
func split(spec string) (base string, after []string, err error) {
	if spec == "" {
		return "", nil, bad(spec, "it is empty")
	}
	if end := fileEnd(spec); end > 0 {
		if rest := spec[end:]; rest != "" {
			after = strings.Split(strings.TrimPrefix(rest, "/"), "/")
		}
		return spec[:end], after, nil
	}
	words := strings.Split(spec, "/")
	return words[0], words[1:], nil
}

// fileEnd is where the path of a configuration file ends in a word, 0 where it is none.
func fileEnd(spec string) int {
	for _, ext := range []string{".jsonc", ".json"} {
		if at := strings.LastIndex(spec, ext); at > 0 && (at+len(ext) == len(spec) || spec[at+len(ext)] == '/') {
			return at + len(ext)
		}
	}
	return 0
}

func isFile(base string) bool { return fileEnd(base) == len(base) }

// based makes a policy without what follows it.
func based(spec, base string, defaults policy.Options) (Setup, error) {
	switch base {
	case policy.Classic, policy.Aggressive, policy.Balanced:
		p, _ := policy.New(base, defaults)
		return Setup{Policy: p, Settings: map[string]string{"policy": strconv.Quote(base)}}, nil
	case Nothing:
		s := foreign(defaults, nil, schedule.Eager{})
		s.Window, s.Policy.Auto, s.Policy.Budget.Auto = Unlimited, false, false
		return s, nil
	case Compact:
		s := foreign(defaults, nil, schedule.Eager{AtTurnEnd: true})
		s.Settings = map[string]string{"policy": strconv.Quote(policy.Balanced), "compaction.prune": "false"}
		return s, nil
	case Supersede:
		return foreign(defaults, []rule.Rule{letter.Files()}, schedule.Eager{}), nil
	case clearing:
		return foreign(defaults, []rule.Rule{cleared{DefaultClearKeep}}, trigger{DefaultClearAt, 0}), nil
	}
	if at, ok := strings.CutPrefix(base, Compact+"@"); ok {
		return foreign(defaults, nil, schedule.Eager{AtTurnEnd: true}).compacting(spec, at)
	}
	word, rest, _ := strings.Cut(base, ":")
	switch word {
	case mask:
		steps, err := strconv.Atoi(rest)
		if err != nil || steps < 1 {
			return Setup{}, bad(spec, "%q is no number of steps; write mask:10", rest)
		}
		return foreign(defaults, []rule.Rule{masked{steps}}, schedule.Eager{}), nil
	case clearing:
		return clearer(spec, rest, defaults)
	}
	return Setup{}, bad(spec, "there is no policy %q", base)
}

// clearer reads KEEP@TRIGGER+LEAST.
func clearer(spec, text string, defaults policy.Options) (Setup, error) {
	keepText, atText, hasAt := strings.Cut(text, "@")
	keep, err := strconv.Atoi(keepText)
	if err != nil || keep < 0 {
		return Setup{}, bad(spec, "%q is no number of outputs to keep; write clear:3@100k", keepText)
	}
	at, least := DefaultClearAt, 0
	if hasAt {
		text, leastText, hasLeast := strings.Cut(atText, "+")
		if at, err = ParseTokens(text); err != nil || at == 0 {
			return Setup{}, bad(spec, "%q is no number of tokens at which outputs are cleared; write clear:3@100k", text)
		}
		if hasLeast {
			if least, err = ParseTokens(leastText); err != nil {
				return Setup{}, bad(spec, "%q is no number of tokens that must go at least; write clear:3@100k+5k", leastText)
			}
		}
	}
	return foreign(defaults, []rule.Rule{cleared{keep}}, trigger{at, least}), nil
}

// foreign is a policy of rules that are none of the engine's, which folds as balanced does.
func foreign(defaults policy.Options, rules []rule.Rule, when schedule.Schedule) Setup {
	p, _ := policy.New(policy.Balanced, defaults)
	p.Rules, p.Schedule, p.Guard = rules, when, &rule.Guard{}
	p.Prune, p.Auto, p.Budget.Auto = len(rules) > 0, true, true
	p.Budget.Thresholds = nil
	return Setup{Policy: p}
}

// compacting folds at so many tokens, or at a share of the window. For policies that are not the engine's the reserve does not count: they fold at the
// number that they were given.
func (s Setup) compacting(spec, text string) (Setup, error) {
	var at budget.Threshold
	if text == economic {
		at = budget.Economic
	} else if percent, ok := strings.CutSuffix(text, "%"); ok {
		share, err := strconv.ParseFloat(percent, 64)
		if err != nil || !(share > 0 && share <= 100) {
			return s, bad(spec, "%q is no share of the window; write compact@84%%", text)
		}
		at = budget.Threshold(share / 100)
	} else {
		n, err := ParseTokens(text)
		if err != nil || n < leastWindow {
			return s, bad(spec, "%q is no number of tokens at which the past is folded; write compact@168k or compact@economic", text)
		}
		at = budget.Threshold(n)
	}
	s.Policy.Auto, s.Policy.Budget.Auto = true, true
	s.Policy.Budget.Thresholds = budget.Thresholds{"*": at}
	if s.Settings == nil {
		none := 0
		s.Policy.Budget.Reserved = &none
		return s, nil
	}
	s.Settings = maps.Clone(s.Settings)
	written := strconv.FormatFloat(float64(at), 'f', -1, 64)
	if at == budget.Economic {
		written = strconv.Quote(economic)
	}
	s.Settings["compaction.threshold"] = fmt.Sprintf(`{"*":%s}`, written)
	return s, nil
}

// ParseTokens reads a number of tokens: 168000, 168k, 1.5m.
func ParseTokens(text string) (int, error) {
	digits, unit := strings.ToLower(strings.ReplaceAll(text, ",", "")), 1.0
	switch {
	case strings.HasSuffix(digits, "k"):
		digits, unit = digits[:len(digits)-1], 1e3
	case strings.HasSuffix(digits, "m"):
		digits, unit = digits[:len(digits)-1], 1e6
	}
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || !(n >= 0) || n*unit > 1e9 || strings.ContainsAny(digits, "xXpP_+iIeEnN") {
		return 0, fmt.Errorf("%q is no number of tokens; write 168000, 168k or 1.5m", text)
	}
	return int(n*unit + 0.5), nil
}

// WordError is a word that names no policy.
type WordError struct{ Word, Problem string }

func (e *WordError) Error() string {
	return fmt.Sprintf("policy %q: %s; policies are %s", e.Word, e.Problem, Forms())
}

func bad(word, format string, args ...any) error {
	return &WordError{word, fmt.Sprintf(format, args...)}
}

// MaskedOutput and ClearedOutput stand where outputs stood.
const (
	MaskedOutput  = "[output masked]"
	ClearedOutput = "[old output cleared]"
)

// masked finds the outputs of all steps but the newest.
type masked struct{ Steps int }

// Name is "mask".
func (masked) Name() string { return mask }

// Find walks from the oldest message on to the steps that stay.
func (r masked) Find(w rule.Window) rule.Found {
	border, steps := len(w.Messages), 0
	for border > 0 && steps < r.Steps {
		border--
		if m := &w.Messages[border]; isStep(m) {
			steps++
		}
	}
	outputs := slices.Collect(outputsOf(w, border))
	return hidden(w, outputs, r.Name(), MaskedOutput, fmt.Sprintf("it is older than %d steps", r.Steps))
}

// cleared finds all outputs but the newest.
type cleared struct{ Keep int }

// Name is "clear".
func (cleared) Name() string { return clearing }

// Find walks the whole window.
func (r cleared) Find(w rule.Window) rule.Found {
	outputs := slices.Collect(outputsOf(w, len(w.Messages)))
	outputs = outputs[:max(0, len(outputs)-r.Keep)]
	return hidden(w, outputs, r.Name(), ClearedOutput, fmt.Sprintf("it is none of the newest %d outputs", r.Keep))
}

// trigger commits when the prompt has reached a size, if enough goes with it.
type trigger struct{ At, Least int }

// Name is "trigger".
func (trigger) Name() string { return "trigger" }

// Ready reports whether the prompt is large enough.
func (t trigger) Ready(now schedule.Moment) bool { return now.Account.Base+now.Account.Size >= t.At }

// Choose takes all or nothing.
func (t trigger) Choose(found []rule.Elision, now schedule.Moment) []rule.Elision {
	if !t.Ready(now) || rule.Saves(found) < t.Least {
		return nil
	}
	return found
}
