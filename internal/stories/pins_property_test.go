package stories

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/memory"
	"github.com/winnowhq/winnow/token"
)

// keeper does random things to a session that has pins and constraints, folds it now and then, and
// looks what is left of them.
type keeper struct {
	*rapid.T
	engine *engine
	policy string
	store  *memory.Store
	random *rand.ChaCha8
	id     string
	n      int
	folds  int
	pruned int
	rules  map[string]bool // every constraint that the user stated: whether it is dismissed
	said   []session.Part  // parts that can be pinned
}

func (k *keeper) append(role session.Role, p session.Part) {
	k.n++
	m := session.Message{MessageInfo: session.MessageInfo{ID: fmt.Sprintf("m%d", k.n), Role: role, Finish: "stop"}}
	p.ID, p.MessageID = fmt.Sprintf("p%d", k.n), m.ID
	m.Parts = []session.Part{p}
	if err := k.engine.Append(context.Background(), k.id, m); err != nil {
		k.Fatal(err)
	}
	k.said = append(k.said, p)
}

func (k *keeper) User(*rapid.T) {
	text := fmt.Sprintf("  report.Request %d.", k.n)
	if rapid.Bool().Draw(k.T, "rule") {
		form := rapid.SampledFrom([]string{"Never touch file%d.go.", "Only use port %d.",
			"Bitte keine neuen Tabellen in db%d.", "No logs in f%d!", "I prefer name%d."}).Draw(k.T, "form")
		one := fmt.Sprintf(form, rapid.IntRange(0, 6).Draw(k.T, "which"))
		if _, known := k.rules[one]; !known {
			k.rules[one] = false
		}
		text += rapid.SampledFrom([]string{" ", "\n- ", "\n\n"}).Draw(k.T, "gap") + one
	}
	k.append(session.User, session.Part{Type: session.TextPart, Text: text})
}

func (k *keeper) Step(*rapid.T) {
	name := rapid.SampledFrom([]string{fmt.Sprintf("f%d.go", k.n%5), "AGENTS.md"}).Draw(k.T, "file")
	state := &session.ToolState{Status: session.Completed, Input: []byte(fmt.Sprintf(`{"filePath":"/repo/%s"}`, name))}
	state.Output = fmt.Sprintf("  output %d begins\n\n", k.n) + strings.Repeat("code ",
		rapid.SampledFrom([]int{0, 40, 900}).Draw(k.T, "size")) + fmt.Sprintf("\n\toutput %d ends \n", k.n)
	k.append(session.Assistant, session.Part{Type: session.ToolPart, Tool: "read", CallID: fmt.Sprint("call", k.n),
		State: state})
}

func (k *keeper) Pin(*rapid.T) {
	pin := rule.Pin{Text: fmt.Sprintf(" my text %d\nand more ", rapid.IntRange(0, 3).Draw(k.T, "text"))}
	if len(k.said) > 0 && rapid.IntRange(0, 2).Draw(k.T, "part") > 0 {
		p := k.said[rapid.IntRange(0, len(k.said)-1).Draw(k.T, "of")]
		pin = rule.Pin{Part: p.ID}
		if rapid.Bool().Draw(k.T, "message") {
			pin = rule.Pin{Message: p.MessageID}
		}
	}
	if _, err := k.engine.Pin(context.Background(), k.id, pin); err != nil && winnow.CodeOf(err) != winnow.Already {
		k.Fatal(err)
	}
}

func (k *keeper) Unpin(*rapid.T) {
	_, state, err := k.engine.Session(context.Background(), k.id)
	if err != nil {
		k.Fatal(err)
	}
	if len(state.Pins) > 0 {
		if err := k.engine.Unpin(context.Background(), k.id,
			rapid.SampledFrom(state.Pins).Draw(k.T, "pin").ID); err != nil {
			k.Fatal(err)
		}
	}
}

func (k *keeper) Dismiss(*rapid.T) {
	all, err := k.engine.Constraints(context.Background(), k.id)
	if err != nil {
		k.Fatal(err)
	}
	if len(all) != len(k.rules) {
		k.Fatalf("%d constraints are found, %d were stated: %v", len(all), len(k.rules), all)
	}
	if len(all) == 0 {
		return
	}
	c := rapid.SampledFrom(all).Draw(k.T, "constraint")
	name := rapid.SampledFrom([]string{c.Text, fmt.Sprint(c.Number)}).Draw(k.T, "name")
	changed, err := k.engine.Dismiss(context.Background(), k.id, !k.rules[c.Text], name)
	if err != nil || len(changed) != 1 || changed[0].Text != c.Text || changed[0].Dismissed == k.rules[c.Text] {
		k.Fatalf("%q: changed %v, %v", name, changed, err)
	}
	k.rules[c.Text] = !k.rules[c.Text]
}

func (k *keeper) Restart(*rapid.T) {
	set := withPolicy(k.policy)
	set.Strategies.BalancedPruning.IdleSteps = 1 // these sessions are short
	set.Compaction.Protect, set.Compaction.Minimum = 300, 100
	e, err := launch(winnow.Config{Settings: set, Store: k.store, Models: small(400_000, 4_000),
		Counter: token.Chars4{}, Random: k.random})
	if err != nil {
		k.Fatal(err)
	}
	k.engine = e
}

