package rule

import "github.com/winnowhq/winnow/session"

// Age is how many steps ago an elision could have been made first: since the newest of the part itself and of those that make it redundant. Parts
// that the rules do not read have none.
func (f *Facts) Age(window []session.Message, e Elision) int {
	t := f.timeline(window)
	newest := t.stepOf(e.Part)
	for _, id := range e.Covers() {
		newest = max(newest, t.stepOf(id))
	}
	return max(0, t.now.Step-newest)
}

// places are the steps of the parts on a timeline.
type places struct {
	upTo  int
	steps map[string]int
}

type placesKey struct{}

func (t *timeline) stepOf(part string) int {
	p, ok := t.memory[placesKey{}].(*places)
	if !ok {
		p = &places{steps: map[string]int{}}
		t.memory[placesKey{}] = p
	}
	for ; p.upTo < len(t.items); p.upTo++ {
		p.steps[t.items[p.upTo].Part.ID] = t.items[p.upTo].Step
	}
	return p.steps[part]
}
