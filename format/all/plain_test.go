package all

import (
	"bytes"
	"compress/gzip"
	"errors"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/format"
)

// A small file can say that it is a large one: it is not unpacked beyond what can be held.
func TestPlain_hasABound(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	text := strings.Repeat("x", 1000)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := plain(packed.Bytes(), 1000); err != nil || string(got) != text {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	got, err := plain(packed.Bytes(), 999)
	if _, ok := errors.AsType[*format.SyntaxError](err); !ok || got != nil || !strings.Contains(err.Error(), "gunzip") {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	cut, err := plain(packed.Bytes()[:packed.Len()-4], 1000)
	if err != nil || string(cut) != text {
		t.Errorf("of a cut stream %d bytes, %v", len(cut), err)
	}
}

// A bomb is told from a session by how much is made of how little, long before a gigabyte of memory
// is taken.
func TestPlain_hasABoundByItsOwnSize(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	zeros := make([]byte, 1<<20)
	for range 40 {
		if _, err := w.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := Plain(packed.Bytes())
	if _, ok := errors.AsType[*format.SyntaxError](err); !ok || got != nil || !strings.Contains(err.Error(), "200 times its size") || !strings.Contains(err.Error(), "gunzip") {
		t.Errorf("%d bytes of %d, %v", len(got), packed.Len(), err)
	}
	// A small one may be as repetitive as it likes.
	packed.Reset()
	w.Reset(&packed)
	if _, err := w.Write(zeros); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := Plain(packed.Bytes()); err != nil || len(got) != len(zeros) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
