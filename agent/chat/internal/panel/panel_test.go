package panel

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/agent/chat/internal/drawtest"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/memory"
	"github.com/winnowhq/winnow/token"
)

// reader is the model of these tests.
var reader = model.Model{
	Provider: "acme", ID: "reader", Limits: model.Limits{Context: 64_000, Output: 4_000},
	Price: model.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75},
	Cache: model.Cache{Lifetime: 5 * time.Minute, MinPrefix: 1024, Explicit: true},
}

// scribe writes every summary.
type scribe struct{}

func (scribe) Name() string { return "acme/scribe" }
func (scribe) Limit() int   { return 100_000 }
func (scribe) Summarize(context.Context, pivot.Request) (pivot.Answer, error) {
	return pivot.Answer{Text: "## Goal\n\nThe tide table must be right to the minute.\n\n## Done\n\nThe parser reads " +
		"every harbour.", Finish: "stop", Model: "acme/scribe",
		Usage: session.Usage{Input: 4_000, Output: 300, Cache: session.CacheUsage{Read: 12_000}}, Cost: 0.0201}, nil
}

// scene is an engine with a session that something has happened in, and a panel.
type scene struct {
	t      testing.TB
	engine *winnow.Engine
	store  store.Store
	id     string
	clock  time.Time
	panel  Panel
	told   []tea.Msg
}

