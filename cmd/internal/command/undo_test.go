package command

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/cmd/internal/cli"
)

// eager lets everything go that a rule finds in small sessions.
var eager = []string{
	"WINNOW_COMPACTION_PROTECT=10", "WINNOW_COMPACTION_MINIMUM=0", "WINNOW_COMPACTION_PROTECT_TURNS=0",
	"WINNOW_STRATEGIES_BALANCED_PRUNING_QUIET_STEPS=0",
}

// eagerDesk is a desk where nothing is kept for being new.
func eagerDesk(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t)
	d.env = append(slices.DeleteFunc(d.env, func(pair string) bool { return slices.Contains(smallSettings, pair) }), eager...)
	return d
}

// elidedParts are the ids or handles of what explain shows as elided.
func (d *desk) elidedParts(src, policy, member string) []string {
	d.t.Helper()
	o := d.run("explain", src, "--zone", "pruned", "--policy", policy, "--json")
	o.wants(d.t, cli.ExitDone)
	var names []string
	for _, x := range o.document(d.t)["parts"].([]any) {
		names = append(names, x.(map[string]any)[member].(string))
	}
	return names
}

func same(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	t.Errorf("%s: %d bytes, want %d; they differ from byte %d on: %.80q, want %.80q", what, len(got), len(want), at, got[at:], want[at:])
}

// forEachFormat runs a test on a session of each format that is written back, under both policies
// that elide by many rules.
func forEachFormat(t *testing.T, test func(t *testing.T, d *desk, file, policy string)) {
	for _, file := range []string{"opencode.json", "claude.jsonl", "codex.jsonl", "pi.jsonl"} {
		for _, policy := range []string{"balanced", "aggressive"} {
			t.Run(fmt.Sprintf("%s,%s", file, policy), func(t *testing.T) {
				d := eagerDesk(t)
				test(t, d, d.take(file), policy)
			})
		}
	}
}

func TestRestore_everythingOfAFileGivesItsBytes(t *testing.T) {
	sequential(t)
	forEachFormat(t, func(t *testing.T, d *desk, file, policy string) {
		original := d.read(file)
		d.run("prune", file, "--policy", policy, "-o", "small").wants(t, cli.ExitDone)
		if bytes.Equal(d.read("small"), original) {
			t.Fatal("pruning changed nothing")
		}
		for _, member := range []string{"handle", "part"} {
			names := d.elidedParts("small", policy, member)
			if len(names) < 2 {
				t.Fatalf("%d parts are elided, want several", len(names))
			}
			d.run(append([]string{"restore", "small", "-o", "whole-" + member}, names...)...).wants(t, cli.ExitDone)
			same(t, "restored by "+member, d.read("whole-"+member), original)
		}
		d.run("undo", "small", "-o", "undone").wants(t, cli.ExitDone)
		same(t, "undone", d.read("undone"), original)
	})
}

func TestRestore_oneAfterTheOtherGivesTheBytesToo(t *testing.T) {
	sequential(t)
	forEachFormat(t, func(t *testing.T, d *desk, file, policy string) {
		original := d.read(file)
		d.run("prune", file, "--policy", policy, "-o", "0").wants(t, cli.ExitDone)
		names := d.elidedParts("0", policy, "handle")
		// The newest first: parts that others were elided for come back before those.
		slices.Reverse(names)
		for i, name := range names {
			from, to := fmt.Sprint(i), fmt.Sprint(i+1)
			d.run("restore", from, name, "-o", to).wants(t, cli.ExitDone)
			if left := d.elidedParts(to, policy, "handle"); len(left) != len(names)-i-1 || slices.Contains(left, name) {
				t.Fatalf("after %s was restored %v are elided", name, left)
			}
		}
		same(t, "restored one by one", d.read(fmt.Sprint(len(names))), original)
	})
}

// stored imports a file and gives the id under which it is kept.
func (d *desk) stored(file string) string {
	d.t.Helper()
	o := d.run("import", file, "--json")
	o.wants(d.t, cli.ExitDone)
	return o.document(d.t)["sessions"].([]any)[0].(map[string]any)["id"].(string)
}

// seen is what the model is shown of a session in the store, and the file that it is exported to.
func (d *desk) seen(id string) (view, exported []byte) {
	d.t.Helper()
	o := d.run("view", id)
	o.wants(d.t, cli.ExitDone)
	e := d.run("export", id)
	e.wants(d.t, cli.ExitDone)
	return []byte(o.stdout), []byte(e.stdout)
}

func TestUndo_inTheStoreGivesTheBytes(t *testing.T) {
	sequential(t)
	forEachFormat(t, func(t *testing.T, d *desk, file, policy string) {
		original := d.read(file)
		id := d.stored(file)
		before, _ := d.seen(id)
		d.run("prune", id, "--policy", policy).wants(t, cli.ExitDone)
		if view, _ := d.seen(id); bytes.Equal(view, before) {
			t.Fatal("pruning changed nothing of the view")
		}
		d.run("undo", id).wants(t, cli.ExitDone)
		view, exported := d.seen(id)
		same(t, "the view, undone", view, before)
		same(t, "the export, undone", exported, original)
		d.run("redo", id).wants(t, cli.ExitDone)
		names := d.elidedParts(id, policy, "handle")
		d.run(append([]string{"restore", id}, names...)...).wants(t, cli.ExitDone)
		view, exported = d.seen(id)
		same(t, "the view, restored", view, before)
		same(t, "the export, restored", exported, original)
	})
}

