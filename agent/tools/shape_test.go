package tools

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/call"
	"github.com/winnowhq/winnow/coverage"
	"github.com/winnowhq/winnow/session"
)

func numbers(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "%d\n", i)
	}
	return b.String()
}

func TestShape_toTheByte(t *testing.T) {
	keep := func(callID, _ string) string { return "output of " + callID }
	small := Limits{Lines: 10, Bytes: 60, ShownLines: 4, ShownBytes: 20}
	const again = "ask for less: a range of lines (offset and limit, or sed -n), or a search for what matters"
	for _, c := range []struct {
		name, output string
		limits       Limits
		keep         Keep
		want         string
	}{
		{"empty", "", small, keep, ""},
		{"as many lines as may be", numbers(1, 10), small, keep, numbers(1, 10)},
		{"one line more", numbers(1, 11), small, keep,
			"1\n2\n[7 lines, 14 bytes omitted here, of 11 lines and 24 bytes in all; the whole output is kept and can be recalled as output of call_1]\n10\n11\n"},
		{"nobody keeps it", numbers(1, 11), small, nil, "1\n2\n[7 lines, 14 bytes omitted here, of 11 lines and 24 bytes in all; " + again + "]\n10\n11\n"},
		{"it cannot be kept", numbers(1, 11), small, func(string, string) string { return "" }, "1\n2\n[7 lines, 14 bytes omitted here, of 11 lines and 24 bytes in all; " + again + "]\n10\n11\n"},
		{"as many bytes as may be", strings.Repeat("x", 60), small, keep, strings.Repeat("x", 60)},
		{"one byte more, in one line", strings.Repeat("x", 61), small, nil,
			"xxxxxxxxxx\n[41 bytes omitted here, of 1 line and 61 bytes in all; " + again + "]\nxxxxxxxxxx"},
		{"characters stay whole", strings.Repeat("日", 30), small, nil,
			"日日日\n[72 bytes omitted here, of 1 line and 90 bytes in all; " + again + "]\n日日日"},
		{"whole lines where they fit", "aaaa\nbbbb\ncccc\n" + strings.Repeat("x", 50) + "\ndddd\neeee\n", small, nil,
			"aaaa\nbbbb\n[2 lines, 56 bytes omitted here, of 6 lines and 76 bytes in all; " + again + "]\ndddd\neeee\n"},
		{"no newline at the end", strings.TrimSuffix(numbers(1, 11), "\n"), small, nil, "1\n2\n[7 lines, 14 bytes omitted here, of 11 lines and 23 bytes in all; " + again + "]\n10\n11"},
		{"2,000 lines", numbers(1, 2000), Limits{}, nil, numbers(1, 2000)},
		{"2,001 lines", numbers(1, 2001), Limits{}, nil,
			numbers(1, 200) + "[1,601 lines, 7,206 bytes omitted here, of 2,001 lines and 8,898 bytes in all; " + again + "]\n" + numbers(1802, 2001)},
		{"51,200 bytes", strings.Repeat("x", 51_200), Limits{}, nil, strings.Repeat("x", 51_200)},
		{"51,201 bytes", strings.Repeat("x", 51_201), Limits{}, nil,
			strings.Repeat("x", 8192) + "\n[34,817 bytes omitted here, of 1 line and 51,201 bytes in all; " + again + "]\n" + strings.Repeat("x", 8192)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Shape(c.output, "call_1", c.limits, c.keep); got != c.want {
				t.Errorf("got\n%q\nwant\n%q", got, c.want)
			}
		})
	}
}

func TestShape_keepsTheWholeOnce(t *testing.T) {
	kept := map[string]string{}
	keep := func(id, text string) string { kept[id] += text; return id }
	Shape(numbers(1, 2001), "long", Limits{}, keep)
	Shape("short\n", "short", Limits{}, keep)
	if len(kept) != 1 || kept["long"] != numbers(1, 2001) {
		t.Errorf("kept %d texts", len(kept))
	}
}

