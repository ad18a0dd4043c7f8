package stories

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/store/report"
)

// Whatever is discarded, distilled and restored by handle, in any order: what is claimed is what
// the view shows, another engine on the same store shows the same bytes, a provider takes them, a
// commit is taken back as a whole, and the view never grows but by what is restored.
func TestSelfPrune_holdsInAnyOrder(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		settings := settings.Default()
		settings.Strategies.Handles = rapid.Bool().Draw(r, "handles")
		l := newLab(t, winnow.Config{Settings: &settings, Models: small(400_000, 4000)})
		var names []string
		l.user("Begin.")
		for i := range rapid.IntRange(2, 7).Draw(r, "calls") {
			n := rapid.IntRange(0, 120).Draw(r, "lines")
			switch rapid.IntRange(0, 5).Draw(r, "kind") {
			case 0:
				names = append(names,
					l.call("write", `{"filePath":"f`+fmt.Sprint(i)+`","content":"`+strings.Repeat(`x\n`, 10*n)+`"}`,
						"ok"))
			case 1:
				names = append(names,
					l.call("context_distill", `{"handles":["a"],"summary":"`+strings.Repeat("word ", 5*n)+`"}`, "done"))
			case 2:
				names = append(names, l.says(lines(n) + "x").Parts[0].ID)
				l.user("Go on.")
			default:
				names = append(names, l.call("read", `{"filePath":"f`+fmt.Sprint(i)+`"}`, lines(n)))
			}
		}
		l.says("Yes.")
		names = append(names, "nosuch")
		whole := l.bytes()
		ctx := context.Background()
		for range rapid.IntRange(1, 8).Draw(r, "operations") {
			targets := rapid.SliceOfN(rapid.SampledFrom(names), 1, 4).Draw(r, "targets")
			before, bytesBefore := l.view().Tokens, l.bytes()
			var done winnow.Edited
			op := rapid.SampledFrom([]string{"discard", "distill", "restore"}).Draw(r, "operation")
			switch op {
			case "discard":
				done = l.discard(targets...)
			case "distill":
				done = l.distill(strings.Repeat("said ", rapid.IntRange(0, 200).Draw(r, "words")), targets...)
			case "restore":
				done = l.restoreEach(targets...)
			}
			after, bytesAfter := l.view().Tokens, l.bytes()
			if len(done.Targets) != len(targets) {
				r.Fatalf("%s of %d targets has %d results", op, len(targets), len(done.Targets))
			}
			sum, shown := 0, 0
			for i, one := range done.Targets {
				sum += one.Saved
				if one.Target != targets[i] || !one.OK && (one.Code == "" || one.Reason == "" || one.Saved != 0) {
					r.Fatalf("%s of %s: %+v", op, targets[i], one)
				}
				if one.OK && one.Code == "" {
					shown++
				}
			}
			if done.Changed != (shown > 0) {
				r.Fatalf("%s changed %v, %d targets were done: %+v", op, done.Changed, shown, done.Targets)
			}
			own := 0
			if rc := done.Receipt; rc != nil {
				if rc.TokensBefore != before || rc.TokensAfter != after {
					r.Fatalf("the receipt says %d → %d, the view %d → %d", rc.TokensBefore, rc.TokensAfter, before,
						after)
				}
				for _, el := range rc.Committed {
					if strings.HasPrefix(el.Because, "its summary is shown") {
						own += el.Saves
					}
					if el.Shown != "" && !rule.ContainsPlaceholder(el.Shown) {
						r.Fatalf("%q is not told from other texts", el.Shown)
					}
				}
			}
			if before-after != sum+own {
				r.Fatalf("%s: the targets say %d and %d of older arguments, the view is %d smaller: %+v", op, sum, own,
					before-after, done)
			}
			if op != "restore" && after > before {
				r.Fatalf("%s made the view grow from %d to %d", op, before, after)
			}
			if done.Changed == bytes.Equal(bytesBefore, bytesAfter) {
				r.Fatalf("%s says changed %v", op, done.Changed)
			}
			if err := view.Check(l.view().Messages); err != nil {
				r.Fatalf("after %s a provider refuses: %v", op, err)
			}
			other := open(t, winnow.Config{Settings: &settings, Store: l.Store(), Models: small(400_000, 4000),
				Counter: l.config.Counter})
			if !bytes.Equal(viewJSON(t, other, l.id), bytesAfter) {
				r.Fatalf("after %s another engine shows other bytes", op)
			}
			if done.Receipt != nil && rapid.Bool().Draw(r, "undo") {
				if err := l.undone(ctx, l.id, done.Receipt.ID); err != nil {
					r.Fatal(err)
				}
				if !bytes.Equal(l.bytes(), bytesBefore) {
					r.Fatalf("%s undone leaves\n%s, want\n%s", op, l.bytes(), bytesBefore)
				}
				if err := l.redone(ctx, l.id, done.Receipt.ID); err != nil {
					r.Fatal(err)
				}
				if !bytes.Equal(l.bytes(), bytesAfter) {
					r.Fatalf("%s done again leaves\n%s, want\n%s", op, l.bytes(), bytesAfter)
				}
			}
		}
		l.restoreEach(names...)
		if !bytes.Equal(l.bytes(), whole) {
			r.Fatalf("all restored leaves\n%s, want\n%s", l.bytes(), whole)
		}
	})
}

// What any rule of balanced shows in the place of what it left out can be told from other texts.
func TestContainsPlaceholder_tellsWhatEveryRuleShows(t *testing.T) {
	e, id := imported(t, winnow.Config{})
	_, err := winnow.Look(t.Context(), e.Engine, id, func(s *report.Session) (nothing struct{}, err error) {
		found := s.Policy.Find(s.Planner).Elisions
		if len(found) == 0 {
			t.Error("no rule finds anything in the example")
		}
		for _, el := range found {
			if el.Shown != "" && !rule.ContainsPlaceholder(el.Shown) {
				t.Errorf("%s shows %q", el.Rule, el.Shown)
			}
		}
		for i := range s.Log {
			for j := range s.Log[i].Parts {
				p := &s.Log[i].Parts[j]
				text := p.Text
				if p.State != nil {
					text = p.State.Result()
				}
				if rule.ContainsPlaceholder(text) {
					t.Errorf("what was said in %s is taken for a placeholder", p.ID)
				}
			}
		}
		return nothing, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
