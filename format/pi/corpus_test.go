package pi

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/outside"

	"github.com/winnowhq/winnow/format"
)

func TestRead_recordedSessions(t *testing.T) {
	// Entries of the type message, and results of calls and of the user's own commands.
	want := map[string][2]int{"00d8dfb2": {914, 373}, "8eb5929b": {990, 451}, "cc1fbd63": {454, 190}, "ef706663": {1011, 430}}
	for _, path := range corpus(t, "pi") {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			src := outside.Read(t, path)
			if !(Format{}).Detect(src[:min(len(src), 64<<10)]) {
				t.Error("not detected")
			}
			doc := read(t, src)
			if len(doc.Damaged) > 0 {
				t.Errorf("damage: %v", doc.Damaged)
			}
			if known, ok := want[strings.SplitN(name, "-", 2)[0]]; ok && known != [2]int{doc.Counts.Messages, doc.Counts.ToolResults} {
				t.Errorf("messages, tool results: got %d, %d, want %v", doc.Counts.Messages, doc.Counts.ToolResults, known)
			}
			var out bytes.Buffer
			if err := (Format{}).Write(&out, doc, format.Change{Session: doc.Session, Ledger: doc.Ledger}); err != nil || !bytes.Equal(out.Bytes(), src) {
				t.Errorf("unchanged, the file was not written byte for byte: %v", err)
			}
			foldAndBack(t, doc)
		})
	}
}

func BenchmarkRead(b *testing.B) {
	src := generated(9 << 20)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Format{}).Read(src); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	src := generated(9 << 20)
	doc := read(b, src)
	change := folded(doc)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		var out bytes.Buffer
		if err := (Format{}).Write(&out, doc, change); err != nil {
			b.Fatal(err)
		}
	}
}
