package rule

import (
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

// quotes is which texts of a window were quoted when. The rules share it.
type quotes struct {
	lines map[uint64]int32 // the newest slot that has the line
	slots []*slot
}

// slot is a text that can be quoted: an output, or the arguments of a call.
type slot struct {
	item  *Item
	input bool
	last  int // step in which it was made or quoted
}

// quotesKey is under which the rules remember the quotes together.
type quotesKey struct{}

func newQuotes() *quotes { return &quotes{lines: map[uint64]int32{}} }

// quotable is how many bytes a line must have to be told again: less stands anywhere.
const quotable = 16

func (q *quotes) read(x *Item) {
	if x.Call == nil {
		return
	}
	input := asString(x.Part.State.Input)
	if len(input) >= quotable {
		for text := range texts(x.Part.State.Input) {
			eachLine(text, func(h uint64) {
				if at, ok := q.lines[h]; ok {
					q.slots[at].last = x.Step
				}
			})
		}
	}
	if len(input) >= stripFrom {
		at := q.add(x, true)
		for text := range texts(x.Part.State.Input) {
			eachLine(text, func(h uint64) { q.lines[h] = at })
		}
	}
	if output := x.Part.State.Result(); len(output) >= stripFrom {
		at := q.add(x, false)
		eachLine(output, func(h uint64) { q.lines[h] = at })
	}
}

func (q *quotes) add(x *Item, input bool) int32 {
	q.slots = append(q.slots, &slot{item: x, input: input, last: x.Step})
	return int32(len(q.slots) - 1)
}

// eachLine calls do with the hash of each line that tells something, without what surrounds it: blanks, and the number that a tool put before it.
func eachLine(text string, do func(uint64)) {
	for len(text) > 0 {
		line := text
		if at := strings.IndexByte(text, '\n'); at >= 0 {
			line, text = text[:at], text[at+1:]
		} else {
			text = ""
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

func blanks(line string) string {
	for len(line) > 0 && line[0] <= ' ' {
		line = line[1:]
	}
	for len(line) > 0 && line[len(line)-1] <= ' ' {
		line = line[:len(line)-1]
	}
	return line
}

// texts are the texts among the arguments of a call, escapes resolved.
func texts(input jsontext.Value) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		d := jsontext.NewDecoder(strings.NewReader(asString(input)), session.ReadOptions())
		for {
			t, err := d.ReadToken()
			if err != nil || t.Kind() == '"' && !yield(t.String()) {
				return
			}
		}
	}
}
