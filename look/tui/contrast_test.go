package tui

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/look/display"
)

// luminance is that of a colour of the palette of 256, from 16 on, by the definition of WCAG.
func luminance(colour int) float64 {
	var channels [3]int
	switch cube := colour - 16; {
	case colour >= 232:
		grey := 8 + 10*(colour-232)
		channels = [3]int{grey, grey, grey}
	default:
		for i, level := range []int{cube / 36, cube / 6 % 6, cube % 6} {
			if level > 0 {
				channels[i] = 55 + 40*level
			}
		}
	}
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v := float64(channels[i]) / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += weight * v
	}
	return sum
}

// contrasts are those of a colour on white and on black.
func contrasts(colour int) (white, black float64) {
	l := luminance(colour)
	return 1.05 / (l + 0.05), (l + 0.05) / 0.05
}

func TestStyles_areReadOnWhiteAndOnBlack(t *testing.T) {
	check := func(what string, colour int, least float64) {
		t.Helper()
		if white, black := contrasts(colour); white < least || black < least {
			t.Errorf("%s (%d) has a contrast of %.2f on white and %.2f on black, want %.1f", what, colour, white, black, least)
		}
	}
	for s := strong; s <= activeTone; s++ {
		codes := s.codes()
		at := strings.LastIndex(codes, "38;5;")
		if at < 0 {
			continue
		}
		colour, err := strconv.Atoi(codes[at+len("38;5;"):])
		if err != nil {
			t.Fatalf("%q: %v", codes, err)
		}
		least := 3.0 // a bar
		if s <= fine {
			least = 4.4 // words: 4.7 and 4.47 is the best green there is
		}
		check("style "+codes, colour, least)
	}
	for _, tone := range display.Tones() {
		check(tone.Class, tone.Terminal, 3)
	}
}
