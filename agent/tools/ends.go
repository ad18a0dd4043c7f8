package tools

import (
	"fmt"

	"github.com/winnowhq/winnow/text/quantity"
)

// mostOutput is how many bytes of one command's output are kept: one that never stops printing must
// not fill the memory.
const mostOutput = 8 << 20

// ends keeps the first and the last bytes of a stream, half of most each.
type ends struct {
	most       int
	head, tail []byte
	at         int // where the oldest byte of a full tail is
	left       int // bytes between the two that are gone
}

func (e *ends) add(piece []byte) {
	half := e.most / 2
	if room := half - len(e.head); room > 0 {
		n := min(room, len(piece))
		e.head = append(e.head, piece[:n]...)
		piece = piece[n:]
	}
	if over := len(piece) - half; over > 0 {
		e.left += over
		piece = piece[over:]
	}
	if n := min(half-len(e.tail), len(piece)); n > 0 {
		e.tail = append(e.tail, piece[:n]...)
		piece = piece[n:]
	}
	for len(piece) > 0 {
		n := copy(e.tail[e.at:], piece)
		e.left += n
		e.at = (e.at + n) % len(e.tail)
		piece = piece[n:]
	}
}

// String is both ends, with a note between them where something is gone.
func (e *ends) String() string {
	text := string(e.head)
	if e.left > 0 {
		text += fmt.Sprintf("\n[%s bytes omitted here: only %s of an output are kept]\n", quantity.Number(e.left),
			quantity.Number(e.most))
	}
	return text + string(e.tail[e.at:]) + string(e.tail[:e.at])
}
