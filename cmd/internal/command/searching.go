package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/archive"
	"github.com/winnowhq/winnow/desk/discover"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/memory"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/visible"
)

// runSearchEverywhere searches the sessions where their products keep them. Nothing is stored: each
// is read, searched as a store would be, and forgotten.
func runSearchEverywhere(ctx context.Context, a *cli.App, q store.Search) error {
	if _, err := a.Settings(); err != nil {
		return err
	}
	if q.Session != "" {
		return cli.Usage("--session is about the store; leave --everywhere out, or name a --product")
	}
	search := source.Search(a)
	search.Product, search.NamesOnly = q.Product, true
	done := a.Progress("looking for sessions")
	found, problems, err := search.Find(ctx)
	done()
	if err != nil {
		return err
	}
	found = append(found, archivedFound(a, q.Product)...)
	found = slices.DeleteFunc(found, func(f discover.Found) bool {
		return q.Since != 0 && f.Updated.Before(time.UnixMilli(int64(q.Since))) // nothing in it is newer
	})
	e := everywhere{app: a, query: q, found: found, words: source.Words(found, found)}
	e.query.Product = "" // as said by the folder in which it is
	for _, p := range problems {
		e.failed = append(e.failed, p)
	}
	if err := e.search(ctx); err != nil {
		return err
	}
	return e.tell()
}

// archivedFound are the archived sessions of a product, as their compressed files. "" is all
// products.
func archivedFound(a *cli.App, product string) (found []discover.Found) {
	for _, s := range output.Archived(a) {
		if product == "" || s.Product == product {
			found = append(found, discover.Found{Product: s.Product, Source: s.Path, ID: s.ID, Parent: s.Parent,
				Project: s.Project, Title: s.Title, Bytes: s.Size, Updated: s.Modified})
		}
	}
	return found
}

// everywhere is a search of the sessions on this computer.
type everywhere struct {
	app    *cli.App
	query  store.Search
	found  []discover.Found
	words  []string // for them
	total  int
	hits   []searchHit // the best
	failed []error
}

func (e *everywhere) search(ctx context.Context) (err error) {
	files := make([]source.Candidate, len(e.found))
	for i, f := range e.found {
		files[i] = source.Candidate{Path: f.Source}
	}
	say, done := e.app.Counting()
	defer done()
	at := 0
	source.LookAll(ctx, e.app, files, nil, func(l source.Looked) bool {
		f, word := e.found[at], e.words[at]
		at++
		say(at, len(files), "searching %s of %s sessions", quantity.Number(at), quantity.Number(len(files)))
		if l.Err != nil {
			e.failed = append(e.failed, l.Err)
		}
		if l.Doc != nil {
			err = e.searchOne(ctx, l, f, word)
		}
		return err == nil
	})
	return cmp.Or(err, ctx.Err())
}

// searchOne searches one session, and keeps the best hits of all.
func (e *everywhere) searchOne(ctx context.Context, l source.Looked, f discover.Found, word string) error {
	kept := memory.New()
	defer kept.Close()
	info := l.Doc.Session.Info
	info.ID = cmp.Or(info.ID, f.ID, "session")
	change := store.Change{Create: &info, Append: l.Doc.Session.Messages, Commit: l.Doc.Ledger.All()}
	if _, err := kept.Apply(ctx, info.ID, change); err != nil {
		e.failed = append(e.failed, fmt.Errorf("%s: %w", l.Path, err))
		return ctx.Err()
	}
	found, err := kept.Search(ctx, e.query)
	if errors.Is(err, store.ErrNoWord) {
		return cli.Usage("there is no word in %q: a word has letters or digits", e.query.Words)
	}
	if err != nil {
		return err
	}
	hits, err := hitsOf(ctx, kept, found.Hits)
	if err != nil {
		return err
	}
	for i := range hits {
		hits[i].Session, hits[i].Source, hits[i].Origin = word, f.Source, f.Product
		hits[i].Title, hits[i].updated = cmp.Or(f.Title, hits[i].Title), session.Millis(f.Updated.UnixMilli())
	}
	e.total += found.Total
	e.hits = append(e.hits, hits...)
	slices.SortStableFunc(e.hits, func(a, b searchHit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Time, a.Time))
	})
	e.hits = e.hits[:min(len(e.hits), e.query.Limit)]
	return nil
}

func (e *everywhere) tell() error {
	doc := searched{Words: e.query.Words, Total: e.total, Hits: append([]searchHit{}, e.hits...)}
	archived := map[string]bool{}
	for _, h := range doc.Hits {
		if strings.HasSuffix(h.Source, archive.Ending) {
			archived[h.Session] = true
		}
	}
	if err := e.app.Tell(doc, func() {
		showHits(e.app, doc)
		for _, word := range slices.Sorted(maps.Keys(archived)) {
			e.app.Printf("%[1]s is archived; winnow restore %[1]s brings it back\n", visible.Line(word))
		}
	}); err != nil {
		return err
	}
	switch {
	case len(e.failed) > 0:
		return cli.Partly{Failed: e.failed}
	case len(doc.Hits) == 0:
		return cli.Nothing(fmt.Sprintf("%q is in none of %s on this computer", e.query.Words,
			quantity.Plural(len(e.found), "session", "sessions")))
	}
	return nil
}
