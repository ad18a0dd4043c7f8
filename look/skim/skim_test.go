package skim_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/format/claudecode"
	"github.com/winnowhq/winnow/internal/lavish"
	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/look/skim"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
)

func TestMain(m *testing.M) { lavish.Run(m) }

// A file skimmed in small stretches is reported as one that is read whole.
func TestInspect_saysWhatTheWholeSays(t *testing.T) {
	tried := 0
	for _, path := range files(t) {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := all.Read(src)
		if err != nil {
			t.Fatal(err)
		}
		f, err := all.Named(doc.Format)
		if err != nil {
			t.Fatal(err)
		}
		o, ok := f.(format.Outliner)
		if !ok {
			continue
		}
		tried++
		t.Run(filepath.Base(path), func(t *testing.T) {
			whole := inspectWhole(t, doc, fixed())
			p, err := format.Cut(bytes.NewReader(doc.Source), int64(len(doc.Source)), o.Outline(), 30_000)
			if err != nil {
				t.Fatal(err)
			}
			settings := fixed()
			got, err := skim.Inspect(context.Background(), skim.File{Pieces: p, Format: o}, winnow.Config{Settings: &settings})
			if err != nil {
				t.Fatal(err)
			}
			if len(whole.Window.Pivot) == 0 { // a tail may begin in an older stretch
				if diff := cmp.Diff(whole.Window, got.Window, cmpopts.IgnoreFields(report.Window{}, "Overhead", "Overflow"),
					cmpopts.IgnoreFields(report.Verdict{}, "Step")); diff != "" {
					t.Errorf("window of %d stretches (-whole +skimmed):\n%s", p.Len(), diff)
				}
				again := repeated(doc.Session.Messages)
				if diff := cmp.Diff(parts(whole.Candidates, again), parts(got.Candidates, again)); diff != "" {
					t.Errorf("candidates of %d stretches (-whole +skimmed):\n%s", p.Len(), diff)
				}
			}
			if a, b := whole.Bill.Total(), got.Bill.Total(); math.Abs(a.Cost-b.Cost) > 1e-6 || (got.Cost == nil) != (whole.Cost == nil) {
				t.Errorf("cost %v, want %v", b, a)
			}
			if diff := cmp.Diff(zones(whole), zones(got)); diff != "" {
				t.Errorf("timeline of %d stretches (-whole +skimmed):\n%s", p.Len(), diff)
			}
			if diff := cmp.Diff(report.ByRule(got.Candidates, got.Omitted), got.ByRule); diff != "" {
				t.Errorf("sums by rule of %d stretches (-of the candidates +skimmed):\n%s", p.Len(), diff)
			}
			rest := cmpopts.IgnoreFields(report.Report{}, "Window", "Candidates", "ByRule", "Cost", "Costs", "Bill", "Unpriced", "Strata", "Refusals")
			if diff := cmp.Diff(whole, got, rest); diff != "" {
				t.Errorf("%d stretches (-whole +skimmed):\n%s", p.Len(), diff)
			}
		})
	}
	if tried == 0 {
		t.Fatal("no file of lines at hand")
	}
}

// What the user asks for twice is one wish, whether or not both are in one stretch, and however it is written.
func TestInspect_aWishIsToldOnce(t *testing.T) {
	var src []byte
	for i, text := range []string{"Never edit the generated files.", "Go on.", "never edit the generated files", "Go on."} {
		src = fmt.Appendf(src, `{"type":"user","uuid":"u%d","parentUuid":"u%d","sessionId":"s","message":{"role":"user","content":%q}}`+"\n", i+1, i, text)
	}
	p, err := format.Cut(bytes.NewReader(src), int64(len(src)), claudecode.Format{}.Outline(), 150)
	if err != nil {
		t.Fatal(err)
	}
	settings := fixed()
	r, err := skim.Inspect(t.Context(), skim.File{Pieces: p, Format: claudecode.Format{}}, winnow.Config{Settings: &settings})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Never edit the generated files."}, r.Constraints); diff != "" || p.Len() < 2 {
		t.Errorf("%d stretches (-want +got):\n%s", p.Len(), diff)
	}
}

