package call

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// However a text is made of words, of pieces of them and of what stands between, those are found that a look for each by itself finds.
func TestWords_areThoseThatALookForEachFinds(t *testing.T) {
	sets := map[string]*words{"telling": telling, "failures": failures, "refusing": refusing, "counted": counted, "one": traceback}
	for name, set := range sets {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				word := rapid.Custom(func(t *rapid.T) string {
					text := rapid.SampledFrom(set.list).Draw(t, "word").text
					switch rapid.IntRange(0, 3).Draw(t, "how") {
					case 0:
						return strings.ToUpper(text)
					case 1:
						return text[:rapid.IntRange(0, len(text)).Draw(t, "to")]
					}
					return text
				})
				between := rapid.StringMatching(`[a-zE\[\t\n ]{0,5}|ö|✗`)
				var text strings.Builder
				for range rapid.IntRange(0, 6).Draw(t, "words") {
					text.WriteString(between.Draw(t, "between"))
					text.WriteString(word.Draw(t, "word"))
				}
				within := rapid.IntRange(0, text.Len()).Draw(t, "within")
				want := uint64(0)
				for i, one := range set.list {
					if one.exact && strings.Contains(text.String(), one.text) || !one.exact && strings.Contains(strings.ToLower(text.String()[:within]), one.text) {
						want |= 1 << i
					}
				}
				if got := set.of(text.String(), within); got != want {
					t.Fatalf("words %b of %q within %d, want %b", got, text.String(), within, want)
				}
				if got := set.in(text.String()); within == text.Len() && got != (want != 0) {
					t.Fatalf("in %q: %v, want %v", text.String(), got, want != 0)
				}
			})
		})
	}
}

func TestControlled_isWhatPlainTakesOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-z\t~öé]{0,12}[\x00-\x1f\x7f ]{0,1}[a-z\x80é]{0,12}`).Draw(t, "text")
		want := strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7F })
		if got := controlled(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	})
}
