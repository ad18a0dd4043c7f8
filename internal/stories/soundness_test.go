package stories

import (
	"testing"

	"github.com/winnowhq/winnow/session"
)

// The long session of examples/ is sound, and its last step is the first that overflows.
func TestExample_isSoundAndOverflowsAtItsEnd(t *testing.T) {
	messages := example(t).Messages
	if problems := session.Check(messages); len(problems) > 0 {
		t.Errorf("the example is not sound: %v", problems)
	}
	const usable = 200_000 - 32_000
	last := len(messages) - 1
	for i := range messages {
		u := messages[i].Tokens
		if u == nil {
			continue
		}
		if over := u.Input+u.Cache.Read+u.Output > usable; over != (i == last) {
			t.Errorf("message %d of %d: overflow is %v", i, last, over)
		}
	}
}
