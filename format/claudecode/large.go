package claudecode

import (
	"cmp"
	"slices"
)

// large is the size in bytes above which the product looks for compactions before it reads a file.
const large = 5 << 20

// cuts reports whether the product does not find the parent of a node, because it is before the
// cut.
func (t *tree) cuts(i, parent int) bool { return parent >= 0 && parent < t.cut && t.cut < i }

// patience is how long before an entry, in milliseconds, the product looks for one in the place of
// its parent.
const patience = 5 * 1000

// bridge returns the node on which the product hangs one behind the cut whose parent it does not
// find, 0 without one.
func (t *tree) bridge(i int) int {
	if t.timely == nil {
		t.timely = slices.Clone(t.nodes[t.order[t.cut]+1:])
		slices.SortFunc(t.timely, t.earlier)
	}
	at, _ := slices.BinarySearchFunc(t.timely, int32(i), t.earlier)
	const most = 64 // that were written later with an earlier time
	for _, j := range slices.Backward(t.timely[max(0, at-most):at]) {
		if t.all[j].time < t.all[i].time-patience {
			break
		}
		if int(j) > t.cut && int(j) < i {
			return int(j)
		}
	}
	return 0
}

// earlier compares nodes by their times, then by their positions.
func (t *tree) earlier(a, b int32) int {
	return cmp.Or(cmp.Compare(t.all[a].time, t.all[b].time), cmp.Compare(a, b))
}
