package coverage

import (
	"fmt"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/session"
)

// BenchmarkOf is what a session of 32 MiB of reads costs: numbered and bare, 64 KiB each.
func BenchmarkOf(b *testing.B) {
	for _, kind := range []struct {
		name, tool, input string
		numbered          bool
	}{
		{"numbered", "Read", `{"file_path":"/repo/big.go","limit":2000}`, true},
		{"bare", "read", `{"path":"/repo/big.go"}`, false},
		{"shell", "exec_command", `{"cmd":"cat /repo/big.go"}`, false},
	} {
		b.Run(kind.name, func(b *testing.B) {
			var text strings.Builder
			for n := 1; text.Len() < 64<<10; n++ {
				if kind.numbered {
					fmt.Fprintf(&text, "%6d\t", n)
				}
				fmt.Fprintf(&text, "\tcount[%d] = lantern.Wick(%d) // trim\n", n, n*7)
			}
			p := finished(kind.tool, kind.input, text.String())
			b.SetBytes(int64(len(p.State.Output)))
			b.ReportAllocs()
			for b.Loop() {
				if s := Of(p, "/repo"); len(s.Views) != 1 {
					b.Fatalf("%d views, want 1", len(s.Views))
				}
			}
		})
	}
}

func BenchmarkCovered(b *testing.B) {
	lines := make([]uint64, 2000)
	for i := range lines {
		lines[i] = uint64(i)
	}
	old := View{Path: "/a", Start: 1, Lines: lines}
	var newer []View
	for at := 0; at < len(lines); at += 100 {
		newer = append(newer, View{Path: "/a", Start: at + 1, Lines: lines[at : at+100]})
	}
	b.ReportAllocs()
	for b.Loop() {
		if !Covered(old, newer...) {
			b.Fatal("not covered, want covered by its twenty pieces")
		}
	}
}

func finished(tool, input, output string) *session.Part {
	return &session.Part{Type: session.ToolPart, Tool: tool, State: &session.ToolState{Status: session.Completed, Input: []byte(input), Output: output}}
}
