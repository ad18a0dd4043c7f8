package folds

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/pivot/fact"
	"github.com/winnowhq/winnow/session"
)

// least is how many messages a recorded session has at least that is folded five times.
const least = 90

// recorded are ten recorded sessions, without the summaries that their products made.
func recorded(t testing.TB) (names []string, sessions map[string][]session.Message) {
	sessions = map[string][]session.Message{}
	for _, folder := range []string{"claude-code", "pi", "claude-code-damaged"} {
		err := filepath.WalkDir(outside.Path(t, "corpus", folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || len(names) == 10 {
				return err
			}
			doc, err := all.Read(outside.Read(t, path))
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			said := slices.DeleteFunc(slices.Clone(doc.Session.Messages), func(m session.Message) bool {
				return m.Marker() != nil || m.IsSummary() || m.Companion() != ""
			})
			if name := folder + "/" + filepath.Base(path)[:8]; len(said) >= least {
				names, sessions[name] = append(names, name), said
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names, sessions
}

// passes are the headings of what is meant to change from one summary to the next: what was open is
// done, what failed works.
var passes = []string{"In progress", "Next steps", "Failed and unresolved"}

// told is a fact that a summary tells. line is the path or command of its line, "" without one.
type told struct{ heading, text, line string }

func (f told) passing() bool { return slices.Contains(passes, f.heading) }

// tells are the facts of a summary that can be looked up: its rules and decisions word for word,
// and its paths, commands, names and figures.
func tells(summary string) []told {
	var all []told
	seen := map[told]bool{}
	add := func(f told) {
		if !seen[f] {
			seen[f] = true
			all = append(all, f)
		}
	}
	for _, part := range strings.Split(summary, "\n## ")[1:] {
		heading, body, _ := strings.Cut(part, "\n")
		if heading == "Constraints and preferences" || heading == "Decisions and findings" {
			for line := range strings.Lines(body) {
				if rule := strings.Trim(strings.TrimSpace(line), "-\" …"); rule != "" {
					add(told{heading, rule, ""})
				}
			}
			continue
		}
		for _, c := range fact.Claims(body) {
			line := body[strings.LastIndexByte(body[:c.Start], '\n')+1:]
			_, name, _ := strings.Cut(line[:max(0, strings.IndexByte(line+"\n", '\n'))], "`")
			name, _, _ = strings.Cut(name, "`")
			add(told{heading, strings.Trim(c.Text, " …"), name})
		}
	}
	return all
}

// Five folds of each of ten recorded sessions, after each fifth of them: what the first summary
// told is in the view after the fifth. What was open, at work or failing then may have passed, and
// so may what was put into a file that was deleted; it is counted by itself.
func TestFolds_ofRecordedSessions(t *testing.T) {
	names, sessions := recorded(t)
	if len(names) < 10 {
		t.Fatalf("there are %d sessions of %d messages", len(names), least)
	}
	allFacts, allLost, passed := 0, 0, 0
	for _, name := range names {
		log := sessions[name]
		e := engine(t, 200_000)
		id, err := e.Create(t.Context(), session.Info{})
		if err != nil {
			t.Fatal(err)
		}
		var first []told
		var sizes []string
		folds := 0
		for at := range times {
			if err := e.Append(t.Context(), id, renamed(log[len(log)*at/times:len(log)*(at+1)/times])...); err != nil {
				t.Fatal(err)
			}
			r, err := e.Compact(t.Context(), id, winnow.CompactOptions{})
			if err != nil {
				t.Logf("%s: fold %d: %v", name, at+1, err)
				continue
			}
			folds++
			sizes = append(sizes, fmt.Sprint(r.TokensAfter))
			if first == nil {
				s, _, err := e.Session(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				first = tells(pivot.PreviousText(&s.Messages[session.Index(s.Messages, r.Summary)]))
			}
		}
		v, err := e.View(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		view := flat(pivot.Transcript(v.Messages))
		lost, gone := 0, 0
		for _, f := range first {
			switch in := strings.Contains(view, flat(f.text)); {
			case in:
			case f.passing(), deleted(view, f.line):
				gone++
			default:
				lost++
				t.Logf("%s: %s: %q is lost", name, f.heading, f.text)
			}
		}
		t.Logf("%-22s %4d messages, %d folds, tokens after each %s: of %d facts %d are lost, %d have passed", name, len(log), folds, strings.Join(sizes, " "), len(first), lost, gone)
		allFacts, allLost, passed = allFacts+len(first), allLost+lost, passed+gone
	}
	t.Logf("%d sessions: of %d facts of the first summaries %d are lost after the fifth, %d have passed", len(names), allFacts, allLost, passed)
	if allLost > 0 {
		t.Errorf("%d facts are lost", allLost)
	}
}

// deleted reports whether a summary says that a file is gone, and with it what was put into it.
func deleted(view, path string) bool {
	for _, line := range strings.Split(view, " - `") {
		if rest, ok := strings.CutPrefix(line, path+"`: "); ok && path != "" && strings.Contains(rest, "deleted") {
			return true
		}
	}
	return false
}

// flat is a text without its line breaks, blanks and marks of quotation, so that what was quoted is
// found again.
func flat(text string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("\n>", " ", "**", "", "\\\"", "\"").Replace(text)), " ")
}

// renamed are messages as a program would append them: the engine gives them ids.
func renamed(messages []session.Message) []session.Message {
	all := slices.Clone(messages)
	for i := range all {
		all[i].ID, all[i].SessionID, all[i].ParentID = "", "", ""
		all[i].Parts = slices.Clone(all[i].Parts)
		for j := range all[i].Parts {
			p := &all[i].Parts[j]
			p.ID, p.MessageID, p.SessionID = "", "", ""
		}
	}
	return all
}

// BenchmarkFold folds a session of about twenty megabytes of text for the second time, after some
// new turns: all of its log is read for the summary.
func BenchmarkFold(b *testing.B) {
	names, sessions := recorded(b)
	var log []session.Message
	for size := 0; size < 20_000_000; {
		for _, name := range names {
			log = append(log, renamed(sessions[name])...)
			for i := range sessions[name] {
				for j := range sessions[name][i].Parts {
					p := &sessions[name][i].Parts[j]
					if size += len(p.Text); p.State != nil {
						size += len(p.State.Input) + len(p.State.Output)
					}
				}
			}
		}
	}
	for b.Loop() {
		b.StopTimer()
		e := engine(b, 200_000)
		id, err := e.Create(b.Context(), session.Info{})
		if err != nil {
			b.Fatal(err)
		}
		if err := e.Append(b.Context(), id, renamed(log)...); err != nil {
			b.Fatal(err)
		}
		fold(b, e, id)
		if err := e.Append(b.Context(), id, newMaker(1, known).fifth(1)...); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		fold(b, e, id)
	}
}
