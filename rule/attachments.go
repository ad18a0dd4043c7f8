package rule

import (
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/session"
)

// AttachedFiles elides images and PDFs that were attached to the user's messages and to results of calls (S002 7). The call and its text stay,
// and so do text files: they are sent as text, not as attachments.
//
// By the letter a file goes once a step came after it: one that no model has seen yet stays, although S002 does not say so, because nobody could know
// what to fetch again. The sound form waits for the age; with none to reach it does as the letter. An older one that is equal to a newer one goes at once.
type AttachedFiles struct {
	Letter bool
	Age    Age
}

// Name is "attachments".
func (*AttachedFiles) Name() string { return "attachments" }

func (r *AttachedFiles) fresh() *attachments { return &attachments{latest: map[content]*attached{}} }

func (r *AttachedFiles) remembers(w Window) []reads { return []reads{recollect(w, r, r.fresh)} }

// Find looks at what the user attached and what calls returned.
func (r *AttachedFiles) Find(w Window) Found {
	w = w.Read()
	seen := remember(w, r, r.fresh)
	age := r.Age
	if age == (Age{}) {
		age = Age{Steps: 1}
	}
	now := &w.line().now
	var old, again []*redundant
	for _, a := range seen.all {
		if !r.Letter && a.again != nil && !age.reached(a.old.old, now, r.Letter) {
			again = append(again, a.again)
		} else {
			old = append(old, &a.old)
		}
	}
	found := w.consider(r.Name(), Age{}, r.Letter, false, again, func(d *redundant) []Elision {
		return []Elision{{Field: Attachments, Shown: w.withoutFiles(d.old, "; sent again below")}}
	})
	aged := w.consider(r.Name(), age, r.Letter, false, old, func(d *redundant) []Elision {
		if r.Letter {
			return []Elision{{Field: Attachments, Shown: breadcrumbs(media(d.old.Part))}}
		}
		return []Elision{{Field: Attachments, Shown: w.withoutFiles(d.old, "")}}
	})
	return Found{Elisions: append(found.Elisions, aged.Elisions...), Refusals: append(found.Refusals, aged.Refusals...)}
}

// attachments is what AttachedFiles remembers: parts with files, oldest first.
type attachments struct {
	all    []*attached
	latest map[content]*attached
}

// attached is a part with files.
type attached struct {
	old    redundant  // by its age
	again  *redundant // by newer parts that hold all its files; nil while there are none
	files  []content
	newer  []*Item // parallel to files: the next part that holds each
	wanted int     // how many of newer are nil
}

// content tells files apart: by their bytes, or by where they are and how they are called.
type content struct{ url, name string }

func (s *attachments) read(x *Item) {
	if x.Call == nil && (x.Part.Type != session.FilePart || x.Role != session.User) {
		return
	}
	files := media(x.Part)
	if len(files) == 0 {
		return
	}
	a := &attached{old: redundant{old: x, why: "the model has seen it, and it is old"}}
	for _, f := range files {
		c := content{url: f.URL}
		if !strings.HasPrefix(c.url, "data:") {
			c.name = f.Filename
		}
		if slices.Contains(a.files, c) {
			continue
		}
		a.files = append(a.files, c)
		if before := s.latest[c]; before != nil {
			before.replace(c, x)
		}
		s.latest[c] = a
	}
	a.newer, a.wanted = make([]*Item, len(a.files)), len(a.files)
	s.all = append(s.all, a)
}

// replace notes that a newer part holds one of the files.
func (a *attached) replace(c content, by *Item) {
	a.newer[slices.Index(a.files, c)] = by
	if a.wanted--; a.wanted > 0 {
		return
	}
	slices.SortFunc(a.newer, func(x, y *Item) int { return x.At - y.At })
	a.again = &redundant{old: a.old.old, same: true, by: slices.Compact(a.newer), why: "it was sent again later"}
}

// media are the files of a part that a model is sent as such.
func media(p *session.Part) []*session.Part {
	var files []*session.Part
	switch {
	case p.IsMedia() && p.URL != "":
		files = append(files, p)
	case p.State != nil:
		for i := range p.State.Attachments {
			if f := &p.State.Attachments[i]; f.IsMedia() {
				files = append(files, f)
			}
		}
	}
	return files
}

// breadcrumbs are what S002 shows: one line a file, the size left out where only the address is known.
//
//	[File: image.png, 12KB]
func breadcrumbs(files []*session.Part) string {
	lines := make([]string, len(files))
	for i, f := range files {
		lines[i] = "[File: " + fileName(f)
		if size, ok := FileSize(f.URL); ok {
			lines[i] += ", " + strconv.Itoa((size+512)/1024) + "KB"
		}
		lines[i] += "]"
	}
	return strings.Join(lines, "\n")
}

// fileName is the name of a file, or what its address ends with; never the address itself, which may hold megabytes.
func fileName(f *session.Part) string {
	name := f.Filename
	if name == "" && !strings.HasPrefix(f.URL, "data:") {
		if u, err := url.Parse(f.URL); err == nil && strings.Trim(u.Path, "/") != "" {
			name = path.Base(u.Path)
		}
	}
	if name = strings.Join(strings.Fields(name), " "); name == "" {
		name = "attachment"
	}
	return Shorten(name, 60)
}
