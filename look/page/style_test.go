package page

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/look/display"
)

var aColour = regexp.MustCompile(`--([a-z0-9-]+): #([0-9a-f]{3,6});`)

// colours are the named ones of the style, in one scheme.
func colours(css string) map[string]string {
	out := map[string]string{}
	for _, m := range aColour.FindAllStringSubmatch(css, -1) {
		out[m[1]] = m[2]
	}
	return out
}

// luminance of a colour, and contrast of two, as WCAG 2 defines them.
func luminance(hex string) float64 {
	sum := 0.0
	for i, share := range []float64{0.2126, 0.7152, 0.0722} {
		n, _ := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += share * c
	}
	return sum
}

func contrast(a, b string) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// Text has the contrast that WCAG 2 AA asks for, in both schemes; strata differ from the ground as
// graphics must, with the line between them, the names in them and the legend to tell them apart.
func TestStyle_contrast(t *testing.T) {
	light, dark, _ := strings.Cut(style, "@media screen and (prefers-color-scheme: dark)")
	dark, _, _ = strings.Cut(dark, "* {")
	light, _, _ = strings.Cut(light, "@media")
	for scheme, c := range map[string]map[string]string{"light": colours(light), "dark": colours(dark)} {
		if len(c) < 20 {
			t.Fatalf("the %s scheme has %d colours", scheme, len(c))
		}
		for _, name := range []string{"text", "soft", "accent", "over", "fits", "going", "gone"} {
			for _, ground := range []string{"ground", "sunk"} {
				if got := contrast(c[name], c[ground]); got < 4.5 {
					t.Errorf("%s: %s on %s has a contrast of %.2f, want 4.5", scheme, name, ground, got)
				}
			}
		}
		for _, tone := range display.Tones() { // bars, beside their names and figures: as graphics must
			for _, ground := range []string{"ground", "sunk"} {
				if got := contrast(c[tone.Class], c[ground]); got < 3 {
					t.Errorf("%s: %s on %s has a contrast of %.2f, want 3", scheme, tone.Class, ground, got)
				}
			}
		}
		if got := contrast(c["mark"], c["mark-text"]); got < 4.5 {
			t.Errorf("%s: what was found has a contrast of %.2f, want 4.5", scheme, got)
		}
	}
}

// The terminal's colours of tools and bills read on a black and on a white ground.
func TestTones_inTheTerminal(t *testing.T) {
	levels := []string{"00", "5f", "87", "af", "d7", "ff"}
	for _, tone := range display.Tones() {
		n := tone.Terminal - 16
		hex := levels[n/36] + levels[n/6%6] + levels[n%6]
		for _, ground := range []string{"000000", "ffffff"} {
			if got := contrast(hex, ground); got < 3 {
				t.Errorf("%s, %d of the palette, has a contrast of %.2f on #%s, want 3", tone.Class, tone.Terminal, got, ground)
			}
		}
	}
}

// Everything that the style and the script name is on the page itself: nothing is fetched.
func TestStyle_namesNothingElsewhere(t *testing.T) {
	for name, text := range map[string]string{
		"style": style, "script": script, "pieces": pieces, "days": daysMarkup, "markup": markup, "replay's style": replayStyle,
		"replay's script": replayScript, "replay's markup": replayMarkup,
	} {
		for _, bad := range []string{"http:", "https:", "//fonts", "@import", "fetch(", "XMLHttpRequest", "WebSocket",
			"eval(", "new Function", "localStorage"} {
			if strings.Contains(text, bad) {
				t.Errorf("the %s has %q", name, bad)
			}
		}
	}
}
