package bpe

import "slices"

const (
	// longestToken is that of both vocabularies, in bytes.
	longestToken = 128

	// longPiece is where a queue becomes faster than looking at every pair for every merge.
	longPiece = 64

	// longestPiece is how many bytes are merged at once. Pieces of ordinary text are far shorter;
	// with a megabyte of one letter this bounds the memory, and costs a token here and there.
	longestPiece = 16 << 10
)

// count is how many tokens a piece has. At first each byte is one. Of all neighbours that are a
// token together, those of the lowest rank become one, of equals the leftmost, until there are
// none.
func (v *vocabulary) count(piece string) int {
	n := 0
	for ; len(piece) > longestPiece; piece = piece[longestPiece:] {
		n += v.countLong(piece[:longestPiece])
	}
	if len(piece) <= longestToken && v.rank(piece) != none {
		return n + 1
	}
	if len(piece) < longPiece {
		return n + v.countShort(piece)
	}
	return n + v.countLong(piece)
}

// countShort merges in time that grows with the square of the length.
func (v *vocabulary) countShort(piece string) int {
	// Part i is piece[starts[i]:starts[i+1]]; ranks[i] is the rank of it and the next one together.
	var starts [longPiece + 1]uint8
	var ranks [longPiece]uint32
	n := len(piece)
	for i := range n {
		starts[i] = uint8(i)
	}
	starts[n] = uint8(n)
	together := func(i int) uint32 {
		if i+2 > n {
			return none
		}
		return v.rank(piece[starts[i]:starts[i+2]])
	}
	for i := range n {
		ranks[i] = together(i)
	}
	for {
		lowest, at := uint32(none), 0
		for i, rank := range ranks[:n] {
			if rank < lowest {
				lowest, at = rank, i
			}
		}
		if lowest == none {
			return n
		}
		copy(starts[at+1:n], starts[at+2:n+1])
		copy(ranks[at+1:n-1], ranks[at+2:n])
		n--
		ranks[at] = together(at)
		if at > 0 {
			ranks[at-1] = together(at - 1)
		}
	}
}

// A part of a long piece is named by the byte that it begins at.
type part struct {
	previous, next int32  // the parts beside it; the piece's length after the last
	rank           uint32 // of this part and the next one together
}

// countLong merges in time that grows with the length times its logarithm.
func (v *vocabulary) countLong(piece string) int {
	end := int32(len(piece))
	parts := make([]part, end)
	together := func(at int32) uint32 {
		next := parts[at].next
		if next == end || parts[next].next-at > longestToken {
			return none
		}
		return v.rank(piece[at:parts[next].next])
	}
	for i := range parts {
		parts[i] = part{previous: int32(i) - 1, next: int32(i) + 1}
	}
	waiting := make(queue, 0, end)
	for at := range end {
		if parts[at].rank = together(at); parts[at].rank != none {
			waiting = append(waiting, pairOf(parts[at].rank, at))
		}
	}
	slices.Sort(waiting) // what is sorted is a heap
	n := len(parts)
	for len(waiting) > 0 {
		rank, at := waiting[0].split()
		if parts[at].rank != rank { // one of its parts has become another since
			waiting.pop()
			continue
		}
		gone := parts[at].next
		parts[gone].rank = none
		parts[at].next = parts[gone].next
		if parts[at].next < end {
			parts[parts[at].next].previous = at
		}
		n--
		if parts[at].rank = together(at); parts[at].rank != none {
			waiting[0] = pairOf(parts[at].rank, at)
			waiting.sink(0)
		} else {
			waiting.pop()
		}
		if before := parts[at].previous; before >= 0 {
			if parts[before].rank = together(before); parts[before].rank != none {
				waiting.push(pairOf(parts[before].rank, before))
			}
		}
	}
	return n
}

// A pair is the rank of two parts together, and the place of the first: in the order of merging.
type pair uint64

func pairOf(rank uint32, at int32) pair { return pair(rank)<<32 | pair(at) }

func (p pair) split() (rank uint32, at int32) { return uint32(p >> 32), int32(p) }

// A queue is a binary heap, the first pair to merge in front. It is container/heap for one type:
// through an interface, long pieces take twice the time.
type queue []pair

func (q *queue) push(p pair) {
	*q = append(*q, p)
	h := *q
	for i := len(h) - 1; i > 0 && h[i] < h[(i-1)/2]; i = (i - 1) / 2 {
		h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
	}
}

// pop removes the pair in front.
func (q *queue) pop() {
	last := len(*q) - 1
	(*q)[0] = (*q)[last]
	*q = (*q)[:last]
	q.sink(0)
}

// sink puts a pair that may be too far in front into its place.
func (q queue) sink(i int) {
	for {
		child := 2*i + 1
		if child >= len(q) {
			return
		}
		if child+1 < len(q) && q[child+1] < q[child] {
			child++
		}
		if q[i] <= q[child] {
			return
		}
		q[i], q[child] = q[child], q[i]
		i = child
	}
}