func (k *keeper) Prune(*rapid.T) {
	out, err := k.engine.Prune(context.Background(), k.id, false)
	if err != nil {
		k.Fatal(err)
	}
	if out.Pruned != nil {
		k.pruned++
	}
	k.look("")
}

func (k *keeper) Fold(*rapid.T) {
	receipt, err := k.engine.Compact(context.Background(), k.id, winnow.CompactOptions{})
	if code := winnow.CodeOf(err); code == winnow.NothingToFold || code == winnow.NoProgress {
		return
	}
	if err != nil {
		k.Fatal(err)
	}
	k.folds++
	k.look(receipt.Summary)
}

// look compares the view with what must be in it.
func (k *keeper) look(summary string) {
	v, err := k.engine.View(context.Background(), k.id)
	if err != nil {
		k.Fatal(err)
	}
	var told, carried, pinned string // by the summariser, and by the engine
	verbatim := map[string]bool{}
	tail := ""
	for i := range v.Messages {
		m := &v.Messages[i]
		if m.ID != summary {
			verbatim[m.ID] = true
			if _, kept := m.Kept(); kept {
				pinned += "\n\n" + m.Parts[0].Text
			}
			tail += m.Text() + "\n"
			continue
		}
		for j := range m.Parts {
			if n, _ := m.Parts[j].Note(); n.Carry {
				carried += m.Parts[j].Text
			} else {
				told += m.Parts[j].Text
			}
		}
	}
	pinned += "\n\n"
	listed := section(carried, "The user's standing constraints")
	for text, dismissed := range k.rules {
		if summary == "" || k.policy != policy.Balanced { // by the letter there is no carry-over
			break
		}
		line := "- " + text
		own := strings.Count("\n"+listed+"\n", "\n"+line+"\n")
		switch {
		case dismissed && (own > 0 || strings.Contains(section(told, "Constraints and preferences"), text)):
			k.Fatalf("%q was dismissed and stands among the constraints:\n%s\n%s", text, told, carried)
		case dismissed:
		case own > 1 || own == 1 && (strings.Contains(told, text) || strings.Contains(pinned, text)):
			k.Fatalf("%q is said more than once:\n%s\n%s", text, told, carried)
		case own == 0 && !strings.Contains(told, text) && !strings.Contains(pinned, text) &&
			!strings.Contains(tail, text):
			k.Fatalf("%q is lost:\n%s\n%s", text, told, carried)
		}
	}
	_, state, err := k.engine.Session(context.Background(), k.id)
	if err != nil {
		k.Fatal(err)
	}
	for _, p := range k.said {
		if p.State != nil && strings.Contains(string(p.State.Input), "AGENTS.md") && state.Ledger.Touches(p.ID) {
			k.Fatalf("%s of a protected path is left out", p.ID)
		}
	}
	kept := "\n" + strings.ReplaceAll(pinned, "\n> ", "\n")
	for _, pin := range state.Pins {
		text := pin.Text
		if at := slices.IndexFunc(k.said,
			func(p session.Part) bool { return p.ID == pin.Part || p.MessageID == pin.Message }); at >= 0 {
			p := k.said[at]
			if verbatim[p.MessageID] {
				if rule.NewLedger(state.Ledger.All()...).Touches(p.ID) {
					k.Fatalf("the pinned part %s is elided", p.ID)
				}
				continue
			}
			if text = p.Text; p.State != nil {
				text = p.State.Output
			}
		}
		if n := strings.Count(kept, "\n"+text+"\n"); n != 1 {
			k.Fatalf("%q is pinned and stands %d times, want once, in:\n%s", text, n, pinned)
		}
	}
}

// section is what stands under a heading of the second level, up to the next.
func section(text, title string) string {
	_, rest, ok := strings.Cut("\n"+text, "\n## "+title+"\n")
	if !ok {
		return ""
	}
	body, _, _ := strings.Cut(rest, "\n## ")
	return body
}

// Whatever was pinned and stated, dismissed and taken back, under every policy: after each pruning
// and each pivot it is there word for word, once, and what was dismissed is not.
func TestPinsAndConstraints_surviveEveryPivotOnce(t *testing.T) {
	for _, name := range []string{policy.Balanced, policy.Classic, policy.Aggressive} {
		t.Run(name, func(t *testing.T) { keepsPins(t, name) })
	}
}

func keepsPins(t *testing.T, policy string) {
	folds, twice, pruned := 0, 0, 0
	rapid.Check(t, func(r *rapid.T) {
		k := &keeper{T: r, policy: policy, store: memory.New(), random: rand.NewChaCha8([32]byte{1}),
			rules: map[string]bool{}}
		k.Restart(r)
		id, err := k.engine.Create(context.Background(), session.Info{Title: "kept"})
		if err != nil {
			r.Fatal(err)
		}
		k.id = id
		r.Repeat(map[string]func(*rapid.T){
			"user": k.User, "step": k.Step, "step again": k.Step, "pin": k.Pin, "unpin": k.Unpin, "dismiss": k.Dismiss,
			"fold": k.Fold, "prune": k.Prune, "restart": k.Restart,
		})
		folds, pruned = folds+k.folds, pruned+k.pruned
		if k.folds > 1 {
			twice++
		}
	})
	t.Logf("%d pivots, more than one in %d sessions; %d prunings", folds, twice, pruned)
	if !t.Failed() && !testing.Short() && (twice == 0 || pruned == 0) {
		t.Error("no session was folded twice, or none was pruned")
	}
}
