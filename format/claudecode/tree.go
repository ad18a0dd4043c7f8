package claudecode

import (
	"cmp"
	"slices"

	"github.com/winnowhq/winnow/format"
)

// tree finds the branch that the product would resume.
//
// Its rules, as of version 2.1: nodes are user, assistant, attachment and system entries, and a
// later entry with the same uuid takes the place of an earlier one. The branch ends at the last
// node outside a side chain, or at the entry that the last "last-prompt" record after the last
// compaction names, unless the last node descends from that. It is walked along parentUuid; what
// one API message was split into, and the results of its calls, belong to it wherever they hang.
//
// The product stops at a compaction; the log goes on behind it (logicalParentUuid). If a parent is
// missing, the product ends the conversation; here the walk goes on at the node before, for nothing
// shows that it was left.
//
// A compaction that a hook composed has copies of old entries behind its boundary, under new uuids
// but with the old message ids, some with the old parents. If the boundary lists them as preserved,
// they are a chain that hangs on the anchor; if not, they lead back to before the boundary, and the
// product sends what was compacted again. Of a file that is large for it, the product reads nothing
// before the last boundary that lists nothing as preserved: there what leads back goes on at the
// newest node of the five seconds before, and if there is none, the conversation begins with it.
type tree struct {
	names   *format.Names
	all     []node
	at      []int32       // uuid → position of its last node, -1 without one
	bridges map[name]name // uuid of a progress record → its nearest other ancestor
	first   map[int]int   // position of a repeated node → position where its uuid came first
	nodes   []int32       // positions of nodes outside side chains, in file order
	order   []int32       // position → index in nodes of the node before it
	anchors map[int]int   // position of a preserved node behind its boundary → its parent
	kept    []chain       // what boundaries preserve
	cut     int           // position of the boundary before which the product reads nothing, -1 without one
	timely  []int32       // positions of the nodes behind it, by their times
}

// treeOf reads the tree of the entries of a file, whose size is given in bytes.
func treeOf(entries []entry, size int64) *tree {
	n := &format.Names{}
	all := make([]node, len(entries))
	var kept []chain
	for i := range entries {
		all[i] = nodeOf(n, &entries[i])
		if all[i].has(preserving) {
			kept = append(kept, chainOf(n, i, &entries[i]))
		}
	}
	return newTree(n, all, kept, size)
}

// chain holds the names that a boundary preserves, behind that of their anchor.
type chain struct {
	boundary int // its position
	names    []name
}

func chainOf(n *format.Names, i int, e *entry) chain {
	c := e.compaction()
	to := chain{boundary: i, names: []name{n.Of(cmp.Or(c.Messages.Anchor, c.Segment.Anchor))}}
	for _, uuid := range c.Messages.UUIDs {
		to.names = append(to.names, n.Of(uuid))
	}
	return to
}

// newTree makes a tree of nodes. If all of them are of a side chain, as in the file of a sub-agent,
// it makes them of the main one.
func newTree(n *format.Names, all []node, kept []chain, size int64) *tree {
	t := &tree{
		names: n, all: all, at: make([]int32, n.Len()+1), order: make([]int32, len(all)),
		bridges: map[name]name{}, first: map[int]int{}, anchors: map[int]int{}, kept: kept, cut: -1,
	}
	for i := range t.at {
		t.at[i] = -1
	}
	sidesOnly := !slices.ContainsFunc(all, func(e node) bool { return e.has(chained) && !e.has(sideways) })
	for i := range all {
		e := &all[i]
		if sidesOnly {
			e.trait &^= sideways
		}
		t.order[i] = int32(len(t.nodes) - 1)
		if to, bridged := t.bridges[e.parent]; bridged {
			e.parent = to
		}
		if e.has(progressing) && e.uuid != 0 {
			t.bridges[e.uuid] = e.parent
		}
		if !e.has(chained) {
			continue
		}
		if e.uuid != 0 {
			if earlier := int(t.at[e.uuid]); earlier >= 0 {
				begin, known := t.first[earlier]
				if !known {
					begin = earlier
				}
				t.first[i] = begin
			}
			t.at[e.uuid] = int32(i)
		}
		if !e.has(sideways) {
			t.nodes = append(t.nodes, int32(i))
		}
		if size > large && e.has(bounding) && !e.has(preserving) {
			t.cut = i
		}
	}
	for _, c := range kept {
		parent := t.named(c.names[0])
		for _, uuid := range c.names[1:] {
			if i := t.named(uuid); i > c.boundary && parent > c.boundary {
				t.anchors[i] = parent
				parent = i
			}
		}
	}
	return t
}

// find returns the position of the node with this uuid, -1 without one. Progress records, which
// older versions wrote into the chain, are passed through.
func (t *tree) find(uuid string) int {
	if n, known := t.names.Find(uuid); known {
		return t.named(n)
	}
	return -1
}

func (t *tree) named(uuid name) int {
	if to, bridged := t.bridges[uuid]; bridged {
		uuid = to
	}
	if uuid == 0 {
		return -1
	}
	return int(t.at[uuid])
}

// parent returns the node before a node in its branch, -1 at the root.
func (t *tree) parent(i int) int {
	if p, anchored := t.anchors[i]; anchored {
		return p
	}
	e := &t.all[i]
	uuid := e.parent
	if e.has(bounding) && uuid == 0 {
		uuid = e.logical
	} else if uuid == 0 && e.uuid != 0 {
		return -1
	}
	if p := t.named(uuid); t.cuts(i, p) {
		return cmp.Or(t.bridge(i), t.cut)
	} else if p >= 0 {
		return p
	}
	if before := t.order[i]; before >= 0 {
		return int(t.nodes[before])
	}
	return -1
}

