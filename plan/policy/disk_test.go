package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// deed is one thing that happens to files, drawn without knowing what is in them, so that a failing sequence can be made shorter.
type deed struct {
	kind, file, how, spelled int
	from, limit              int
	lines                    []string
	beside                   bool // in the step before
}

// What happens to files.
const (
	reads = iota
	readsPart
	writes
	edits
	removes
	changes // by somebody else, unseen
	quiet
	kinds
)

func (d deed) String() string {
	return fmt.Sprintf("{%s file %d how %d spelled %d from %d limit %d lines %q beside %v}",
		[]string{"read", "read part", "write", "edit", "remove", "change", "quiet"}[d.kind], d.file, d.how, d.spelled, d.from, d.limit, d.lines, d.beside)
}

// script is a sequence of deeds, and the rules' settings.
type script struct {
	Deeds []deed
	Quiet int // how many of the newest steps stay as they are
	Files int
	Every int // after how many deeds what was found is committed
}

// GoString tells a script.
func (s script) GoString() string {
	text := fmt.Sprintf("%d files, quiet %d, committed every %d", s.Files, s.Quiet, s.Every)
	for _, d := range s.Deeds {
		text += "\n  " + d.String()
	}
	return text
}

var fileLine = rapid.OneOf(rapid.Just(""), rapid.Just("}"), rapid.Map(rapid.IntRange(0, 19), func(n int) string {
	return fmt.Sprintf("the value %d of the table is kept in the cache of the parser", n)
}), rapid.Map(rapid.IntRange(0, 400), func(n int) string { return fmt.Sprintf("func f%d(in io.Reader) error { return parse(in) }", n) }))

var scripts = rapid.Custom(func(t *rapid.T) script {
	s := script{Quiet: rapid.SampledFrom([]int{0, 0, 1, 5}).Draw(t, "quiet"), Files: rapid.IntRange(1, 4).Draw(t, "files"), Every: rapid.SampledFrom([]int{1, 1, 3, 100}).Draw(t, "every")}
	s.Deeds = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) deed {
		d := deed{
			kind: rapid.SampledFrom([]int{reads, reads, reads, readsPart, readsPart, readsPart, writes, writes, edits, edits, removes, changes, quiet}).Draw(t, "kind"),
			file: rapid.IntRange(0, s.Files-1).Draw(t, "file"), how: rapid.IntRange(0, 99).Draw(t, "how"), spelled: rapid.IntRange(0, 3).Draw(t, "spelled"),
			from: rapid.IntRange(1, 9).Draw(t, "from"), limit: rapid.IntRange(0, 9).Draw(t, "limit"), beside: rapid.IntRange(0, 7).Draw(t, "beside") == 0,
		}
		if d.kind == writes || d.kind == changes || d.kind == edits {
			d.lines = rapid.SliceOfN(fileLine, 0, 16).Draw(t, "lines")
		}
		return d
	}), 1, 24).Draw(t, "deeds")
	return s
})

// do plays a script and holds that a reader of the view knows what a reader of the log does.
func (s script) do(p policy.Policy) error {
	_, err := s.play(p)
	return err
}

// play plays a script, commits what the policy finds, and compares after each commit.
func (s script) play(p policy.Policy) (*house, error) {
	l, disk := ruletest.New(), &ruletest.Disk{}
	h := newHouse(p, token.Chars4{})
	for i := range s.Files {
		lines := []string{}
		for n := range 8 + 4*i {
			lines = append(lines, fmt.Sprintf("line %d of the file as it was in the beginning", n))
		}
		disk.Change(fileName(i), lines)
	}
	for i, d := range s.Deeds {
		d.on(l, disk)
		if i%s.Every != 0 && i < len(s.Deeds)-1 {
			continue
		}
		h.log = l.Messages
		found := h.find()
		if len(found) == 0 {
			continue
		}
		h.ledger = h.ledger.With(found...)
		h.commit += len(found)
		want, got := read(h.log), read(view.Render(h.log, h.ledger))
		if diff := cmp.Diff(strings.Split(want.String(), "\n"), strings.Split(got.String(), "\n")); diff != "" {
			return h, fmt.Errorf("after deed %d what was known of the files is not in the view (-log +view):\n%s\n%s", i, diff, h.story())
		}
	}
	return h, nil
}

