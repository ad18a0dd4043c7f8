package format

import (
	"bufio"
	"errors"
	"io"
	"slices"
)

// Outliner is a format whose files are lines, and can be read a stretch at a time: what a stretch says does not hang on the rest.
type Outliner interface {
	Format
	// Outline begins to read the lines of a file.
	Outline() Outline
	// ReadStretch reads a stretch of a file: whatever is in it is of the active branch.
	ReadStretch(src []byte) (*Document, error)
}

// Outline learns which lines of a file are the session. It keeps some dozens of bytes for each, whatever the line weighs.
type Outline interface {
	// Line is shown each line, oldest first, without the newline; it must not keep it. An error says why the line cannot be read.
	Line(text []byte) error
	// End is asked once, behind the last line: what each line that was shown is, and what is in the file.
	End() ([]Use, Counts)
}

// Use says what a line is in a session.
type Use uint8

const (
	Aside  Use = iota // no part of the session's active branch, or no part of the conversation
	Inside            // a part of it
	Begins            // a part of it with which a stretch may begin: no call before it waits for its result
	Always            // no message, and every stretch needs it: who the session is
	Lasts             // no message, and a stretch needs the newest one before it
)

// Pieces is a file in stretches. Each of them, put together, is a file of the same format by itself.
type Pieces struct {
	Counts  Counts
	Damaged []Damage
	src     io.ReaderAt
	always  []stretch
	pieces  []piece
}

// stretch is a range of bytes, whole lines.
type stretch struct{ from, to int64 }

type piece struct {
	lasts  []stretch // what it needs of before
	lines  []stretch
	length int64
}

// Cut finds the stretches of a file, of about so many bytes each; a turn longer than that is cut between steps, and a line
// stays whole. The newest stretch has at least half of it where the file does.
func Cut(src io.ReaderAt, size int64, o Outline, length int64) (*Pieces, error) {
	p := &Pieces{src: src}
	lines, err := p.scan(io.NewSectionReader(src, 0, size), o)
	if err != nil {
		return nil, err
	}
	uses, counts := o.End()
	p.Counts = counts
	shown, last := 0, map[Use]stretch{}
	var open piece
	for _, l := range lines {
		if !l.shown {
			continue
		}
		use := uses[shown]
		shown++
		switch use {
		case Always:
			p.always = join(p.always, l.stretch)
			continue
		case Aside:
			continue
		case Lasts:
			last[Lasts] = l.stretch
		}
		if use == Begins && open.length >= length {
			p.pieces = append(p.pieces, open)
			open = piece{}
		}
		if len(open.lines) == 0 {
			if before, ok := last[Lasts]; ok && use != Lasts {
				open.lasts = append(open.lasts, before)
			}
		}
		open.lines = join(open.lines, l.stretch)
		open.length += l.to - l.from
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
	return p, nil
}

// join appends a stretch, as one with the last where it follows it.
func join(all []stretch, s stretch) []stretch {
	if n := len(all); n > 0 && all[n-1].to == s.from {
		all[n-1].to = s.to
		return all
	}
	return append(all, s)
}

type outlined struct {
	stretch
	shown bool
}

// scan shows the outline each line.
func (p *Pieces) scan(src io.Reader, o Outline) ([]outlined, error) {
	var lines []outlined
	r := bufio.NewReaderSize(src, 1<<20)
	var long []byte
	at := int64(0)
	for number := 1; ; number++ {
		text, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long = long[:0]
			for errors.Is(err, bufio.ErrBufferFull) {
				long = append(long, text...)
				text, err = r.ReadSlice('\n')
			}
			long = append(long, text...)
			text = long
		}
		if err != nil && err != io.EOF {
			return nil, err
		}
		if len(text) > 0 {
			l := outlined{stretch: stretch{at, at + int64(len(text))}}
			if content := trimLine(text); len(content) > 0 {
				if err := o.Line(content); err != nil {
					p.Damaged = append(p.Damaged, Damage{Line: number, Offset: at, Bytes: len(text), Reason: err.Error()})
				} else {
					l.shown = true
				}
			}
			lines = append(lines, l)
			at += int64(len(text))
		}
		if err == io.EOF {
			return lines, nil
		}
	}
}

// trimLine takes off what stands around the JSON of a line: white space, and NUL bytes that a crash left in front.
func trimLine(text []byte) []byte {
	for len(text) > 0 && (text[0] <= ' ') {
		text = text[1:]
	}
	for len(text) > 0 && text[len(text)-1] <= ' ' {
		text = text[:len(text)-1]
	}
	return text
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
