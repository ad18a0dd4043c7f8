package rule

import (
	"slices"

	"github.com/winnowhq/winnow/plan/coverage"
)

// Files leaves out what calls showed of files once newer calls show it again. It goes by coverage:
// an output goes when it is nothing but lines of files, and newer parts that are still shown have
// every line of it. A failed operation makes nothing redundant, an edit covers nothing, and a read
// that its tool cut is a view of the lines that it has. Calls of one step are not newer than each
// other.
type Files struct{ Age Age }

// Name is "files".
func (*Files) Name() string { return "files" }

// Find looks at calls that read, wrote or changed files.
func (r *Files) Find(w Window) Found {
	w = w.Read()
	return w.Propose(r.Name(), r.Age, w.open(w.views().outputs), func(f *Finding) string {
		return w.placeholder(f.Item, Output, "shown again below")
	})
}

func (*Files) readAhead(w Window) { w.views() }

// views is what Files and Inputs read off a timeline together: which lines of which files are shown
// where, and which of it newer parts cover.
type views struct {
	files           map[string][]*view // by path, oldest first, those that nothing covers
	outputs, inputs []*Finding
}

// view is what one field of a call shows of files.
type view struct {
	item  *Item
	field Field
	views []coverage.View
	only  bool // the field holds nothing else, so that it can go
}

// viewsKey is the key under which the rules share their views.
type viewsKey struct{}

func (w Window) views() *views {
	return grow(w, viewsKey{}, func() *views { return &views{files: map[string][]*view{}} })
}

func (v *views) read(x *Item) {
	if x.Call == nil || len(x.Call.Shown.Views) == 0 {
		return
	}
	var few [4]string
	touched := few[:0]
	for _, field := range [...]Field{Input, Output} {
		s := x.shows(field)
		if s == nil {
			continue
		}
		for i, one := range s.views {
			if !slices.ContainsFunc(s.views[:i], func(other coverage.View) bool { return other.Path == one.Path }) {
				v.files[one.Path] = append(v.files[one.Path], s)
			}
			if !one.Change {
				touched = append(touched, one.Path)
			}
		}
	}
	slices.Sort(touched)
	for _, path := range slices.Compact(touched) {
		v.compare(path, x)
	}
}

// shows is what a field of a call shows, nil when that is nothing.
func (x *Item) shows(field Field) *view {
	all := x.Call.Shown.Views
	in := func(v coverage.View) bool { return Field(v.Field) == field }
	first := slices.IndexFunc(all, in)
	if first < 0 {
		return nil
	}
	s := &view{item: x, field: field, only: field == Input || x.Call.Shown.OutputIsViews}
	end := first + 1
	for end < len(all) && in(all[end]) {
		end++
	}
	s.views = all[first:end:end] // most calls show in one field alone
	for _, one := range all[end:] {
		if in(one) {
			s.views = append(s.views, one)
		}
	}
	return s
}

// compare looks which older views of a file the newest one made redundant.
func (v *views) compare(path string, x *Item) {
	for _, old := range slices.Clone(v.files[path]) {
		if !old.only || old.item == x || SameStep(old.item, x) || !concerns(x, old) {
			continue
		}
		by := v.cover(old)
		if by == nil {
			continue
		}
		f := &Finding{Item: old.item, Field: old.field, By: by, Why: "newer parts show every line of it"}
		if old.field == Input {
			v.inputs = append(v.inputs, f)
		} else {
			v.outputs = append(v.outputs, f)
		}
		for _, one := range old.views {
			v.files[one.Path] = slices.DeleteFunc(v.files[one.Path], func(s *view) bool { return s == old })
		}
	}
}

// concerns reports whether an item shows anything that could cover a view: most reads of a long
// file do not meet.
func concerns(x *Item, old *view) bool {
	for _, v := range x.Call.Shown.Views {
		for _, o := range old.views {
			if !v.Change && v.Path == o.Path && (v.Full || !o.Change && meets(o, v)) {
				return true
			}
		}
	}
	return false
}

// cover returns the newer parts that show all that a field of a call shows of files, nil when there
// are none.
func (v *views) cover(old *view) []*Item {
	var by []*Item
views:
	for _, one := range old.views {
		var few [8]coverage.View
		newer := few[:0] // newest first
		var items []*Item
		all := v.files[one.Path]
		for i := len(all) - 1; i >= 0 && all[i].item.At > old.item.At; i-- {
			s := all[i]
			if s.item == old.item || SameStep(s.item, old.item) {
				continue
			}
			before, whole := len(newer), false
			for j := len(s.views) - 1; j >= 0; j-- {
				if other := s.views[j]; other.Path == one.Path && !other.Change && (other.Full || meets(one, other)) {
					newer, whole = append(newer, other), whole || other.Full
				}
			}
			if len(newer) > before {
				items = append(items, s.item)
			}
			if whole { // whatever is older, this covers it
				by = append(by, wholeOf(one.Path, items))
				continue views
			}
		}
		if slices.Reverse(newer); !coverage.Covered(one, newer...) {
			return nil
		}
		by = append(by, items...)
	}
	slices.SortFunc(by, func(a, b *Item) int { return a.At - b.At })
	return slices.Compact(by)
}

// wholeOf is the newest of some items, newest first, that shows the whole of a file; one of them
// does.
func wholeOf(path string, items []*Item) *Item {
	at := slices.IndexFunc(items, func(x *Item) bool {
		return slices.ContainsFunc(x.Call.Shown.Views, func(v coverage.View) bool {
			return v.Path == path && v.Full &&
				!v.Change
		})
	})
	return items[at]
}

// meets reports whether two views have a line number in common, or show the end of the file.
func meets(a, b coverage.View) bool {
	return a.Start < b.Start+len(b.Lines) && b.Start < a.Start+len(a.Lines) || a.End && b.End ||
		a.End && b.Start+len(b.Lines) > a.Start
}
