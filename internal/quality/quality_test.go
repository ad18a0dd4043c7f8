package quality

import (
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/summarize/offline"
)

// sessions is how many are made up here: enough to have each phrasing once.
const sessions = 4

func measured(t *testing.T, policy string, s pivot.Summarizer, to int, p Phrasings) Result {
	t.Helper()
	set := settings.Default()
	set.Policy = policy
	r, err := Run(t.Context(), Case{Config: winnow.Config{Settings: &set, Summarizer: s}, To: to, Sessions: sessions, Phrasings: p})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// percent is the least that must stand, of each kind.
type percent map[Kind]int

// What five folds in a row keep: the table in docs/summaries.md, on fewer sessions.
func TestRun_whatFiveFoldsKeep(t *testing.T) {
	for _, c := range []struct {
		name, policy string
		summarizer   pivot.Summarizer
		to           int
		phrasings    Phrasings
		least        percent
		stale, drift int // at most, of what was replaced and of what stood
	}{
		{"offline, a quarter", "balanced", offline.New(), 4, Known(),
			percent{Rule: 100, Value: 100, Path: 100, Decision: 100, Override: 100, Attribution: 100}, 0, 1},
		{"offline, a quarter, held out", "balanced", offline.New(), 4, HeldOut(),
			percent{Rule: 100, Value: 95, Path: 100, Decision: 85, Override: 100, Attribution: 95}, 10, 1},
		{"offline, an eighth", "balanced", offline.New(), 8, Known(),
			percent{Rule: 100, Value: 85, Path: 100, Decision: 80, Override: 95, Attribution: 95}, 0, 2},
		{"a weak summary, a quarter", "balanced", Scripted{}, 4, Known(), percent{Rule: 100, Path: 100, Attribution: 90}, 0, 8},
		{"a weak summary, a quarter, held out", "balanced", Scripted{}, 4, HeldOut(),
			percent{Rule: 100, Path: 100, Attribution: 90}, 10, 8},
		{"offline alone, a quarter", "classic", offline.New(), 4, Known(),
			percent{Rule: 100, Value: 95, Decision: 85, Override: 95, Attribution: 95}, 0, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := measured(t, c.policy, c.summarizer, c.to, c.phrasings)
			last := r.Folds[Folds-1]
			for kind, least := range c.least {
				if n, of := last.Standing[kind], last.Planted[kind]; of < 10 || 100*n < least*of {
					t.Errorf("%s: %d of %d stand after the last fold, want %d %%", kind, n, of, least)
				}
			}
			stood, drifted := 0, 0
			for _, f := range r.Folds {
				stood, drifted = stood+f.Stood, drifted+f.Drifted
			}
			if 100*last.Stale > c.stale*last.Replaced || last.Mixed > 0 || 100*drifted > c.drift*stood {
				t.Errorf("%d of %d are outdated, %d of %d mixed up, %d of %d lost from one fold to the next", last.Stale,
					last.Replaced, last.Mixed, last.Apart, drifted, stood)
			}
			if c.phrasings.Name != "known" {
				return // what is held out is not looked at
			}
			for _, l := range r.Lost {
				if l.Fold == Folds && c.least[l.Kind] == 100 {
					t.Logf("%+v", l)
				}
			}
		})
	}
}

// The measure itself: a summariser that says nothing keeps nothing, and one that tells what no longer
// holds is found out.
func TestRun_findsOutWhoForgets(t *testing.T) {
	r := measured(t, "classic", Scripted{}, 8, Known())
	last := r.Folds[Folds-1]
	if 100*last.Standing[Rule] > 40*last.Planted[Rule] || last.Standing[Decision] > 0 {
		t.Errorf("of %v there stand %v with a summary of the beginnings of messages alone", last.Planted, last.Standing)
	}
	lost := 0
	for _, f := range r.Folds {
		lost += f.LostInputs
	}
	if lost == 0 {
		t.Error("calls have all their names, although nearly nothing is left")
	}
}

