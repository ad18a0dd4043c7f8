package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/session"
)

func TestSplitUsage_countsEveryTokenOnce(t *testing.T) {
	for _, c := range []struct {
		prompt, read, write, answer, thought, total int
		want                                        session.Usage
	}{
		{100, 60, 10, 50, 20, 150, session.Usage{Total: 150, Input: 30, Output: 30, Reasoning: 20,
			Cache: session.CacheUsage{Read: 60, Write: 10}}},
		{100, 0, 0, 50, 20, 170, session.Usage{Total: 170, Input: 100, Output: 50, Reasoning: 20}},
		{100, 0, 0, 10, 20, 0, session.Usage{Input: 100, Output: 10, Reasoning: 20}},
		{10, 20, 20, -1, -1, -1, session.Usage{Cache: session.CacheUsage{Read: 10}}},
	} {
		if diff := cmp.Diff(c.want, SplitUsage(c.prompt, c.read, c.write, c.answer, c.thought, c.total)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c, diff)
		}
	}
}