// leaf returns the node at which the branch ends, or -1.
func (t *tree) leaf() int {
	last, named, explicit := -1, name(0), false
	for i := range t.all {
		e := &t.all[i]
		switch {
		case e.has(prompting) && e.leaf != 0:
			explicit = e.has(explicitly) || explicit && e.leaf == named
			named = e.leaf
		case e.has(chained) && !e.has(sideways):
			last, explicit = i, false
			if e.has(bounding) {
				named = 0
			}
		}
	}
	at := t.named(named)
	if at < 0 || t.all[at].has(sideways) || last < 0 {
		return last
	}
	if !explicit && t.descends(last, at) {
		return last
	}
	return at
}

// descends reports whether a node comes after another in one branch.
func (t *tree) descends(i, ancestor int) bool {
	for range len(t.all) {
		if i == ancestor {
			return true
		}
		if i < 0 {
			return false
		}
		i = t.parent(i)
	}
	return false
}

// branch returns the positions of the active branch in file order, and its leaf, -1 when the file
// has none.
func (t *tree) branch() (active []int, leaf int) {
	leaf = t.leaf()
	if leaf < 0 {
		return nil, -1
	}
	in := make([]bool, len(t.all))
	for i := leaf; i >= 0 && !in[i]; i = t.parent(i) {
		in[i] = true
	}
	t.throughBoundary(in, leaf)
	t.siblings(in)
	t.behind(in, leaf)

	for i, is := range in {
		if is {
			active = append(active, i)
		}
	}
	if len(t.first) > 0 {
		slices.SortStableFunc(active, func(a, b int) int { return t.place(a) - t.place(b) })
	}
	return active, leaf
}

// place is where an entry belongs: where its uuid came first.
func (t *tree) place(i int) int {
	if begin, again := t.first[i]; again {
		return begin
	}
	return i
}

// everything returns the positions of all nodes.
func (t *tree) everything() []int {
	var all []int
	for i := range t.all {
		if t.all[i].has(chained) {
			all = append(all, i)
		}
	}
	return all
}

// throughBoundary adds the last compaction if the branch leads past it: the product keeps a tail
// by hanging it behind the summary when it reads the file, and drops everything else from before,
// whatever parents say. If the user went back to a node of the tail, the rest of the tail is left.
func (t *tree) throughBoundary(in []bool, leaf int) {
	for _, at := range slices.Backward(t.nodes) {
		i := int(at)
		if !t.all[i].has(bounding) {
			continue
		}
		if in[i] || i > leaf || !t.all[i].has(preserving) {
			return
		}
		in[i] = true
		for j := i + 1; j < len(t.all); j++ {
			if t.all[j].has(summarising) && t.all[j].parent == t.all[i].uuid {
				in[j] = true
				break
			}
		}
		left := t.leftTail(i, in)
		for j := t.parent(i); j >= 0 && !in[j]; j = t.parent(j) {
			in[j] = !left[j]
		}
		return
	}
}

// leftTail returns the nodes of a boundary's tail that are not in the branch, if others are.
func (t *tree) leftTail(boundary int, in []bool) map[int]bool {
	left, some := map[int]bool{}, false
	for _, c := range t.kept {
		if c.boundary != boundary {
			continue
		}
		for _, uuid := range c.names[1:] {
			if i := t.named(uuid); i >= 0 && in[i] {
				some = true
			} else if i >= 0 {
				left[i] = true
			}
		}
	}
	if !some {
		return nil
	}
	return left
}

// siblings adds the other entries of API messages that are in the branch, and results that hang on
// them: between one boundary of the branch and the next, for behind it messages come again.
func (t *tree) siblings(in []bool) {
	messages := make([]int, len(t.at)) // by the name of its id: the newest segment that has the message
	segment := 0
	for rest := t.nodes; len(rest) > 0; {
		end := 1 + slices.IndexFunc(rest[1:], func(i int32) bool { return in[i] && t.all[i].has(bounding) })
		if end == 0 {
			end = len(rest)
		}
		segment++
		t.siblingsIn(rest[:end], segment, messages, in)
		rest = rest[end:]
	}
}

func (t *tree) siblingsIn(nodes []int32, segment int, messages []int, in []bool) {
	for _, i := range nodes {
		if e := &t.all[i]; in[i] && e.has(fromModel) && e.message != 0 {
			messages[e.message] = segment
		}
	}
	for _, at := range nodes {
		i := int(at)
		e := &t.all[i]
		if in[i] || e.uuid == 0 || int(t.at[e.uuid]) != i {
			continue
		}
		switch {
		case e.has(fromModel):
			in[i] = messages[e.message] == segment
		case e.has(resulting):
			p := t.named(e.parent)
			in[i] = p >= 0 && t.all[p].has(fromModel) && (in[p] || messages[t.all[p].message] == segment)
		}
	}
}

// behind adds attachments and notices that hang behind the leaf.
func (t *tree) behind(in []bool, leaf int) {
	hanging := map[name]bool{t.all[leaf].uuid: true}
	for _, at := range t.nodes {
		i := int(at)
		e := &t.all[i]
		if i <= leaf || in[i] || e.has(speaking|bounding) || e.uuid == 0 {
			continue
		}
		if hanging[e.parent] && int(t.at[e.uuid]) == i {
			in[i], hanging[e.uuid] = true, true
		}
	}
}
