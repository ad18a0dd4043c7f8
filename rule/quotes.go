package rule

import (
	"maps"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/call"
	"github.com/winnowhq/winnow/session"
)

// quotes is which texts of a window were made and quoted when. A call quotes a text when its arguments repeat a line of it; of several texts that have the
// line the newest is quoted, which shows it as well as the others do.
type quotes struct {
	slots []*slot
	fresh []slot           // to take new ones from
	lines map[uint64]int32 // the newest slot that has the line
	from  int              // the first step whose lines are read
	clean int              // how many lines there may be before those of old texts are dropped
}

// slot is a text that can be quoted: an output, or the arguments of a call.
type slot struct {
	item  *Item
	input bool
	last  int // step in which it was made or quoted
}

// field of the part that the text is.
func (s *slot) field() Field {
	if s.input {
		return Input
	}
	return Output
}

const (
	// quotable is how many bytes a line must have to be told again: less stands anywhere.
	quotable = 16
	// remembered is how many steps after a text was made it is looked for in what calls quote. It bounds what is held, and what a first look at a long
	// window takes; windows of 200,000 tokens have a few hundred steps.
	remembered = 500
	// slotsAtOnce is how many slots are made at a time.
	slotsAtOnce = 64
	// cleanFrom is how many lines are held without a thought.
	cleanFrom = 1 << 14
)

// quotesKey is under which rules remember the quotes of a window, by how many of its newest steps they must know exactly.
type quotesKey struct{ steps int }

// quotes of the newest steps of a window: when each text was quoted last, exact for texts of which that was within so many steps.
func (w Window) quotes(steps int) *quotes {
	r := w.recollectQuotes(steps)
	w.Facts.decided += r.goOn(w.read.items)
	return r.reader
}

func (w Window) recollectQuotes(steps int) *reading[*quotes] {
	return recollect(w, quotesKey{steps}, func() *quotes {
		// What was made before is idle whoever quoted it: its lines are not read.
		q := &quotes{lines: map[uint64]int32{}, from: w.read.now.Step - remembered - steps, clean: cleanFrom}
		if n := len(w.read.items); n >= readAtOnce { // few windows of so many have fewer lines
			q.lines, q.slots, q.fresh = make(map[uint64]int32, cleanFrom), make([]*slot, 0, n), make([]slot, n)
		}
		return q
	})
}

func (q *quotes) read(x *Item) {
	if x.Call == nil {
		return
	}
	input, output := asString(x.Part.State.Input), x.Part.State.Result()
	own := q.slot(x, true, len(input))
	if x.Step >= q.from && len(input) >= quotable {
		for text := range texts(x.Part.State.Input) {
			eachLine(text, func(line uint64) {
				if at, ok := q.lines[line]; ok && q.slots[at].item.Step+remembered >= x.Step {
					q.slots[at].last = x.Step
				}
				if own >= 0 {
					q.lines[line] = own
				}
			})
		}
	}
	if own = q.slot(x, false, len(output)); x.Step >= q.from && own >= 0 {
		eachLine(output, func(line uint64) { q.lines[line] = own })
	}
	if len(q.lines) > q.clean {
		maps.DeleteFunc(q.lines, func(_ uint64, at int32) bool { return q.slots[at].item.Step+remembered < x.Step })
		q.clean = max(cleanFrom, 2*len(q.lines))
	}
}

// slot is the place of a text of so many bytes, -1 when it is too short to be worth one.
func (q *quotes) slot(x *Item, input bool, size int) int32 {
	if size < stripFrom {
		return -1
	}
	if len(q.fresh) == 0 {
		q.fresh = make([]slot, slotsAtOnce)
	}
	now := &q.fresh[0]
	q.fresh = q.fresh[1:]
	*now = slot{item: x, input: input, last: x.Step}
	q.slots = append(q.slots, now)
	return int32(len(q.slots) - 1)
}

// eachLine calls do with the hash of each line that tells something, without what surrounds it: blanks, the number that a tool put before it, and in a patch
// the sign that says what becomes of it.
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

// unnumbered is a line without the number before it, as tools that read files print it, and without the blanks around it.
func unnumbered(line string) string {
	line = blanks(line)
	i := 0
	for i < len(line) && line[i] >= '0' && line[i] <= '9' {
		i++
	}
	if i == 0 || i > 7 || i == len(line) {
		return line
	}
	switch rest := line[i:]; {
	case rest[0] == '\t' || rest[0] == '|' || rest[0] == ':':
		return blanks(rest[1:])
	case strings.HasPrefix(rest, "→"):
		return blanks(rest[len("→"):])
	}
	return line
}

// blanks takes the blanks around a line off.
func blanks(line string) string {
	for len(line) > 0 && line[0] <= ' ' {
		line = line[1:]
	}
	for len(line) > 0 && line[len(line)-1] <= ' ' {
		line = line[:len(line)-1]
	}
	return line
}

// texts are the texts among the arguments of a call, escapes resolved, as far as the arguments can be read.
func texts(input jsontext.Value) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		d := jsontext.NewDecoder(strings.NewReader(asString(input)), session.ReadOptions())
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

// op is what a call did first.
func (x *Item) op() call.Op {
	if did := x.Call.Actions; len(did) > 0 {
		return did[0].Op
	}
	return call.Other
}
