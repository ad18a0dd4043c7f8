package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/desk/discover"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/visible"
)

// Latest is the word for the newest session of the current folder.
const Latest = "latest"

// Own is the product of sessions that are in winnow's own store.
const Own = "winnow"

// Newest is the newest session of the current folder, or else of the project around it, of all
// products or of one, where its product keeps it or in winnow's own store, nil if there is none. Of
// the store only what began there counts: what was imported or relayed is its product's.
func Newest(ctx context.Context, a *cli.App, product string) (*discover.Found, error) {
	search := Search(a)
	search.Product, search.Folder = product, a.Env.Dir
	defer a.Progress("looking for the newest session of this folder")()
	found, err := newestOfSearch(ctx, a, search)
	if found != nil || err != nil {
		return found, err
	}
	search = Search(a)
	search.Product = product
	search.Folder, search.Beneath, search.Above = project(a)
	return newestOfSearch(ctx, a, search)
}

// newestOfSearch is the newest session where a search looks, and of the same folders in the store.
func newestOfSearch(ctx context.Context, a *cli.App, search *discover.Search) (newest *discover.Found, err error) {
	if search.Product == "" || search.Product == Own {
		newest, err = newestStored(ctx, a, search.In)
		if err != nil || search.Product == Own {
			return newest, err
		}
	}
	found, _, err := search.Newest(ctx)
	if err == nil && found != nil && (newest == nil || found.Updated.After(newest.Updated)) {
		newest = found
	}
	return newest, err
}

// project is the folder of the project that the current folder belongs to: the root of its git
// repository, or else the folder itself and those above it. The home folder is no project: neither
// it nor a folder around it counts with what is below.
func project(a *cli.App) (folder string, beneath bool, above []string) {
	home := filepath.Clean(a.Env.Home())
	for dir := filepath.Clean(a.Env.Dir); !Below(home, dir) && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return dir, true, nil
		}
		above = append(above, dir)
	}
	if len(above) == 0 {
		return a.Env.Dir, false, nil
	}
	return above[0], true, above[1:]
}

// InProject is the pattern of one file as the sessions of its project name it: the path from the
// project's folder on, or the whole path of a file elsewhere.
func InProject(a *cli.App, file string) string {
	path := a.Path(file)
	folder, _, _ := project(a)
	if below, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(below) && below != "." {
		path = below
	}
	return regexp.MustCompile(`[*?\[\]{}\\]`).ReplaceAllString(filepath.ToSlash(path), `\$0`)
}

// newestStored is the newest session that began in the store, of those that work in some folders.
func newestStored(ctx context.Context, a *cli.App, in func(folder string) bool) (*discover.Found, error) {
	kept, err := OpenStore(ctx, a, Reading)
	if errors.Is(err, ErrNoStore) || err != nil && StoreAt(a) == "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer kept.Close()
	l, err := NewestIn(ctx, kept, func(l store.Listing) bool {
		client, _ := report.Client(l.Info)
		return in(l.Info.Directory) && l.Origin == "" && client == "" && l.Messages > 0
	})
	if err != nil || l == nil {
		return nil, err
	}
	return ofStore(*l), nil
}

// NewestAnywhere are the newest sessions on this computer, with the words for them.
func NewestAnywhere(ctx context.Context, a *cli.App, most int) ([]discover.Found, []string, error) {
	search := Search(a)
	search.NamesOnly = true
	defer a.Progress("looking for sessions")()
	all, _, err := search.Find(ctx)
	if err != nil {
		return nil, nil, err
	}
	newest := slices.DeleteFunc(slices.Clone(all), func(f discover.Found) bool { return f.Parent != "" })
	newest = newest[:min(most, len(newest))]
	return newest, Words(all, newest), nil
}

// ofStore is a session of the store as one that was found on the computer.
func ofStore(l store.Listing) *discover.Found {
	return &discover.Found{Product: Own, Source: l.Info.ID, ID: l.Info.ID, Title: l.Info.Title,
		Project: l.Info.Directory, Updated: time.UnixMilli(int64(l.Info.Time.Updated)),
		Measurement: discover.Measurement{Messages: l.Messages}}
}

