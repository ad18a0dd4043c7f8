package format

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/text/span"
)

// Outliner is a format whose files are lines, and can be read a stretch at a time: what a stretch
// says does not depend on the rest.
type Outliner interface {
	Format
	// Outline begins to read the lines of a file.
	Outline() Outline
	// ReadStretch reads a stretch of a file: everything in it is on the active branch.
	ReadStretch(src []byte) (*Document, error)
}

// Outline learns which lines of a file are the session. It keeps some dozens of bytes for each,
// however long the line is.
type Outline interface {
	// Line is shown each line, oldest first, without the newline; it must not keep it. An error
	// says why the line cannot be read.
	Line(text []byte) error
	// End is called once, after the last line. It says what each line is, and what is in the file.
	End() ([]Use, Counts)
}

// Biller is an Outline that knows every request in the file, once each, even if its entries are in
// several stretches. It is called after End. Requests are made one by one, for there may be a
// million; they can be iterated again.
type Biller interface{ Requests() iter.Seq[bill.Request] }

// Sorter is an Outline of a session whose lines may come in another order than in the file. It is
// called after End.
type Sorter interface {
	// Order says which of the lines that were shown comes at which place. It is nil if the file has
	// them in order.
	Order() []int32
}

// Use says what a line is in a session.
type Use uint8

const (
	Aside  Use = iota // not on the active branch, or not part of the conversation
	Inside            // a part of it
	Begins            // a part of it with which a stretch may begin: no call before it waits for its result
	Always            // not a message, and every stretch needs it: it says which session this is
	Lasts             // not a message, and a stretch needs the newest one before it
)

// Pieces is a file in stretches. Each of them, put together, is a file of the same format by
// itself.
type Pieces struct {
	Counts  Counts
	Damaged []Damage
	// Requests in the file; nil, and Billed is false, if its outline does not know any.
	Requests iter.Seq[bill.Request]
	Billed   bool
	src      io.ReaderAt
	always   []stretch
	pieces   []piece
	unread   int    // lines
	reason   string // of the last one that is told by itself
}

// stretch is a range of bytes, whole lines.
type stretch struct{ from, to int64 }

type piece struct {
	lasts  []stretch // what it needs of before
	lines  []stretch
	length int64
	count  int // lines
}

// perStretch is how many lines, as a power of two, make a stretch even if they are short: what is
// made of a line takes memory too.
const perStretch = 14

// mostLines is how many lines a stretch has at most, even if no line begins anything or what
// belongs together is too far apart.
const mostLines = 1<<perStretch + farthest

// Cut finds the stretches of a file, of about length bytes each, or fewer if the lines are short. A
// turn longer than that is cut between steps; a line stays whole. The newest stretch has at least
// half of it if the file does.
func Cut(src io.ReaderAt, size int64, o Outline, length int64) (*Pieces, error) {
	p := &Pieces{src: src}
	lines, err := p.scan(src, size, o)
	if err != nil {
		return nil, err
	}
	uses, counts := o.End()
	p.Counts = counts
	if b, ok := o.(Biller); ok {
		requests := b.Requests()
		for range requests {
			p.Requests, p.Billed = requests, true
			break
		}
	}
	var order []int32
	if s, ok := o.(Sorter); ok {
		order = s.Order()
	}
	p.cut(lines.shown(order), uses, length)
	return p, nil
}

// cut puts lines into stretches.
func (p *Pieces) cut(lines iter.Seq2[int, stretch], uses []Use, length int64) {
	last := map[Use]stretch{}
	var open piece
	for i, l := range lines {
		use := uses[i]
		switch use {
		case Always:
			p.always = join(p.always, l)
			continue
		case Aside:
			continue
		case Lasts:
			last[Lasts] = l
		}
		if use == Begins && open.length >= length || open.count >= mostLines {
			p.pieces = append(p.pieces, open)
			open = piece{}
		}
		if len(open.lines) == 0 {
			if before, ok := last[Lasts]; ok && use != Lasts {
				open.lasts = append(open.lasts, before)
			}
		}
		open.lines = join(open.lines, l)
		open.length += l.to - l.from + length>>perStretch
		open.count++
	}
	if n := len(p.pieces); n > 0 && open.length < length/2 {
		newest := &p.pieces[n-1]
		for _, s := range open.lines {
			newest.lines = join(newest.lines, s)
		}
		newest.length += open.length
	} else if len(open.lines) > 0 {
		p.pieces = append(p.pieces, open)
	}
}

// join appends a stretch, as one with the last if it follows directly.
func join(all []stretch, s stretch) []stretch {
	if n := len(all); n > 0 && all[n-1].to == s.from {
		all[n-1].to = s.to
		return all
	}
	return append(all, s)
}

