package lab

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/plan/schedule"
	"github.com/winnowhq/winnow/session"
)

// working draws sessions of a coding agent: a few files that are read, read again, written and
// edited, commands that fail and are tried again, and long stretches in which it only talks.
func working(most int) *rapid.Generator[drawn] {
	return rapid.Custom(func(r *rapid.T) drawn {
		n := func(from, to int) int { return rapid.IntRange(from, to).Draw(r, "n") }
		l, disk := ruletest.New(), &ruletest.Disk{}
		lines := func(count int) []string {
			all := make([]string, count)
			for i := range all {
				all[i] = words(fmt.Sprintf("l%d.", n(0, 1_000_000)), 8)
			}
			return all
		}
		large := rapid.SampledFrom([]int{20, 60, 200}).Draw(r, "large")
		for range n(5, most) {
			file := fmt.Sprintf("f%d.go", n(0, 2))
			if disk.Lines(file) == nil {
				disk.Change(file, lines(n(1, large)))
			}
			switch n(0, 11) {
			case 0, 1, 2:
				l.Use(disk.Read("claude", file, file, 1, 0), false)
			case 3:
				l.Use(disk.Read("claude", file, file, n(1, 5), n(1, 10)), false)
			case 4:
				l.Use(disk.Write("claude", file, file, lines(n(1, large))), false)
			case 5:
				l.Use(disk.Edit("claude", file, file, disk.Lines(file)[0], lines(n(1, 3))), false)
			case 6:
				l.Fail("bash", ruletest.Args{"command": "make"}, strings.Join(lines(n(1, large)), "\n"))
			case 7:
				l.Use(ruletest.Use{Tool: "bash", Args: ruletest.Args{"command": rapid.SampledFrom([]string{"git status", "ls", "make"}).Draw(r, "command")}, Output: strings.Join(lines(n(1, large)), "\n")}, false)
			case 8:
				l.User(words("v", n(1, 40)))
			default:
				for range n(1, 8) {
					l.Call("think", ruletest.Args{"about": words("t", n(1, 10))}, words("k", n(1, 30)))
				}
			}
		}
		trace := NewTrace(session.Session{Messages: l.Messages}, model.Model{}, byWord{})
		trace.Base = n(0, 3) * 50
		trace.quotes = unquoted(len(trace.steps)) // what a schedule pays is one thing, what is lost another
		return drawn{trace}
	})
}

// unquoted are the quotes of a session of so many steps that quote nothing.
func unquoted(steps int) quotes {
	return quotes{needs: make([][]need, steps), inputs: make([][]need, steps), edits: make([][][]need, steps), short: &short{}}
}

// single is the cheapest that one commit can do, or none: the input side of the bill, over all
// steps and, of what the rules find there, all that stands behind a place. Where it is written
// again for, it saves least tokens. ideal is what would be billed if what the rules find at each
// step were not there, and nothing were written again for it.
func single(t *testing.T, trace *Trace, p policy.Policy, terms Terms, least int) (best, none, ideal float64) {
	type offer struct{ step, first, saves int }
	var offers []offer
	var prompts []int
	finds := p
	p.Prune = false
	r := newRun(t.Context(), trace, Setup{Policy: p, Window: Unlimited}, Options{Terms: &terms})
	read, write, _ := terms.at(0)
	for k := range trace.steps {
		r.begin(k)
		prompts = append(prompts, trace.Base+r.layout.total())
		found := slices.DeleteFunc(finds.Find(r.state()).Elisions, func(e rule.Elision) bool { return e.Rule == rule.Backward{}.Name() })
		sort.SliceStable(found, func(i, j int) bool { return r.before(found[i]) > r.before(found[j]) })
		saves, again := 0, 0
		for i, e := range found {
			saves += e.Saves
			if trace.Base+r.before(e) < r.kept {
				again += e.Saves
			}
			if again > 0 && again < least {
				continue
			}
			if at := r.before(e); i+1 == len(found) || r.before(found[i+1]) < at {
				offers = append(offers, offer{k, trace.Base + at, saves})
			}
		}
		ideal -= float64(saves) * read
		r.send(k)
		if err := r.end(k); err != nil {
			t.Fatal(err)
		}
	}
	bill := func(o offer) float64 {
		total, before := 0.0, 0
		for k, prompt := range prompts {
			cached := before
			if k >= o.step {
				prompt -= o.saves
			}
			if k == o.step {
				cached = min(before, o.first)
			}
			total += float64(cached)*read + float64(prompt-cached)*write
			before = prompt
		}
		return total
	}
	none = bill(offer{step: len(prompts)})
	ideal += none
	best = none
	for _, o := range offers {
		best = min(best, bill(o))
	}
	return best, none, ideal
}

// The rent that was paid for a batch covers what is written again for it, and each step's rent of a
// token is paid for one batch only: so much holds whatever comes. That it is no more than twice
// what the best single commit is billed holds of whole bills, as here. Of what could be avoided at
// all it holds of most sessions, not of all: what was cheap to commit once becomes dear when much
// is said behind it.
func TestEconomic_isNeverBilledMoreThanTwiceTheBestSingleCommit(t *testing.T) {
	terms := Reference()
	for _, c := range []struct {
		name     string
		schedule schedule.Economic
	}{
		{"by default", schedule.NewEconomic()},
		{"however little it saves", schedule.Economic{Ahead: schedule.DefaultAhead, Gain: schedule.DefaultGain}},
		{"whatever it brings", schedule.Economic{Ahead: schedule.DefaultAhead}},
		{"as soon as the rent is paid", schedule.Economic{Ahead: 1000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _ := policy.New(policy.Balanced, policy.Defaults())
			p.Schedule = c.schedule
			var sessions, better, commits, over int
			var worst, against, avoided float64
			rapid.Check(t, func(r *rapid.T) {
				trace := working(40).Draw(r, "session").Trace
				best, none, ideal := single(t, trace, p, terms, c.schedule.Least)
				out, err := Run(t.Context(), trace, Setup{Policy: p, Window: Unlimited}, Options{Terms: &terms})
				if err != nil {
					r.Fatal(err)
				}
				got := out.Bill.Read + out.Bill.Write
				if got > 2*best {
					r.Fatalf("billed %v, with the best single commit it is %v, with none %v", got, best, none)
				}
				sessions++
				if best < none {
					better++
				}
				if out.Commits > 0 {
					commits++
				}
				worst, against = max(worst, got/best), max(against, got/none)
				if d := best - ideal; d > 1e-9 {
					avoided = max(avoided, (got-ideal)/d)
					if got-ideal > 2*d {
						over++
					}
				}
			})
			t.Logf("%d sessions, %d of them cheaper with a single commit, %d with commits: billed %.2f of the best at most, %.2f of none; "+
				"of what could be avoided %.2f of the best at most, more than twice in %d", sessions, better, commits, worst, against, avoided, over)
		})
	}
}
