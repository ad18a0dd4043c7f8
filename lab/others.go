package lab

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/letter"
	"github.com/winnowhq/winnow/plan/schedule"
)

// The policies that are compared and are not the engine's.
const (
	Nothing   = "nothing"   // no rules and no limit
	Compact   = "compact"   // no rules; compaction when the window is full
	Supersede = "supersede" // S002 10 by the letter, at every step
	InForce   = "config"    // the user's configuration
	mask      = "mask"      // at every step, hide all outputs but those of the newest steps
	clearing  = "clear"     // hide all outputs but the newest when the prompt reaches a size
	warm      = "warm"      // after a policy: keep the cache warm during pauses
	cold      = "cold"      // after a policy: compact where the cache is cold
	economic  = "economic"  // in place of a number of tokens: compact when it pays
)

// Published defaults of clear.
const (
	DefaultClearKeep = 3
	DefaultClearAt   = 100_000
)

// Usual returns the policies that are compared by default.
func Usual() []string {
	return []string{Nothing, Compact, policy.Classic, policy.Aggressive, policy.Balanced, policy.Balanced +
		"/compact@economic", "clear:3@100k", "mask:10"}
}

// Forms describes how policies are written, for errors and help.
func Forms() string {
	return "nothing, compact, compact@168k, compact@84%, compact@economic, careful, balanced, thrifty, classic, " +
		"aggressive, supersede, mask:STEPS, clear:KEEP@TRIGGER, clear:KEEP@TRIGGER+LEAST, config or the path of a winnow.jsonc; " +
		"each may be followed by /compact@168k, /compact@economic, /cold@120k (compaction of a cold cache), /200k " +
		"(a window), /nolimit or /warm:5 (requests that keep the cache during a pause)"
}

// room is the window, in tokens, of policies that compact at a size of their own: wide enough not
// to interfere.
const room = 1_000_000

// Named makes the policy that a word names:
//
//   - classic, aggressive and balanced, with these options, careful and thrifty with their own;
//   - nothing, which keeps all and has no limit; compact, which folds when the window is full,
//     compact@168k at 168,000 tokens, compact@84% at that share of the window, compact@economic
//     when it has become worth what it costs;
//   - rules that others publish: mask:10 masks all outputs but those of the last 10 steps, at every
//     step; clear:3@100k clears all outputs but the last 3 whenever the prompt has 100,000 tokens,
//     clear:3@100k+5k if 5,000 go with it (clear alone is clear:3@100k); supersede is what S002 10
//     says of files to the letter, at every step;
//   - config, or the path of a winnow.jsonc: what file makes of it, of "" for config. A nil file
//     knows none.
//
// After any of them /compact@168k folds at 168,000 tokens, /compact@economic when it pays and
// /cold@120k from that size on where the cache is cold; /200k
// is a window in place of the model's, /nolimit takes it away, and /warm:5 keeps the provider's
// cache during pauses with five requests at most where that pays. The error of a word is a
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
			return s, bad(spec, "no configuration file can be read here")
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
		case strings.HasPrefix(a, warm+":"):
			if s.KeepWarm, err = strconv.Atoi(strings.TrimPrefix(a, warm+":")); err != nil || s.KeepWarm < 1 {
				return s, bad(spec, "%q is not a number of requests in a pause; write warm:5", a)
			}
		case strings.HasPrefix(a, Compact+"@"):
			if s, err = s.compacting(spec, strings.TrimPrefix(a, Compact+"@")); err != nil {
				return s, err
			}
		case strings.HasPrefix(a, cold+"@"):
			n, err := ParseTokens(strings.TrimPrefix(a, cold+"@"))
			if err != nil || n < leastWindow {
				return s, bad(spec, "%q is not a number of tokens; write cold@100k", a)
			}
			s.Policy.ColdFold = n
		default:
			n, err := ParseTokens(a)
			if err != nil || n < leastWindow {
				return s, bad(spec, "%q is neither a window of %s tokens or more nor compact@TOKENS nor "+
					"compact@economic nor cold@TOKENS nor nolimit nor warm:REQUESTS", a, "1,000")
			}
			s.Window, windowed = n, true
		}
	}
	if at, ok := s.Policy.Budget.Thresholds["*"]; s.Settings == nil && !windowed && ok && at > 1 {
		s.Window = max(room, 2*int(at))
	}
	if s.KeepWarm > 0 {
		s.Settings = nil // that requests of one's own are sent is for the user to say
	}
	return s, nil
}

// leastWindow is the smallest accepted window, in tokens.
const leastWindow = 1_000

// split separates the policy from what follows it.
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

// fileEnd is where the path of a configuration file ends in a word; 0 if it does not begin with
// one.
func fileEnd(spec string) int {
	for _, ext := range []string{".jsonc", ".json"} {
		if at := strings.LastIndex(spec, ext); at > 0 && (at+len(ext) == len(spec) || spec[at+len(ext)] == '/') {
			return at + len(ext)
		}
	}
	return 0
}

