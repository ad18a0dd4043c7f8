package coverage

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// lines makes a view of /repo/a from the text of its lines, "|" between them.
func piece(start int, text string) View {
	return View{Path: "/repo/a", Field: Output, Start: start, Lines: hashes(strings.ReplaceAll(text, "|", "\n"))}
}

func ending(v View) View {
	v.End, v.Full = true, v.Start == 1
	return v
}

func TestCovered(t *testing.T) {
	elsewhere := ending(piece(1, "a|b|c"))
	elsewhere.Path = "/repo/b"
	edit := change("/repo/a")
	for _, c := range []struct {
		name  string
		old   View
		newer []View
		want  bool
	}{
		{"nothing newer", piece(1, "a|b|c"), nil, false},
		{"the same lines again", piece(1, "a|b|c"), []View{piece(1, "a|b|c")}, true},
		{"a full read covers earlier ranges", piece(2, "b"), []View{ending(piece(1, "a|b|c"))}, true},
		{"a full read covers what has changed since", piece(2, "x"), []View{ending(piece(1, "a|b|c"))}, true},
		{"a full read of another file does not", piece(2, "b"), []View{elsewhere}, false},
		{"two pieces together", piece(2, "b|c|d|e"), []View{piece(1, "a|b|c"), piece(4, "d|e|f")}, true},
		{"two pieces with a gap", piece(2, "b|c|d|e"), []View{piece(1, "a|b"), piece(4, "d|e|f")}, false},
		{"one line changed", piece(1, "a|b|c"), []View{piece(1, "a|B|c")}, false},
		{"the newest view of a line decides", piece(1, "a|b"), []View{piece(1, "a|b"), piece(2, "B")}, false},
		{"the newest view of a line decides the other way", piece(1, "a|b"), []View{piece(1, "a|B"), piece(1, "a|b")}, true},
		{"lines that moved are not looked for", piece(1, "a|b"), []View{piece(2, "a|b|c")}, false},
		{"the end needs an end", ending(piece(1, "a|b")), []View{piece(1, "a|b")}, false},
		{"the end is the same", ending(piece(2, "b|c")), []View{piece(1, "a|b"), ending(piece(3, "c"))}, true},
		{"a whole file by two pieces", ending(piece(1, "a|b|c")), []View{ending(piece(3, "c")), piece(1, "a|b")}, true},
		{"the file has grown", ending(piece(1, "a|b")), []View{piece(1, "a|b|c")}, false},
		{"the file has grown since it ended there", ending(piece(2, "b|c")), []View{ending(piece(3, "c")), piece(2, "b|c|d")}, false},
		{"an edit is covered by a full read", edit, []View{ending(piece(1, "a|b"))}, true},
		{"an edit is not covered by a piece", edit, []View{piece(1, "a|b"), piece(3, "c|d")}, false},
		{"an edit is not covered by an edit", edit, []View{edit}, false},
		{"an edit covers nothing", piece(1, "a"), []View{edit}, false},
		{"a view without lines is not covered for want of them", View{Path: "/repo/a", Start: 1}, []View{piece(1, "a")}, false},
	} {
		if got := Covered(c.old, c.newer...); got != c.want {
			t.Errorf("%s: Covered is %v, want %v", c.name, got, c.want)
		}
	}
}

// drawn is any view of one of two files, with so few different lines that they often agree.
func drawn(t *rapid.T) View {
	path := rapid.SampledFrom([]string{"/repo/a", "/repo/b"}).Draw(t, "path")
	if rapid.IntRange(0, 6).Draw(t, "kind") == 0 {
		return change(path)
	}
	v := View{Path: path, Field: Output, Start: rapid.IntRange(1, 6).Draw(t, "start")}
	v.Lines = rapid.SliceOfN(rapid.Uint64Range(0, 1), 1, 6).Draw(t, "lines")
	v.End = rapid.IntRange(0, 4).Draw(t, "end") == 0
	v.Full = v.End && v.Start == 1
	return v
}

// What Covered says is what its comment says, taken line by line.
func TestCovered_isItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old := drawn(t)
		newer := rapid.SliceOfN(rapid.Custom(drawn), 0, 5).Draw(t, "newer")
		if got, want := Covered(old, newer...), defined(old, newer); got != want {
			t.Fatalf("Covered(%+v, %+v) is %v, want %v", old, newer, got, want)
		}
	})
}

func defined(old View, newer []View) bool {
	newest := map[int]uint64{} // line number to text
	end := 0
	for _, v := range newer {
		if v.Path != old.Path || v.Change {
			continue
		}
		if v.Full {
			return true
		}
		for i, h := range v.Lines {
			newest[v.Start+i] = h
		}
		if v.End && v.last() == old.last() {
			end = v.last()
		}
	}
	if old.Change {
		return false
	}
	for i, h := range old.Lines {
		if got, ok := newest[old.Start+i]; !ok || got != h {
			return false
		}
	}
	for n := range newest {
		if old.End && n > old.last() {
			return false
		}
	}
	return !old.End || end > 0
}

func TestCovered_everyViewCoversItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawn(t)
		if got := Covered(v, v); got == v.Change {
			t.Fatalf("Covered(v, v) is %v of %+v", got, v)
		}
	})
}

func TestCovered_aLineThatNothingNewerShowsIsNotCovered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old := drawn(t)
		if old.Change {
			t.Skip("a change has no lines")
		}
		hole := rapid.IntRange(old.Start, old.last()).Draw(t, "hole")
		var newer []View
		for _, v := range rapid.SliceOfN(rapid.Custom(drawn), 0, 5).Draw(t, "newer") {
			if !v.Full && (v.Change || hole < v.Start || hole > v.last()) {
				newer = append(newer, v)
			}
		}
		if Covered(old, newer...) {
			t.Fatalf("%+v is covered by %+v, which do not show line %d", old, newer, hole)
		}
	})
}

func TestCovered_longViews(t *testing.T) {
	text := strings.Repeat("a\n", 3000)
	old := View{Path: "/repo/a", Start: 1, Lines: hashes(text)}
	if !Covered(old, old) {
		t.Error("3,000 lines do not cover themselves")
	}
	less := old
	less.Lines = less.Lines[:2999]
	if Covered(old, less) {
		t.Error("2,999 lines cover 3,000")
	}
}

func TestHash_differsWithTextLengthAndPlace(t *testing.T) {
	seen := map[uint64]string{}
	add := func(text string) {
		h := hash(text)
		if was, ok := seen[h]; ok && was != text {
			t.Fatalf("%q and %q have the hash %x", was, text, h)
		}
		seen[h] = text
	}
	for n := range 40 {
		for _, all := range []string{"x", "\x00", " ", "\xff"} {
			add(strings.Repeat(all, n))
			for i := range n {
				for _, c := range []string{"y", "\x01", "\xfe", "\t"} {
					add(strings.Repeat(all, i) + c + strings.Repeat(all, n-i-1))
					for j := range i {
						add(strings.Repeat(all, j) + c + strings.Repeat(all, i-j-1) + c + strings.Repeat(all, n-i-1))
					}
				}
			}
		}
	}
}

// Lines that differ in a number alone differ: none of the shapes that code has is a poor one.
func TestHash_differsForNumberedLines(t *testing.T) {
	seen := make(map[uint64]struct{}, 300000)
	for _, format := range []string{"%d", "\tcase %d:", "    total += values[%d] // and so on"} {
		for n := range 100000 {
			seen[hash(fmt.Sprintf(format, n))] = struct{}{}
		}
	}
	if len(seen) != 300000 {
		t.Errorf("%d hashes of 300,000 lines", len(seen))
	}
}
