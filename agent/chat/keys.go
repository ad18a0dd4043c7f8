package chat

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow/agent/chat/internal/panel"
)

// again is how long the second ctrl+c may take.
const again = 2 * time.Second

// key does what a key is for, where somebody is: in a question, in a panel, or in the line that is
// typed.
func (m *chat) key(k tea.KeyPressMsg) tea.Cmd {
	before := m.keyboard.typed
	m.keyboard.typed, m.status.hint = m.now(), ""
	name := k.String()
	if name == "ctrl+c" {
		return m.interruptOrQuit()
	}
	if name == "ctrl+z" {
		if !canSuspend() {
			m.status.hint = "there is no shell to go back to"
			return nil
		}
		return tea.Suspend
	}
	switch {
	case len(m.questions.waiting) > 0:
		return m.answerKey(k, before)
	case m.panel != nil:
		return m.toPanel(k)
	}
	switch name {
	case "enter":
		return m.submit()
	case "esc":
		return m.escape()
	case "tab":
		m.completeNext(1)
		return nil
	case "shift+tab":
		m.completeNext(-1)
		return nil
	case "ctrl+o":
		m.status.hint = m.transcript.Unfold()
		return nil
	case "ctrl+r":
		return m.show(panel.NewSaid(m.ctx, m.config.Engine.Store(), m.config.Directory, m.now(), m.style))
	case "ctrl+g":
		return m.compose()
	case "ctrl+y":
		return m.chooseCopy()
	case "ctrl+l":
		return tea.ClearScreen
	case "ctrl+d":
		if m.input.Empty() {
			return m.interruptOrQuit()
		}
	}
	if m.scroll(name) {
		return nil
	}
	if m.input.Key(k) {
		m.input.reset()
		return m.listFiles()
	}
	return nil
}

// scroll moves the transcript, and reports whether the key is for that. home and end are so only
// while nothing is typed.
func (m *chat) scroll(key string) bool {
	page := max(1, m.transcript.Height-2)
	switch key {
	case "pgup":
		m.transcript.Scroll(-page)
	case "pgdown":
		m.transcript.Scroll(page)
	case "shift+up", "alt+up":
		m.transcript.Scroll(-1)
	case "shift+down", "alt+down":
		m.transcript.Scroll(1)
	case "ctrl+home", "alt+<":
		m.transcript.ToStart()
	case "ctrl+end", "alt+>":
		m.transcript.ToEnd()
	case "home", "end":
		return m.input.Empty() && m.scroll("ctrl+"+key)
	default:
		return false
	}
	return true
}

func (m *chat) paste(p tea.PasteMsg) tea.Cmd {
	m.status.hint = ""
	switch {
	case len(m.questions.waiting) > 0:
		m.questions.waiting[0].paste(p.Content)
	case m.panel != nil:
		return m.toPanel(p)
	default:
		m.input.reset()
		if path := m.pastedFile(p.Content); path != "" {
			return m.attachPasted(path, p.Content)
		}
		m.input.Paste(p.Content)
		return m.listFiles()
	}
	return nil
}

// escape stops the work; without any, it goes back to the end of the transcript.
func (m *chat) escape() tea.Cmd {
	switch {
	case m.input.open():
		m.input.dismiss()
	case m.work != nil:
		m.work.stop()
	case m.folding.stop != nil:
		m.folding.stop()
	default:
		m.transcript.ToEnd()
	}
	return nil
}

// interruptOrQuit empties what is typed, and leaves when it is pressed twice.
func (m *chat) interruptOrQuit() tea.Cmd {
	now := m.now()
	if now.Sub(m.keyboard.quitting) < again {
		return tea.Quit
	}
	m.keyboard.quitting = now
	if !m.input.Empty() {
		m.input.Set("")
		m.input.reset()
	}
	m.status.hint = "ctrl+c again quits"
	return nil
}

// submit says what was typed, or does it.
func (m *chat) submit() tea.Cmd {
	if m.input.take() {
		return nil
	}
	text := m.input.Value()
	if strings.TrimSpace(text) == "" {
		if m.session.resumes && m.work == nil {
			return m.resume()
		}
		m.input.Set("")
		return nil
	}
	if strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//") {
		m.sent()
		return m.typedCommand(text)
	}
	attached := m.attachedTo(text)
	m.sent()
	if strings.HasPrefix(text, "//") {
		text = text[1:]
	}
	return m.say(text, attached...)
}

// sent empties the line.
func (m *chat) sent() {
	m.input.Sent()
	m.input.reset()
	m.transcript.ToEnd()
}

// keysThereAre are what keys do, for /help.
var keysThereAre = [][2]string{
	{"enter", "send; on an empty line: go on with a turn that stopped"},
	{"alt+enter, ctrl+j", "a new line"},
	{"esc", "stop the turn, or a folding"},
	{"ctrl+o", "unfold what was done: the newest turn, all, nothing"},
	{"pgup pgdn", "scroll; shift+↑↓ by lines, end goes back to the newest"},
	{"↑ ↓", "what you said before; ctrl+r searches it, over all sessions of this folder"},
	{"tab", "complete a command, or the name of a file behind @"},
	{"ctrl+g", "write the message in $VISUAL or $EDITOR"},
	{"ctrl+y", "copy an answer or a block of code"},
	{"mouse wheel", "scroll; with shift held the mouse selects, /mouse gives it back to the terminal"},
	{"ctrl+z", "back to the shell for a while; fg returns"},
	{"ctrl+c twice", "leave; the session is kept"},
}
