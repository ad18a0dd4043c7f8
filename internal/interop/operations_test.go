//go:build interop

package interop

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
)

func TestClaudeCode_operations(t *testing.T) { operations(t, claudeAgent) }
func TestCodex_operations(t *testing.T)      { operations(t, codexAgent) }
func TestOpenCode_operations(t *testing.T)   { operations(t, openCodeAgent) }
func TestPi_operations(t *testing.T)         { operations(t, piAgent) }

// operations does to a session of a product what the table has a column for. Each time the product
// goes on with what winnow wrote.
func operations(t *testing.T, start func(*testing.T) *agent) {
	w, first := newWorkshop(t, start), start(t)
	whole := first.job(t)
	t.Run("read", func(t *testing.T) {
		tries(t, "read")
		shown := visible(readAny(t, whole), first.cleared)
		last := &shown[len(shown)-1] // the answer to the newest request
		said := func(p session.Part) bool { return p.Type == session.TextPart }
		last.Parts = slices.DeleteFunc(slices.Clone(last.Parts), said)
		first.agrees(t, shown, first.asked(t, "CAPYBARA"))
		from, to := filepath.Join(w.dir, "session"), filepath.Join(w.dir, "read")
		putFile(t, from, string(whole))
		w.run(t, "inspect", from)
		for _, command := range []string{"prune", "compact"} {
			if w.run(t, command, from, "-o", to, "--force", "--format", "claude-code") {
				readAny(t, readFile(t, to))
			}
		}
	})
	if first.load == nil {
		return // the product does not take back what is written
	}
	w.compacted(t, whole)
	w.pruned(t, whole)
	t.Run("compacted by the product before", func(t *testing.T) {
		tries(t, "native compaction before", "undo at once")
		a := w.resume(t, whole)
		a.compact(t)
		a.more(t)
		native := a.save(t)
		if all := markers(t, native); len(all) != 1 {
			t.Errorf("compactions of the product: %v", all)
		}
		w.resume(t, native)
		ours := w.change(t, native, "compact")
		w.resume(t, ours)
		w.undo(t, ours, native)
	})
}

func (w *workshop) compacted(t *testing.T, whole []byte) {
	text := w.change(t, whole, "compact", "--to", "2000")
	a := w.start(t)
	t.Run("compacted", func(t *testing.T) {
		tries(t, "compact", "undo at once")
		a.load(t, text)
		checkContains(t, a.goesOn(t, text), false, lastLine(folded(t, text)))
		a.appended(t, text)
		w.undo(t, text, whole)
	})
	t.Run("compacted, undone later", func(t *testing.T) {
		tries(t, "undo after more turns")
		b := w.resume(t, w.change(t, a.save(t), "undo"))
		checkContains(t, b.asked(t, "OKAPI"), true, "CAPYBARA", "EARLY-line-200", "WALRUS", "MIDDLE-line-200")
	})
	t.Run("compacted, restored", func(t *testing.T) {
		tries(t, "restore", "undo at once")
		part := folded(t, text)
		restored := w.change(t, text, "restore", part.ID)
		checkContains(t, w.resume(t, restored).asked(t, "OKAPI"), true, lastLine(part))
		w.undo(t, restored, text)
	})
	t.Run("compacted again", func(t *testing.T) {
		tries(t, "second fold", "undo at once")
		a.more(t)
		once := a.save(t)
		twice := w.change(t, once, "compact")
		w.resume(t, twice)
		w.undo(t, twice, once)
	})
	t.Run("compacted by the product after", func(t *testing.T) {
		tries(t, "native compaction after")
		a.compact(t)
		both := a.save(t)
		ours, all := markers(t, text)[0], markers(t, both)
		if len(all) == 0 || all[len(all)-1] == ours {
			t.Fatalf("the product did not compact: %v, ours is %s", all, ours)
		}
		w.resume(t, both)
		if slices.Contains(all, ours) {
			w.resume(t, w.change(t, both, "undo", ours)) // below the product's
		}
	})
}

func (w *workshop) pruned(t *testing.T, whole []byte) {
	text := w.change(t, whole, "prune")
	a := w.start(t)
	t.Run("pruned", func(t *testing.T) {
		tries(t, "prune", "undo at once")
		a.load(t, text)
		a.goesOn(t, text)
		a.appended(t, text)
		w.undo(t, text, whole)
	})
	t.Run("pruned, undone later", func(t *testing.T) {
		tries(t, "undo after more turns")
		w.resume(t, w.change(t, a.save(t), "undo"))
	})
	t.Run("pruned, restored", func(t *testing.T) {
		tries(t, "restore", "undo at once")
		ledger := readAny(t, text).Ledger
		restored := w.change(t, text, "restore", ledger.All()[0].Part)
		if left := readAny(t, restored).Ledger.Len(); left != ledger.Len()-1 {
			t.Errorf("%d of %d parts are left out after one was restored", left, ledger.Len())
		}
		w.resume(t, restored)
		w.undo(t, restored, text)
	})
}

// markers are the ids of the completed compactions of a session.
func markers(t *testing.T, text []byte) (ids []string) {
	t.Helper()
	for _, m := range readAny(t, text).Session.Messages {
		if m.Completes() {
			ids = append(ids, m.ParentID)
		}
	}
	return ids
}

// folded is the first call that a compaction folded.
func folded(t *testing.T, text []byte) *session.Part {
	t.Helper()
	log := readAny(t, text).Session.Messages
	window := view.Window(log, nil)
	for _, m := range log {
		for i := range m.Parts {
			if p := &m.Parts[i]; p.Type == session.ToolPart && session.Index(window, m.ID) < 0 {
				return p
			}
		}
	}
	t.Fatal("no call was folded")
	return nil
}

func lastLine(p *session.Part) string {
	text := strings.TrimSpace(p.State.Result())
	return text[strings.LastIndexByte(text, '\n')+1:]
}