func TestShape_isTheBeginningAndTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		output := rapid.StringOf(rapid.SampledFrom([]rune("ab日\n\n\r🎉"))).Draw(t, "output")
		l := Limits{Lines: rapid.IntRange(1, 6).Draw(t, "lines"), Bytes: rapid.IntRange(1, 40).Draw(t, "bytes"), ShownLines: rapid.IntRange(1, 9).Draw(t, "shown lines"), ShownBytes: rapid.IntRange(1, 60).Draw(t, "shown bytes")}
		got := Shape(output, "id", l, nil)
		if got == output {
			return
		}
		if !utf8.ValidString(got) {
			t.Fatalf("%q is no UTF-8", got)
		}
		at := strings.Index(got, "[")
		head, tail := got[:at], got[strings.Index(got, "]")+1:]
		tail = strings.TrimPrefix(tail, "\n")
		if !strings.HasPrefix(output, head) && !strings.HasPrefix(output, strings.TrimSuffix(head, "\n")) || !strings.HasSuffix(output, tail) {
			t.Fatalf("of %q: head %q, tail %q", output, head, tail)
		}
		if len(head)+len(tail) > l.ShownBytes+2 || lineCount(head)+lineCount(tail) > l.ShownLines+1 {
			t.Fatalf("of %q: head %q, tail %q are more than %+v", output, head, tail, l)
		}
	})
}

func TestShape_ofAFileShowsNoMoreThanItDoes(t *testing.T) {
	output := Shape(numbers(1, 3000), "c", Limits{}, nil)
	p := &session.Part{Type: session.ToolPart, Tool: "bash", State: &session.ToolState{Status: session.Completed, Input: []byte(`{"command":"cat a.txt"}`), Output: output, Metadata: []byte(`{"exit":0}`)}}
	c := call.Of(p, "/repo")
	s := coverage.OfCall(p, &c, "/repo")
	if len(s.Views) != 1 || s.Views[0].Full || s.Views[0].End || s.Views[0].Start != 1 || len(s.Views[0].Lines) > 200 || s.OutputIsViews {
		t.Errorf("got %+v, want the beginning of the file", s)
	}
}

func TestShaped_leavesTheToolWhatItIs(t *testing.T) {
	for _, tool := range All(nil, Policy{}) {
		s := Shaped(tool, Limits{}, nil)
		_, was := tool.(agent.Serial)
		_, is := s.(agent.Serial)
		if was != is || s.Name() != tool.Name() || s.Description() != tool.Description() || string(s.Schema()) != string(tool.Schema()) {
			t.Errorf("%s: serial was %v, is %v", tool.Name(), was, is)
		}
	}
}

func TestShaped_shapesWhatIsTooLong(t *testing.T) {
	b := newBench(t, "a.txt", numbers(1, 5000))
	kept := ""
	keep := func(id, text string) string { kept = text; return "k1" }
	r := b.run(Shaped(Bash{}, Limits{}, keep), args{"command": "cat a.txt; exit 4"})
	if kept != numbers(1, 5000)+"[exit code 4]" || !strings.HasSuffix(r.Output, "5000\n[exit code 4]") || !strings.Contains(r.Output, "recalled as k1]") || r.Metadata["exit"] != 4 || r.Metadata["shapedFrom"] != len(kept) || !r.Failed {
		t.Errorf("kept %d bytes, got …%q, %v", len(kept), r.Output[len(r.Output)-40:], r.Metadata)
	}
	kept = ""
	if r := b.run(Shaped(Read{}, Limits{}, keep), args{"filePath": "a.txt"}); kept != "" || r.Metadata["shapedFrom"] != nil || r.Metadata["lines"] != 2000 {
		t.Errorf("of read: kept %d bytes, %v", len(kept), r.Metadata)
	}
}
