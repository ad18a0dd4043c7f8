package token

import (
	"math"
	"unicode/utf8"
)

// Linear estimates tokens from the [Features] of a text: a sum of counts, each with a weight that
// was fitted to the o200k_base vocabulary. It knows no vocabulary and allocates nothing.
//
// On 97 kinds of text, source in ten languages, tool output, prose in thirty languages, chunks of 2
// to 4 KB that it had not learned from are 4.2 % off in the mean, and neither too large nor too
// small together; outputs of the tools of real agent sessions, of which it had learned nothing, 3.2
// %. Plain English comes out up to a tenth too large. Long runs of one sign, text in capitals and
// Vietnamese are the worst: up to twice, a third and a sixth too large.
type Linear struct{}

// Name returns "linear".
func (Linear) Name() string { return "linear" }

// Count returns the estimate: 0 for the empty text, at least 1 for any other.
func (Linear) Count(text string) int {
	if text == "" {
		return 0
	}
	// What Scan counts, already multiplied and added.
	var sum int64
	if at := parting(text); at > 0 {
		a, b := walk{text: text[:at]}, walk{text: text, i: at, state: stateWord, last: text[at-1]}
		a.beside(&b)
		a.rest()
		b.rest()
		sum = a.sum + b.sum + int64(costs[colEnd<<8|int(b.state)])
	} else {
		w := walk{text: text, last: noByte}
		w.rest()
		sum = w.sum + int64(costs[colEnd<<8|int(w.state)])
	}
	return max(1, int((sum+unit/2)/unit))
}

// apart is from how many bytes on a text is counted in two halves.
const apart = 80

// parting is a place near the middle of a text at which it can be taken apart, 0 where there is
// none: a space or a line end behind an ASCII letter or a digit, where the machine goes to a state,
// and counts what it counts, whatever was before.
func parting(text string) int {
	if len(text) < apart {
		return 0
	}
	for at := len(text) / 2; at < len(text)/2+min(64, len(text)/4); at++ {
		if b := text[at]; b == ' ' || b == '\n' {
			switch asciis[text[at-1]] % sameColumn {
			case colLower, colUpper, colDigit:
				return at
			}
		}
	}
	return 0
}

// walk is how far a text was counted.
type walk struct {
	text  string
	i     int
	state uint8
	last  byte  // the byte before, noByte where it was of a rune that is not ASCII
	twice uint8 // its highest bit is set when last repeats the one before it
	sum   int64
}

const noByte = 0x80

// Eight bytes as a number: the highest bit of each, and all others of each.
const (
	highest = 0x8080808080808080
	others  = 0x7F7F7F7F7F7F7F7F
)

// thrice looks at the next eight bytes. marks has the highest bit of each that repeats the two
// before it, repeats that of each that repeats the one before it.
func (w *walk) thrice(eight uint64) (marks, repeats uint64) {
	differ := eight ^ (eight<<8 | uint64(w.last))
	repeats = ^(differ&others + others | differ) & highest
	return repeats & (repeats<<8 | uint64(w.twice)), repeats
}

// digits marks those of eight bytes of ASCII that are digits: to repeat two others makes them
// nothing else.
func digits(eight uint64) uint64 {
	const each = highest >> 7
	return (eight + each*(0x80-'0')) &^ (eight + each*(0x7F-'9')) & highest
}

