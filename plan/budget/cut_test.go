package budget_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/plan/budget"
)

// watched are requests: what was appended before each, and what was reported.
func watched(first int, steps ...[2]int) (w budget.Watch) {
	sent := first
	for _, s := range steps {
		sent += s[0]
		w = w.Next(budget.Sent{Tokens: sent, Reported: s[1]})
	}
	return w
}

func TestWatch(t *testing.T) {
	for _, tt := range []struct {
		name   string
		watch  budget.Watch
		cut    bool
		window int
	}{
		{"nothing", budget.Watch{}, false, 0},
		{"a prompt that grows", watched(1000, [2]int{0, 3000}, [2]int{800, 3800}, [2]int{900, 4700}, [2]int{900, 5600}), false, 0},
		{"two steps that stay at the window", watched(1000, [2]int{0, 3000}, [2]int{800, 3800}, [2]int{900, 4090}, [2]int{900, 4095}, [2]int{700, 4096}), true, 4096},
		{"one step that stays", watched(1000, [2]int{0, 3000}, [2]int{800, 3800}, [2]int{900, 4090}, [2]int{900, 4095}), false, 0},
		{"whole messages go", watched(1000, [2]int{0, 5000}, [2]int{1500, 6500}, [2]int{1200, 7900}, [2]int{1200, 7700}, [2]int{900, 7400}), true, 8192},
		{"cut from the first request on", watched(9000, [2]int{0, 4095}, [2]int{900, 4096}, [2]int{1500, 4095}, [2]int{1100, 4096}), true, 4096},
		{"as Ollama does, with large outputs", watched(500, [2]int{0, 3000}, [2]int{900, 3974}, [2]int{25_000, 2051},
			[2]int{2100, 2051}, [2]int{1500, 2050}), true, 4096},
		{"as Ollama does, from the first request on", watched(50_000, [2]int{0, 16_386}, [2]int{900, 16_386},
			[2]int{9000, 16_386}, [2]int{1500, 16_386}), true, 32_768},
		{"the same for two steps only", watched(9000, [2]int{0, 4095}, [2]int{900, 4096}, [2]int{1500, 4095}), false, 0},
		{"it grows again", watched(1000, [2]int{0, 3000}, [2]int{800, 3800}, [2]int{900, 3800}, [2]int{900, 3810}, [2]int{700, 4500}), false, 0},
		{"nothing worth counting was added", watched(1000, [2]int{0, 3000}, [2]int{800, 3800}, [2]int{20, 3800}, [2]int{30, 3800}, [2]int{10, 3800}), false, 0},
		{"little is added at a time, again and again", watched(1000, [2]int{0, 3000}, [2]int{1000, 4000}, [2]int{60, 4090},
			[2]int{60, 4091}, [2]int{200, 4095}, [2]int{300, 4096}, [2]int{300, 4096}, [2]int{300, 4096}), true, 4096},
		{"only what is new is reported", watched(1000, [2]int{0, 1000}, [2]int{3000, 4000}, [2]int{2000, 2000}, [2]int{2000, 2000}, [2]int{1900, 1900}), false, 0},
		{"another kind of prompt", watched(1000, [2]int{0, 30_000}, [2]int{5000, 35_000}, [2]int{1000, 900}, [2]int{1000, 800}, [2]int{1000, 700}), false, 0},
		{"steps without a report", watched(1000, [2]int{0, 3000}, [2]int{800, 3800}, [2]int{900, 0}, [2]int{900, 0}, [2]int{700, 6200}), false, 0},
		{"no report at all", watched(1000, [2]int{800, 0}, [2]int{900, 0}, [2]int{900, 0}, [2]int{700, 0}), false, 0},
	} {
		cut, ok := tt.watch.Cut()
		if ok != tt.cut || cut.Window != tt.window {
			t.Errorf("%s: %+v, %t; want %t, %d", tt.name, cut, ok, tt.cut, tt.window)
		}
	}
}

func TestWatch_aChangedViewBeginsAnew(t *testing.T) {
	w := watched(1000, [2]int{0, 3000}, [2]int{2000, 5000}, [2]int{2000, 5000})
	for range 3 { // each prunes what the step before added
		w = w.Next(budget.Sent{Tokens: 8000, Reported: 5000, Changed: true})
		w = w.Next(budget.Sent{Tokens: 9000, Reported: 5000})
		if cut, ok := w.Cut(); ok {
			t.Fatalf("%+v: the view was made smaller", cut)
		}
	}
}

// Whatever a tokenizer makes of our tokens, and whatever stands before the messages.
func TestWatch_aServerThatReadsEverythingIsNeverAccused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(0.1, 8).Draw(t, "rate")
		before := rapid.IntRange(0, 100_000).Draw(t, "overhead")
		sent := rapid.IntRange(0, 100_000).Draw(t, "first")
		var w budget.Watch
		for range rapid.IntRange(2, 40).Draw(t, "steps") {
			changed := rapid.IntRange(0, 9).Draw(t, "changed") == 0
			if changed {
				sent /= 2
			}
			sent += rapid.IntRange(0, 5000).Draw(t, "grown")
			reported := int(math.Round(rate * float64(sent+before)))
			if rapid.IntRange(0, 9).Draw(t, "silent") == 0 {
				reported = 0
			}
			w = w.Next(budget.Sent{Tokens: sent, Reported: reported, Changed: changed,
				Turn: rapid.IntRange(0, 4).Draw(t, "turn") == 0})
			if cut, ok := w.Cut(); ok {
				t.Fatalf("a rate of %v is accused: %+v, %+v", rate, cut, w)
			}
		}
	})
}

// Where a server cuts, it is found, at the latest when as much was added again as its window holds.
func TestWatch_aServerThatCutsIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(0.5, 1.5).Draw(t, "rate")
		window := rapid.SampledFrom([]int{4096, 8192, 16_384, 32_768}).Draw(t, "window")
		before := rapid.IntRange(0, window/2).Draw(t, "overhead")
		kept := rapid.SampledFrom([]int{window, window/2 + 2}).Draw(t, "kept")
		sent, found := 200, false
		var w budget.Watch
		for range 200 {
			sent += rapid.IntRange(window/50, window/4).Draw(t, "grown")
			reported := int(rate * float64(sent+before))
			whole := reported <= window
			if !whole {
				reported = kept
			}
			w = w.Next(budget.Sent{Tokens: sent, Reported: reported, Turn: rapid.IntRange(0, 2).Draw(t, "turn") == 0})
			cut, ok := w.Cut()
			if found = found || ok; ok && (whole || cut.Window != window) {
				t.Fatalf("%+v of a window of %d, reported %d", cut, window, reported)
			}
		}
		if !found {
			t.Fatalf("%d tokens into a window of %d, and nothing was found: %+v", sent, window, w)
		}
	})
}
