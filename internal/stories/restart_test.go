package stories

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/memory"
	"github.com/winnowhq/winnow/store/sqlite"
	"github.com/winnowhq/winnow/token"
)

// An engine that is closed in the middle of a session, with its store, and opened again shows the
// same bytes at each later step as one that never stopped.
func TestEngine_aRestartChangesNoByte(t *testing.T) {
	if testing.Short() {
		t.Skip("it does one thing after the other: -short is for the race detector")
	}
	for _, name := range []string{policy.Balanced, policy.Aggressive} {
		t.Run(name, func(t *testing.T) {
			folder, sessions := t.TempDir(), 0
			rapid.Check(t, func(t *rapid.T) {
				if sessions++; sessions > 25 {
					return // each writes to the disk
				}
				events := ruletest.Sessions(40).Draw(t, "session")
				settings := everythingOn(name)
				now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
				start := func(s store.Store) *winnow.Engine {
					e, err := winnow.Open(winnow.Config{
						Settings: settings, Store: s, Model: "p/m", ForceModel: true, Counter: token.Chars4{},
						Now: func() time.Time { return now },
						Models: &model.Catalogue{
							Models: []model.Model{
								{Provider: "p", ID: "m", Limits: model.Limits{Context: 200_000, Output: 16_000}}}},
					})
					if err != nil {
						t.Fatal(err)
					}
					return e
				}
				path := filepath.Join(folder, fmt.Sprint(sessions, ".db"))
				open := func() *sqlite.Store {
					s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
					if err != nil {
						t.Fatal(err)
					}
					return s
				}
				disk := open()
				never, stopped := start(memory.New()), start(disk)
				const id = "ses_restart"
				for _, e := range []*winnow.Engine{never, stopped} {
					if _, err := e.Create(t.Context(),
						session.Info{ID: id, Time: session.Lifetime{Created: 1}}); err != nil {
						t.Fatal(err)
					}
				}
				for i, event := range events {
					then := rapid.SampledFrom([]string{"", "", "", "turn", "prune", "restart"}).Draw(t, "then")
					if then == "restart" {
						if err := disk.Close(); err != nil {
							t.Fatal(err)
						}
						disk = open()
						stopped = start(disk)
					}
					var views [2][]byte
					for at, e := range []*winnow.Engine{never, stopped} {
						m := event.Message
						var err error
						if event.Updates {
							err = e.Update(t.Context(), id, m)
						} else {
							err = e.Append(t.Context(), id, m)
						}
						if err == nil && then == "turn" {
							_, err = e.EndTurn(t.Context(), id)
						}
						if err == nil && then == "prune" {
							_, err = e.Prune(t.Context(), id, false)
						}
						if err != nil {
							t.Fatal(err)
						}
						views[at] = shownBy(t, e, id)
					}
					if !bytes.Equal(views[0], views[1]) {
						t.Fatalf("event %d, then %q: the engine that was opened again shows\n%s\nthe one that never "+
							"stopped\n%s", i, then, views[1], views[0])
					}
				}
				if err := disk.Close(); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// everythingOn are settings of a policy with every rule on, and limits small enough for short
// sessions.
func everythingOn(name string) *settings.Settings {
	s := settings.Default()
	s.Policy = name
	s.Compaction.Protect, s.Compaction.Minimum = 2000, 200
	s.Strategies.BalancedPruning.Code = true
	return &s
}

// shownBy is what an engine shows, byte for byte, checked on the way: it is whole, and as large as
// it says.
func shownBy(t *rapid.T, e *winnow.Engine, id string) []byte {
	v, err := e.View(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if err := view.Check(v.Messages); err != nil {
		t.Fatalf("a provider would refuse the view: %v", err)
	}
	text, err := json.Marshal(v.Messages, session.ReadOptions(), json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
