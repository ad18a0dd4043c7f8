package coverage

// Covered reports whether newer views show every line of an old one, so that without it nothing is
// lost that still holds. newer are in the order of the log, all of them after old and still shown;
// those of other files are passed over.
//
// An old view is covered in two cases alone:
//
//   - A newer view is Full. Whatever happened between the two, it is the newer truth about the
//     whole file; what changed it since is shown after it.
//   - It is not a Change, and for each of its line numbers the newest view that shows that number
//     has an equal line. When the newest view has another line there, the file has changed, and an
//     older view that agrees is as outdated as old is. Lines that moved to other numbers are not
//     looked for: a blank line or a brace is found anywhere. An old view that shows where the file
//     ends needs a newer one that ends there too, and none that goes on.
//
// A Change is covered by Full views only, and covers nothing.
func Covered(old View, newer ...View) bool {
	for i := range newer {
		if newer[i].Full && !newer[i].Change && newer[i].Path == old.Path {
			return true
		}
	}
	if old.Change || len(old.Lines) == 0 {
		return false
	}
	last, left, ends := old.last(), len(old.Lines), !old.End
	var few [8]uint64 // enough for 512 lines without an allocation
	decided := few[:]
	if need := (left + 63) / 64; need > len(few) {
		decided = make([]uint64, need)
	}
	for i := len(newer) - 1; i >= 0; i-- {
		v := &newer[i]
		if v.Change || v.Path != old.Path {
			continue
		}
		if old.End && v.last() > last {
			return false // the file is longer now
		}
		ends = ends || v.End && v.last() == last
		for n := max(old.Start, v.Start); n <= min(last, v.last()); n++ {
			at := n - old.Start
			if decided[at/64]&(1<<(at%64)) != 0 {
				continue
			}
			if v.Lines[n-v.Start] != old.Lines[at] {
				return false
			}
			decided[at/64] |= 1 << (at % 64)
			left--
		}
	}
	return left == 0 && ends
}