func fileName(i int) string { return fmt.Sprintf("f%d.go", i) }

// on lets a deed happen.
func (d deed) on(l *ruletest.Log, disk *ruletest.Disk) {
	name := fileName(d.file)
	spelled := fmt.Sprintf(ruletest.Spellings[d.spelled%len(ruletest.Spellings)], name)
	reader, writer := ruletest.Readers[d.how%len(ruletest.Readers)], ruletest.Writers[d.how%len(ruletest.Writers)]
	switch d.kind {
	case reads:
		l.Use(disk.Read(reader, name, spelled, 1, 0), d.beside)
	case readsPart:
		l.Use(disk.Read(reader, name, spelled, d.from, d.limit), d.beside)
	case writes:
		if len(d.lines) > 0 {
			l.Use(disk.Write(writer, name, spelled, d.lines), d.beside)
		}
	case edits:
		old := "no such line"
		if lines := disk.Lines(name); len(lines) > 0 && d.from < 9 {
			old = lines[d.from%len(lines)]
		}
		l.Use(disk.Edit(writer, name, spelled, old, d.lines[:min(6, len(d.lines))]), d.beside)
	case removes:
		l.Use(disk.Remove(name, spelled), d.beside)
	case changes:
		if lines := disk.Lines(name); d.how%3 == 0 && len(lines) > 0 {
			at := d.from % len(lines)
			disk.Change(name, slices.Concat(lines[:at], d.lines, lines[at:]))
		} else if d.how%3 == 1 && len(d.lines) > 0 {
			disk.Change(name, d.lines)
		} else if len(lines) > 1 {
			disk.Change(name, lines[:len(lines)/2])
		}
	case quiet:
		l.Quiet(1 + d.how%6)
	}
}

// covering is a policy of the rules that go by coverage, in the sound form.
func covering(quiet int, rules ...rule.Rule) policy.Policy {
	o := policy.Defaults()
	o.Protect = 1 << 40
	o.Strategies = &policy.Strategies{
		Ten: policy.Ten{Files: true, Inputs: true, Queries: true, Retries: true}, Duplicates: true, QuietSteps: quiet,
	}
	p, _ := policy.New(policy.Balanced, o)
	if rules != nil {
		p.Rules = rules
	}
	return p
}

// Sequences are drawn in shards, so that all processors draw: 20 shards of -rapid.checks each, 800 by default.
func TestCoverage_whatAViewHidesOfFilesIsStillKnown(t *testing.T) {
	for shard := range 20 {
		t.Run(fmt.Sprint(shard), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				s := scripts.Draw(t, "script")
				if err := s.do(covering(s.Quiet)); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// With idle on less is shown, and all of it is found: what a rule left out for its cover is shown by parts that stay, or leads to what lies idle, by handle.
func TestCoverage_whatLiesIdleCanBeFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if _, err := scripts.Draw(t, "script").playIdle(); err != nil {
			t.Fatal(err)
		}
	})
}

// What is drawn may never let a cover lie idle, least of all where few are drawn. These do.
func TestCoverage_coversDoLieIdle(t *testing.T) {
	idle, sequences := 0, 100
	for seed := range sequences {
		n, err := scripts.Example(seed).playIdle()
		if err != nil {
			t.Fatal(err)
		}
		idle += n
	}
	if idle == 0 {
		t.Errorf("in %d sequences nothing that covered something was ever idle", sequences)
	}
}

// playIdle plays a script with idle on, and tells how often something that covered another part lay idle.
func (s script) playIdle() (idle int, err error) {
	p := covering(s.Quiet)
	p.Rules = append([]rule.Rule{&rule.Idle{Outputs: 2 + s.Quiet, Inputs: 4 + s.Quiet}}, p.Rules...)
	l, disk := ruletest.New(), &ruletest.Disk{}
	h := newHouse(p, token.Chars4{})
	for i := range s.Files {
		disk.Change(fileName(i), slices.Repeat([]string{fmt.Sprintf("a line of file %d as it was in the beginning", i)}, 8))
	}
	for i, d := range s.Deeds {
		d.on(l, disk)
		if i%s.Every != 0 && i < len(s.Deeds)-1 {
			continue
		}
		h.log = l.Messages
		h.ledger = h.ledger.With(h.find()...)
		for _, e := range h.ledger.All() {
			n, err := h.stillFound(e)
			if err != nil {
				return idle, fmt.Errorf("after deed %d, %s of %s by %s because of %s: %w\n%s", i, e.Field, e.Part, e.Rule, e.By, err, h.story())
			}
			idle += n
		}
	}
	return idle, nil
}