func TestUndo_ofOneReceiptOfTwoLeavesTheOther(t *testing.T) {
	sequential(t)
	d := eagerDesk(t)
	id := d.stored(d.take("claude.jsonl"))
	whole, original := d.seen(id)
	receipt := func(env ...string) string {
		t.Helper()
		kept := d.env
		d.env = append(slices.Clone(kept), env...)
		defer func() { d.env = kept }()
		o := d.run("prune", id, "--json")
		o.wants(t, cli.ExitDone)
		return o.document(t)["receipt"].(string)
	}
	// First what lies behind the newest tokens, then the rest.
	first := receipt("WINNOW_COMPACTION_PROTECT=1500", "WINNOW_COMPACTION_PROTECT_TURNS=2")
	after, _ := d.seen(id)
	before := d.elidedParts(id, "balanced", "part")
	second := receipt()
	both := d.elidedParts(id, "balanced", "part")
	if len(before) == 0 || len(both) <= len(before) {
		t.Fatalf("%d parts went first, %d in all: want two receipts that have something", len(before), len(both))
	}
	d.run("undo", id, first).wants(t, cli.ExitDone)
	if left := d.elidedParts(id, "balanced", "part"); len(left) == 0 || len(left) >= len(both) {
		t.Errorf("%d of %d parts are elided once the first receipt was undone; want those of the second", len(left), len(both))
	}
	d.run("undo", id, second).wants(t, cli.ExitDone)
	view, exported := d.seen(id)
	same(t, "the view once both are undone", view, whole)
	same(t, "the export once both are undone", exported, original)
	d.run("redo", id, first).wants(t, cli.ExitDone)
	view, _ = d.seen(id)
	same(t, "the view once the first counts again", view, after)
	if got := d.elidedParts(id, "balanced", "part"); !slices.Equal(got, before) {
		t.Errorf("%v are elided once the first counts again, want %v", got, before)
	}
}

// A part of which a first pruning took the arguments and a second one the output: undo of the
// second leaves the first.
func TestUndo_ofTheSecondOfTwoPruningsOfAFileLeavesTheFirst(t *testing.T) {
	sequential(t)
	for _, file := range []string{"opencode.json", "claude.jsonl", "codex.jsonl", "pi.jsonl"} {
		t.Run(file, func(t *testing.T) {
			d := eagerDesk(t)
			d.take(file)
			kept := d.env
			d.env = append(slices.Clone(kept), "WINNOW_COMPACTION_PROTECT=1000000") // no backward scan
			first := d.run("prune", file, "-o", "first")
			if first.code != cli.ExitDone {
				t.Skipf("no rule but the backward scan finds anything: %s", first.stderr)
			}
			time.Sleep(2 * time.Millisecond) // the time of a commit names it
			d.env = kept
			d.run("prune", "first", "-o", "second").wants(t, cli.ExitDone)
			if bytes.Equal(d.read("first"), d.read("second")) {
				t.Fatal("the second pruning changed nothing")
			}
			d.run("undo", "second", "-o", "undone").wants(t, cli.ExitDone)
			same(t, "the second undone", d.read("undone"), d.read("first"))
			d.run("undo", "undone", "-o", "whole").wants(t, cli.ExitDone)
			same(t, "both undone", d.read("whole"), d.read(file))
		})
	}
}

// A restore of elided parts leaves nothing in a file that says so; undo takes it back all the same,
// to the byte, also the second of two.
func TestUndo_ofARestoreGivesTheBytesOfTheFileBefore(t *testing.T) {
	sequential(t)
	forEachFormat(t, func(t *testing.T, d *desk, file, policy string) {
		d.run("prune", file, "--policy", policy, "-o", "small").wants(t, cli.ExitDone)
		names := d.elidedParts("small", policy, "handle")
		o := d.run("restore", "small", names[0], "-o", "one")
		o.wants(t, cli.ExitDone)
		if !strings.Contains(o.stdout, "Undo with: winnow undo one\n") {
			t.Errorf("it does not say how to take that back:\n%s", o.stdout)
		}
		one := d.read("one")
		d.run("restore", "one", names[0], "-o", "again").wants(t, cli.ExitNothing)
		d.run(append([]string{"restore", "one", "--in-place", "--force"}, names[1:]...)...).wants(t, cli.ExitDone)
		same(t, "all restored", d.read("one"), d.read(file))
		d.run("undo", "one", "--in-place", "--force").wants(t, cli.ExitDone)
		same(t, "the second restore undone", d.read("one"), one)
		d.run("undo", "one", "-o", "none").wants(t, cli.ExitDone)
		same(t, "both undone", d.read("none"), d.read("small"))
		d.run("undo", "none", "-o", "whole").wants(t, cli.ExitDone)
		same(t, "the pruning undone", d.read("whole"), d.read(file))
	})
}
