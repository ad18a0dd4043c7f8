package rule

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

// quotes records when each text of a window was made and last quoted. A call quotes a text if its
// arguments repeat a line of it. If several texts have the line, the newest is quoted, because it
// shows the line as well as the others.
type quotes struct {
	slots []*slot
	fresh stock[slot]
	lines map[uint64]int32 // line → the newest of the slots that has it
	// views are the outputs that show a file, by its path, until the file changes.
	views map[string][]*slot
	from  int   // the first step whose lines are read
	clean int   // how many lines there may be before those of old texts are dropped
	far   []int // the step of each quotation of a text that was far then
}

// slot is a text that can be quoted: an output, or the arguments of a call.
type slot struct {
	item  *Item
	field Field
	size  int // bytes
	last  int // step in which it was made or quoted
	// used: it was quoted, or the file that it shows was changed since.
	used bool
}

const (
	// quotable is how many bytes a line must have to be recognised: shorter lines occur anywhere.
	quotable = 16
	// remembered is how many steps after a text was made it is looked for in what calls quote. It
	// bounds what is held, and what a first look at a long window takes; windows of 200,000 tokens
	// have a few hundred steps.
	remembered = 500
	// far is how many steps old a text is that counts as far: what a compaction would have folded.
	far = 5
	// cleanFrom is how many lines are held without a thought.
	cleanFrom = 1 << 14
)

// quotesKey is the key under which rules share the quotes of a window, by how many of its newest
// steps they must know exactly.
type quotesKey struct{ steps int }

// quotes of a window: when each text was quoted last, exact for texts of which that was within so
// many of the newest steps.
func (w Window) quotes(steps int) *quotes {
	return grow(w, quotesKey{steps}, func() *quotes {
		// Older texts are idle, quoted or not: their lines are not read.
		q := &quotes{lines: map[uint64]int32{}, views: map[string][]*slot{},
			from: w.timeline.now.Step - remembered - steps, clean: cleanFrom}
		if n := len(w.timeline.items); n >= readAheadFrom { // few windows of that many have fewer lines
			q.lines, q.slots, q.fresh = make(map[uint64]int32, cleanFrom), make([]*slot, 0, n), make([]slot, n)
		}
		return q
	})
}

func (q *quotes) read(x *Item) {
	if x.Call == nil {
		return
	}
	input, output := x.Part.State.Input, x.Part.State.Result()
	own := q.slot(x, Input, len(input))
	if x.Step >= q.from && len(input) >= quotable {
		for text := range Texts(input) {
			eachLine(text, func(line uint64) {
				if at, ok := q.lines[line]; ok && q.slots[at].item.Step+remembered >= x.Step {
					q.quote(q.slots[at], x.Step)
				}
				if own >= 0 {
					q.lines[line] = own
				}
			})
		}
	}
	q.change(x)
	if own = q.slot(x, Output, len(output)); x.Step >= q.from && own >= 0 {
		eachLine(output, func(line uint64) { q.lines[line] = own })
		q.view(x, q.slots[own])
	}
	if len(q.lines) > q.clean {
		maps.DeleteFunc(q.lines, func(_ uint64, at int32) bool { return q.slots[at].item.Step+remembered < x.Step })
		q.clean = max(cleanFrom, 2*len(q.lines))
	}
}

// change notes that the files which a call changed are no longer as they were shown.
func (q *quotes) change(x *Item) {
	for i := range x.Call.Actions {
		did := &x.Call.Actions[i]
		if !did.Op.Changes() || did.Path == "" {
			continue
		}
		for _, s := range q.views[did.Path] {
			s.used = true
		}
		delete(q.views, did.Path)
	}
}

// view notes which files an output shows.
func (q *quotes) view(x *Item, s *slot) {
	last := ""
	for path := range x.Call.paths {
		if path != last {
			q.views[path] = append(q.views[path], s)
		}
		last = path
	}
}

// quote notes that a step quotes a text.
func (q *quotes) quote(s *slot, step int) {
	if s.last < step && s.item.Step+far < step {
		q.far = append(q.far, step)
	}
	s.last, s.used = step, true
}

// Reach is how often calls of the newest steps quoted a text that was more than five steps old
// then, each text once a step: how much of its past the work goes on with.
func (w Window) Reach(steps int) int {
	w = w.Read()
	known := steps
	w.timeline.lock.Lock()
	for key := range w.timeline.grown { // Idle may have read them already, for more steps
		if k, ok := key.(quotesKey); ok {
			known = max(known, k.steps)
		}
	}
	w.timeline.lock.Unlock()
	q := w.quotes(known)
	at, _ := slices.BinarySearch(q.far, w.timeline.now.Step-steps+1)
	return len(q.far) - at
}

// slot is the place of a text of this size in bytes, -1 when it is too short to be worth one.
func (q *quotes) slot(x *Item, field Field, size int) int32 {
	if size < stripFrom {
		return -1
	}
	s := q.fresh.next()
	*s = slot{item: x, field: field, size: size, last: x.Step}
	q.slots = append(q.slots, s)
	return int32(len(q.slots) - 1)
}

// eachLine calls do with the hash of each line that tells something, without what surrounds it:
// blanks, the number that a tool put before it, and in a patch the sign that says what becomes of
// it.
func eachLine(text string, do func(line uint64)) {
	signed := patch(text)
	for len(text) > 0 {
		line := text
		if at := strings.IndexByte(text, '\n'); at >= 0 {
			line, text = text[:at], text[at+1:]
		} else {
			text = ""
		}
		if signed && line != "" && (line[0] == '+' || line[0] == '-') {
			line = line[1:]
		}
		if line = unnumbered(line); len(line) >= quotable {
			do(xxhash.Sum64String(line))
		}
	}
}

// unnumbered is a line without the number before it, as tools that read files print it, and without
// the blanks around it.
func unnumbered(line string) string {
	line = strings.TrimFunc(line, blank)
	i := 0
	for i < len(line) && line[i] >= '0' && line[i] <= '9' {
		i++
	}
	if i == 0 || i > 7 || i == len(line) {
		return line
	}
	switch rest := line[i:]; {
	case rest[0] == '\t' || rest[0] == '|' || rest[0] == ':':
		return strings.TrimFunc(rest[1:], blank)
	case strings.HasPrefix(rest, "→"):
		return strings.TrimFunc(rest[len("→"):], blank)
	}
	return line
}

func blank(r rune) bool { return r <= ' ' }

// Texts are the texts among the arguments of a call, escapes resolved, as far as the arguments can
// be read.
func Texts(input jsontext.Value) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		d := jsontext.NewDecoder(bytes.NewBuffer(input), session.ReadOptions())
		for {
			t, err := d.ReadToken()
			if err != nil {
				return
			}
			within, n := d.StackIndex(d.StackDepth())
			if named := within == '{' && n%2 == 1; t.Kind() == '"' && !named && !yield(t.String()) {
				return
			}
		}
	}
}
