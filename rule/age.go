package rule

import "github.com/winnowhq/winnow/session"

// Age is how many steps ago an elision could have been made first: since the newest of the part itself and of those that make it redundant. Parts
// that the rules do not read have none. What lies idle counts from there too, although it had to wait: it was carried all the while.
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
	steps map[string]int // of the newest part with the id
	twice bool           // some id stands for several
}

type placesKey struct{}

func newPlaces() *places { return &places{steps: map[string]int{}} }

func (p *places) read(x *Item) {
	n := len(p.steps)
	p.steps[x.Part.ID] = x.Step
	p.twice = p.twice || x.Part.ID != "" && len(p.steps) == n
}

func (t *timeline) places() *places {
	r := recollect(Window{read: t}, placesKey{}, newPlaces)
	r.goOn(t.items)
	return r.reader
}

func (t *timeline) stepOf(part string) int { return t.places().steps[part] }

// again reports whether a newer part with the id of an item stands on the timeline: what is left out of the one is left out of the other.
func (t *timeline) again(x *Item) bool {
	p := t.places()
	return p.twice && p.steps[x.Part.ID] > x.Step
}
