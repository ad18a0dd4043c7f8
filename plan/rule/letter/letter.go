// Package letter holds the pruning programs of the seeds as the seeds write them: the backward scan
// (S000) and the ten strategies (S002).
//
// They are here for comparison, and for users who ask for the letter. Package rule has the sound
// forms.
package letter

import (
	"github.com/winnowhq/winnow/plan/rule"
)

// Superseded stands in place of an output that a newer call makes redundant (S002 1).
const Superseded = rule.Superseded

// program is one strategy: what it finds in a window, and what it shows in place of it.
type program struct {
	name   string
	age    rule.Age
	follow func() rule.Follower
	show   func(*rule.Finding) string
}

// Name of the strategy.
func (p *program) Name() string { return p.name }

// Find runs the program.
func (p *program) Find(w rule.Window) rule.Found {
	w = w.Read()
	return w.Propose(p.name, p.age, w.Follow(p, p.follow), p.show)
}

// findings are those of a follower.
type findings []*rule.Finding

// Found are all of them.
func (f *findings) Found() []*rule.Finding { return *f }

func (f *findings) add(found *rule.Finding) { *f = append(*f, found) }

// single follows items that are found or not by themselves.
type single struct {
	findings
	find func(*rule.Item) *rule.Finding // nil: none
}

func (s *single) Read(x *rule.Item) {
	if f := s.find(x); f != nil {
		s.add(f)
	}
}

// each is a program that looks at each item by itself.
func each(name string, age rule.Age, find func(*rule.Item) *rule.Finding, show func(*rule.Finding) string) rule.Rule {
	return &program{name, age, func() rule.Follower { return &single{find: find} }, show}
}

// supersede is a program whose findings are shown as superseded.
func supersede(name string, follow func() rule.Follower) rule.Rule {
	return &program{name, rule.Age{}, follow, func(*rule.Finding) string { return Superseded }}
}

// superseded is the result of an older call that newer ones make redundant.
func superseded(old *rule.Item, why string, by ...*rule.Item) *rule.Finding {
	return &rule.Finding{Item: old, Field: rule.ResultField(old.Part), By: by, Why: why, Unsent: true}
}

// latest finds the calls that a newer one of the same key makes redundant. Calls of one step are as
// new as each other. A key of "" is of calls that the program does not look at.
type latest struct {
	findings
	why  string
	key  func(*rule.Item) string
	open map[string][]*rule.Item
}

func newLatest(why string, key func(*rule.Item) string) func() rule.Follower {
	return func() rule.Follower { return &latest{why: why, key: key, open: map[string][]*rule.Item{}} }
}

func (l *latest) Read(x *rule.Item) {
	if x.Call == nil {
		return
	}
	k := l.key(x)
	if k == "" {
		return
	}
	olds := l.open[k]
	var same []*rule.Item
	for _, old := range olds {
		if rule.SameStep(old, x) {
			same = append(same, old)
		} else {
			l.add(superseded(old, l.why, x))
		}
	}
	l.open[k] = append(append(olds[:0], x), same...)
}
