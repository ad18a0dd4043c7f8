package pi

import "github.com/winnowhq/winnow/format"

// Bypassed finds the last compaction, if the branch leads past it. See format.Linked. A branch
// that begins with a summary of the one that was left is the user's own doing.
func (Format) Bypassed(doc *format.Document) (format.Bypass, bool) {
	f, ok := doc.Native.(*file)
	if !ok || f.linear {
		return format.Bypass{}, false
	}
	last := -1
	for i := range f.entries {
		if e := &f.entries[i]; !e.gone && e.Kind == compactionEntry {
			last = i
		}
	}
	if last < 0 {
		return format.Bypass{}, false
	}
	b := format.Bypass{Line: f.entries[last].line}
	for _, at := range f.path {
		switch {
		case at == last || b.First == 0 && at > last && f.entries[at].Kind == branchEntry:
			return format.Bypass{}, false
		case at > last:
			if b.Entries++; b.First == 0 {
				b.First = f.entries[at].line
			}
		}
	}
	return b, b.Entries > 0
}
