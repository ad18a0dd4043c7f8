package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/sqlite"
)

func search(t *testing.T, s *sqlite.Store, words string) store.Found {
	t.Helper()
	found, err := s.Search(t.Context(), store.Search{Words: words})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestSearch_takesUpAStoreOfVersion1(t *testing.T) {
	s := open(t, sqlite.Config{Path: copyOf(t, "version1.db")})
	want, _ := version1("one")
	word := strings.Fields(want[0].Parts[3].State.Output)[0] // in a content that is gzip
	if found := search(t, s, word); found.Total != 1 {
		t.Errorf("%d hits for %q", found.Total, word)
	}
	if found := search(t, s, `"go test"`); found.Total != 6 {
		t.Errorf("%d hits of 6", found.Total)
	}
	if n := count(t, s, `SELECT sum(messages - indexed) FROM session`); n != 0 {
		t.Errorf("%d messages are not in the index", n)
	}
	whole(t, s.Reader())
}

// A store that must not be written is searched as far as its index goes, and says how far that is.
func TestSearch_readOnlySaysWhatItDidNotLookIn(t *testing.T) {
	path := filled(t)
	s := open(t, sqlite.Config{Path: path})
	search(t, s, "session")
	if _, err := s.Apply(t.Context(), "ses", store.Change{Append: steps(2, 10, 9)}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = open(t, sqlite.Config{Path: path, ReadOnly: true})
	found, err := s.Search(t.Context(), store.Search{Words: "go test", Limit: 100})
	if err != nil || found.Behind != 2 || found.Total != 3 {
		t.Errorf("%d hits, %d messages behind, %v", found.Total, found.Behind, err)
	}
	if err := s.Index(t.Context(), nil); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("Index: %v", err)
	}
}

func TestSearch_looksInWhatIsThereWhileAnotherProcessWrites(t *testing.T) {
	path := filled(t)
	s := open(t, sqlite.Config{Path: path, Wait: 20 * time.Millisecond})
	search(t, s, "session")
	if _, err := s.Apply(t.Context(), "ses", store.Change{Append: steps(2, 10, 9)}); err != nil {
		t.Fatal(err)
	}
	other := raw(t, path)
	run(t, other, `BEGIN IMMEDIATE`)
	if found := search(t, s, `"go test"`); found.Behind != 2 || found.Total != 3 {
		t.Errorf("%d hits, %d messages behind", found.Total, found.Behind)
	}
	run(t, other, `ROLLBACK`)
	if found := search(t, s, `"go test"`); found.Behind != 0 || found.Total != 5 {
		t.Errorf("%d hits, %d messages behind after the other was done", found.Total, found.Behind)
	}
}

// What is damaged is not found, and hides nothing else.
func TestIndex_passesOverWhatIsDamaged(t *testing.T) {
	path := filled(t)
	run(t, raw(t, path), `UPDATE part SET data = x'0001ff' WHERE message = 1 AND position = 2`,
		`UPDATE message SET info = '{' WHERE position = 0`)
	s := open(t, sqlite.Config{Path: path})
	found := search(t, s, `"go test"`)
	if len(found.Hits) != 1 || found.Hits[0].Message != "msg_1_2" {
		t.Errorf("hits %+v", found.Hits)
	}
}

// Stopping in the middle keeps what was done; nothing is taken up twice.
func TestIndex_goesOnAfterItWasStopped(t *testing.T) {
	if testing.Short() {
		t.Skip("stops at every step")
	}
	s := open(t, sqlite.Config{Path: filepath.Join(t.TempDir(), "winnow.db")})
	if err := s.Create(t.Context(), session.Info{ID: "ses"}); err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		if _, err := s.Apply(t.Context(), "ses", store.Change{Append: steps(60, 30_000, uint64(i))}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	err := s.Index(ctx, func(done, all int) {
		if calls++; calls == 3 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want the context's", err)
	}
	done := count(t, s, `SELECT indexed FROM session`)
	if done == 0 || done == 360 {
		t.Errorf("%d of 360 messages were done", done)
	}
	whole(t, s.Reader())
	found, err := s.Search(t.Context(), store.Search{Words: `"go test"`, Limit: 1000})
	if err != nil || found.Total != 360 || len(found.Hits) != 360 {
		t.Errorf("%d hits of 360, %v", found.Total, err)
	}
	whole(t, s.Reader())
}

// A process that is killed while it appends, and others that search, leave an index that follows
// the log.
func TestIndex_followsWhatAKilledProcessWrote(t *testing.T) {
	if testing.Short() {
		t.Skip("kills a process again and again")
	}
	path := filled(t)
	for range 6 {
		cmd, lines := start(t, path, "killed", 1000)
		for range 20 {
			lines.Scan()
		}
		s := open(t, sqlite.Config{Path: path})
		search(t, s, "killed")
		cmd.Process.Kill()
		cmd.Wait()
		found, err := s.Search(t.Context(), store.Search{Words: "killed", Limit: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if want := count(t, s, `SELECT count(*) * 2 FROM message WHERE id LIKE 'killed/%'`); found.Total != want {
			t.Errorf("%d hits, want %d", found.Total, want)
		}
		whole(t, s.Reader())
		s.Close()
	}
}

// No query is a syntax error of the index, whatever is typed.
func FuzzSearch_noQueryIsWrong(f *testing.F) {
	s, err := sqlite.Open(context.Background(), sqlite.Config{Path: filepath.Join(f.TempDir(), "winnow.db")})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	if _, err := s.Apply(context.Background(), "ses",
		store.Change{Create: &session.Info{ID: "ses"}, Append: steps(3, 2000, 1)}); err != nil {
		f.Fatal(err)
	}
	for _, words := range []string{"", `"`, `a" OR "b`, "NEAR(a b, 3)", "said : x", "^a*", "日本*", "\x00\xff", "a AND",
		"{said asked}: x", "é*", "x\u0301", "ﬁ Ⅳ ²"} {
		f.Add(words)
	}
	f.Fuzz(func(t *testing.T, words string) {
		if _, err := s.Search(context.Background(), store.Search{Words: words}); err != nil &&
			!errors.Is(err, store.ErrNoWord) {
			t.Fatalf("%q: %v", words, err)
		}
	})
}

// BenchmarkIndex takes up 1,000 messages with outputs of a size.
func BenchmarkIndex(b *testing.B) {
	for _, output := range []int{500, 8000} {
		b.Run(fmt.Sprintf("output=%d", output), func(b *testing.B) {
			size := 0
			var took time.Duration
			for range b.N {
				s := benchStore(b)
				for i := range 10 {
					batch := steps(100, output, uint64(i))
					for _, m := range batch {
						for _, p := range m.Parts {
							size += len(p.Text)
							if p.State != nil {
								size += len(p.State.Output) + len(p.State.Input)
							}
						}
					}
					change(b, s, store.Change{Append: batch})
				}
				begun := time.Now()
				if err := s.Index(b.Context(), nil); err != nil {
					b.Fatal(err)
				}
				took += time.Since(begun)
				s.Close()
			}
			b.ReportMetric(float64(size)/1e6/took.Seconds(), "MB/s")
			b.ReportMetric(float64(b.N*5000)/took.Seconds(), "parts/s")
		})
	}
}

// BenchmarkSearch finds two words, in 10,000 messages with 8,000 bytes of output each, that many
// parts have, or one.
func BenchmarkSearch(b *testing.B) {
	s := benchStore(b)
	for i := range 100 {
		change(b, s, store.Change{Append: steps(100, 8000, uint64(i))})
	}
	change(b, s, store.Change{Append: []session.Message{{MessageInfo: session.MessageInfo{ID: "m"},
		Parts: []session.Part{{ID: "p", Text: "a nightingale in the ledger"}}}}})
	if err := s.Index(b.Context(), nil); err != nil {
		b.Fatal(err)
	}
	for _, words := range []string{"nightingale ledger", "pivot ledger"} {
		b.Run(strings.ReplaceAll(words, " ", "_"), func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Search(b.Context(), store.Search{Words: words}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A hit that is damaged is told, and hides none of the others.
func TestSearch_tellsOfHitsThatAreDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "winnow.db")
	s := open(t, sqlite.Config{Path: path})
	for _, id := range []string{"one", "two"} {
		if _, err := s.Apply(t.Context(), id, store.Change{Create: &session.Info{ID: id}, Append: []session.Message{
			{MessageInfo: session.MessageInfo{ID: "msg_" + id, Role: session.User},
				Parts: []session.Part{{ID: "p", Type: session.TextPart,
					Text: "heron " + words(1, 3000) + id}}}}}); err != nil {
			t.Fatal(err)
		}
	}
	if found := search(t, s, "heron"); found.Total != 2 || len(found.Hits) != 2 || len(found.Damaged) != 0 {
		t.Fatalf("%d hits, damaged: %v", len(found.Hits), found.Damaged)
	}
	run(t, raw(t, path), `UPDATE content SET data = x'00' WHERE num = 1`)
	found := search(t, s, "heron")
	if found.Total != 2 || len(found.Hits) != 1 || found.Hits[0].Session.ID != "two" {
		t.Errorf("hits %+v", found.Hits)
	}
	if len(found.Damaged) != 1 || !errors.Is(found.Damaged[0], store.ErrCorrupt) ||
		!strings.Contains(found.Damaged[0].Error(), "message msg_one of session one") {
		t.Errorf("damaged: %v", found.Damaged)
	}
	n := 0
	for m, err := range s.Sketch(t.Context(), "one") {
		if err != nil || m.ID != "msg_one" || len(m.Parts) != 1 || m.Parts[0].Text != "" {
			t.Errorf("sketched %+v, %v", m, err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("%d messages were sketched", n)
	}
}
