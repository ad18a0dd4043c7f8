package archive

import (
	"bytes"
	"testing"
)

// Joining the parts of a file, as they may be, ends with an error or with a file that has them all.
func FuzzJoin(f *testing.F) {
	f.Add([]byte("abef"), []byte("[[2,2,0]]\ncd"))
	f.Add([]byte("abXef"), []byte("[[0,1,0],[3,2,1]]\nzcd"))
	f.Add([]byte("ab"), []byte("[[9223372036854775807,1,1]]\n"))
	f.Fuzz(func(t *testing.T, data, parts []byte) {
		whole, err := join(data, parts)
		if err != nil {
			return
		}
		_, taken, _ := bytes.Cut(parts, []byte{'\n'})
		if len(whole) > len(data)+len(taken) {
			t.Errorf("%d bytes were made of %d and %d", len(whole), len(data), len(taken))
		}
	})
}

func TestJoin(t *testing.T) {
	if whole, err := join([]byte("abXef"), []byte("[[0,1,0],[3,2,1]]\nzcd")); err != nil || string(whole) != "zabcdef" {
		t.Errorf("got %q, %v", whole, err)
	}
}