func TestFact_standsWhereALineTellsIt(t *testing.T) {
	m := newMade(1, Known())
	m.part = 1
	m.state(Rule, []string{"Never touch {path}."}, words{"path": "db/migrations"}, "{path}", forbids)
	rule := m.last()
	m.state(Value, []string{"The {name} is {value}."}, words{"name": "port", "value": "7070"}, "{name}", "{value}")
	value := m.last()
	m.state(Override, []string{"The {name} is now {value}."}, words{"name": "port", "value": "8080"}, "{name}", "{value}")
	m.replace(value, value.needs[1:], m.last().needs[1:])
	changed := m.last()
	for _, c := range []struct {
		text         string
		rule, now    bool
		outdatedPort bool
	}{
		{"- Never touch db/migrations.", true, false, false},
		{"- db/migrations: read", false, false, false},
		{"never\ndb/migrations", false, false, false},
		{"do not touch db/migrations2", false, false, false},
		{"port: 8080 (was 7070)", false, true, false},
		{"The port is 7070.", false, false, true},
		{"The port is 70701.", false, false, false},
		{"The port is 7070. [since then: port: now 8080]", false, true, false},
		{"- The port is 7070.\n- The port is 8080.", false, true, true},
	} {
		if got := rule.stands(c.text); got != c.rule {
			t.Errorf("%q tells the rule: %v, want %v", c.text, got, c.rule)
		}
		if got := changed.stands(c.text); got != c.now {
			t.Errorf("%q tells the new port: %v, want %v", c.text, got, c.now)
		}
		if got := changed.stale(paragraphs(c.text)); got != c.outdatedPort {
			t.Errorf("%q tells the old port as if it held: %v, want %v", c.text, got, c.outdatedPort)
		}
	}
}

func TestFact_isMixedUpWhereTheOtherOneHasIt(t *testing.T) {
	m := newMade(1, Known())
	m.part = 1
	m.state(Attribution, []string{"{a} has {v}, {b} has {w}."}, words{"a": "staging", "b": "production", "v": "5433", "w": "5432"},
		"{a}", "{v}")
	f := m.last()
	f.other = [][]string{{"production"}, {"5432"}}
	for text, want := range map[string]bool{
		"Staging has 5433, production has 5432.": false,
		"staging: 5433":                          false,
		"production: 5433":                       true,
		"port: 5432 (was 5433)":                  true,
		"production: 15433":                      false,
	} {
		if got := f.mixed(text); got != want {
			t.Errorf("%q mixes them up: %v, want %v", text, got, want)
		}
	}
}

func TestFollowed_countsWhatCallsNeedAndTheModelDoesNotSee(t *testing.T) {
	call := session.Message{Parts: []session.Part{{Type: session.ToolPart, State: &session.ToolState{
		Input: []byte(`{"filePath":"/home/coast/api/v2.go","pattern":"ParseBatch, NewThing and words"}`)}}}}
	earlier, view := map[string]bool{}, map[string]bool{}
	identifiers(earlier, "func ParseBatch in api/v2.go, in words", folder)
	identifiers(view, "api/v2.go was read", folder)
	if n, lost := followed(earlier, view, []session.Message{call, call}, folder); n != 5 || lost != 1 {
		t.Errorf("%d names of which %d are lost, want 5 and 1: the second call follows the first, which has all of them", n, lost)
	}
}

func TestMade_isTheSameForOneSeed(t *testing.T) {
	for _, p := range []Phrasings{Known(), HeldOut()} {
		a, b := newMade(3, p), newMade(3, p)
		for range Folds {
			first, second := pivot.Transcript(a.Part()), pivot.Transcript(b.Part())
			if first != second {
				t.Fatalf("%s: two sessions of one seed differ", p.Name)
			}
		}
		for _, f := range a.facts {
			if f.Kind != Path && !f.stands(f.Text) && f.other == nil {
				t.Errorf("%s: %q does not tell what it was made to tell (%q)", p.Name, f.Text, f.needs)
			}
		}
	}
}
