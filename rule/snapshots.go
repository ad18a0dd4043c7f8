package rule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/winnowhq/winnow/session"
)

// SnapshotTools are the tools that show what a page or a screen looks like, as globs over their names in lower case.
var SnapshotTools = []string{"*snapshot*", "*screenshot*"}

// Snapshots elides older snapshots of a page (S002 5).
//
// By the letter the newest snapshot replaces all before it. The sound form tells pages apart where the arguments do, and counts only those that worked:
// of each page the newest Keep stay. What was navigated to in between does not matter: an earlier page is gone from the browser as well.
type Snapshots struct {
	Letter bool
	Age    Age
	Keep   int // of each page, the newest; at least 1
}

// Name is "snapshots".
func (*Snapshots) Name() string { return "snapshots" }

func (r *Snapshots) fresh() *shots { return newShots(r.Letter, r.Keep) }

func (r *Snapshots) remembers(w Window) []reads { return []reads{recollect(w, r, r.fresh)} }

// Find looks at calls of SnapshotTools.
func (r *Snapshots) Find(w Window) Found {
	w = w.Read()
	seen := remember(w, r, r.fresh)
	return w.propose(r.Name(), r.Age, r.Letter, seen.found, func(d *redundant) []Elision {
		shown := Superseded
		if !r.Letter {
			shown = w.placeholder(d.old, Output, "a newer one is below")
		}
		if s := d.old.Part.State; len(s.Attachments) > 0 && len(s.Output) <= len(shown) {
			if !r.Letter {
				shown = opening + w.handleOf(d.old) + ": " + w.describe(d.old) + ", " + pictures(s.Attachments) + " left out; a newer one is below]"
			}
			return []Elision{{Field: Attachments, Shown: shown}} // what little text came with them stays
		}
		return []Elision{{Field: Output, Shown: shown}}
	})
}

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

// shots is what Snapshots remembers.
type shots struct {
	letter bool
	keep   int
	open   map[string][]*Item // by page: the newest of it, and what was taken in the same step as they
	takes  map[string]bool    // tool → it is one of SnapshotTools
	found  []*redundant
}

func newShots(letter bool, keep int) *shots {
	return &shots{letter: letter, keep: max(1, keep), open: map[string][]*Item{}, takes: map[string]bool{}}
}

func (s *shots) superseded() []*redundant { return s.found }

func (s *shots) read(x *Item) {
	if x.Call == nil || !ended(x.Part) || !s.letter && !x.Call.Worked() {
		return
	}
	takes, known := s.takes[x.Part.Tool]
	if !known {
		takes = takesSnapshots(x.Part.Tool)
		s.takes[x.Part.Tool] = takes
	}
	if !takes {
		return
	}
	page, keep := "", 1
	if !s.letter {
		page, keep = shotOf(x), s.keep
	}
	open := append(s.open[page], x)
	for len(open) > keep && !sameStep(open[0], x) {
		s.found = append(s.found, &redundant{old: open[0], by: []*Item{x}, why: "a newer snapshot was taken later"})
		open = open[1:]
	}
	s.open[page] = open
}

// takesSnapshots reports whether a tool is one of SnapshotTools.
func takesSnapshots(tool string) bool {
	tool = strings.ToLower(tool)
	return slices.ContainsFunc(SnapshotTools, func(glob string) bool { ok, err := doublestar.Match(glob, tool); return err == nil && ok })
}

// shotArguments say what a snapshot shows: which page, and what of it.
var shotArguments = []string{"url", "uri", "page", "pageId", "page_id", "pageIdx", "tab", "tabId", "tab_id", "window", "windowId",
	"element", "ref", "selector", "uid", "fullPage", "full_page"}

// shotOf names what a snapshot shows: the tool, and the arguments that say which page or piece of it.
func shotOf(x *Item) string {
	shows := []string{x.Part.Tool}
	for name, value := range members(x.Part.State.Input) {
		if slices.Contains(shotArguments, name) && value.Kind() != 'n' && value.Kind() != 'f' {
			value = value.Clone()
			_ = value.Canonicalize()
			shows = append(shows, name+"="+string(value))
		}
	}
	slices.Sort(shows[1:])
	return strings.Join(shows, "\x00")
}
