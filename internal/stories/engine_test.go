package stories

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/internal/lavish"
	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
)

func TestMain(m *testing.M) { lavish.Checks(m, 50) }

// clock is a time that stands still.
func clock() func() time.Time {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	return func() time.Time { return now }
}

// dice is randomness that is the same each time.
func dice() io.Reader { return rand.NewChaCha8([32]byte{1}) }

// example is the long session of examples/.
func example(t testing.TB) session.Session {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(outside.Root(t), "examples", "long-session.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s session.Session
	if err := json.Unmarshal(text, &s, session.ReadOptions()); err != nil {
		t.Fatal(err)
	}
	return s
}

func open(t testing.TB, c winnow.Config) *engine {
	t.Helper()
	if c.Now == nil {
		c.Now = clock()
	}
	if c.Random == nil {
		c.Random = dice()
	}
	e, err := launch(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// imported is an engine with the example in it.
func imported(t testing.TB, c winnow.Config) (*engine, string) {
	t.Helper()
	e, s := open(t, c), example(t)
	if err := e.Import(context.Background(), s, rule.NewLedger(rule.Marks(s.Messages)...), nil); err != nil {
		t.Fatal(err)
	}
	return e, s.Info.ID
}

func viewJSON(t testing.TB, e *engine, id string) []byte {
	t.Helper()
	v, err := e.View(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(v.Messages)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestCompact_shrinksTheViewAndUndoRestoresItToTheByte(t *testing.T) {
	for _, policy := range []string{"classic", "aggressive", "balanced"} {
		t.Run(policy, func(t *testing.T) {
			settings := settings.Default()
			settings.Policy = policy
			e, id := imported(t, winnow.Config{Settings: &settings})
			ctx := context.Background()
			before := viewJSON(t, e, id)
			receipt, err := e.Compact(ctx, id, winnow.CompactOptions{})
			if err != nil {
				t.Fatal(err)
			}
			after, err := e.View(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			if after.Tokens != receipt.TokensAfter {
				t.Errorf("the receipt says %d tokens after, the view has %d", receipt.TokensAfter, after.Tokens)
			}
			if receipt.TokensAfter*4 > receipt.TokensBefore {
				t.Errorf("%d tokens before, %d after: hardly smaller", receipt.TokensBefore, receipt.TokensAfter)
			}
			t.Logf("%d → %d tokens, %d → %d messages, carried %+v", receipt.TokensBefore, receipt.TokensAfter,
				receipt.MessagesBefore, receipt.MessagesAfter, receipt.Carried)
			folded := viewJSON(t, e, id)
			if _, err := e.Undo(ctx, id, ""); err != nil {
				t.Fatal(err)
			}
			if undone := viewJSON(t, e, id); !bytes.Equal(before, undone) {
				t.Errorf("undo gave another view than before: %d bytes, want %d", len(undone), len(before))
			}
			if _, err := e.Redo(ctx, id, receipt.Marker); err != nil {
				t.Fatal(err)
			}
			if redone := viewJSON(t, e, id); !bytes.Equal(folded, redone) {
				t.Errorf("redo gave another view than the compaction: %d bytes, want %d", len(redone), len(folded))
			}
		})
	}
}
