package panel

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
)

// tells fails where a panel did not close with this message.
func (s *scene) tells(want tea.Msg) {
	s.t.Helper()
	if s.panel != nil {
		s.t.Errorf("it is still open")
	}
	if diff := cmp.Diff([]tea.Msg{want}, s.told); diff != "" {
		s.t.Errorf("told (-want +got):\n%s", diff)
	}
}

func (s *scene) looksLike(wants ...string) {
	s.t.Helper()
	look := s.look(80, 24)
	for _, want := range wants {
		if !strings.Contains(look, want) {
			s.t.Errorf("there is no %q in\n%s", want, look)
		}
	}
}

func TestReceiptPanel_undoesAndDoesAgain(t *testing.T) {
	s := newScene(t).worked()
	whole := s.size()
	if _, err := s.engine.Compact(t.Context(), s.id, winnow.CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	folded := s.size()
	s.opens(NewReceipts(t.Context(), s.engine, s.id, "", s.clock, draw.NewStyle(false)))
	s.looksLike("folded 15 messages", "carried", "written by  acme/scribe", "winnow undo "+s.id)
	s.press("u")
	if s.size() != whole {
		t.Errorf("undone the window has %d tokens, want %d", s.size(), whole)
	}
	s.looksLike("(undone)", "undone: +"+quantity.Number(whole-folded)+" tokens", "u does it again here")
	s.press("u")
	if s.size() != folded {
		t.Errorf("done again the window has %d tokens, want %d", s.size(), folded)
	}
	if s.press("enter"); strings.Contains(s.look(80, 24), "carried") {
		t.Error("enter does not close a receipt")
	}
}

func TestReceiptPanel_opensTheOneThatIsNamed(t *testing.T) {
	s := newScene(t).worked()
	out, err := s.engine.Prune(t.Context(), s.id, false)
	if err != nil || out.Pruned == nil {
		t.Fatalf("pruned %v, %v", out.Pruned, err)
	}
	if _, err := s.engine.Compact(t.Context(), s.id, winnow.CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	s.opens(NewReceipts(t.Context(), s.engine, s.id, out.Pruned.ID, s.clock, draw.NewStyle(false)))
	s.looksLike("› pruned 3 parts", "Left out, by rule", "idle")
}

func TestReceiptPanel_saysThatThereAreNone(t *testing.T) {
	s := newScene(t).worked()
	s.opens(NewReceipts(t.Context(), s.engine, s.id, "", s.clock, draw.NewStyle(false)))
	s.looksLike("nothing was pruned or folded yet")
	s.press("u", "enter", "esc")
}

// What is foreseen is what comes: the sizes of the preview are about those of the receipt, and
// looking ahead changes nothing.
func TestPreviewPanel_foretellsAndFolds(t *testing.T) {
	s := newScene(t).worked()
	before := s.size()
	s.opens(NewPreview(t.Context(), s.engine, s.id, "the winter", draw.NewStyle(false)))
	s.looksLike("15 messages folded into a summary", "Folded, by kind", "carried", "acme/scribe",
		"the summary would dwell on: the winter")
	if s.size() != before {
		t.Errorf("looking ahead made the window %d tokens of %d", s.size(), before)
	}
	s.press("enter")
	s.tells(CompactChosen{"the winter"})
}

func TestPreviewPanel_canBeLeft(t *testing.T) {
	s := newScene(t).worked()
	s.opens(NewPreview(t.Context(), s.engine, s.id, "", draw.NewStyle(false))).press("down", "esc")
	if s.panel != nil || len(s.told) > 0 {
		t.Errorf("esc leaves the panel open or does something: %v", s.told)
	}
}

func TestPreviewPanel_saysThatThereIsNothingToFold(t *testing.T) {
	s := newScene(t)
	id, err := s.engine.Create(t.Context(), session.Info{})
	if err != nil {
		t.Fatal(err)
	}
	s.opens(NewPreview(t.Context(), s.engine, id, "", draw.NewStyle(false)))
	s.looksLike("there is nothing to fold yet")
	if s.press("enter"); len(s.told) > 0 {
		t.Errorf("it is folded all the same: %v", s.told)
	}
}

func TestPreviewPanel_saysThatNothingIsNew(t *testing.T) {
	s := newScene(t).worked()
	if _, err := s.engine.Compact(t.Context(), s.id, winnow.CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	s.opens(NewPreview(t.Context(), s.engine, s.id, "", draw.NewStyle(false)))
	s.looksLike("nothing was said since the last summary")
	if strings.Contains(s.look(80, 24), "word for word") {
		t.Error("it says that all would stay word for word")
	}
}

func TestCostPanel_ofASessionThatTookNothing(t *testing.T) {
	s := newScene(t)
	id, err := s.engine.Create(t.Context(), session.Info{})
	if err != nil {
		t.Fatal(err)
	}
	s.opens(NewCost(t.Context(), s.engine, id, draw.NewStyle(false)))
	s.looksLike("nothing was paid yet")
}

func TestCostPanel_aPriceThatNobodyKnowsIsNotNothing(t *testing.T) {
	free := reader
	free.Price = model.Price{}
	s := newScene(t, free).worked()
	s.opens(NewCost(t.Context(), s.engine, s.id, draw.NewStyle(false)))
	s.looksLike("the price of 15 requests is not known", "tokens sent of the newest 16 requests")
	for line := range strings.Lines(s.look(80, 24)) {
		if cells := strings.Fields(line); len(cells) > 1 && cells[0] == "steps" && cells[1] != "?" {
			t.Errorf("steps of which nobody knows the price have cost %s", cells[1])
		}
	}
}

func TestSessionsPanel_choosesOne(t *testing.T) {
	s := newScene(t).worked()
	other, err := s.engine.Create(t.Context(), session.Info{Title: "The buoy"})
	if err != nil {
		t.Fatal(err)
	}
	s.opens(NewSessions(t.Context(), s.store, s.id, s.clock.Add(time.Minute), draw.NewStyle(false)))
	s.looksLike("2 sessions", "● Tide tables", "The buoy")
	s.press("/buoy", "enter", "enter")
	s.tells(SessionChosen(other))
}

func TestModelsPanel_choosesWhatIsListedOrTyped(t *testing.T) {
	look := func(name string) model.Model {
		provider, id, _ := strings.Cut(name, "/")
		return model.Model{Provider: provider, ID: id}
	}
	names := []string{"acme/reader", "acme/writer"}
	for keys, want := range map[string]ModelChosen{"": "acme/writer", "read": "acme/reader", "other/new": "other/new"} {
		s := newScene(t)
		s.opens(NewModels(names, "acme/writer", look, draw.NewStyle(false)), nil).press(keys, "enter")
		s.tells(want)
	}
	s := newScene(t)
	s.opens(NewModels(names, "", look, draw.NewStyle(false)), nil).press("jkq/", "enter")
	if len(s.told) > 0 {
		t.Errorf("what is no name was chosen: %v", s.told)
	}
	if s.press("esc", "esc"); s.panel != nil {
		t.Error("the second esc does not close it")
	}
}

func TestHelpPanel_carriesOutACommand(t *testing.T) {
	s := newScene(t)
	s.opens(NewHelp([]Command{{"compact", "[focus]", "fold"}, {"receipt", "[id]", "what was done"}},
		[][2]string{{"esc", "stop the turn"}}, draw.NewStyle(false)), nil).press("/receipt", "enter", "enter")
	s.tells(CommandChosen("/receipt"))
	s = newScene(t)
	s.opens(NewHelp([]Command{{"compact", "[focus]", "fold"}, {"receipt", "[id]", "what was done"}},
		[][2]string{{"esc", "stop the turn"}}, draw.NewStyle(false)), nil).press("end", "enter")
	if s.panel == nil || len(s.told) > 0 {
		t.Errorf("a key was carried out: %v", s.told)
	}
}
