package all_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/session"
)

// Read in stretches, a file says what it says when it is read whole.
func TestCut_stretchesSayWhatTheWholeSays(t *testing.T) {
	tried := 0
	for _, path := range files(t) {
		whole := read(t, path)
		f, err := all.Named(whole.Format)
		if err != nil {
			t.Fatal(err)
		}
		o, ok := f.(format.Outliner)
		if !ok {
			continue
		}
		tried++
		t.Run(filepath.Base(path), func(t *testing.T) {
			p, err := format.Cut(bytes.NewReader(whole.Source), int64(len(whole.Source)), o.Outline(), 20_000)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(whole.Counts, p.Counts); diff != "" {
				t.Errorf("counts (-whole +stretches):\n%s", diff)
			}
			if diff := cmp.Diff(lines(whole.Damaged), lines(p.Damaged)); diff != "" {
				t.Errorf("damage (-whole +stretches):\n%s", diff)
			}
			var messages []session.Message
			for i := range p.Len() {
				text, err := p.Read(i)
				if err != nil {
					t.Fatal(err)
				}
				doc, err := o.ReadStretch(text)
				if err != nil {
					t.Fatalf("stretch %d: %v", i, err)
				}
				messages = append(messages, doc.Session.Messages...)
			}
			if want, got := pieces(whole.Session.Messages), pieces(messages); !reflect.DeepEqual(want, got) {
				t.Errorf("%d stretches (-whole +stretches):\n%s", p.Len(), cmp.Diff(want, got))
			}
		})
	}
	if tried == 0 {
		t.Skip("no file of lines at hand")
	}
}

func lines(damage []format.Damage) []int {
	var found []int
	for _, d := range damage {
		found = append(found, d.Line)
	}
	return found
}

// pieces is every piece of text of a log, in order, with its kind.
func pieces(messages []session.Message) []string {
	var out []string
	for i := range messages {
		for j := range messages[i].Parts {
			p := &messages[i].Parts[j]
			text := string(p.Type) + ": " + p.Text + p.Tool
			if p.State != nil {
				text += " " + string(p.State.Status) + string(p.State.Input) + p.State.Result()
			}
			out = append(out, text)
		}
	}
	return out
}

// Whatever a file is, its stretches can be cut and read, and each of its lines is in one of them,
// aside, or listed as damaged.
func FuzzCut(f *testing.F) {
	for _, path := range files(f) {
		if src, err := os.ReadFile(path); err == nil {
			if plain, err := all.Plain(src); err == nil {
				f.Add(plain[:min(len(plain), 8_000)], uint16(2_000))
			}
		}
	}
	f.Fuzz(func(t *testing.T, src []byte, length uint16) {
		for _, each := range all.Formats() {
			o, ok := each.(format.Outliner)
			if !ok {
				continue
			}
			p, err := format.Cut(bytes.NewReader(src), int64(len(src)), o.Outline(), int64(length))
			if err != nil {
				t.Fatalf("%s: %v", each.Name(), err)
			}
			for i := range p.Len() {
				text, err := p.Read(i)
				if err != nil {
					t.Fatalf("%s: stretch %d: %v", each.Name(), i, err)
				}
				o.ReadStretch(text) // what cannot be read is an error, and never a panic
			}
		}
	})
}
