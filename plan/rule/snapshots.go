package rule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
)

// Snapshots leaves out older snapshots of a page. It tells pages apart where the arguments do, and
// counts only snapshots that worked: of each page the newest Keep stay. What was navigated to in
// between does not matter: an earlier page is gone from the browser as well.
type Snapshots struct {
	Age  Age
	Keep int // of each page, the newest; at least 1
}

// Name is "snapshots".
func (*Snapshots) Name() string { return "snapshots" }

// Find looks at calls of tools that take snapshots.
func (r *Snapshots) Find(w Window) Found {
	w = w.Read()
	seen := grow(w, r, func() *shots { return &shots{keep: max(1, r.Keep), open: map[string][]*Item{}} })
	for _, f := range seen.found {
		// The little text that comes with pictures stays.
		if s := f.Item.Part.State; len(s.Attachments) > 0 && f.shown == nil && f.Item.gone == 0 &&
			len(s.Output) <= len(w.placeholder(f.Item, Output, newerBelow)) {
			f.Field = Attachments
		}
	}
	return w.Propose(r.Name(), r.Age, seen.found, func(f *Finding) string {
		if f.Field == Output {
			return w.placeholder(f.Item, Output, newerBelow)
		}
		return w.opening() + w.handleOf(f.Item) + ": " + w.describe(f.Item) + ", " +
			pictures(f.Item.Part.State.Attachments) + " left out; " + newerBelow + "]"
	})
}

const newerBelow = "a newer one is below"

// pictures counts files, for a reader.
func pictures(files []session.Part) string {
	what := "image"
	if slices.ContainsFunc(files, func(p session.Part) bool { return !strings.HasPrefix(p.Mime, "image/") }) {
		what = "file"
	}
	if len(files) == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", len(files), what)
}

// shots is what Snapshots reads off a timeline.
type shots struct {
	keep  int
	open  map[string][]*Item // by page: the newest of it, and what was taken in the same step as they
	found []*Finding
}

func (s *shots) read(x *Item) {
	if !worked(x) || !TakesSnapshots(x.Part.Tool) {
		return
	}
	page := shotOf(x)
	open := append(s.open[page], x)
	for len(open) > s.keep && !SameStep(open[0], x) {
		s.found = append(s.found, &Finding{Item: open[0], Field: Output, By: []*Item{x},
			Why: "a newer snapshot was taken later"})
		open = open[1:]
	}
	s.open[page] = open
}

// TakesSnapshots reports whether a tool shows what a page or a screen looks like, by its name. A
// name with a slash is a path.
func TakesSnapshots(tool string) bool {
	tool = strings.ToLower(tool)
	return (strings.Contains(tool, "snapshot") || strings.Contains(tool, "screenshot")) && !strings.Contains(tool, "/")
}

// shotArguments say what a snapshot shows: which page, and what of it.
var shotArguments = []string{"url", "uri", "page", "pageId", "page_id", "pageIdx", "tab", "tabId", "tab_id", "window",
	"windowId",
	"element", "ref", "selector", "uid", "fullPage", "full_page"}

// shotOf names what a snapshot shows: the tool, and the arguments that say which page or piece of
// it.
func shotOf(x *Item) string {
	shows := []string{x.Part.Tool}
	for name, value := range call.Members(x.Part.State.Input) {
		if slices.Contains(shotArguments, name) && value.Kind() != 'n' && value.Kind() != 'f' {
			value = value.Clone()
			_ = value.Canonicalize()
			shows = append(shows, name+"="+string(value))
		}
	}
	slices.Sort(shows[1:])
	return strings.Join(shows, "\x00")
}
