package stories

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/fold"
	"github.com/winnowhq/winnow/summarize/offline"
)

// folded is a session with rules, decisions and commands that was folded once.
func folded(t *testing.T, o winnow.CompactOptions) *lab {
	t.Helper()
	l := newLab(t, winnow.Config{Models: small(200_000, 4000)})
	l.user("Build the feed. Never touch internal/store/store.go. The port is 8417.")
	l.busy(12)
	l.says("I decided to write the feed by hand, because only the standard library is allowed.")
	l.user("And the tests?")
	l.call("bash", `{"command":"go test ./internal/feed"}`, "ok  \tinternal/feed\t0.1s")
	l.busy(12)
	l.compact(o)
	return l
}

// busy is work that is too large for all of it to stay.
func (l *lab) busy(turns int) {
	for i := range turns {
		l.user(fmt.Sprintf("Request number %d: change the parser.", i))
		l.reads(fmt.Sprintf("file%d.go", i), 2000)
		l.says(fmt.Sprintf("Done with number %d.", i))
	}
}

func TestCompact_nothingNewIsNothingToDo(t *testing.T) {
	for name, c := range map[string]struct {
		how  winnow.CompactOptions
		then func(l *lab)
	}{
		"nothing":              {},
		"nothing, and no tail": {then: func(l *lab) { l.compact(winnow.CompactOptions{To: l.view().Tokens / 2}) }},
		"a continue":           {how: winnow.CompactOptions{Auto: true}},
		"a pin of what is shown": {then: func(l *lab) {
			v := l.view()
			if _, err := l.Pin(t.Context(), l.id,
				rule.Pin{Part: v.Messages[len(v.Messages)-1].Parts[0].ID}); err != nil {
				t.Fatal(err)
			}
		}},
		"a marker that waits": {then: func(l *lab) {
			if _, err := l.Schedule(t.Context(), l.id, false); err != nil {
				t.Fatal(err)
			}
		}},
		"a pruning": {then: func(l *lab) {
			if _, err := l.Prune(t.Context(), l.id, false); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		l := folded(t, c.how)
		if c.then != nil {
			c.then(l)
		}
		before := l.bytes()
		_, err := l.Compact(t.Context(), l.id, winnow.CompactOptions{})
		if winnow.CodeOf(err) != winnow.NothingToFold || !errors.Is(err, fold.ErrNothingNew) ||
			!strings.Contains(err.Error(), "--to") {
			t.Errorf("%s: folding again: %v, want %s and what to ask for", name, err, winnow.NothingToFold)
		}
		if string(l.bytes()) != string(before) {
			t.Errorf("%s: the view is another one", name)
		}
		if _, err := l.Preview(t.Context(), l.id, winnow.CompactOptions{}); !errors.Is(err, fold.ErrNothingNew) {
			t.Errorf("%s: the preview says %v", name, err)
		}
		r, err := l.Inspect(t.Context(), l.id)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(r.Refusals, func(r rule.Refusal) bool {
			return r.Code == winnow.NothingToFold && strings.Contains(r.Reason, "nothing was said since")
		}) {
			t.Errorf("%s: the report does not refuse it: %+v", name, r.Refusals)
		}
	}
}

func TestCompact_somethingNewIsFolded(t *testing.T) {
	l := folded(t, winnow.CompactOptions{})
	l.work(4)
	r := l.compact(winnow.CompactOptions{})
	text := l.text()
	for _, want := range []string{"Never touch internal/store/store.go", "8417", "I decided to write the feed by hand",
		"go test ./internal/feed"} {
		if !strings.Contains(text, want) {
			t.Errorf("after two folds %q is lost", want)
		}
	}
	if r.Summarizer != offline.Name {
		t.Errorf("written by %s", r.Summarizer)
	}
}

func TestCompact_toASizeFoldsAgainAndKeepsIt(t *testing.T) {
	l := folded(t, winnow.CompactOptions{})
	to := l.view().Tokens / 2
	if p, err := l.Preview(t.Context(), l.id, winnow.CompactOptions{To: to}); err != nil || p.TokensAfter > to {
		t.Errorf("the preview of %d tokens: %d, %v", to, p.TokensAfter, err)
	}
	r := l.compact(winnow.CompactOptions{To: to})
	if r.TokensAfter > to || l.view().Tokens > to {
		t.Errorf("the view has %d tokens, %d were asked for", l.view().Tokens, to)
	}
	if text := l.text(); !strings.Contains(text, "Never touch internal/store/store.go") ||
		!strings.Contains(text, "8417") {
		t.Errorf("the rule or the port is lost in\n%s", text)
	}
	before := l.bytes()
	if _, err := l.Compact(t.Context(), l.id, winnow.CompactOptions{To: 20}); winnow.CodeOf(err) != winnow.NoProgress ||
		!strings.Contains(err.Error(), "were asked for") {
		t.Errorf("20 tokens: %v, want %s", err, winnow.NoProgress)
	}
	if _, err := l.Compact(t.Context(), l.id, winnow.CompactOptions{To: 1_000_000}); !errors.Is(err,
		fold.ErrNothingNew) {
		t.Errorf("more tokens than there are: %v", err)
	}
	if string(l.bytes()) != string(before) {
		t.Error("a refusal changed the view")
	}
	if _, err := l.Undo(t.Context(), l.id, r.Marker); err != nil {
		t.Fatal(err)
	}
}

// What is pinned and what is restored is shown at once: neither is news for a summary, and a
// compaction leaves both as they are.
func TestCompact_nothingNewInWhatIsPinnedOrRestored(t *testing.T) {
	l := folded(t, winnow.CompactOptions{})
	s, _, err := l.Session(t.Context(), l.id)
	if err != nil {
		t.Fatal(err)
	}
	for _, pin := range []rule.Pin{{Part: s.Messages[2].Parts[0].ID}, {Text: "Ask the keeper first."}} {
		if _, err := l.Pin(t.Context(), l.id, pin); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Restore(t.Context(), l.id, s.Messages[1].Parts[0].ID); err != nil {
		t.Fatal(err)
	}
	before := l.bytes()
	for range 2 {
		if _, err := l.Compact(t.Context(), l.id, winnow.CompactOptions{}); !errors.Is(err, fold.ErrNothingNew) {
			t.Errorf("with two pins and a restore: %v", err)
		}
	}
	if string(l.bytes()) != string(before) {
		t.Error("a refusal changed the view")
	}
}

// A model that goes on from its own notes is told what the log says about them; by the letter it
// has the notes alone.
func TestCompact_theModelIsToldWhatTheLogSaysOfItsNotes(t *testing.T) {
	for policy, told := range map[string]bool{"balanced": true, "classic": false} {
		first := pivot.Answer{Text: "## Decisions\n\nIt listens on port 8417, as internal/feed/feed.go says.",
			Finish: "stop"}
		scribe := &scripted{answers: []any{first, notes("go on")}}
		l := newLab(t, winnow.Config{Summarizer: scribe, Settings: withPolicy(policy), Models: small(200_000, 4000)})
		l.user("Make it listen on port 8417, in internal/feed/feed.go.")
		l.work(12)
		l.compact(winnow.CompactOptions{})
		l.user("Use port 8080 instead of 8417.")
		l.work(12)
		l.compact(winnow.CompactOptions{})
		r := scribe.asked[len(scribe.asked)-1]
		if r.Previous == "" {
			t.Fatalf("%s: the second request has no earlier notes", policy)
		}
		asks := r.Asks()
		if got := strings.Contains(asks, "port: 8417 is now 8080"); got != told {
			t.Errorf("%s: that the port was changed is told: %v, want %v, in\n%s", policy, got, told, asks)
		}
		if got := strings.Contains(asks, "`internal/feed/feed.go`: \"Make it listen"); got != told {
			t.Errorf("%s: where the file was spoken of is told: %v, want %v, in\n%s", policy, got, told, asks)
		}
	}
}

// The log of a product that threw its past away begins with a summary, and that is what is known of
// it.
func TestCompact_whatAProductThrewAwayIsTakenFromItsSummary(t *testing.T) {
	l := folded(t, winnow.CompactOptions{})
	s, _, err := l.Session(t.Context(), l.id)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(s.Messages, func(m session.Message) bool { return m.Marker() != nil })
	cut := session.Session{Info: session.Info{ID: "ses_cut"}, Messages: slices.Clone(s.Messages[at : at+2])}
	if err := l.Import(t.Context(), cut, rule.Ledger{}, nil); err != nil {
		t.Fatal(err)
	}
	l.id = cut.Info.ID
	for range 3 {
		l.work(12)
		l.compact(winnow.CompactOptions{})
	}
	text := l.text()
	for _, want := range []string{"Never touch internal/store/store.go", "8417", "I decided to write the feed by hand",
		"go test ./internal/feed"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is lost in\n%s", want, text)
		}
	}
}
