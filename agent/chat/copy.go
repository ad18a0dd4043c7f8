package chat

import (
	"cmp"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/agent/chat/internal/panel"
	"github.com/winnowhq/winnow/text/quantity"
)

const (
	// copied is how many of the newest answers can be copied from.
	copied = 50
	// mostCopied is how many bytes are given to a terminal: more is dropped by many.
	mostCopied = 100_000
)

// copies are the answers and the blocks of code in them that can be copied, the newest first.
func (m *chat) copies() (all []panel.Copy) {
	for _, text := range m.transcript.Answers(copied) {
		all = append(all, panel.Copy{What: "answer", Text: text})
		blocks := draw.Blocks(text)
		for i := len(blocks) - 1; i >= 0; i-- {
			all = append(all, panel.Copy{What: cmp.Or(blocks[i].Language, "code"), Code: true, Text: blocks[i].Text})
		}
	}
	return all
}

// copyCommand copies the newest answer, or the newest block of code.
func (m *chat) copyCommand(what string) tea.Cmd {
	all := m.copies()
	for _, one := range all {
		switch {
		case strings.ToLower(what) == "code" && one.Code, what == "" && !one.Code:
			return m.copied(one)
		}
	}
	switch {
	case what != "" && strings.ToLower(what) != "code":
		m.tell("/copy copies the newest answer, /copy code its newest block of code; ctrl+y chooses")
	case len(all) > 0:
		m.tell("there is no block of code in the newest answers")
	default:
		m.tell("there is no answer to copy yet")
	}
	return nil
}

// chooseCopy lists what can be copied.
func (m *chat) chooseCopy() tea.Cmd {
	all := m.copies()
	if len(all) == 0 {
		m.status.hint = "there is no answer to copy yet"
		return nil
	}
	return m.show(panel.NewCopy(all, m.style), nil)
}

// copied gives a text to the terminal's clipboard (OSC 52).
func (m *chat) copied(one panel.Copy) tea.Cmd {
	if len(one.Text) > mostCopied {
		m.tell("it is too long for the clipboard of a terminal: " + quantity.Number(len(one.Text)) +
			" bytes; /export writes the session into a file")
		return nil
	}
	lines := strings.Count(strings.TrimRight(one.Text, "\n"), "\n") + 1
	m.tell("copied: " + one.What + ", " + quantity.Count(lines, "line") + ", if the terminal allows it")
	return tea.SetClipboard(one.Text)
}
