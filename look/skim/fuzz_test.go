package skim_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/look/skim"
)

// A file of lines that is inspected in stretches has as many messages as one that is read whole, whatever is in it and wherever it is cut.
func FuzzInspect(f *testing.F) {
	for _, path := range files(f) {
		if src, err := os.ReadFile(path); err == nil {
			if plain, err := all.Plain(src); err == nil && len(plain) < 200_000 {
				f.Add(plain[:min(len(plain), 8_000)], uint16(2_000))
			}
		}
	}
	f.Fuzz(func(t *testing.T, src []byte, length uint16) {
		if len(src) > 1<<15 {
			return
		}
		o, ok := all.Detect(src).(format.Outliner)
		if !ok {
			return
		}
		p, err := format.Cut(bytes.NewReader(src), int64(len(src)), o.Outline(), int64(length)+500)
		if err != nil {
			t.Fatal(err)
		}
		settings := fixed()
		r, err := skim.Inspect(t.Context(), skim.File{Pieces: p, Format: o}, winnow.Config{Settings: &settings})
		if err != nil {
			return
		}
		if doc, err := o.Read(src); err == nil && len(doc.Damaged) == 0 && len(p.Damaged) == 0 && r.Messages != len(doc.Session.Messages) {
			t.Errorf("%d messages in %d stretches, %d in the whole", r.Messages, p.Len(), len(doc.Session.Messages))
		}
		if r.Window.Tokens < 0 || r.Cost != nil && *r.Cost < 0 || len(r.Strata) > r.Messages+2*p.Len() {
			t.Errorf("%d stretches: %+v", p.Len(), r.Window)
		}
		if _, err := skim.Inspect(t.Context(), skim.File{Pieces: p, Format: o}, winnow.Config{Settings: &settings}); err != nil {
			t.Errorf("a second time: %v", err)
		}
	})
}
