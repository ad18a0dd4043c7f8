package panel

import (
	"strings"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

func (s *scene) context() *scene {
	s.t.Helper()
	return s.opens(NewContext(s.t.Context(), s.engine, s.id, draw.NewStyle(false)))
}

// size is how many tokens the messages of the window have.
func (s *scene) size() int {
	s.t.Helper()
	v, err := s.engine.View(s.t.Context(), s.id)
	if err != nil {
		s.t.Fatal(err)
	}
	return v.Tokens
}

// state is what the engine says of the part that the panel has chosen.
func (s *scene) chosen() report.Explanation {
	s.t.Helper()
	row := s.panel.(*contextPanel).row()
	if row == nil || row.part == nil {
		s.t.Fatalf("no part is chosen:\n%s", s.look(80, 24))
	}
	x, err := winnow.Look(s.t.Context(), s.engine, s.id, report.Explain(row.part.Part))
	if err != nil {
		s.t.Fatal(err)
	}
	return x
}

func (s *scene) says(want string) {
	s.t.Helper()
	if p := s.panel.(*contextPanel); !strings.Contains(p.said, want) {
		s.t.Errorf("it says %q, want %q", p.said, want)
	}
}

func TestContextPanel_elidesAndTakesItBack(t *testing.T) {
	s := newScene(t).worked().context().press("/parser", "enter")
	before := s.size()
	s.press("e")
	x := s.chosen()
	if len(x.Elisions) == 0 || x.Elisions[0].Rule != rule.Discard {
		t.Fatalf("the part has the elisions %+v, want one of discard", x.Elisions)
	}
	after := s.size()
	s.says(x.Handle + " is left out: −" + quantity.Number(before-after) + " tokens · u takes it back")
	if look := s.look(80, 24); !strings.Contains(look, "░ −") {
		t.Errorf("the row does not say that it is elided:\n%s", look)
	}
	s.press("u")
	if x := s.chosen(); len(x.Elisions) > 0 || s.size() != before {
		t.Errorf("taken back it has %d elisions, and the window %d tokens, want none and %d", len(x.Elisions), s.size(),
			before)
	}
	s.says("taken back: ")
	s.press("u")
	s.says("nothing was done here yet")
}

// A message or a turn is discarded with the second press of its key, and taken back.
func TestContextPanel_discardsMessagesAndTurns(t *testing.T) {
	for _, key := range []string{"m", "t"} {
		s := newScene(t).worked().context().press("/parser", "enter")
		before := s.size()
		s.press(key)
		said := s.panel.(*contextPanel).said
		s.says(" tokens")
		s.says(" · " + key + " again discards it")
		if s.size() != before {
			t.Errorf("%s: it was done at once", key)
		}
		s.press("down", "up", key) // what was told is forgotten
		if s.size() != before || s.panel.(*contextPanel).said != said {
			t.Errorf("%s: it was done, or something else is told: %s", key, s.panel.(*contextPanel).said)
		}
		s.press(key)
		after := s.size()
		s.says(" is discarded: −" + quantity.Number(before-after) + " tokens · u takes it back")
		if !strings.Contains(said, "−"+quantity.Number(before-after)+" tokens") {
			t.Errorf("%s: told %q, the window has %d tokens less", key, said, before-after)
		}
		s.press("u")
		if s.size() != before {
			t.Errorf("%s: taken back, the window has %d tokens, want %d", key, s.size(), before)
		}
	}
}

func TestContextPanel_restoresAndTakesItBack(t *testing.T) {
	s := newScene(t).worked()
	out, err := s.engine.Prune(t.Context(), s.id, false)
	if err != nil || out.Pruned == nil {
		t.Fatalf("pruned %v, %v", out.Pruned, err)
	}
	s.context().press("s") // what is left out comes first
	pruned := s.size()
	was := s.chosen()
	if len(was.Elisions) == 0 {
		t.Fatalf("the first row is not elided:\n%s", s.look(80, 24))
	}
	s.press("r")
	restored, err := winnow.Look(t.Context(), s.engine, s.id, report.Explain(was.Part))
	if err != nil || len(restored.Elisions) > 0 || s.size() <= pruned {
		t.Fatalf("it has %d elisions, the window %d tokens after %d, %v", len(restored.Elisions), s.size(), pruned, err)
	}
	s.says(was.Handle + " is shown whole again: +" + quantity.Number(s.size()-pruned) + " tokens")
	s.press("u")
	if again, err := winnow.Look(t.Context(), s.engine, s.id, report.Explain(was.Part)); err != nil || len(again.Elisions) == 0 {
		t.Errorf("taken back it is shown whole: %+v, %v", again.Elisions, err)
	}
}

// Where all that a commit left out was restored, taking that back does the commit again, to the
// byte.
func TestContextPanel_aRestoredCommitIsDoneAgainAsItWas(t *testing.T) {
	s := newScene(t).worked().context().press("/parser", "enter", "e")
	elided := s.chosen()
	s.press("r")
	s.says("is shown whole again")
	s.press("u")
	again, err := winnow.Look(t.Context(), s.engine, s.id, report.Explain(elided.Part))
	if err != nil || len(again.Elisions) != len(elided.Elisions) ||
		again.Elisions[0].Receipt != elided.Elisions[0].Receipt || again.Text != elided.Text {
		t.Errorf("it is elided as %+v, want %+v; %v", again.Elisions, elided.Elisions, err)
	}
}

func TestContextPanel_pinsAndUnpins(t *testing.T) {
	s := newScene(t).worked().context().press("/parser", "enter", "p")
	if x := s.chosen(); !x.Pinned {
		t.Fatal("it is not pinned")
	}
	s.says("is pinned")
	s.press("e")
	s.says("it is pinned")
	if !s.panel.(*contextPanel).wrong {
		t.Error("leaving out what is pinned was refused, and the panel does not say that it failed")
	}
	s.press("u")
	if x := s.chosen(); x.Pinned {
		t.Error("the pin was not taken back")
	}
	s.press("p", "p")
	if x := s.chosen(); x.Pinned {
		t.Error("the second time it is not let go of")
	}
	s.press("u")
	if x := s.chosen(); !x.Pinned {
		t.Error("letting go of it was not taken back")
	}
}

func TestContextPanel_actsOnAGroup(t *testing.T) {
	s := newScene(t).worked().context().press("g", "g", "/bash", "enter")
	before := s.size()
	s.press("e")
	if after := s.size(); after >= before {
		t.Errorf("the window has %d tokens after %d", after, before)
	}
	s.says("parts left out")
	s.press("p")
	s.says("open the group")
	s.press("u")
	if s.size() != before {
		t.Errorf("taken back the window has %d tokens, want %d", s.size(), before)
	}
}

func TestContextPanel_saysWhyAnActionCannotBe(t *testing.T) {
	for name, c := range map[string]struct{ keys, want string }{
		"what the user wrote":        {"/text", "it is what the user wrote"},
		"what is shown whole":        {"/parser", "is shown whole"},
		"what every request is sent": {"", "every request begins with it"},
	} {
		s := newScene(t).worked().context()
		key := "e"
		if name == "what is shown whole" {
			key = "r"
		}
		if c.keys != "" {
			s.press(c.keys, "enter")
		} else {
			s.press("home")
		}
		s.press(key)
		s.says(c.want)
		if p := s.panel.(*contextPanel); !p.wrong {
			t.Errorf("%s: the panel does not say that it failed", name)
		}
	}
}

// A part that is open stays open when the session changes, and is explained anew.
func TestContextPanel_anOpenPartStaysExplained(t *testing.T) {
	s := newScene(t).worked().context().press("/vet", "enter", "enter")
	s.runs(choose(WindowChanged{s.id}))
	if look := s.look(80, 24); !strings.Contains(look, "tokens in the log") {
		t.Errorf("the open part is not explained any more:\n%s", look)
	}
}

func TestContextPanel_opensAPart(t *testing.T) {
	s := newScene(t).worked().context().press("/vet", "enter", "enter")
	look := s.look(80, 24)
	for _, want := range []string{"tokens in the log", "│ vet: tide/table/zone.go:31: undeclared name: winter",
		"more line"} {
		if !strings.Contains(look, want) {
			t.Errorf("there is no %q in\n%s", want, look)
		}
	}
	if s.press("enter"); strings.Contains(s.look(80, 24), "tokens in the log") {
		t.Error("it is not closed again")
	}
	if s.press("esc"); s.panel == nil { // the filter goes first
		t.Fatal("esc closed the panel with a filter in it")
	}
	if s.press("esc"); s.panel != nil {
		t.Error("esc does not close the panel")
	}
}

func TestContextPanel_tellsThatTheSessionCannotBeRead(t *testing.T) {
	s := newScene(t)
	s.id = "ses_none"
	if look := s.context().look(80, 24); !strings.Contains(look, "the window cannot be looked at") {
		t.Errorf("it shows\n%s", look)
	}
	s.press("e", "u", "enter", "g", "s", "p", "r", "esc")
}

// What happens beside an open panel is seen in it, and what was said of the last key stays.
func TestContextPanel_looksAgainWhenTheSessionChanges(t *testing.T) {
	s := newScene(t).worked().context().press("/parser", "enter", "e")
	said, parts := s.panel.(*contextPanel).said, len(s.panel.(*contextPanel).parts)
	m := session.Message{MessageInfo: session.MessageInfo{Role: session.User},
		Parts: []session.Part{{Type: session.TextPart, Text: "And the summer?"}}}
	if err := s.engine.Append(t.Context(), s.id, m); err != nil {
		t.Fatal(err)
	}
	s.runs(choose(WindowChanged{s.id}))
	if p := s.panel.(*contextPanel); len(p.parts) != parts+1 || p.said != said {
		t.Errorf("it has %d parts and says %q, want %d and %q", len(p.parts), p.said, parts+1, said)
	}
	s.runs(choose(WindowChanged{"ses_other"}))
	if p := s.panel.(*contextPanel); p.reading {
		t.Error("another session is not its business")
	}
}