// outlined are the lines of a file in a few bytes each: their lengths, and which of them the
// outline was shown.
type outlined struct {
	lengths []uint32      // the highest bit for those that were shown
	long    map[int]int64 // lengths that do not fit
}

const shownBit = 1 << 31

func (o *outlined) add(length int64, shown bool) {
	short := uint32(length)
	if length >= shownBit {
		if o.long == nil {
			o.long = map[int]int64{}
		}
		o.long[len(o.lengths)], short = length, 0
	}
	if shown {
		short |= shownBit
	}
	o.lengths = append(o.lengths, short)
}

// all yields where each line is, and whether it was shown.
func (o *outlined) all() iter.Seq2[stretch, bool] {
	return func(yield func(stretch, bool) bool) {
		at := int64(0)
		for i, short := range o.lengths {
			length, long := o.long[i]
			if !long {
				length = int64(short &^ shownBit)
			}
			if !yield(stretch{at, at + length}, short >= shownBit) {
				return
			}
			at += length
		}
	}
}

// shown yields the lines that the outline was shown, each with its number among them: in this
// order, or in that of the file.
func (o *outlined) shown(order []int32) iter.Seq2[int, stretch] {
	return func(yield func(int, stretch) bool) {
		lines := make([]stretch, 0, len(order))
		n := 0
		for l, shown := range o.all() {
			switch {
			case !shown:
			case order != nil:
				lines = append(lines, l)
			case !yield(n, l):
				return
			default:
				n++
			}
		}
		for _, at := range order {
			if !yield(int(at), lines[at]) {
				return
			}
		}
	}
}

// scan shows the outline each line.
func (p *Pieces) scan(src io.ReaderAt, size int64, o Outline) (*outlined, error) {
	lines := &outlined{}
	from := io.NewSectionReader(src, 0, size)
	r := bufio.NewReaderSize(from, 1<<20)
	at := int64(0)
	for number := 1; ; number++ {
		text, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			text, err = readLong(from, at, int64(len(text)), r)
		}
		if err != nil && err != io.EOF {
			return nil, err
		}
		if len(text) > 0 {
			shown := false
			if content := span.Trim(text); len(content) > 0 {
				if err := o.Line(content); err != nil {
					p.damage(Damage{Line: number, Offset: at, Bytes: len(text), Reason: err.Error()})
				} else {
					shown = true
				}
			}
			lines.add(int64(len(text)), shown)
			at += int64(len(text))
		}
		if err == io.EOF {
			return lines, nil
		}
	}
}

// mostDamaged is how many lines that cannot be read are listed one by one. A file with more is of
// another kind.
const mostDamaged = 10_000

// damage lists a line that cannot be read. Beyond mostDamaged the last one counts the rest.
func (p *Pieces) damage(d Damage) {
	if p.unread++; p.unread <= mostDamaged {
		p.Damaged = append(p.Damaged, d)
		return
	}
	last := &p.Damaged[mostDamaged-1]
	if p.unread == mostDamaged+1 {
		p.reason = last.Reason
	}
	last.Bytes += d.Bytes
	last.Reason = fmt.Sprintf("%s; so are %d lines behind it", p.reason, p.unread-mostDamaged)
}

// readLong reads a line that is longer than the buffer of r, which has read length bytes of it:
// first to its end, then all of it into as much memory as it takes.
func readLong(src io.ReaderAt, at, length int64, r *bufio.Reader) ([]byte, error) {
	ended := error(bufio.ErrBufferFull)
	for errors.Is(ended, bufio.ErrBufferFull) {
		var text []byte
		text, ended = r.ReadSlice('\n')
		length += int64(len(text))
	}
	if ended != nil && ended != io.EOF {
		return nil, ended
	}
	text := make([]byte, length)
	if n, err := src.ReadAt(text, at); n < len(text) {
		return nil, err
	}
	return text, ended
}

// Len is how many stretches there are.
func (p *Pieces) Len() int { return len(p.pieces) }

// Read returns a stretch as a file, 0 being the oldest.
func (p *Pieces) Read(i int) ([]byte, error) {
	one := p.pieces[i]
	all := slices.Concat(p.always, one.lasts, one.lines)
	size := int64(0)
	for _, s := range all {
		size += s.to - s.from + 1
	}
	text := make([]byte, 0, size)
	for _, s := range all {
		at := len(text)
		text = text[:at+int(s.to-s.from)]
		if n, err := p.src.ReadAt(text[at:], s.from); err != nil && !(err == io.EOF && n == len(text)-at) {
			return nil, err
		}
		if n := len(text); n > 0 && text[n-1] != '\n' {
			text = append(text, '\n')
		}
	}
	return text, nil
}
