package lab

import (
	"maps"
	"slices"
)

// layout holds the sizes of the window's messages as they are sent.
type layout struct {
	ids   map[string]int
	sizes []int
	sums  []int // tokens before each message; valid up to clean
	clean int
	all   int
}

func (l *layout) add(tokens int, id string) {
	if l.ids == nil {
		l.ids = map[string]int{}
	}
	l.ids[id] = len(l.sizes)
	l.sizes, l.sums = append(l.sizes, tokens), append(l.sums, 0)
	l.all += tokens
}

func (l *layout) set(i, tokens int) {
	l.all += tokens - l.sizes[i]
	l.sizes[i] = tokens
	l.clean = min(l.clean, i)
}

func (l *layout) clone() layout {
	return layout{maps.Clone(l.ids), slices.Clone(l.sizes), slices.Clone(l.sums), l.clean, l.all}
}

func (l *layout) total() int { return l.all }

func (l *layout) index(id string) int {
	if i, ok := l.ids[id]; ok {
		return i
	}
	return -1
}

// before returns the tokens in front of a message.
func (l *layout) before(id string) (int, bool) {
	i, ok := l.ids[id]
	if !ok {
		return 0, false
	}
	for ; l.clean < i; l.clean++ {
		l.sums[l.clean+1] = l.sums[l.clean] + l.sizes[l.clean]
	}
	return l.sums[i], true
}