// beside counts two texts at once, as far as both have eight bytes more. Each byte waits for the
// state that the one before it has led to, and meanwhile one of the other text can be counted.
func (w *walk) beside(v *walk) {
	var sum uint64
	a, b := uint32(w.state), uint32(v.state)
	for w.i+8 <= len(w.text) && v.i+8 <= len(v.text) {
		one, two := eightAt(w.text, w.i), eightAt(v.text, v.i)
		thrice, repeatsOne := w.thrice(one)
		again, repeatsTwo := v.thrice(two)
		if (one|two)&highest != 0 {
			w.state, v.state = uint8(a), uint8(b)
			w.some(w.i + 8)
			v.some(v.i + 8)
			a, b = uint32(w.state), uint32(v.state)
			continue
		}
		if thrice|again != 0 && thrice&^digits(one)|again&^digits(two) != 0 {
			// As below, but that those which repeat two others are in columns of their own, and
			// make no pair.
			first, second := uint32(w.last), uint32(v.last)
			w.last, v.last = byte(one>>56), byte(two>>56)
			w.twice, v.twice = uint8(repeatsOne>>56), uint8(repeatsTwo>>56)
			for range 8 {
				x, y := uint32(uint8(one)), uint32(uint8(two))
				same, alike := uint32(thrice)>>7&1, uint32(again)>>7&1
				c, d := a+uint32(offsets[x])+same*sameOffset, b+uint32(offsets[y])+alike*sameOffset
				sum += uint64(costs[c%machineSize]) + uint64(costs[d%machineSize]) +
					uint64(pairCosts[(x<<8|first)&(same-1)%pairSize]) +
					uint64(pairCosts[(y<<8|second)&(alike-1)%pairSize])
				a, b = uint32(nexts[c%machineSize]), uint32(nexts[d%machineSize])
				first, second = x, y
				one, two, thrice, again = one>>8, two>>8, thrice>>8, again>>8
			}
			w.i, v.i = w.i+8, v.i+8
			continue
		}
		sum += uint64(pairCosts[(uint32(one)<<8|uint32(w.last))%pairSize]) +
			uint64(pairCosts[(uint32(two)<<8|uint32(v.last))%pairSize])
		w.last, v.last = byte(one>>56), byte(two>>56)
		w.twice, v.twice = uint8(repeatsOne>>56), uint8(repeatsTwo>>56)
		for range 3 { // two bytes at once, and the pair of the second of them with the next
			x, y := twos[one%pairSize], twos[two%pairSize]
			c, d := doubles[(x+a)%doublesSize], doubles[(y+b)%doublesSize]
			sum += uint64(x>>costShift) + uint64(y>>costShift) + uint64(c>>stateBits) + uint64(d>>stateBits) +
				uint64(pairCosts[one>>8%pairSize]) + uint64(pairCosts[two>>8%pairSize])
			a, b = uint32(uint8(c)), uint32(uint8(d))
			one, two = one>>16, two>>16
		}
		x, y := twos[one%pairSize], twos[two%pairSize]
		c, d := doubles[(x+a)%doublesSize], doubles[(y+b)%doublesSize]
		sum += uint64(x>>costShift) + uint64(y>>costShift) + uint64(c>>stateBits) + uint64(d>>stateBits)
		a, b = uint32(uint8(c)), uint32(uint8(d))
		w.i, v.i = w.i+8, v.i+8
	}
	w.state, v.state = uint8(a), uint8(b)
	w.sum += int64(sum)
}

// rest counts what is left of a text.
func (w *walk) rest() { w.some(len(w.text)) }

// some counts a text up to a place, or a little further if a rune crosses it.
func (w *walk) some(to int) {
	sum, state, last, twice := int64(0), uint32(w.state), uint32(w.last), uint32(w.twice)>>7
	i := w.i
	for i < to {
		b := w.text[i]
		if b >= utf8.RuneSelf {
			r := runeAt(w.text, i)
			at := uint32(r.column)<<8 + state
			sum += runeCosts[r.feature] + int64(costs[at%machineSize])
			state = uint32(nexts[at%machineSize])
			last, twice = noByte, 0
			i += r.size
			continue
		}
		again := (uint32(b) ^ last - 1) >> 31 // 1 when b is last
		same := again & twice
		if i+1 < to {
			if c := w.text[i+1]; c < utf8.RuneSelf && same == 0 && (b != c || again == 0) { // two bytes at once
				x := twos[(uint32(c)<<8|uint32(b))%pairSize]
				d := doubles[(x+state)%doublesSize]
				sum += int64(pairCosts[(uint32(b)<<8|last)%pairSize]) + int64(x>>costShift) + int64(d>>stateBits)
				state, last, twice = uint32(uint8(d)), uint32(c), (uint32(b)^uint32(c)-1)>>31
				i += 2
				continue
			}
		}
		sum += int64(pairCosts[(uint32(b)<<8|last)&(same-1)%pairSize])
		at := uint32(offsets[b]) + same*sameOffset + state
		sum += int64(costs[at%machineSize])
		state = uint32(nexts[at%machineSize])
		last, twice = uint32(b), again
		i++
	}
	w.i, w.state, w.last, w.twice, w.sum = i, uint8(state), byte(last), uint8(twice<<7), w.sum+sum
}