// The property is worth something only if it finds what is wrong: the letter's rule for files, and a rule that takes any later read for a cover.
func TestCoverage_thePropertyFindsUnsoundRules(t *testing.T) {
	for name, r := range map[string]func() rule.Rule{
		"the newest call on a file is enough": func() rule.Rule { return newestOnly{} },
		"a read of as many lines is enough":   func() rule.Rule { return newestOnly{asLarge: true} },
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range 300 {
				s := scripts.Example(seed)
				if err := s.do(covering(0, r())); err != nil {
					t.Logf("found with seed %d: %s", seed, strings.SplitN(err.Error(), "\n", 2)[0])
					return
				}
			}
			t.Error("300 sequences, and nothing found wrong")
		})
	}
}

// The reader judges others: what it knows of a file that nobody else changes is what the file holds.
func TestReader_knowsWhatIsOnTheDisk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if _, err := scripts.Draw(t, "script").known(); err != nil {
			t.Fatal(err)
		}
	})
	whole := 0
	for seed := range 20 {
		n, err := scripts.Example(seed).known()
		if err != nil {
			t.Fatal(err)
		}
		whole += n
	}
	if whole == 0 {
		t.Error("it never knew a whole file")
	}
}

// known plays a script without the changes that nobody saw, and compares what the reader knows with the disk. whole is how often it knew a whole file.
func (s script) known() (whole int, err error) {
	l, disk := ruletest.New(), &ruletest.Disk{}
	for _, d := range s.Deeds {
		if d.kind == changes {
			continue
		}
		d.on(l, disk)
		for name, k := range read(l.Messages).files {
			lines, ok := k.content()
			if !ok {
				continue
			}
			whole++
			if diff := cmp.Diff(strings.Join(disk.Lines(strings.TrimPrefix(name, ruletest.Folder+"/")), "\n"), strings.Join(lines, "\n")); diff != "" {
				return whole, fmt.Errorf("%s (-disk +reader):\n%s", name, diff)
			}
		}
	}
	return whole, nil
}

// newestOnly is a rule as the letter of S002 has it, and unsound on purpose: an operation on a file supersedes the earlier ones.
type newestOnly struct{ asLarge bool }

func (newestOnly) Name() string { return "newest-only" }

func (r newestOnly) Find(w rule.Window) (found rule.Found) {
	newest := map[string]*session.Part{}
	for i := len(w.Messages) - 1; i >= 0; i-- {
		for j := len(w.Messages[i].Parts) - 1; j >= 0; j-- {
			p := &w.Messages[i].Parts[j]
			paths := rule.Paths(p)
			if len(paths) == 0 || p.State.Status != session.Completed {
				continue
			}
			path := strings.TrimPrefix(strings.TrimPrefix(paths[0], "./"), "/repo/")
			by := newest[path]
			if by == nil || r.asLarge && len(by.State.Output) < len(p.State.Output) {
				newest[path] = p
				continue
			}
			if e := (rule.Elision{Part: p.ID, Message: w.Messages[i].ID, Field: rule.Output, Rule: r.Name(), Because: "it is old", By: by.ID,
				Shown: "[winnow aaaaaa: old]", Saves: 1}); !w.Ledger.Has(e.Key()) && p.State.Output != "" {
				found.Elisions = append(found.Elisions, e)
			}
		}
	}
	return found
}

func TestCoverage_thePropertyIsAboutSomething(t *testing.T) {
	rules, sequences := map[string]int{}, 200
	for seed := range sequences {
		s := scripts.Example(seed)
		h, err := s.play(covering(s.Quiet))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range h.ledger.All() {
			rules[e.Rule]++
		}
	}
	t.Logf("elisions in %d sequences: %v", sequences, rules)
	for name, least := range map[string]int{"files": sequences, "inputs": sequences / 10} {
		if rules[name] < least {
			t.Errorf("%s elided %d parts in %d sequences: the property hardly looks at it", name, rules[name], sequences)
		}
	}
}