func newScene(t testing.TB, models ...model.Model) *scene {
	t.Helper()
	s := &scene{t: t, store: memory.New(), clock: time.Unix(1_800_000_000, 0)}
	if models == nil {
		models = []model.Model{reader}
	}
	settings := settings.Default()
	settings.Strategies.BalancedPruning.IdleSteps, settings.Strategies.BalancedPruning.IdleInputSteps = 40, 80
	settings.Compaction.Auto, settings.Compaction.Minimum, settings.Schedule = false, 0, "eager"
	seed := rand.NewChaCha8([32]byte{1})
	e, err := winnow.Open(winnow.Config{
		Settings: &settings, Store: s.store, Models: &model.Catalogue{Models: models}, Model: models[0].String(),
		Counter: token.Chars4{}, Summarizer: scribe{},
		Now: func() time.Time { s.clock = s.clock.Add(time.Second); return s.clock }, Random: seed,
		Prefix: func(context.Context, string) (winnow.Prefix, error) {
			return winnow.Prefix{System: strings.Repeat("Be careful. ", 300),
				Tools: []byte(`"` + strings.Repeat("tool ", 900) + `"`)}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.engine = e
	t.Cleanup(func() { e.Close() })
	return s
}

// worked is a session with reads, edits, a failure and wide letters, of which some is left out and
// some is pinned.
func (s *scene) worked() *scene {
	s.t.Helper()
	id, err := s.engine.Create(s.t.Context(), session.Info{Title: "Tide tables of 境港, by harbour"})
	if err != nil {
		s.t.Fatal(err)
	}
	s.id = id
	log := ruletest.New()
	text := func(lines int, of string) string {
		var b strings.Builder
		for i := range lines {
			fmt.Fprintf(&b, "%d\t%s %d\n", i+1, of, i*7%31)
		}
		return b.String()
	}
	log.User("The tide table is an hour off in winter. Never change the file format.")
	log.Call("Read", ruletest.Args{"file_path": "/repo/tide/table/parser_for_every_harbour.go"},
		text(400, "high water at"))
	log.Call("Bash", ruletest.Args{"command": "go test ./tide/..."}, text(90, "ok   tide/table"))
	log.Call("Read", ruletest.Args{"file_path": "/repo/データ/潮汐表.csv"}, text(160, "境港,満潮"))
	log.Fail("Bash", ruletest.Args{"command": "go vet ./..."},
		"vet: tide/table/zone.go:31: \x1b[31mundeclared name\x1b[0m: winter\n"+text(60, "see also"))
	for i := range 9 {
		log.Call("Bash", ruletest.Args{"command": fmt.Sprintf("grep -rn summertime tide/%d", i)},
			text(30+9*i, "tide/zone.go: summertime"))
	}
	log.User("Good. Write a test for it.")
	log.Call("Read", ruletest.Args{"file_path": "/repo/tide/table/parser_for_every_harbour.go"},
		text(400, "high water at"))
	log.Call("Write", ruletest.Args{"file_path": "/repo/tide/table/winter_test.go",
		"content": text(80, "assert high water")}, "written")
	for i, m := range log.Messages {
		m.ID, m.Time = fmt.Sprintf("msg_%03d", i), session.MessageTime{}
		if m.Role == session.Assistant {
			m.ProviderID, m.ModelID = reader.Provider, reader.ID
		}
		if err := s.engine.Append(s.t.Context(), s.id, m); err != nil {
			s.t.Fatal(err)
		}
		if m.Role == session.Assistant {
			if _, err := s.engine.Observe(s.t.Context(), s.id,
				session.Usage{Input: 900 + 40*i, Output: 120 + 5*i,
					Cache: session.CacheUsage{Read: 2_300 + 800*i, Write: 300}}); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	if err := s.engine.Amend(s.t.Context(), s.id, winnow.Amendment{Spent: []store.Spend{store.Spend{Kind: "step", Failed: true, Model: reader.String(), Usage: session.Usage{Input: 2_000},
		Cost: 0.006}}}); err != nil {
		s.t.Fatal(err)
	}
	return s
}

// opens shows a panel.
func (s *scene) opens(p Panel, cmd tea.Cmd) *scene {
	s.t.Helper()
	s.panel = p
	s.runs(cmd)
	return s
}

// runs does what a panel gave back, and what comes of it.
func (s *scene) runs(cmd tea.Cmd) {
	s.t.Helper()
	for cmd != nil {
		msg := cmd()
		switch msg.(type) {
		case ModelChosen, SessionChosen, CompactChosen, CommandChosen:
			s.told = append(s.told, msg)
			return
		}
		if s.panel == nil {
			return
		}
		s.panel, cmd = Updated(s.panel, msg)
	}
}

// press presses keys: by name, or each letter of a text.
func (s *scene) press(keys ...string) *scene {
	s.t.Helper()
	names := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown,
		"pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown,
		"home": tea.KeyHome, "end": tea.KeyEnd, "backspace": tea.KeyBackspace}
	for _, k := range keys {
		var all []tea.KeyPressMsg
		if code, ok := names[k]; ok {
			all = append(all, tea.KeyPressMsg{Code: code})
		} else {
			for _, r := range k {
				all = append(all, tea.KeyPressMsg{Code: r, Text: string(r)})
			}
		}
		for _, one := range all {
			if s.panel == nil {
				s.t.Fatalf("there is no panel to press %s in", one)
			}
			s.panel.View(80, 24) // keys are pressed on what is seen
			var cmd tea.Cmd
			s.panel, cmd = Updated(s.panel, one)
			s.runs(cmd)
		}
	}
	return s
}

// look is what is on the screen, without the spaces at the ends of lines.
func (s *scene) look(width, height int) string {
	s.t.Helper()
	if s.panel == nil {
		return "(closed)"
	}
	return strings.Join(drawtest.Fits(s.t, s.panel.View(width, height), width, height), "\n") + "\n"
}

var sizes = [][2]int{{80, 24}, {40, 12}, {140, 40}}

// each panel as somebody sees it at three sizes, without colour.
func TestPanels_look(t *testing.T) {
	plain := draw.NewStyle(false)
	now := func(s *scene) time.Time { return s.clock.Add(3 * time.Hour) }
	for name, show := range map[string]func(s *scene) *scene{
		"context": func(s *scene) *scene {
			return s.opens(NewContext(s.t.Context(), s.engine, s.id, plain)).press("down", "down", "enter")
		},
		"context-by-tool": func(s *scene) *scene {
			return s.opens(NewContext(s.t.Context(), s.engine, s.id, plain)).press("g", "g", "enter", "down", "p", "s")
		},
		"context-elided": func(s *scene) *scene {
			if _, err := s.engine.Prune(s.t.Context(), s.id, false); err != nil {
				s.t.Fatal(err)
			}
			return s.opens(NewContext(s.t.Context(), s.engine, s.id, plain)).press("s", "enter", "down", "/go")
		},
		"preview": func(s *scene) *scene {
			return s.opens(NewPreview(s.t.Context(), s.engine, s.id, "the winter", plain))
		},
		"receipts": func(s *scene) *scene {
			if _, err := s.engine.Prune(s.t.Context(), s.id, false); err != nil {
				s.t.Fatal(err)
			}
			if _, err := s.engine.Compact(s.t.Context(), s.id, winnow.CompactOptions{}); err != nil {
				s.t.Fatal(err)
			}
			return s.opens(NewReceipts(s.t.Context(), s.engine, s.id, "", now(s), plain))
		},
		"cost": func(s *scene) *scene {
			if _, err := s.engine.Compact(s.t.Context(), s.id, winnow.CompactOptions{}); err != nil {
				s.t.Fatal(err)
			}
			return s.opens(NewCost(s.t.Context(), s.engine, s.id, plain))
		},
		"sessions": func(s *scene) *scene {
			for i, title := range []string{"Move the buoy", "", strings.Repeat("港", 60),
				"A very long title about the lighthouse and everything that is in it"} {
				at := session.Millis(s.clock.UnixMilli()) - session.Millis(i*7_000_000)
				info := session.Info{Title: title, Time: session.Lifetime{Created: at, Updated: at},
					Model: &session.ModelRef{ProviderID: "acme", ModelID: "reader"}}
				if _, err := s.engine.Create(s.t.Context(), info); err != nil {
					s.t.Fatal(err)
				}
			}
			return s.opens(NewSessions(s.t.Context(), s.store, s.id, now(s), plain)).press("down")
		},
		"revert": func(s *scene) *scene {
			var written []*session.Message
			for i, text := range []string{"now the documentation", "repair the parser\n\nthe last line is lost",
				strings.Repeat("灯台の光 ", 40)} {
				written = append(written,
					&session.Message{MessageInfo: session.MessageInfo{Time: session.MessageTime{Created: session.Millis(s.clock.Add(-time.Duration(i) * 40 * time.Minute).UnixMilli())}},
						Parts: []session.Part{{Type: session.TextPart, Text: text}}})
			}
			return s.opens(NewRevert(written, now(s), plain), nil).press("down")
		},
		"models": func(s *scene) *scene {
			local := model.Model{Provider: "local", ID: "tiny-q4", Limits: model.Limits{Context: 8_192}}
			look := func(name string) model.Model {
				if name == local.String() {
					return local
				}
				m := reader
				_, m.ID, _ = strings.Cut(name, "/")
				return m
			}
			return s.opens(NewModels([]string{"acme/reader", "acme/reader-mini", "local/tiny-q4"}, "acme/reader", look,
				plain), nil).press("re")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := show(newScene(t).worked())
			for _, size := range sizes {
				drawtest.Golden(t, fmt.Sprintf("%s-%dx%d", name, size[0], size[1]), s.look(size[0], size[1]))
			}
		})
	}
}
