package rule_test

import (
	"math"
	"slices"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/session"
)

// specified is the backward scan as S000 and S001 phase 2 write it down, line by line, from the log alone: it knows
// no rule, no ledger, no counter. It returns the parts that get the mark, oldest first.
func specified(messages []session.Message) (marked []string) {
	const pruneProtect, pruneMinimum = 40_000, 20_000
	total, pruned, turns := 0, 0, 0
	var toPrune []string
loop:
	for i := len(messages) - 1; i >= 0; i-- {
		msg := messages[i]
		if msg.Role == "user" {
			turns++
		}
		if turns < 2 {
			continue
		}
		if msg.Role == "assistant" && string(msg.Summary) == "true" {
			break
		}
		for j := len(msg.Parts) - 1; j >= 0; j-- {
			part := msg.Parts[j]
			if part.Type != "tool" || part.State.Status != "completed" || part.Tool == "skill" {
				continue
			}
			if part.State.Time != nil && part.State.Time.Compacted != 0 {
				break loop
			}
			length := len(utf16.Encode([]rune(part.State.Output))) // as JavaScript counts
			estimate := int(math.Floor(float64(length)/4 + 0.5))   // and rounds
			total += estimate
			if total > pruneProtect {
				pruned += estimate
				toPrune = append(toPrune, part.ID)
			}
		}
	}
	if pruned <= pruneMinimum {
		return nil
	}
	slices.Reverse(toPrune)
	return toPrune
}

// What is committed in testdata is what the specification says, and what the scan does.
func TestScan_isTheSpecifications(t *testing.T) {
	all := ruletest.Scans()
	if len(all) < 40 {
		t.Fatalf("%d sessions", len(all))
	}
	for _, s := range all {
		t.Run(s.Name, func(t *testing.T) {
			messages := s.Session.Messages
			if diff := cmp.Diff(specified(messages), s.Marked, emptyIsNil); diff != "" {
				t.Errorf("the specification, against testdata (-want +got):\n%s", diff)
			}
			want := slices.Sorted(slices.Values(s.Marked))
			if diff := cmp.Diff(want, marked(messages, rule.NewLedger(rule.Marks(messages)...)), emptyIsNil); diff != "" {
				t.Errorf("the scan (-want +got):\n%s", diff)
			}
		})
	}
}
