package tui

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestDivide_givesEveryCellAndEveryPortionOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(-5, 5), rapid.Int(), rapid.Just(math.MaxInt)), 0, 12).Draw(t,
			"sizes")
		cells := rapid.IntRange(-1, 200).Draw(t, "cells")
		there := 0
		for _, s := range sizes {
			if s > 0 {
				there++
			}
		}
		sum := 0
		for i, n := range Divide(sizes, cells) {
			sum += n
			if n < 0 || n > 0 && sizes[i] <= 0 {
				t.Fatalf("Divide(%v, %d) gives %d to %d", sizes, cells, n, sizes[i])
			}
			if sizes[i] > 0 && n == 0 && cells >= there {
				t.Fatalf("Divide(%v, %d) hides %d", sizes, cells, sizes[i])
			}
		}
		if want := max(0, cells); there > 0 && cells >= there && sum != want {
			t.Fatalf("Divide(%v, %d) fills %d", sizes, cells, sum)
		}
		if sum > max(0, cells) {
			t.Fatalf("Divide(%v, %d) takes %d", sizes, cells, sum)
		}
	})
}

func TestDivide_neverGivesTheSmallerMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(0, 100_000), 1, 8).Draw(t, "sizes")
		cells := rapid.IntRange(len(sizes), 100).Draw(t, "cells")
		got := Divide(sizes, cells)
		for i := range sizes {
			for j := range sizes {
				if sizes[i] < sizes[j] && got[i] > got[j] {
					t.Fatalf("Divide(%v, %d) = %v: %d has more than %d", sizes, cells, got, sizes[i], sizes[j])
				}
			}
		}
	})
}

func TestGauge_isAsWideAsItsCells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.IntRange(0, 1000), rapid.Just(math.MaxInt))
		used := []segment{{size: size.Draw(t, "a"), glyph: "▒"}, {size: size.Draw(t, "b"), glyph: "█"}}
		limit, cells := rapid.OneOf(rapid.IntRange(1, 1000), rapid.Just(math.MaxInt)).Draw(t, "limit"),
			rapid.IntRange(4, 100).Draw(t, "cells")
		l := gauge(used, limit, cells)
		if got := l.columns(); got != cells {
			t.Fatalf("gauge of %v, limit %d: %d cells, want %d", used, limit, got, cells)
		}
		marks := 0
		for _, s := range l {
			marks += strings.Count(s.text, "┃")
		}
		over := used[0].size+used[1].size > limit
		if over != (marks == 1) {
			t.Fatalf("gauge of %v, limit %d has %d marks", used, limit, marks)
		}
	})
}

func TestGauge_marksTheLimitWhereItIs(t *testing.T) {
	var got strings.Builder
	for _, s := range gauge([]segment{{size: 10, glyph: "▒"}, {size: 190, glyph: "█"}}, 100, 21).spans(nil, false) {
		got.WriteString(s.Text)
	}
	if diff := cmp.Diff("▒█████████┃██████████", got.String()); diff != "" {
		t.Error("-want +got:\n" + diff)
	}
}
