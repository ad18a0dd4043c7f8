// Package letter holds the pruning programs of the seeds as the seeds write them: the backward scan
// (S000) and the ten strategies (S002). Each looks at the whole log anew and remembers nothing;
// what several of them ask for is found once (rule.Window.Once).
//
// They are here for comparison, and for users who ask for the letter. Package rule has the sound
// forms.
package letter

import (
	"cmp"
	"slices"

	"github.com/winnowhq/winnow/plan/rule"
)

// Superseded stands in place of an output that a newer call makes redundant (S002 1).
const Superseded = rule.Superseded

// program is one strategy: what it finds in a window, and what it shows in place of it.
type program struct {
	name string
	age  rule.Age
	find func(rule.Window) []*rule.Finding
	show func(*rule.Finding) string
}

// Name of the strategy.
func (p *program) Name() string { return p.name }

// Find runs the program.
func (p *program) Find(w rule.Window) rule.Found {
	w = w.Read()
	return w.ProposeAnew(p.name, p.age, p.find(w), p.show)
}

// supersede is a program whose findings are shown as superseded.
func supersede(name string, find func(rule.Window) []*rule.Finding) rule.Rule {
	return &program{name, rule.Age{}, find, func(*rule.Finding) string { return Superseded }}
}

// superseded is the result of an older call that newer ones make redundant.
func superseded(old *rule.Item, why string, by ...*rule.Item) *rule.Finding {
	return &rule.Finding{Item: old, Field: rule.ResultField(old.Part), By: by, Why: why, Unsent: true}
}

// latest finds the calls that a newer one of the same key makes redundant. Calls of one step are as
// new as each other. A key of "" is of calls that the program does not look at.
func latest(w rule.Window, why string, key func(*rule.Item) string) []*rule.Finding {
	return w.Once(why, func(w rule.Window) []*rule.Finding { return newest(w, why, key) })
}

func newest(w rule.Window, why string, key func(*rule.Item) string) (found []*rule.Finding) {
	open := map[string][]*rule.Item{}
	for _, x := range w.Items() {
		k := ""
		if x.Call != nil {
			k = key(x)
		}
		if k == "" {
			continue
		}
		olds := open[k]
		var same []*rule.Item
		for _, old := range olds {
			if rule.SameStep(old, x) {
				same = append(same, old)
			} else {
				found = append(found, superseded(old, why, x))
			}
		}
		open[k] = append(append(olds[:0], x), same...)
	}
	return found
}

// inOrder sorts findings by when they were superseded.
func inOrder(found []*rule.Finding) []*rule.Finding {
	slices.SortStableFunc(found, func(a, b *rule.Finding) int {
		return cmp.Compare(a.By[len(a.By)-1].At, b.By[len(b.By)-1].At)
	})
	return found
}
