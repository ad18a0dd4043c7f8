package stories

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/policy"
)

func TestCompact_strikesWhatAModelMadeUp(t *testing.T) {
	said := "The parser reads file1.go and internal/invented/ghost.go."
	want := []pivot.Struck{{Kind: "path", Text: "internal/invented/ghost.go"}}
	for _, p := range []string{policy.Balanced, policy.Classic} {
		t.Run(p, func(t *testing.T) {
			l := newLab(t, winnow.Config{Settings: withPolicy(p),
				Summarizer: &scripted{limit: 100000, answers: []any{notes(said)}}})
			l.work(4)
			r := l.compact(winnow.CompactOptions{})
			if diff := cmp.Diff(want, r.Struck); diff != "" {
				t.Errorf("struck (-want +got):\n%s", diff)
			}
			if !strings.Contains(strings.Join(r.Notes, "\n"), "1 claim of the summary") {
				t.Errorf("the notes are %q", r.Notes)
			}
			marked := strings.Contains(l.text(), "~~internal/invented/ghost.go~~ (unconfirmed)")
			if marked != (p == policy.Balanced) || strings.Contains(l.text(), "~~file1.go~~") {
				t.Errorf("the summary:\n%s", l.text())
			}
		})
	}
	t.Run("not what our own summariser wrote", func(t *testing.T) {
		l := newLab(t, winnow.Config{})
		l.work(6)
		if r := l.compact(winnow.CompactOptions{}); len(r.Struck) > 0 {
			t.Errorf("struck %v", r.Struck)
		}
	})
}

// looked is a context that ends when it was looked at so often, so that a test can end it at each
// place.
type looked struct {
	context.Context
	left atomic.Int64
}

func (l *looked) Err() error {
	if l.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

func TestCompact_endsWhereverItIsStopped(t *testing.T) {
	said := ""
	for i := range 40 {
		said += fmt.Sprintf("It reads internal/invented%d/ghost%d.go.\n", i, i)
	}
	start := func() *lab {
		l := newLab(t, winnow.Config{Summarizer: &scripted{limit: 100000, answers: []any{notes(said)}}})
		l.work(20)
		return l
	}
	const many = 1 << 40
	ctx := &looked{Context: t.Context()}
	ctx.left.Store(many)
	l := start()
	if _, err := l.Compact(ctx, l.id, winnow.CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	looks := many - ctx.left.Load()
	if looks < 40 {
		t.Errorf("the context was looked at %d times: not before each of 40 claims", looks)
	}
	stopped := 0
	for n := range looks {
		l, ctx := start(), &looked{Context: t.Context()}
		ctx.left.Store(n)
		before := viewJSON(t, l.engine, l.id)
		r, err := l.Compact(ctx, l.id, winnow.CompactOptions{})
		after := viewJSON(t, l.engine, l.id)
		switch {
		case err == nil:
			if r.Kind != pivot.Compaction || len(r.Struck) != 40 {
				t.Errorf("stopped at look %d, it was done without its check: %+v", n, r)
			}
		case winnow.CodeOf(err) != winnow.Cancelled:
			t.Errorf("stopped at look %d, the error is %v", n, err)
		case !bytes.Equal(before, after):
			t.Errorf("stopped at look %d, the session changed", n)
		default:
			stopped++
		}
	}
	if stopped < 40 {
		t.Errorf("it was stopped %d times of %d", stopped, looks)
	}
}
