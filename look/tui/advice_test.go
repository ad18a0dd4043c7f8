package tui

import (
	"bytes"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/lab/advise"
)

func advice() advise.Report {
	return advise.Report{Sessions: 43, Unreported: 2, Cost: 61.4, Dropped: 7, Findings: []advise.Finding{
		{Kind: advise.Policy, Title: "winnow's policy balanced costs less than compaction alone", Cost: 61.4, Gain: 12.31,
			Error: 2.04, Evidence: []string{"41 sessions cost $61.40 by their logs; replayed with compaction alone, $58.02."},
			Change: "start agents through winnow", Line: "winnow wrap claude"},
		{Kind: advise.Outputs, Title: "212 of 230 outputs of `go test` were never quoted by a later step", Cost: 3.2, Gain: 2.15,
			Error: 0.62, Evidence: []string{"They have 412,338 tokens together, and every request up to the next compaction carried them.",
				"For example: go test -v ./kiln/firing/... ($0.31).", "Most of it in “日本語のコメントを英語に直してください” $0.90, “Teach the kiln to cool” $0.71."},
			Change: "have agents keep 40 lines of it", Where: "AGENTS.md",
			Line: "Run `go test` quietly, and keep the end of what it prints: `go test … 2>&1 | tail -n 40`."}},
		Repeated: []advise.Repeated{{Text: "Never open the vents above 600 degrees.", Project: "/home/potter/kiln", Sessions: 5, Days: 4}}}
}

// Nothing to advise is one calm line, and so is nothing to judge by.
func TestAdvice_nothingIsALine(t *testing.T) {
	for want, r := range map[string]advise.Report{
		"Nothing to advise: no change would save more than its error.": {Sessions: 3, Cost: 2, Dropped: 5},
		"No session can be judged.":                                    {Sessions: 3, Unreported: 3},
	} {
		var out bytes.Buffer
		Painter{W: &out, Width: 80}.Advice(r, nil)
		if !strings.Contains(out.String(), "\n"+want+"\n") || strings.Count(out.String(), "\n") > 4 {
			t.Errorf("it says:\n%s", &out)
		}
	}
}
