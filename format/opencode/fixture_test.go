package opencode

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	"github.com/winnowhq/winnow/internal/outside"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// beside finds recorded sessions.
func beside(t *testing.T, folder, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(outside.Path(t, folder), pattern))
	if err != nil || len(found) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	return found
}

func TestRead_recordedExports(t *testing.T) {
	for _, path := range beside(t, "fixtures", "opencode-export*") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			src := outside.Read(t, path)
			doc := read(t, src)
			var plain struct {
				Messages []struct {
					Parts []struct {
						Type  string `json:"type"`
						State struct {
							Status string `json:"status"`
							Time   struct {
								Compacted float64 `json:"compacted"`
							} `json:"time"`
						} `json:"state"`
					} `json:"parts"`
				} `json:"messages"`
			}
			if err := json.Unmarshal(src, &plain, session.ReadOptions()); err != nil {
				t.Fatal(err)
			}
			want, marked := format.Counts{Entries: len(plain.Messages), Messages: len(plain.Messages)}, 0
			for _, m := range plain.Messages {
				for _, p := range m.Parts {
					if p.Type != "tool" {
						continue
					}
					want.ToolCalls++
					if p.State.Status == "completed" || p.State.Status == "error" {
						want.ToolResults++
					}
					if p.State.Time.Compacted != 0 {
						marked++
					}
				}
			}
			if diff := cmp.Diff(want, doc.Counts); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
			if doc.Ledger.Len() != marked || marked == 0 {
				t.Errorf("the ledger has %d elisions, the file %d marks", doc.Ledger.Len(), marked)
			}
			if len(doc.Damaged) > 0 {
				t.Errorf("damaged: %v", doc.Damaged)
			}
			if got := write(t, doc, unchanged(doc)); !bytes.Equal(got, src) {
				t.Error("written without change, the file differs")
			}
			restored := unchanged(doc)
			restored.Ledger = rule.Ledger{}
			bare := write(t, doc, restored)
			if again := read(t, bare); again.Ledger.Len() != 0 {
				t.Errorf("%d marks are left after all were restored", again.Ledger.Len())
			}
			back := unchanged(doc)
			if got := write(t, read(t, bare), back); !bytes.Equal(got, src) {
				t.Error("with the same marks set again, the file differs from the one that the product wrote")
			}
		})
	}
}

// TestWrite_marksOfTheVectors sets the marks that the product set and compares with what it wrote.
func TestWrite_marksOfTheVectors(t *testing.T) {
	for _, path := range beside(t, "vectors/prune", "*.json.gz") {
		var vector struct {
			Session          jsontext.Value `json:"session"`
			Marked           []string       `json:"marked"`
			AlreadyCompacted []string       `json:"alreadyCompacted"`
		}
		if err := json.Unmarshal(outside.Read(t, path), &vector, session.ReadOptions()); err != nil {
			t.Fatal(err)
		}
		doc := read(t, vector.Session)
		if doc.Ledger.Len() != len(vector.AlreadyCompacted) || len(doc.Damaged) > 0 {
			t.Errorf("%s: %d marks, want %d; damaged: %v", filepath.Base(path), doc.Ledger.Len(), len(vector.AlreadyCompacted), doc.Damaged)
		}
		change := unchanged(doc)
		change.Ledger = mark(doc, vector.Marked...)
		again := read(t, write(t, doc, change))
		var got []string
		for i := range again.Session.Messages {
			for j := range again.Session.Messages[i].Parts {
				if p := &again.Session.Messages[i].Parts[j]; p.State != nil && p.State.Time != nil && p.State.Time.Compacted == 77 {
					got = append(got, p.ID)
				}
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, vector.Marked) {
			t.Errorf("%s: marked %v, want %v", filepath.Base(path), got, vector.Marked)
		}
		change = unchanged(again)
		change.Ledger = doc.Ledger
		if got := write(t, again, change); !bytes.Equal(got, vector.Session) {
			t.Errorf("%s: with the marks restored, the file differs", filepath.Base(path))
		}
	}
}
