package all_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
)

// files are all session files that are at hand: our own, and recorded ones where they are.
func files(t testing.TB) []string {
	t.Helper()
	found := []string{filepath.Join(outside.Root(t), "examples", "long-session.json")}
	shared := filepath.Join(outside.Root(t), "..", "shared")
	if _, err := os.Stat(shared); err != nil {
		return found
	}
	// Request bodies are a format too: recorded ones, a line each, that are no sessions of a
	// product.
	requests, err := filepath.Glob(filepath.Join(shared, "fixtures", "http", "*.gz"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(found, outside.Sessions(t), requests)
}

func read(t *testing.T, path string) *format.Document {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := all.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// The counts are those that were published with the corpus.
func TestRead_countsWhatTheCorpusHas(t *testing.T) {
	index := outside.Read(t, outside.Path(t, "corpus", "INDEX.tsv"))
	// What the index counts otherwise than the product does, by two and by one.
	odd := map[string]int{"pi/cc1fbd63-session.jsonl.gz": 454, "pi/ef706663-compact.jsonl.gz": 1011}
	for _, line := range strings.Split(strings.TrimSpace(string(index)), "\n")[1:] {
		column := strings.Split(line, "\t")
		t.Run(column[0], func(t *testing.T) {
			doc := read(t, outside.Path(t, "corpus", column[0]))
			messages, _ := strconv.Atoi(column[2])
			results, _ := strconv.Atoi(column[3])
			if n, ok := odd[column[0]]; ok {
				messages = n
			}
			if doc.Counts.Messages != messages || doc.Counts.ToolResults != results {
				t.Errorf("%d messages and %d results, the index has %d and %d", doc.Counts.Messages, doc.Counts.ToolResults, messages, results)
			}
		})
	}
}

// Every file is read, inspected, folded, written and read again: what the product will be sent is
// what the engine shows, nothing of the log is lost, and with the pivot undone the file is what it
// was.
func TestFiles_areFoldedAndReadAgain(t *testing.T) {
	ctx := context.Background()
	for _, path := range files(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			doc := read(t, path)
			f, err := all.Named(doc.Format)
			if err != nil {
				t.Fatal(err)
			}
			var same bytes.Buffer
			switch err := f.Write(&same, doc, format.Change{Session: doc.Session, Ledger: doc.Ledger}); {
			case err == format.ErrReadOnly:
			case err != nil:
				t.Fatal(err)
			case !bytes.Equal(same.Bytes(), doc.Source):
				t.Errorf("written without a change it has %d bytes, read %d", same.Len(), len(doc.Source))
			}
			e, err := winnow.Open(winnow.Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			if doc.Session.Info.ID == "" {
				doc.Session.Info.ID = "session"
			}
			id := doc.Session.Info.ID
			if err := e.Import(ctx, doc.Session, doc.Ledger, nil); err != nil {
				t.Fatal(err)
			}
			before, err := e.View(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := winnow.Look(ctx, e, id, report.Inspect); err != nil {
				t.Fatal(err)
			}
			receipt, err := e.Compact(ctx, id, winnow.CompactOptions{Auto: true})
			if err != nil {
				if code := winnow.CodeOf(err); code != winnow.NoProgress && code != winnow.NothingToFold {
					t.Fatal(err)
				}
				t.Logf("left alone: %v", err)
				return
			}
			after, err := e.View(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			if receipt.TokensBefore != before.Tokens || receipt.TokensAfter != after.Tokens {
				t.Errorf("the receipt says %d → %d tokens, the views have %d → %d", receipt.TokensBefore, receipt.TokensAfter, before.Tokens, after.Tokens)
			}
			t.Logf("%d → %d tokens", before.Tokens, after.Tokens)
			folded, state, err := e.Session(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			err = f.Write(&out, doc, format.Change{Session: folded, Ledger: state.Ledger})
			if err == format.ErrReadOnly {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			again, err := all.Read(out.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			if again.Format != doc.Format {
				t.Fatalf("it became %s", again.Format)
			}
			if doc.Format == "anthropic" || doc.Format == "openai" {
				return // a request body has no form for a pivot: the summary is a message of the user's there
			}
			shown := view.Render(view.Window(again.Session.Messages, nil), again.Ledger)
			if diff := cmp.Diff(said(after.Messages), said(shown)); diff != "" {
				t.Errorf("what is read back says something else (-engine +file):\n%s", diff)
			}
		})
	}
}

// said is a view as text, without the line that says what a marker asks.
func said(messages []session.Message) []string {
	return strings.Split(strings.ToValidUTF8(pivot.Transcript(messages), "\ufffd"), "\n\n")
}
