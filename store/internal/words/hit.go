package words

import (
	"slices"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// Tell fills in the message and the part of a hit, the field in which the most terms stand
// together, and a snippet of it. kept is the text that is kept for the part beside the log, if any.
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

// Fits reports whether every term of a query occurs in some field of a part, and how often they do.
func (q Query) Fits(p *session.Part, kept string) (fits bool, matches int) {
	met := make([]bool, len(q))
	for _, f := range Fields(p, kept) {
		q.matches(f.Text, func(term, _, _ int) bool {
			met[term] = true
			matches++
			return true
		})
	}
	if slices.Contains(met, false) {
		return false, 0
	}
	return true, matches
}
