package format

import "crypto/sha256"

// Names numbers texts, such as the ids of a file's entries, without keeping them: a file may have
// millions, and memory without pointers costs the garbage collector nothing. The zero value is
// ready.
type Names struct{ numbers map[[16]byte]uint32 }

// digest stands for a text: half of its SHA-256 tells any two apart.
func digest(text string) [16]byte {
	sum := sha256.Sum256([]byte(text))
	return [16]byte(sum[:16])
}

// Of returns the number of a text, counting from 1 in the order in which they came; the empty text
// is 0.
func (n *Names) Of(text string) uint32 {
	if text == "" {
		return 0
	}
	key := digest(text)
	number, known := n.numbers[key]
	if !known {
		if n.numbers == nil {
			n.numbers = map[[16]byte]uint32{}
		}
		number = uint32(len(n.numbers) + 1)
		n.numbers[key] = number
	}
	return number
}

// Find returns the number of a text that Of was asked about.
func (n *Names) Find(text string) (number uint32, known bool) {
	if len(n.numbers) == 0 {
		return 0, false
	}
	number, known = n.numbers[digest(text)]
	return number, known
}

// Len is how many numbers were given.
func (n *Names) Len() int { return len(n.numbers) }
