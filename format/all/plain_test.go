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
