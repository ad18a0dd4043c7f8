package panel

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/agent/chat/internal/drawtest"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
	"github.com/winnowhq/winnow/session"
)

// whatever is pressed at whatever size, the chosen item is on the screen, and the screen is full
// while there is enough to fill it.
func TestList_theChosenOneIsSeen(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		heights := rapid.SliceOfN(rapid.IntRange(1, 9), 0, 40).Draw(r, "heights")
		var l list
		for range rapid.IntRange(1, 30).Draw(r, "n") {
			height := rapid.IntRange(1, 12).Draw(r, "height")
			drawn := map[int]bool{}
			lines := l.view(len(heights), height, func(i int) int { return heights[i] }, func(i, line int) string {
				drawn[i] = true
				return fmt.Sprint(i, ".", line)
			})
			if len(lines) != height {
				r.Fatalf("%d lines, want %d", len(lines), height)
			}
			if len(heights) > 0 && !drawn[l.at] {
				r.Fatalf("item %d is chosen, and drawn is %v", l.at, lines)
			}
			if sum := l.lines(); sum >= height && lines[height-1] == "" {
				r.Fatalf("there are %d lines, and the screen has room: %v", sum, lines)
			}
			key := rapid.SampledFrom([]rune{tea.KeyUp, tea.KeyDown, tea.KeyPgUp, tea.KeyPgDown, tea.KeyHome,
				tea.KeyEnd}).Draw(r, "key")
			if taken, _ := l.key(tea.KeyPressMsg{Code: key}); !taken {
				r.Fatalf("the list does not take %v", tea.KeyPressMsg{Code: key})
			}
		}
	})
}

// going down from the top shows every line of every item, and going up shows them again.
func TestList_everyLineIsReached(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		heights := rapid.SliceOfN(rapid.IntRange(1, 20), 1, 12).Draw(r, "heights")
		height := rapid.IntRange(1, 8).Draw(r, "height")
		all := 0
		for _, n := range heights {
			all += n
		}
		var l list
		for _, key := range []rune{tea.KeyDown, tea.KeyUp} {
			seen := map[[2]int]bool{}
			for range all + len(heights) + 1 {
				l.view(len(heights), height, func(i int) int { return heights[i] }, func(i, line int) string {
					seen[[2]int{i, line}] = true
					return ""
				})
				l.key(tea.KeyPressMsg{Code: key})
			}
			if len(seen) != all {
				r.Fatalf("with %v %d of %d lines are seen", tea.KeyPressMsg{Code: key}, len(seen), all)
			}
		}
	})
}

func TestList_filters(t *testing.T) {
	for _, c := range []struct {
		keys   []tea.KeyPressMsg
		filter string
		typing bool
	}{
		{letters("abc"), "", false},
		{letters("/Tide 港"), "Tide 港", true},
		{append(letters("/ab"), tea.KeyPressMsg{Code: tea.KeyBackspace}), "a", true},
		{append(letters("/ab"), tea.KeyPressMsg{Code: tea.KeyEnter}), "ab", false},
		{append(letters("/ab"), tea.KeyPressMsg{Code: tea.KeyEscape}), "", false},
		{append(letters("/ab"), tea.KeyPressMsg{Code: 'u', Mod: tea.ModCtrl}), "", true},
		{append(letters("/a"), tea.KeyPressMsg{Code: tea.KeyBackspace}, tea.KeyPressMsg{Code: tea.KeyBackspace}), "",
			false},
	} {
		var l list
		for _, k := range c.keys {
			l.key(k)
		}
		if l.filter != c.filter || l.typing != c.typing {
			t.Errorf("%v: filter %q, typing %v; want %q, %v", c.keys, l.filter, l.typing, c.filter, c.typing)
		}
	}
	l := list{filter: "tide GO"}
	if !l.matches("read", "src/Tide.go") || l.matches("read", "src/tide.c") {
		t.Error("a filter means every word of it, whatever its case")
	}
}

func letters(text string) (keys []tea.KeyPressMsg) {
	for _, r := range text {
		keys = append(keys, tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	return keys
}

// Whatever stands in a session, and whatever is pressed: every line of every panel fits every
// width, and nothing of it acts on the terminal.
func TestPanels_fitEveryWidth(t *testing.T) {
	s := newScene(t)
	id, err := s.engine.Create(t.Context(), session.Info{Title: "港\x1b]0;owned\x07\u202e 👩‍👩‍👧 \t tabs\nand lines"})
	if err != nil {
		t.Fatal(err)
	}
	s.id = id
	log := ruletest.New()
	log.User("Look \x1b[2J at 満潮 und Straße.")
	for i, of := range []string{"港", "\x1b[31mred\x1b[0m", "\u202eback", "a\tb", "e\u0301\u0301\u0301\u0301", "👨‍👩‍👧‍👦",
		"\r\n", "\u0000\u009b5n"} {
		log.Call("Bash"+of, ruletest.Args{"command": strings.Repeat(of, 9) + fmt.Sprint(i)},
			strings.Repeat(of+" line\n", 300))
		log.Call("Read", ruletest.Args{"file_path": "/repo/" + strings.Repeat(of, 30) + ".go"},
			strings.Repeat("x"+of, 900))
	}
	for _, m := range log.Messages {
		m.ID = ""
		if err := s.engine.Append(t.Context(), id, m); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.engine.Observe(t.Context(), id, session.Usage{Input: 9_000, Output: 10}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.engine.Prune(t.Context(), id, false); err != nil {
		t.Fatal(err)
	}
	if _, err := s.engine.Compact(t.Context(), id, winnow.CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.engine.Undo(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	keys := []string{"enter", "up", "down", "pgdown", "pgup", "home", "end", "s", "g", "e", "p", "r", "u", "/港", "x"}
	style := draw.NewStyle(true)
	look := func(name string) model.Model { return model.Model{Provider: "港", ID: name + "\x1b[1m"} }
	rapid.Check(t, func(r *rapid.T) {
		s.t = t
		switch rapid.IntRange(0, 6).Draw(r, "panel") {
		case 0:
			s.opens(NewContext(context.Background(), s.engine, id, style))
		case 1:
			s.opens(NewPreview(context.Background(), s.engine, id, "港\x1b[2J", style))
		case 2:
			s.opens(NewReceipts(context.Background(), s.engine, id, "", s.clock, style))
		case 3:
			s.opens(NewCost(context.Background(), s.engine, id, style))
		case 4:
			s.opens(NewSessions(context.Background(), s.store, id, s.clock.Add(time.Hour), style))
		case 5:
			s.opens(NewModels([]string{"a", "港港港港港港港港港港港港港港港港港港港港港港港港"}, "b", look, style), nil)
		case 6:
			s.opens(NewHelp([]Command{{"compact", "[focus]", "fold the past 港"}, {"undo", "", "undo it"}},
				[][2]string{{"港", strings.Repeat("港", 90)}}, style), nil)
		}
		for range rapid.IntRange(0, 8).Draw(r, "keys") {
			width, height := rapid.IntRange(4, 200).Draw(r, "width"), rapid.IntRange(1, 60).Draw(r, "height")
			if lines := drawtest.Fits(t, s.panel.View(width, height), width, height); t.Failed() {
				r.Fatalf("%s at %d×%d:\n%s", s.panel.Title(), width, height, strings.Join(lines, "\n"))
			}
			if s.press(rapid.SampledFrom(keys).Draw(r, "key")); s.panel == nil {
				return
			}
		}
	})
}
