package words

import (
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// Tell fills in what a hit says of its message and part, of which a text may be kept beside the log: the field where most of the terms stand together, and a snippet of it.
func Tell(hit *store.Hit, q Query, m *session.MessageInfo, p *session.Part, kept string) {
	hit.Message, hit.Role, hit.Time = m.ID, m.Role, m.Time.Created
	hit.Part, hit.Type, hit.Tool = p.ID, p.Type, p.Tool
	most := -1
	for _, f := range Fields(p, kept) {
		if at, _ := q.Find(f.Text); at.Terms > most {
			most = at.Terms
			hit.Field, hit.Kept = f.Name, f.Kept
			hit.Snippet, hit.Marks = q.Snippet(f.Text, at)
		}
	}
}

// Fits reports whether every term of a query occurs in a part, each within one field, and how often.
func (q Query) Fits(p *session.Part, kept string) (fits bool, matches int) {
	met := make([]bool, len(q))
	for _, f := range Fields(p, kept) {
		q.matches(f.Text, func(term, _, _ int) bool {
			met[term] = true
			matches++
			return true
		})
	}
	for _, m := range met {
		if !m {
			return false, 0
		}
	}
	return true, matches
}