// NewestIn is the session of a store that was last worked on by somebody, of those that count, nil
// if there is none; those that an agent began for a call are not meant.
func NewestIn(ctx context.Context, kept store.Store, counts func(store.Listing) bool) (*store.Listing, error) {
	list, err := kept.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range list {
		if !counts(l) {
			continue
		}
		if child, err := isChild(ctx, kept, l.Info); err != nil {
			return nil, err
		} else if !child {
			return &l, nil
		}
	}
	return nil, nil
}

// isChild reports whether a call of another session began this one. A fork has a parent as well,
// and is a session like any other.
func isChild(ctx context.Context, kept store.Store, info session.Info) (bool, error) {
	if info.ParentID == "" {
		return false, nil
	}
	for m, err := range kept.Messages(ctx, info.ParentID) {
		if errors.Is(err, store.ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if slices.Contains(agent.Children([]session.Message{m}), info.ID) {
			return true, nil
		}
	}
	return false, nil
}

// Kept reports whether a file is where a product keeps its sessions, and looks for them again.
func Kept(a *cli.App, path string) bool {
	real, err := filepath.EvalSymlinks(a.Path(path))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(discover.Places(Search(a).Env), func(p discover.Place) bool {
		folder, err := filepath.EvalSymlinks(p.Path)
		rel, outside := filepath.Rel(folder, real)
		return err == nil && outside == nil && filepath.IsLocal(rel)
	})
}

// latest is the newest session of the folder.
func latest(ctx context.Context, a *cli.App) (string, error) {
	found, err := Newest(ctx, a, "")
	if err != nil {
		return "", err
	}
	if found == nil {
		return "", cli.Hint(fmt.Errorf("no agent has kept a session of this folder, %s", a.Env.Dir),
			"`winnow ls` shows the sessions on this computer")
	}
	return found.Source, nil
}

// ofProduct finds a session of a product: by its id, the beginning of it or of its title, or its
// newest one.
func ofProduct(ctx context.Context, a *cli.App, product, name string) (string, error) {
	if name == "" || name == Latest {
		return newestOf(ctx, a, product)
	}
	search := Search(a)
	search.Product, search.NamesOnly = product, true
	done := a.Progress("looking for " + product + ":" + name)
	sessions, problems, err := search.Find(ctx)
	done()
	if err != nil {
		return "", err
	}
	fits := called(sessions, name)
	if len(fits) > 0 {
		return choose(ctx, a, product+":"+name, fits, Words(sessions, fits))
	}
	none := fmt.Errorf("there is no session of %s whose id or title begins with %q", product, name)
	if len(problems) > 0 {
		none = fmt.Errorf("%w among what can be read", none)
	}
	for _, p := range problems {
		none = fmt.Errorf("%w\n  %s", none, p.Error())
	}
	return "", cli.Hint(none, "`winnow ls` shows the sessions on this computer")
}

// newestOf is the newest session of a product in this folder, or else anywhere.
func newestOf(ctx context.Context, a *cli.App, product string) (string, error) {
	found, err := Newest(ctx, a, product)
	if found == nil && err == nil {
		search := Search(a)
		search.Product = product
		found, _, err = search.Newest(ctx)
	}
	if err != nil {
		return "", err
	}
	if found == nil {
		return "", cli.Hint(fmt.Errorf("there is no session of %s on this computer", product),
			"`winnow ls` shows the sessions of other products")
	}
	return found.Source, nil
}

// onComputer finds a session on this computer by the beginning of its id or title, "" if there is
// none. Of titles those in this folder come before the others.
func onComputer(ctx context.Context, a *cli.App, name string) (string, error) {
	search := Search(a)
	search.NamesOnly = true
	done := a.Progress("looking for " + name)
	sessions, _, err := search.Find(ctx)
	done()
	if err != nil {
		return "", err
	}
	listings, err := Listings(ctx, a)
	if err != nil && StoreAt(a) != "" {
		return "", err
	}
	for _, l := range listings {
		if l.Origin == "" {
			sessions = append(sessions, *ofStore(l))
		}
	}
	fits := called(sessions, name)
	here := slices.DeleteFunc(slices.Clone(fits), func(f discover.Found) bool { return f.Project != a.Env.Dir })
	if len(here) > 0 && !strings.HasPrefix(here[0].ID, name) {
		fits = here
	}
	if len(fits) == 0 {
		return "", nil
	}
	return choose(ctx, a, name, fits, Words(sessions, fits))
}

// called are the sessions whose id is what was given, or else begins with it, or else whose title
// does, whatever its capitals. Sub-agents have no titles of their own. Of several that have one id,
// the first counts.
func called(sessions []discover.Found, name string) (fits []discover.Found) {
	var byTitle []discover.Found
	known := map[[2]string]bool{}
	for _, f := range sessions {
		key := [2]string{f.Product, f.ID}
		switch {
		case f.ID == name && f.ID != "":
			return []discover.Found{f}
		case known[key] && f.ID != "":
			continue
		case strings.HasPrefix(f.ID, name):
			fits = append(fits, f)
		case f.Parent == "" && strings.HasPrefix(folded(f.Title), folded(name)):
			byTitle = append(byTitle, f)
		}
		known[key] = true
	}
	if len(fits) == 0 {
		return byTitle
	}
	return fits
}

func folded(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }

// mostCandidates is how many sessions are offered for a word that fits several: as many as there
// are digits to press.
const mostCandidates = 9

// choose asks on a terminal which of several sessions is meant, and otherwise lists them with the
// word for each.
func choose(ctx context.Context, a *cli.App, given string, fits []discover.Found, words []string) (string, error) {
	if len(fits) == 1 {
		return fits[0].Source, nil
	}
	rows := make([]string, min(len(fits), mostCandidates))
	for i := range rows {
		rows[i] = fmt.Sprintf("%s  %s  %s", visible.Line(words[i]), quantity.Age(a.Env.Now().Sub(fits[i].Updated)),
			visible.Line(cmp.Or(fits[i].Title, fits[i].Project)))
	}
	more := ""
	if n := len(fits) - len(rows); n > 0 {
		more = fmt.Sprintf("and %s more; give more of the name", quantity.Number(n))
	}
	what := fmt.Sprintf("%q begins the ids or titles of %d sessions", given, len(fits))
	if at, asked, err := a.Choose(ctx, what, rows, more); asked || err != nil {
		if err != nil {
			return "", err
		}
		return fits[at].Source, nil
	}
	if more != "" {
		rows = append(rows, more)
	}
	return "", cli.Usage("%s; name one of them:\n  %s", what, strings.Join(rows, "\n  "))
}

// Words are the words that winnow takes for some of several sessions: PRODUCT:ID, of the id as much
// as tells it apart from all others of its product; the id alone of one in the store. Where several
// have one id, it is the first of them, and the others have their paths.
func Words(all, some []discover.Found) []string {
	const least = 8
	ids, first := map[string][]string{}, map[[2]string]string{}
	for _, s := range all {
		if key := [2]string{s.Product, s.ID}; first[key] == "" {
			ids[s.Product], first[key] = append(ids[s.Product], s.ID), s.Source
		}
	}
	for _, list := range ids {
		slices.Sort(list)
	}
	names := make([]string, len(some))
	for i, s := range some {
		names[i] = s.Product + ":" + shortened(ids[s.Product], s.ID, least)
		if other := first[[2]string{s.Product, s.ID}]; s.Product == Own {
			names[i] = s.ID
		} else if other != s.Source && other != "" {
			names[i] = s.Source
		}
	}
	return names
}

// ShortIDs are the beginnings of ids in a store, as much of each as tells it apart from all others.
func ShortIDs(ctx context.Context, kept store.Store, ids []string) ([]string, error) {
	const least = len("live_") + 8
	listings, err := kept.List(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]string, len(listings))
	for i, l := range listings {
		all[i] = l.Info.ID
	}
	slices.Sort(all)
	short := make([]string, len(ids))
	for i, id := range ids {
		short[i] = shortened(all, id, least)
	}
	return short, nil
}

// shortened is the beginning of an id, as much as tells it apart from all others of a sorted list.
func shortened(sorted []string, id string, least int) string {
	at, _ := slices.BinarySearch(sorted, id)
	for _, beside := range []int{at - 1, at + 1} {
		if beside >= 0 && beside < len(sorted) {
			least = max(least, common(sorted[beside], id)+1)
		}
	}
	return id[:min(least, len(id))]
}

func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
