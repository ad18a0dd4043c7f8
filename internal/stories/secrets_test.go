package stories

import (
	"context"
	"strings"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/summarize/offline"
)

// key is a made-up one, of nobody's account.
var key = "sk-ant-api03-" + strings.Repeat("Tide7lamp", 10)

// What a model writes under a pivot, and what the engine carries over beside it, has no secret; the
// log and a pin have it.
func TestCompact_masksSecretsInWhatIsWrittenUnderThePivot(t *testing.T) {
	for _, c := range []struct {
		name string
		lab  func() *lab
		keep bool
	}{
		{"by a model", func() *lab {
			return newLab(t, winnow.Config{Summarizer: &scripted{answers: []any{notes("deploy with " + key)}}})
		}, false},
		{"offline", func() *lab { return newLab(t, winnow.Config{Summarizer: offline.New()}) }, false},
		{"kept", func() *lab {
			return newLab(t, winnow.Config{Summarizer: &scripted{answers: []any{notes("deploy with " + key)}}})
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := c.lab()
			first := l.user("My key is " + key + ". Always deploy with it.")
			l.work(6)
			receipt := l.compact(winnow.CompactOptions{KeepSecrets: c.keep})
			text := l.text()
			if got := strings.Contains(text, key); got != c.keep {
				t.Errorf("the key stands in the view: %v, want %v\n%s", got, c.keep, text)
			}
			if masked := strings.Contains(text, "sk-ant-[masked]"); masked == c.keep {
				t.Errorf("the view has the key masked: %v", masked)
			}
			if told := strings.Contains(strings.Join(receipt.Notes, " "),
				"masked in what was written"); told == c.keep {
				t.Errorf("the receipt says %q", receipt.Notes)
			}
			log, _, err := l.Session(context.Background(), l.id)
			if err != nil {
				t.Fatal(err)
			}
			if log.Messages[0].ID != first.ID || !strings.Contains(log.Messages[0].Parts[0].Text, key) {
				t.Error("the log was changed")
			}
			pinned := c.lab()
			pinned.user("Go on.")
			if _, err := pinned.Pin(context.Background(), pinned.id,
				rule.Pin{Text: "the key of the lamp: " + key}); err != nil {
				t.Fatal(err)
			}
			pinned.work(6)
			pinned.compact(winnow.CompactOptions{})
			if !strings.Contains(pinned.text(), "the key of the lamp: "+key) {
				t.Error("what was pinned to the letter is masked")
			}
		})
	}
}
