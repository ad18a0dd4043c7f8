package lab

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/summarize/offline"
	"github.com/winnowhq/winnow/token"
)

var wordForm = regexp.MustCompile(`[A-Za-z0-9_./-]+`)

// rowsOf are the rows of six words of a text, spelled out.
func rowsOf(text string) map[string]bool {
	all := map[string]bool{}
	words := wordForm.FindAllString(text, -1)
	for i := 0; i+Words <= len(words); i++ {
		all[strings.Join(words[i:i+Words], " ")] = true
	}
	return all
}

// A step needs what the definition says: rows of six words that stand in earlier items, all of them
// hidden, three of an item.
func TestNeeded_isWhatTheDefinitionSays(t *testing.T) {
	setups := unfolded()
	terms := Reference()
	missed := 0
	rapid.Check(t, func(r *rapid.T) {
		trace := NewTrace(happened(ruletest.Sessions(40).Draw(r, "session")), model.Model{}, token.Linear{})
		setup := rapid.SampledFrom(setups).Draw(r, "setup")
		if rapid.Bool().Draw(r, "folds") {
			setup = folding(setup.Policy, trace.Base+rapid.IntRange(200, 2_000).Draw(r, "threshold"))
		}
		replay := newRun(t.Context(), trace, setup, Options{Terms: &terms, Summarizer: offline.New()})
		shown := make([]map[string]bool, len(trace.items))
		for i := range trace.items {
			text, _ := trace.text(&trace.items[i])
			if !trace.items[i].written {
				text = regexp.MustCompile(`(?m)^ *\d+(→|\t|\||: )`).ReplaceAllString(text, "")
			}
			shown[i] = rowsOf(text)
		}
		for k := range trace.steps {
			replay.begin(k)
			var want []int32
			rows := map[int32]int{}
			for row := range produced(trace, shown, k) {
				newest, stands := int32(-1), false
				for i := range trace.items {
					if trace.items[i].step >= k || !shown[i][row] {
						continue
					}
					newest = int32(i)
					stands = stands || !replay.hidden[i] || len(replay.back[i]) > 0
				}
				if newest >= 0 && !stands && !inPlaceholders(replay, row) {
					rows[newest]++
				}
			}
			for i, n := range rows {
				if n >= Quotations {
					want = append(want, i)
				}
			}
			slices.Sort(want)
			var got []int32
			for _, m := range replay.needed(k) {
				got = append(got, m.item)
			}
			if !slices.Equal(got, want) {
				r.Fatalf("step %d of %s: needs %v, by the definition %v", k, setup.Name, got, want)
			}
			missed += len(got)
			replay.send(k)
			if err := replay.end(k); err != nil {
				r.Fatal(err)
			}
		}
	})
	t.Logf("%d items were missed", missed)
	if missed == 0 {
		t.Error("nothing was missed: this shows nothing")
	}
}

// produced are the rows that a step wrote.
func produced(t *Trace, rows []map[string]bool, k int) map[string]bool {
	all := map[string]bool{}
	for i := range t.items {
		if t.items[i].step == k && t.items[i].written {
			for row := range rows[i] {
				all[row] = true
			}
		}
	}
	return all
}

// inPlaceholders reports whether a row stands in what is shown in the place of what was left out, or
// in a summary.
func inPlaceholders(r *run, row string) bool {
	for i := range r.window {
		m := &r.window[i]
		for j := range m.Parts {
			if m.IsSummary() && rowsOf(m.Parts[j].Text)[row] {
				return true
			}
			for _, e := range r.ledger.Of(m.Parts[j].ID) {
				if rowsOf(e.Shown)[row] {
					return true
				}
			}
		}
	}
	return false
}
