package claudecode

import (
	"bytes"
	"slices"
)

// tree finds the branch that the product would resume.
//
// Its rules, as of version 2.1: nodes are user, assistant, attachment and system entries, and a later entry with the same uuid
// takes the place of an earlier one. The branch ends at the last node outside a side chain, or at the entry that the last
// "last-prompt" record after the last compaction names, unless the last node descends from that. It is walked along
// parentUuid; what one API message was split into, and the results of its calls, belong to it wherever they hang.
//
// The product stops at a compaction; the log goes on behind it (logicalParentUuid). And where a parent is
// missing the product ends the conversation; here the walk goes on at the node before, for nothing shows that it was left.
type tree struct {
	entries []entry
	at      map[string]int    // uuid → position of its last node
	bridges map[string]string // uuid of a progress record → its nearest ancestor that is none
	first   map[int]int       // position of a repeated node → position where its uuid came first
	nodes   []int             // positions of nodes outside side chains, in file order
	order   []int             // position → index in nodes of the node before it
}

func newTree(entries []entry) *tree {
	t := &tree{entries: entries, at: make(map[string]int, len(entries)), bridges: map[string]string{}, first: map[int]int{}, order: make([]int, len(entries))}
	sidesOnly := !slices.ContainsFunc(entries, func(e entry) bool { return e.chained() && !e.side })
	for i := range entries {
		e := &entries[i]
		if sidesOnly { // the file of a sub-agent
			e.side = false
		}
		t.order[i] = len(t.nodes) - 1
		if e.kind == "progress" && e.uuid != "" {
			to := e.parent
			if further, bridged := t.bridges[to]; bridged {
				to = further
			}
			t.bridges[e.uuid] = to
		}
		if !e.chained() {
			continue
		}
		if e.uuid != "" {
			if earlier, again := t.at[e.uuid]; again {
				begin, known := t.first[earlier]
				if !known {
					begin = earlier
				}
				t.first[i] = begin
			}
			t.at[e.uuid] = i
		}
		if !e.side {
			t.nodes = append(t.nodes, i)
		}
	}
	return t
}

// find returns the position of the node with this uuid, -1 without one. Progress records, which older versions wrote into the
// chain, are passed through.
func (t *tree) find(uuid string) int {
	if to, bridged := t.bridges[uuid]; bridged {
		uuid = to
	}
	if i, known := t.at[uuid]; known {
		return i
	}
	return -1
}

// parent returns the node before a node in its branch, -1 at the root.
func (t *tree) parent(i int) int {
	e := &t.entries[i]
	uuid := e.parent
	if e.boundary() && uuid == "" {
		uuid = e.logical
	} else if uuid == "" && e.uuid != "" {
		return -1
	}
	if p := t.find(uuid); p >= 0 {
		return p
	}
	if before := t.order[i]; before >= 0 {
		return t.nodes[before]
	}
	return -1
}

// leaf returns the node at which the branch ends, -1 when there is none.
func (t *tree) leaf() int {
	last, named, explicit := -1, "", false
	for i := range t.entries {
		e := &t.entries[i]
		switch {
		case e.kind == "last-prompt" && e.leaf != "":
			explicit = e.explicit || explicit && e.leaf == named
			named = e.leaf
		case e.chained() && !e.side:
			last, explicit = i, false
			if e.boundary() {
				named = ""
			}
		}
	}
	at := t.find(named)
	if at < 0 || t.entries[at].side || last < 0 {
		return last
	}
	if !explicit && t.descends(last, at) {
		return last
	}
	return at
}

// descends reports whether a node comes after another in one branch.
func (t *tree) descends(i, ancestor int) bool {
	for range len(t.entries) {
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

// branch returns the positions of the active branch in file order, and its leaf, -1 when the file has none.
func (t *tree) branch() (active []int, leaf int) {
	leaf = t.leaf()
	if leaf < 0 {
		return nil, -1
	}
	in := make([]bool, len(t.entries))
	for i := leaf; i >= 0 && !in[i]; i = t.parent(i) {
		in[i] = true
	}
	t.throughBoundary(in, leaf)
	t.siblings(in)
	t.behind(in, leaf)

	for i := range t.entries {
		if in[i] {
			active = append(active, i)
		}
	}
	if len(t.first) > 0 {
		place := func(i int) int {
			if begin, again := t.first[i]; again {
				return begin
			}
			return i
		}
		slices.SortStableFunc(active, func(a, b int) int { return place(a) - place(b) })
	}
	return active, leaf
}

// throughBoundary adds the last compaction where the branch leads past it: the product keeps a tail by hanging it behind the
// summary when it reads the file, and drops everything else from before, whatever parents say.
func (t *tree) throughBoundary(in []bool, leaf int) {
	for _, i := range slices.Backward(t.nodes) {
		if !t.entries[i].boundary() {
			continue
		}
		if in[i] || i > leaf || !bytes.Contains(t.entries[i].compact, []byte(`"preserved`)) {
			return
		}
		in[i] = true
		for j := i + 1; j < len(t.entries); j++ {
			if t.entries[j].summary && t.entries[j].parent == t.entries[i].uuid {
				in[j] = true
				break
			}
		}
		for j := t.parent(i); j >= 0 && !in[j]; j = t.parent(j) {
			in[j] = true
		}
		return
	}
}

// siblings adds the other entries of API messages that are in the branch, and results that hang on them.
func (t *tree) siblings(in []bool) {
	messages := map[string]bool{}
	for i := range t.entries {
		if e := &t.entries[i]; in[i] && e.kind == "assistant" && e.messageID != "" {
			messages[e.messageID] = true
		}
	}
	for _, i := range t.nodes {
		e := &t.entries[i]
		if in[i] || t.at[e.uuid] != i {
			continue
		}
		switch {
		case e.kind == "assistant":
			in[i] = messages[e.messageID]
		case e.kind == "user" && bytes.Contains(e.content, []byte(`"tool_result"`)):
			p := t.find(e.parent)
			in[i] = p >= 0 && t.entries[p].kind == "assistant" && (in[p] || messages[t.entries[p].messageID])
		}
	}
}

// behind adds attachments and notices that hang behind the leaf.
func (t *tree) behind(in []bool, leaf int) {
	hanging := map[string]bool{t.entries[leaf].uuid: true}
	for _, i := range t.nodes {
		if e := &t.entries[i]; i > leaf && !in[i] && !e.speaks() && !e.boundary() && hanging[e.parent] && t.at[e.uuid] == i {
			in[i], hanging[e.uuid] = true, true
		}
	}
}
