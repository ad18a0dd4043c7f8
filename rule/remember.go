package rule

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// reader is what a rule remembers of a window: it is shown every item once, in their order.
type reader interface{ read(x *Item) }

// reading pairs a reader with how far it came.
type reading[R reader] struct {
	reader R
	upTo   int
}

// remember returns what is remembered of a window under a key, brought up to date. The key is the rule, a pointer, or something that several share.
func remember[R reader](w Window, of any, fresh func() R) R {
	r := recollect(w, of, fresh)
	w.read.facts.decided += r.goOn(w.read.items)
	return r.reader
}

// recollect returns it as it is. The window was read.
func recollect[R reader](w Window, of any, fresh func() R) *reading[R] {
	r, ok := w.read.memory[of].(*reading[R])
	if !ok {
		r = &reading[R]{reader: fresh()}
		w.read.memory[of] = r
	}
	return r
}

func (r *reading[R]) goOn(items []*Item) (read int) {
	read = len(items) - r.upTo
	for ; r.upTo < len(items); r.upTo++ {
		r.reader.read(items[r.upTo])
	}
	return read
}

func (r *reading[R]) behind(items []*Item) int { return len(items) - r.upTo }

// reads is what a rule remembers, whatever it is.
type reads interface {
	behind(items []*Item) int
	goOn(items []*Item) (read int)
}

// rememberer is a rule that tells what it will remember of a window that was read.
type rememberer interface{ remembers(w Window) []reads }

// rememberAtOnce brings what the rules remember of a window up to date, of each rule beside the others, where there is much to read.
func (w Window) rememberAtOnce(rules []Rule) {
	if runtime.GOMAXPROCS(0) < 2 {
		return
	}
	var all []reads
	for _, r := range rules {
		if r, ok := r.(rememberer); ok {
			for _, one := range r.remembers(w) {
				if one.behind(w.read.items) >= readAtOnce && !slices.Contains(all, one) {
					all = append(all, one)
				}
			}
		}
	}
	var decided atomic.Int64
	var done sync.WaitGroup
	if w.Handles == nil && w.Facts.handles.none() && len(w.read.items) >= readAtOnce {
		done.Go(w.nameItems)
	}
	if len(all) > 0 {
		done.Go(w.guardItems)
	}
	for _, one := range all {
		done.Go(func() { decided.Add(int64(one.goOn(w.read.items))) })
	}
	done.Wait()
	w.Facts.decided += int(decided.Load())
}

// guardItems asks the guard about each item, which remembers what it said.
func (w Window) guardItems() {
	for _, x := range w.read.items {
		w.Guard.guarded(w.Facts, x)
	}
}

// nameItems names a window of which nothing has a name, and tells its items their handles.
func (w Window) nameItems() {
	h := &w.Facts.handles
	all := h.name(w.Messages)
	for _, x := range w.read.items {
		for len(all) > 0 && all[0].part != x.Part {
			all = all[1:]
		}
		if len(all) == 0 {
			return // it is found out when somebody asks
		}
		if all[0].name != "" {
			x.size.namer, x.size.handle = h, all[0].name
		}
	}
}

// readAtOnce is from how many items on it is worth to start a goroutine.
const readAtOnce = 512
