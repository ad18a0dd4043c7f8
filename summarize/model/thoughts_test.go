package model

import (
	"testing"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
)

func TestSummarize_thoughtsThatComeAsTextAreNoSummary(t *testing.T) {
	for name, c := range map[string]struct {
		text, want string
		only       bool
	}{
		"none": {"## Goal\n\nship", "## Goal\n\nship", false},
		"before the notes": {"\n<think>\nWhat was\n## it?\n</think>\n\n## Goal\n\nship",
			"## Goal\n\nship", false},
		"in other words":      {"<thinking>hm</thinking>## Goal", "## Goal", false},
		"begun in the prompt": {"What was it?\n</think>\n\n## Goal\n\nship", "## Goal\n\nship", false},
		"nothing else":        {"<think>\n## Goal\nhm</think>\n", "", true},
		"without end":         {"<think>\n## Goal\nhm", "", true},
		"notes that speak of such a mark": {"## Goal\n\nStrip `</think>` from answers.",
			"## Goal\n\nStrip `</think>` from answers.", false},
		"notes that quote the mark, opened": {"## Goal\n\n<think>\nhm\n</think>\nis stripped",
			"## Goal\n\n<think>\nhm\n</think>\nis stripped", false},
	} {
		s := New(&client{answer: llm.Answer{Parts: []session.Part{text(session.TextPart, c.text)}, Finish: llm.Stop}},
			large, Options{})
		a, err := s.Summarize(t.Context(), pivot.Request{Instruction: "WRITE"})
		if err != nil || a.Text != c.want || a.ReasoningOnly != c.only {
			t.Errorf("%s: %q, reasoning only %v, %v; want %q, %v", name, a.Text, a.ReasoningOnly, err, c.want, c.only)
		}
	}
}