func isFile(base string) bool { return fileEnd(base) == len(base) }

// based makes the policy itself, without suffixes.
func based(spec, base string, defaults policy.Options) (Setup, error) {
	switch base {
	case policy.Careful, policy.Thrifty:
		defaults = policy.WishOf(base).Apply(defaults)
		fallthrough
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
			return Setup{}, bad(spec, "%q is not a number of steps; write mask:10", rest)
		}
		return foreign(defaults, []rule.Rule{masked{steps}}, schedule.Eager{}), nil
	case clearing:
		return clearer(spec, rest, defaults)
	}
	return Setup{}, bad(spec, "unknown policy %q", base)
}

// clearer reads KEEP@TRIGGER+LEAST.
func clearer(spec, text string, defaults policy.Options) (Setup, error) {
	keepText, atText, hasAt := strings.Cut(text, "@")
	keep, err := strconv.Atoi(keepText)
	if err != nil || keep < 0 {
		return Setup{}, bad(spec, "%q is not a number of outputs to keep; write clear:3@100k", keepText)
	}
	at, least := DefaultClearAt, 0
	if hasAt {
		text, leastText, hasLeast := strings.Cut(atText, "+")
		if at, err = ParseTokens(text); err != nil || at == 0 {
			return Setup{}, bad(spec, "%q is not a number of tokens; write clear:3@100k", text)
		}
		if hasLeast {
			if least, err = ParseTokens(leastText); err != nil {
				return Setup{}, bad(spec, "%q is not a number of tokens; write clear:3@100k+5k", leastText)
			}
		}
	}
	return foreign(defaults, []rule.Rule{cleared{keep}}, trigger{at, least}), nil
}

// foreign is a policy of rules outside the engine, which compacts as balanced does.
func foreign(defaults policy.Options, rules []rule.Rule, when schedule.Schedule) Setup {
	p, _ := policy.New(policy.Balanced, defaults)
	p.Rules, p.Schedule, p.Guard = rules, when, &rule.Guard{}
	p.Prune, p.Auto, p.Budget.Auto = len(rules) > 0, true, true
	p.Budget.Thresholds, p.First, p.Outline = nil, rule.FirstSend{}, 0
	return Setup{Policy: p, Foreign: true}
}

// compacting sets the size, or share of the window, at which the policy compacts. Policies outside
// the engine have no reserve: they compact at exactly that size.
func (s Setup) compacting(spec, text string) (Setup, error) {
	var at budget.Threshold
	if text == economic {
		at = budget.Economic
	} else if percent, ok := strings.CutSuffix(text, "%"); ok {
		share, err := strconv.ParseFloat(percent, 64)
		if err != nil || !(share > 0 && share <= 100) {
			return s, bad(spec, "%q is not a share of the window; write compact@84%%", text)
		}
		at = budget.Threshold(share / 100)
	} else {
		n, err := ParseTokens(text)
		if err != nil || n < leastWindow {
			return s, bad(spec, "%q is not a number of tokens; write compact@168k or compact@economic", text)
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
		return 0, fmt.Errorf("%q is not a number of tokens; write 168000, 168k or 1.5m", text)
	}
	return int(n*unit + 0.5), nil
}

// WordError reports a word that does not name a policy.
type WordError struct{ Word, Problem string }

func (e *WordError) Error() string {
	return fmt.Sprintf("policy %q: %s; policies are %s", e.Word, e.Problem, Forms())
}

func bad(word, format string, args ...any) error {
	return &WordError{word, fmt.Sprintf(format, args...)}
}

// MaskedOutput and ClearedOutput replace hidden outputs.
const (
	MaskedOutput  = "[output masked]"
	ClearedOutput = "[old output cleared]"
)

// masked finds the outputs of all steps but the newest.
type masked struct{ Steps int }

// Name is "mask".
func (masked) Name() string { return mask }

// Find returns the outputs before the newest Steps steps.
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

// Find returns all outputs but the newest Keep.
func (r cleared) Find(w rule.Window) rule.Found {
	outputs := slices.Collect(outputsOf(w, len(w.Messages)))
	outputs = outputs[:max(0, len(outputs)-r.Keep)]
	return hidden(w, outputs, r.Name(), ClearedOutput, fmt.Sprintf("it is none of the newest %d outputs", r.Keep))
}

// trigger commits when the prompt reaches a size, if at least a number of tokens goes.
type trigger struct{ At, Least int }

// Name is "trigger".
func (trigger) Name() string { return "trigger" }

// Ready reports whether the prompt has reached the size.
func (t trigger) Ready(now schedule.Moment) bool { return now.Account.Base+now.Account.Size >= t.At }

// Choose returns everything found, or nothing.
func (t trigger) Choose(found []rule.Elision, now schedule.Moment) []rule.Elision {
	if !t.Ready(now) || rule.Saves(found) < t.Least {
		return nil
	}
	return found
}