// unit is one token, in the costs.
const unit = 1 << 12

func fixed(tokens float64) int64 { return int64(math.Round(tokens * unit)) }

// machineSize is a power of two, so that an index needs no check; so is pairSize.
const (
	machineSize = 32 << 8
	pairSize    = 1 << 15
	sameOffset  = sameColumn << 8
)

// nexts and costs are the machine with its weights, at column<<8|state; offsets has what a byte of
// ASCII adds to a state. They are constant after the program was loaded.
var nexts, costs, offsets = func() (next [machineSize]uint8, cost [machineSize]uint16, offset [256]uint16) {
	for i, m := range moves {
		tokens := 0.0
		for _, feature := range m.counts {
			tokens += weights[feature]
		}
		at := i%columns<<8 | i/columns
		next[at], cost[at] = uint8(m.next), uint16(min(fixed(tokens), math.MaxUint16))
	}
	for b, ascii := range asciis {
		offset[b] = ascii % sameColumn << 8
	}
	return next, cost, offset
}()

// pairCosts is what the pairs of letters weigh, at second<<8|first.
var pairCosts = func() (t [pairSize]uint16) {
	for first := range utf8.RuneSelf {
		for second := range utf8.RuneSelf {
			at := asciis[first]>>charShift<<6 | asciis[second]>>charShift
			t[second<<8|first] = uint16(fixed(float64(pairs[at]) / 255))
		}
	}
	return t
}()

// What two bytes of ASCII do at once. doubles is the machine for two columns, of which neither
// repeats two others: at pair of columns<<stateBits|state it has the state that they lead to, and
// above that what they cost. twos is a pair of columns, shifted so, at second<<8|first, and from
// costShift on what the pair of letters weighs.
const (
	stateBits   = 8
	costShift   = 16
	doublesSize = 1 << 15
)

// singles is how many columns a byte of ASCII may be.
const singles = colControl + 1

var doubles = func() (t [doublesSize]uint32) {
	for first := range singles {
		for second := range singles {
			for state := range stateCount {
				one := first<<8 | state
				two := second<<8 | int(nexts[one])
				both := uint32(costs[one]) + uint32(costs[two])
				t[(first*singles+second)<<stateBits|state] = both<<stateBits | uint32(nexts[two])
			}
		}
	}
	return t
}()

var twos = func() (t [pairSize]uint32) {
	for first := range utf8.RuneSelf {
		for second := range utf8.RuneSelf {
			columns := uint32(asciis[first]%sameColumn)*singles + uint32(asciis[second]%sameColumn)
			t[second<<8|first] = uint32(pairCosts[second<<8|first])<<costShift | columns<<stateBits
		}
	}
	return t
}()

// runeCosts is what the features of runes that are not ASCII weigh.
var runeCosts = func() (t [featCount]int64) {
	for i, w := range weights {
		t[i] = fixed(w)
	}
	return t
}()

// eightAt are eight bytes of a text as a number, the first of them its lowest; the compiler makes
// one load of it.
func eightAt(text string, i int) uint64 {
	b := text[i : i+8]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}
