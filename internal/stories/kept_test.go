package stories

import (
	"context"
	"strings"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/memory"
)

// folded is a session of which a read, a picture and a file without bytes were folded.
func foldedSession(t *testing.T, c winnow.Config) (l *lab, read session.Message, picture, bare string) {
	t.Helper()
	if c.Models == nil {
		c.Models = small(400_000, 4_000)
	}
	c.Summarizer = &scripted{answers: []any{notes("go on"), notes("go on"), notes("go on"), notes("go on")}}
	l = newLab(t, c)
	l.user("Read it.")
	read = l.reads("plan.go", 900)
	file := func(p session.Part) string {
		p.Type, p.Mime = session.FilePart, "image/png"
		return l.append(session.Message{MessageInfo: session.MessageInfo{Role: session.User},
			Parts: []session.Part{p}}).Parts[0].ID
	}
	picture = file(session.Part{Filename: "kiln.png", URL: "data:image/png;base64,iVBORw0KGgo="})
	bare = file(session.Part{Filename: "gone.png", URL: "file:///tmp/gone.png"})
	for range 6 {
		l.reads("other.go", 12_000)
	}
	l.work(4)
	l.compact(winnow.CompactOptions{})
	return l, read, picture, bare
}

func (l *lab) restore(parts ...string) *pivot.Receipt {
	l.t.Helper()
	r, err := l.Restore(context.Background(), l.id, parts...)
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

func TestRestore_quotesAFoldedCallWithItsPlace(t *testing.T) {
	l, read, picture, _ := foldedSession(t, winnow.Config{})
	before := l.text()
	if strings.Contains(before, "plan.go gave") {
		t.Fatal("the read is in the view before it is restored")
	}
	size := l.view().Tokens
	r := l.restore(read.Parts[0].ID, picture)
	after := l.view()
	text := l.text()
	for _, want := range []string{"Turn 1, message 2 of the session:", "plan.go (" + read.Parts[0].ID + ")",
		"gave:\n\n> "} {
		if !strings.Contains(text, want) {
			t.Errorf("the view has no %q:\n%s", want, text)
		}
	}
	last := after.Messages[len(after.Messages)-1]
	if len(last.Parts) != 2 || last.Parts[1].Mime != "image/png" || last.Written() {
		t.Errorf("the picture is not attached, or somebody wrote it: %+v", last)
	}
	if r.Kind != pivot.Restoring || r.TokensBefore != size || r.TokensAfter != after.Tokens || len(r.Quoted) != 2 ||
		!strings.HasPrefix(text, before) {
		t.Errorf("the receipt says %+v; the view went from %d to %d tokens", r, size, after.Tokens)
	}
	x, err := l.Explain(t.Context(), l.id, read.Parts[0].ID)
	if err != nil || x.Quoted == nil || x.Quoted.By != r.ID || x.Shown <= x.Tokens ||
		!strings.Contains(x.Because, "folded behind pivot") || !strings.Contains(x.Because, "restored on") ||
		!strings.Contains(x.Because, "undone with: winnow undo") {
		t.Errorf("it is explained as %q, %+v, %v", x.Because, x.Quoted, err)
	}
	x, err = l.Explain(t.Context(), l.id, last.Parts[0].ID)
	if err != nil || !strings.Contains(x.Because, "quotes what was folded and restored") || x.Undo == "" {
		t.Errorf("the quotation is explained as %q, undone with %q, %v", x.Because, x.Undo, err)
	}
}

func TestRestore_saysWhatItCannotDo(t *testing.T) {
	l, read, _, bare := foldedSession(t, winnow.Config{})
	window := l.view().Messages
	shown := ""
	for i := range window {
		for _, p := range window[i].Parts {
			if p.Type == session.ToolPart {
				shown = p.ID
			}
		}
	}
	l.restore(read.Parts[0].ID)
	before := l.text()
	for name, c := range map[string]struct {
		part string
		code rule.Code
	}{
		"unknown": {"nosuch", winnow.NotFound}, "shown whole": {shown, winnow.Already},
		"quoted already": {read.Parts[0].ID, winnow.Already}, "a file without bytes": {bare, winnow.NotKept},
	} {
		if _, err := l.Restore(t.Context(), l.id, c.part); winnow.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
		if name == "unknown" {
			continue
		}
		if done := l.restoreEach(c.part); done.Changed || done.Targets[0].Code != c.code {
			t.Errorf("%s, by the agent: %+v, want %s", name, done, c.code)
		}
	}
	if l.text() != before {
		t.Error("what was refused changed the view")
	}
}

func TestRestore_andPinAreRefusedWhereThereIsNoRoom(t *testing.T) {
	kept := memory.New()
	big, read, _, _ := foldedSession(t, winnow.Config{Store: kept})
	l := &lab{t: t, engine: open(t, winnow.Config{Store: kept, Models: small(20_000, 2_000)}), id: big.id}
	var large string
	s, _, err := l.Session(t.Context(), l.id)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Messages {
		if p := s.Messages[i].Parts[0]; large == "" && p.State != nil && len(p.State.Output) > 40_000 {
			large = p.ID
		}
	}
	before := l.text()
	if _, err := l.Restore(t.Context(), l.id, large); winnow.CodeOf(err) != winnow.TooLarge {
		t.Errorf("a part larger than the window is restored: %v", err)
	}
	if _, err := l.Pin(t.Context(), l.id, rule.Pin{Part: large}); winnow.CodeOf(err) != winnow.TooLarge {
		t.Errorf("a part larger than the window is pinned: %v", err)
	}
	done, err := l.RestoreEach(t.Context(), l.id, large, read.Parts[0].ID)
	if err != nil || done.Targets[0].Code != winnow.TooLarge || !done.Targets[1].OK || done.Targets[1].Saved >= 0 ||
		done.Receipt == nil {
		t.Errorf("one that is too large and one that fits: %+v, %v", done, err)
	}
	if _, err := l.Undo(t.Context(), l.id, done.Receipt.ID); err != nil || l.text() != before {
		t.Errorf("undone, the view is not what it was: %v", err)
	}
}

func TestPin_ofAFoldedPartTakesEffectAtOnce(t *testing.T) {
	for _, name := range []string{policy.Classic, policy.Aggressive, policy.Balanced} {
		settings := settings.Default()
		settings.Policy = name
		l, read, _, _ := foldedSession(t, winnow.Config{Settings: &settings})
		before := l.text()
		pin, err := l.Pin(t.Context(), l.id, rule.Pin{Part: read.Parts[0].ID})
		if err != nil || !strings.Contains(l.text(), "# Pinned") ||
			!strings.Contains(l.text(), "plan.go ("+read.Parts[0].ID) {
			t.Fatalf("%s: pinned, it is not in the view: %v", name, err)
		}
		if _, err := l.Pin(t.Context(), l.id, rule.Pin{Part: read.Parts[0].ID}); winnow.CodeOf(err) != winnow.Already {
			t.Errorf("%s: pinned twice: %v", name, err)
		}
		with := l.text()
		if err := l.Unpin(t.Context(), l.id, pin.ID); err != nil || l.text() != before {
			t.Errorf("%s: unpinned, the view is not what it was: %v", name, err)
		}
		receipts, err := l.Receipts(t.Context(), l.id)
		if err != nil {
			t.Fatal(err)
		}
		r := receipts[len(receipts)-1]
		if _, err := l.Redo(t.Context(), l.id, r.ID); err != nil || r.Kind != pivot.Pinning || l.text() != with {
			t.Errorf("%s: pinned again by its receipt, the view is not what it was: %v", name, err)
		}
		if _, err := l.Undo(t.Context(), l.id, ""); err != nil || l.text() != before {
			t.Errorf("%s: undone, the view is not what it was: %v", name, err)
		}
	}
}

// A pin that was made after a compaction was undone first: what was undone last is the compaction,
// then the pin.
func TestRedo_redoesWhatWasUndoneLastWhateverItsKind(t *testing.T) {
	l, read, _, _ := foldedSession(t, winnow.Config{})
	receipts, err := l.Receipts(t.Context(), l.id)
	if err != nil {
		t.Fatal(err)
	}
	fold := receipts[len(receipts)-1]
	if _, err := l.Pin(t.Context(), l.id, rule.Pin{Part: read.Parts[0].ID}); err != nil {
		t.Fatal(err)
	}
	note, err := l.Pin(t.Context(), l.id, rule.Pin{Text: "Ask the keeper first."})
	if err != nil {
		t.Fatal(err)
	}
	receipts, err = l.Receipts(t.Context(), l.id)
	if err != nil {
		t.Fatal(err)
	}
	pinned, noted := receipts[len(receipts)-2], receipts[len(receipts)-1]
	for _, r := range []string{pinned.ID, fold.ID} {
		if _, err := l.Undo(t.Context(), l.id, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Unpin(t.Context(), l.id, note.ID); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{noted.ID, fold.ID, pinned.ID} {
		r, err := l.Redo(t.Context(), l.id, "")
		if err != nil || r.ID != want {
			t.Fatalf("redone is %+v, %v; want %s", r, err, want)
		}
	}
	if r, err := l.Redo(t.Context(), l.id, ""); winnow.CodeOf(err) != winnow.NotFound {
		t.Errorf("nothing is undone, and redo made %+v, %v", r, err)
	}
}

// The pin is made while the pivot is undone: the pivot that counts again shows it, too.
func TestPin_holdsAfterTheRedoOfAnOlderPivot(t *testing.T) {
	for _, name := range []string{policy.Classic, policy.Aggressive, policy.Balanced} {
		settings := settings.Default()
		settings.Policy = name
		l, read, _, _ := foldedSession(t, winnow.Config{Settings: &settings})
		receipts, err := l.Receipts(t.Context(), l.id)
		if err != nil {
			t.Fatal(err)
		}
		fold := receipts[len(receipts)-1].ID
		if _, err := l.Undo(t.Context(), l.id, fold); err != nil {
			t.Fatal(err)
		}
		for _, pin := range []rule.Pin{{Text: "Ask the keeper first."}, {Part: read.Parts[0].ID}} {
			if _, err := l.Pin(t.Context(), l.id, pin); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := l.Redo(t.Context(), l.id, fold); err != nil {
			t.Fatal(err)
		}
		if text := l.text(); !strings.Contains(text, "> Ask the keeper first.") ||
			!strings.Contains(text, "plan.go ("+read.Parts[0].ID) {
			t.Errorf("%s: after redo of the pivot, what was pinned meanwhile is not in the view:\n%s", name, text)
		}
	}
}

func TestCompact_letsGoOfWhatWasRestoredWhereThereIsNoRoom(t *testing.T) {
	l, read, _, _ := foldedSession(t, winnow.Config{})
	s, _, err := l.Session(t.Context(), l.id)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Messages {
		if p := &s.Messages[i].Parts[0]; p.State != nil && len(p.State.Output) > 40_000 {
			if _, err := l.Restore(t.Context(), l.id, p.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := l.Pin(t.Context(), l.id, rule.Pin{Part: read.Parts[0].ID}); err != nil {
		t.Fatal(err)
	}
	l.work(6)
	before := l.text()
	tight := &lab{t: t, engine: open(t, winnow.Config{Store: l.Store(), Models: small(16_000, 2_000),
		Summarizer: &scripted{answers: []any{notes("go on"), notes("go on")}}}), id: l.id}
	r, err := tight.Compact(t.Context(), l.id, winnow.CompactOptions{})
	if err != nil || len(r.LetGo) == 0 {
		t.Fatalf("a restore that does not fit keeps the session from being folded: %+v, %v", r, err)
	}
	if !strings.Contains(tight.text(), "plan.go ("+read.Parts[0].ID) {
		t.Error("the pin went, too")
	}
	if _, err := tight.Undo(t.Context(), l.id, r.ID); err != nil || tight.text() != before {
		t.Errorf("undone, the view is not what it was: %v", err)
	}
}

// What a restore of elided parts, alone or beside folded ones, showed again goes with its receipt,
// byte for byte, and comes back with it.
func TestRestore_ofWhatWasElidedIsTakenBack(t *testing.T) {
	l, read, again, search := quay(t, winnow.Config{})
	l.discard(read, again)
	l.discard(search)
	elided := l.bytes()
	r := l.restore(read, search)
	restored := l.bytes()
	if r.ID == "" || r.Undo != "winnow undo "+l.id+" "+r.ID || len(r.Replaced) != 2 ||
		r.TokensAfter != l.view().Tokens || string(restored) == string(elided) {
		t.Errorf("the receipt says %+v, the view has %d tokens", r, l.view().Tokens)
	}
	if _, err := l.Restore(t.Context(), l.id, read); winnow.CodeOf(err) != winnow.Already {
		t.Errorf("restored twice: %v", err)
	}
	for _, what := range []string{"", r.ID} {
		if _, err := l.Undo(t.Context(), l.id, what); err != nil || string(l.bytes()) != string(elided) {
			t.Errorf("undo %q: the view is not what it was: %v", what, err)
		}
		if _, err := l.Undo(t.Context(), l.id, r.ID); winnow.CodeOf(err) != winnow.Already {
			t.Errorf("undone twice: %v", err)
		}
		if _, err := l.Redo(t.Context(), l.id, what); err != nil || string(l.bytes()) != string(restored) {
			t.Errorf("redo %q: the view is not what it was: %v", what, err)
		}
	}
	done := l.restoreEach(again)
	if done.Receipt == nil {
		t.Fatal("a restore by the agent has no receipt")
	}
	if _, err := l.Undo(t.Context(), l.id, done.Receipt.ID); err != nil || string(l.bytes()) != string(restored) {
		t.Errorf("the agent's undone, the view is not what it was: %v", err)
	}
}

// What was left out again meanwhile, by something newer, is that one's: the restore is not what
// hides it.
func TestRestore_undoneAfterItWasLeftOutAgainChangesNothing(t *testing.T) {
	l, read, _, _ := quay(t, winnow.Config{})
	l.discard(read)
	r := l.restore(read)
	l.distill("The crane reads its load.", read)
	before := l.bytes()
	if _, err := l.Undo(t.Context(), l.id, r.ID); winnow.CodeOf(err) != winnow.Already ||
		string(l.bytes()) != string(before) {
		t.Errorf("undone: %v", err)
	}
}
