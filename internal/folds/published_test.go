package folds

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format/body"
	"github.com/winnowhq/winnow/internal/quality"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/summarize/offline"
)

var fidelity = flag.String("fidelity", "", "a folder with published sets of constraints: make fidelity")

// constraint is a sentence that others published for measuring what compaction loses.
type constraint struct{ set, kind, text string }

// sets are the files that are understood, by name: how a constraint is written in them.
var sets = map[string]struct {
	name string
	form *regexp.Regexp // kind and text
}{
	"sssc.py":     {"COMPINT", regexp.MustCompile(`"type": "(\w+)",\s+"sssc": ("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')`)},
	"canaries.py": {"conformance kit", regexp.MustCompile(`type=CanaryType\.(\w+),\s+content=("(?:[^"\\]|\\.)*")`)},
}

// published are the constraints of all sets below a folder.
func published(t *testing.T, folder string) (all []constraint) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		set, known := sets[filepath.Base(path)]
		if err != nil || !known || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range set.form.FindAllStringSubmatch(string(text), -1) {
			all = append(all, constraint{set.name, strings.ToLower(strings.ReplaceAll(found[1], "_", " ")),
				strings.ReplaceAll(found[2][1:len(found[2])-1], `\`, "")})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatalf("%s has none of the files that are understood: sssc.py, canaries.py", folder)
	}
	return all
}

// framings are those of COMPINT: how a constraint is introduced.
var framings = []struct{ name, before string }{
	{"plain", ""}, {"for the session", "For the rest of this session. "}, {"important", "This is an important constraint: "},
	{"both", "This is an important constraint: for the rest of this session. "},
}

// framed is a constraint as it is said.
func (c constraint) framed(before string) string {
	if before == "" {
		return c.text
	}
	return before + strings.ToLower(c.text[:1]) + c.text[1:]
}

// kept says all constraints in the first fifth of a session, folds after each fifth to 8,000 tokens,
// and says which stand word for word after the first fold and after the last. They end long messages
// about something else, or stand alone. In bodies only what the last fold left is handed on.
func kept(t *testing.T, said, constraints []string, s pivot.Summarizer, alone, inBodies bool) (first, last []bool) {
	t.Helper()
	m := newMaker(3, known)
	r := relay{format: body.AnthropicBody{}, to: 8_000, summarizer: s}
	e, err := winnow.Open(winnow.Config{Summarizer: s})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	id, err := e.Create(t.Context(), session.Info{})
	if err != nil {
		t.Fatal(err)
	}
	for at := range times {
		var log []session.Message
		switch {
		case at > 0:
			log = m.fifth(at)
		case alone:
			log = m.fifth(at)
			for i, text := range said {
				log = append(log, m.user(text), m.work(at, i), m.says("Done."))
			}
		default:
			log = wishing(m, at, said)
		}
		var shown string
		if inBodies {
			r.fold(t, log...)
			shown = r.shown(t)
		} else {
			if err := e.Append(t.Context(), id, log...); err != nil {
				t.Fatal(err)
			}
			if _, err := e.Compact(t.Context(), id, winnow.CompactOptions{To: 8_000}); err != nil {
				t.Fatal(err)
			}
			v, err := e.View(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			shown = pivot.Transcript(v.Messages)
		}
		last = nil
		for _, text := range constraints { // a framing may begin a sentence with a small letter
			stands := true
			for sentence := range strings.SplitSeq(text[1:], ". ") {
				stands = stands && strings.Contains(shown, strings.TrimSuffix(sentence, "."))
			}
			last = append(last, stands)
		}
		if at == 0 {
			first = last
		}
	}
	return first, last
}

// The table of docs/summaries.md.
func TestFolds_publishedConstraints(t *testing.T) {
	if *fidelity == "" {
		t.Skip("it needs the sets of others: make fidelity FOLDER=…")
	}
	all := published(t, *fidelity)
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "set\tkind\tframing\tsummariser\tseat\talone, 1 fold\t5 folds\tin a long message, 1 fold\t5 folds\t")
	var kinds []constraint
	for _, c := range all {
		if k := (constraint{set: c.set, kind: c.kind}); !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	for _, s := range []pivot.Summarizer{offline.New(), quality.Scripted{}} {
		for _, inBodies := range []bool{false, true} {
			for _, f := range framings {
				var said, constraints []string
				for _, c := range all {
					said, constraints = append(said, c.framed(f.before)), append(constraints, c.text)
				}
				alone1, alone5 := kept(t, said, constraints, s, true, inBodies)
				long1, long5 := kept(t, said, constraints, s, false, inBodies)
				for _, k := range kinds {
					count := func(stands []bool) string {
						n, of := 0, 0
						for i, c := range all {
							if c.set == k.set && c.kind == k.kind {
								of++
								if stands[i] {
									n++
								}
							}
						}
						return fmt.Sprintf("%d of %d", n, of)
					}
					seat := map[bool]string{false: "file", true: "body"}[inBodies]
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", k.set, k.kind, f.name, s.Name(), seat,
						count(alone1), count(alone5), count(long1), count(long5))
				}
			}
		}
	}
	w.Flush()
	t.Logf("%d constraints\n%s", len(all), &text)
}
