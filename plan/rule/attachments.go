package rule

import (
	"encoding/base64"
	"fmt"
	"image"
	_ "image/gif"  // the size of a picture stands in its header
	_ "image/jpeg" // likewise
	_ "image/png"  // likewise
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/session"
)

// AttachedFiles leaves out images and PDFs that were attached to the user's messages and to results
// of calls, once they are old; with no age to reach, once a step came after them. An older one that
// is equal to a newer one goes at once. The call and its text stay, and so do text files: they are
// sent as text, not as attachments.
type AttachedFiles struct{ Age Age }

// Name is "attachments".
func (*AttachedFiles) Name() string { return "attachments" }

// Find looks at what the user attached and what calls returned.
func (r *AttachedFiles) Find(w Window) Found {
	w = w.Read()
	seen := grow(w, r, func() *attachments { return &attachments{latest: map[content]*attached{}} })
	age := r.Age
	if age == (Age{}) {
		age = Age{Steps: 1}
	}
	var old, again []*Finding
	for _, a := range seen.all {
		if a.again != nil && !age.reached(a.old.Item, w.Newest()) {
			again = append(again, a.again)
		} else {
			old = append(old, &a.old)
		}
	}
	show := func(after string) func(*Finding) string {
		return func(f *Finding) string { return w.withoutFiles(f.Item, after) }
	}
	return together(w.Propose(r.Name(), Age{}, again, show("; sent again below")),
		w.Propose(r.Name(), age, old, show("")))
}

// attachments is what AttachedFiles reads off a timeline: parts with files, oldest first.
type attachments struct {
	all    []*attached
	latest map[content]*attached
}

// attached is a part with files.
type attached struct {
	old    Finding  // by its age
	again  *Finding // by newer parts that hold all its files; nil while there are none
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
	files := Media(x.Part)
	if len(files) == 0 {
		return
	}
	a := &attached{old: Finding{Item: x, Field: Attachments, Why: "the model has seen it, and it is old"}}
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
	a.again = &Finding{Item: a.old.Item, Field: Attachments, By: slices.Compact(a.newer), Unsent: true,
		Why: "it was sent again later"}
}

// Media are the files of a part that a model is sent as such.
func Media(p *session.Part) []*session.Part {
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

// FileName is the name of a file, or what its address ends with; never the address itself, which
// may hold megabytes.
func FileName(f *session.Part) string {
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

// namedFiles is how many files of one part a placeholder names.
const namedFiles = 3

// withoutFiles is the placeholder of the files of a part.
//
//	[winnow k3f9a2: image.png, image/png, 640×480, 12 KB left out]
func (w Window) withoutFiles(x *Item, after string) string {
	files := Media(x.Part)
	var named []string
	for _, f := range files[:min(namedFiles, len(files))] {
		what := FileName(f) + ", " + Shorten(f.Mime, 40)
		if width, height, ok := Dimensions(f.URL); ok {
			what += fmt.Sprintf(", %d×%d", width, height)
		}
		if size, ok := FileSize(f.URL); ok {
			what += ", " + weight(size)
		}
		named = append(named, what)
	}
	if more := len(files) - namedFiles; more > 0 {
		named = append(named, fmt.Sprintf("%d more", more))
	}
	return w.opening() + w.handleOf(x) + ": " + strings.Join(named, "; ") + " left out" + after + "]"
}

// FileSize is how many bytes a data: URL holds. Of other addresses nothing is known.
func FileSize(address string) (size int, ok bool) {
	text, coded, ok := dataOf(address)
	switch {
	case !ok:
		return 0, false
	case coded:
		return len(strings.TrimRight(text, "=")) * 3 / 4, true
	}
	if plain, err := url.PathUnescape(text); err == nil {
		return len(plain), true
	}
	return len(text), true
}

// dataOf is what a data: URL holds, coded in base64 or as it is.
func dataOf(address string) (text string, coded, ok bool) {
	head, text, ok := strings.Cut(address, ",")
	if !ok || !strings.HasPrefix(head, "data:") {
		return "", false, false
	}
	return text, strings.HasSuffix(head, ";base64"), true
}

// headerBytes of base64 are looked at for the header of a picture: what cameras put before it is
// less.
const headerBytes = 128 << 10

// Dimensions of the picture in a data: URL, in pixels, where its header tells.
func Dimensions(address string) (width, height int, ok bool) {
	text, coded, _ := dataOf(address)
	if !coded {
		return 0, 0, false
	}
	head := text[:min(len(text), headerBytes)]
	config, _, err := image.DecodeConfig(base64.NewDecoder(base64.StdEncoding, strings.NewReader(head)))
	return config.Width, config.Height, err == nil && config.Width > 0 && config.Height > 0
}

// weight says how big a file is, for a reader.
func weight(n int) string {
	switch {
	case n < 1024:
		return strconv.Itoa(n) + " bytes"
	case n < 1<<20:
		return strconv.Itoa((n+512)/1024) + " KB"
	}
	return strconv.FormatFloat(float64(n)/(1<<20), 'f', 1, 64) + " MB"
}