// What lies idle waits as long in a stretch as in the whole: the steps behind a stretch count.
func TestInspect_whatIsIdleInAStretchIsIdleInTheWhole(t *testing.T) {
	var src []byte
	for i := range 60 {
		src = fmt.Appendf(src, `{"type":"assistant","uuid":"a%d","parentUuid":"r%d","sessionId":"s","message":{"role":"assistant","id":"m%[1]d","content":[{"type":"tool_use","id":"toolu_%[1]d","name":"Read","input":{"file_path":"/home/dev/f%[1]d.go"}}]}}`+"\n", i, i-1)
		src = fmt.Appendf(src, `{"type":"user","uuid":"r%[1]d","parentUuid":"a%[1]d","sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%[1]d","content":%[2]q}]}}`+"\n", i,
			strings.Repeat(fmt.Sprintf("what stands in file %d\n", i), 20+i%3*200))
	}
	settings := fixed()
	settings.Strategies.BalancedPruning.Idle, settings.Strategies.BalancedPruning.IdleSteps = true, 24
	idle := func(r report.Report) (parts []string) {
		for _, c := range r.Candidates {
			if c.Rule == "idle" {
				parts = append(parts, c.Part)
			}
		}
		return parts
	}
	doc, err := claudecode.Format{}.Read(src)
	if err != nil {
		t.Fatal(err)
	}
	whole := inspectWhole(t, doc, settings)
	p, err := format.Cut(bytes.NewReader(src), int64(len(src)), claudecode.Format{}.Outline(), 12_000)
	if err != nil {
		t.Fatal(err)
	}
	got, err := skim.Inspect(t.Context(), skim.File{Pieces: p, Format: claudecode.Format{}}, winnow.Config{Settings: &settings})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(idle(whole), idle(got)); diff != "" || p.Len() < 5 || len(idle(whole)) < 20 || len(idle(whole)) > 50 {
		t.Errorf("%d parts are idle, in %d stretches (-whole +skimmed):\n%s", len(idle(whole)), p.Len(), diff)
	}
}

// fixed counts without learning, so that every stretch counts alike, and protects nothing: what is protected is to be found in the newest
// stretch, which is never as small as here.
func fixed() settings.Settings {
	s := settings.Default()
	s.Counter, s.Compaction.Minimum, s.Compaction.Protect, s.Compaction.ProtectTurns = "linear", 0, 0, 0
	s.Strategies.BalancedPruning = policy.Strategies{} // rules that compare parts see one stretch
	return s
}

func inspectWhole(t *testing.T, doc *format.Document, settings settings.Settings) report.Report {
	t.Helper()
	e, err := winnow.Open(winnow.Config{Settings: &settings})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := e.Import(context.Background(), doc.Session, doc.Ledger, nil, report.Beside(doc.Beside)...); err != nil {
		t.Fatal(err)
	}
	r, err := winnow.Look(context.Background(), e, doc.Session.Info.ID, report.Inspect)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// parts counts the candidates by part, but for calls whose id occurs again: each stretch numbers those anew, and a handle of another length makes a
// placeholder that a part may be too small for.
func parts(candidates []report.Candidate, again map[string]bool) map[string]int {
	times := map[string]int{}
	for _, c := range candidates {
		if id, _, _ := strings.Cut(c.Part, "#"); !again[id] {
			times[c.Part]++
		}
	}
	return times
}

// repeated are the ids of calls that occur more than once.
func repeated(log []session.Message) map[string]bool {
	seen, again := map[string]bool{}, map[string]bool{}
	for i := range log {
		for _, p := range log[i].Parts {
			if p.CallID == "" {
				continue
			}
			again[p.CallID] = again[p.CallID] || seen[p.CallID]
			seen[p.CallID] = true
		}
	}
	return again
}

// zones sums up a timeline. Where a pivot kept a tail, that may be in an older stretch, and counts as folded there.
func zones(r report.Report) map[string]int {
	sum := map[string]int{}
	for _, s := range r.Strata {
		for z, n := range s.Zones {
			switch {
			case z == report.Summary:
				sum["summary"] += n
			case z == report.Folded && r.Window.Pivot == "":
				sum["folded"] += n
			default:
				sum["log"] += n
			}
		}
	}
	return sum
}

// files are all session files that are at hand: our own, and recorded ones where they are.
func files(t testing.TB) []string {
	t.Helper()
	var found []string
	root := outside.Root(t)
	for _, folder := range []string{"format/claudecode/testdata", "format/codex/testdata", "format/pi/testdata", "../shared/corpus", "../shared/fixtures"} {
		filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || filepath.Ext(path) != ".jsonl" && filepath.Ext(path) != ".gz" {
				return nil
			}
			if src, err := os.ReadFile(path); err == nil {
				if _, err := all.Read(src); err == nil {
					found = append(found, path)
				}
			}
			return nil
		})
	}
	return found
}
