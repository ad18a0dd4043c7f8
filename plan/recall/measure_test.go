package recall

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInstruction_onPhrasingsItWasNotWrittenAgainst counts misses and false alarms on messages that
// were written down before anybody looked at the lists of words: see docs/summaries.md. The first
// line, the third and so on were looked at afterwards; the others are held out.
func TestInstruction_onPhrasingsItWasNotWrittenAgainst(t *testing.T) {
	for _, c := range []struct {
		file   string
		wanted bool
		most   [2]int // of the half that was looked at, and of the one that was not
	}{
		{"wishes.txt", true, [2]int{0, 6}},
		{"requests.txt", false, [2]int{0, 1}},
		{"wishes-b.txt", true, [2]int{17, 14}}, // of two authors who knew nothing of winnow
		{"requests-b.txt", false, [2]int{2, 4}},
		{"wishes-c.txt", true, [2]int{20, 19}},
		{"requests-c.txt", false, [2]int{1, 4}},
	} {
		text, err := os.ReadFile(filepath.Join("testdata", c.file))
		if err != nil {
			t.Fatal(err)
		}
		var wrong, of [2]int
		for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
			of[i%2]++
			found := false
			if _, rest, marked := strings.Cut(line, "[["); marked {
				line, _, _ = strings.Cut(rest, "]]")
			}
			for _, s := range Sentences(line) {
				rule, preference := Instruction(s)
				found = found || rule || preference
			}
			if found != c.wanted {
				wrong[i%2]++
				if i%2 == 0 {
					t.Logf("%s: %s", c.file, line)
				}
			}
		}
		t.Logf("%s: %d of %d are wrong, and of what is held out %d of %d", c.file, wrong[0], of[0], wrong[1], of[1])
		for half := range wrong {
			if wrong[half] > c.most[half] {
				t.Errorf("%s: %d are wrong in half %d, want at most %d", c.file, wrong[half], half+1, c.most[half])
			}
		}
	}
}
