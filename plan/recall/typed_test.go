package recall

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConstraints_leaveOutWhatWasPasted(t *testing.T) {
	l := new(logOf).user("It crashed again. Never hide an error.\nTypeError: value must not be null\n    at load (src/load.ts:12:3)\n2026-01-03 12:00:01 cache must be warm before use\n" +
		"$ lint --never-fix\n[warn] do not use this flag\nsrc/a.go:3:1: should not use dot imports\n| always | never |\nDon't rename it.")
	var got []string
	for _, c := range Constraints(l.messages) {
		got = append(got, c.Text)
	}
	if diff := cmp.Diff([]string{"Never hide an error.", "Don't rename it."}, got); diff != "" {
		t.Errorf("constraints (-want +got):\n%s", diff)
	}
}

func TestConstraints_joinALineThatAnEditorBroke(t *testing.T) {
	l := new(logOf).user("Please split the importer into two packages and never\nlet one of them open a socket. Thanks.\n\nAlways answer in French\nand good luck")
	var got []string
	for _, c := range Constraints(l.messages) {
		got = append(got, c.Text)
	}
	want := []string{"Please split the importer into two packages and never let one of them open a socket.",
		"Always answer in French"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("constraints (-want +got):\n%s", diff)
	}
}

func TestWithout_leavesOutWhatHasTheSameWords(t *testing.T) {
	found := []Constraint{{Text: "Never push!"}, {Text: "Always test."}}
	left := Without(found, map[string]bool{Key("never, PUSH"): true})
	if diff := cmp.Diff(found[1:], left); diff != "" {
		t.Errorf("constraints (-want +got):\n%s", diff)
	}
	if len(found) != 2 || found[0].Text != "Never push!" {
		t.Error("what was handed in was changed")
	}
}
