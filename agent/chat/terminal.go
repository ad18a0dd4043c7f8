package chat

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/winnowhq/winnow/agent/chat/internal/draw"
)

// environment is the environment of a chat by name.
func environment(c Config) map[string]string {
	env := map[string]string{}
	for _, e := range c.Environ {
		name, value, _ := strings.Cut(e, "=")
		env[name] = value
	}
	return env
}

// colorless reports whether the terminal shows no colours, or somebody does not want them
// (no-color.org).
func colorless(c Config) bool {
	env := environment(c)
	return c.NoColor || env["NO_COLOR"] != "" || env["TERM"] == "dumb"
}

// knowsLinks reports whether a terminal is known to show links (OSC 8). One that does not prints
// nothing of them at best, so where it is not known the addresses are shown. Within tmux and screen
// it depends on what is around them.
func knowsLinks(env map[string]string) bool {
	if env["TMUX"] != "" || strings.HasPrefix(env["TERM"], "screen") || strings.HasPrefix(env["TERM"], "tmux") {
		return false
	}
	if vte, err := strconv.Atoi(env["VTE_VERSION"]); err == nil && vte >= 5000 {
		return true
	}
	for _, name := range []string{"KITTY_WINDOW_ID", "WEZTERM_PANE", "WT_SESSION", "KONSOLE_VERSION",
		"GHOSTTY_RESOURCES_DIR"} {
		if env[name] != "" {
			return true
		}
	}
	if slices.Contains([]string{"iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "rio"}, env["TERM_PROGRAM"]) {
		return true
	}
	return slices.ContainsFunc([]string{"xterm-kitty", "foot", "alacritty", "xterm-ghostty", "wezterm", "contour"},
		func(name string) bool { return strings.HasPrefix(env["TERM"], name) })
}

// styleFor is how things look before the terminal has said what its background is.
func styleFor(c Config) draw.Style {
	s := draw.NewStyle(!colorless(c))
	s.Links = s.Color && knowsLinks(environment(c))
	return s
}

// askBackground asks the terminal for its background, where that makes a difference.
func (m *chat) askBackground() tea.Cmd {
	if !m.style.Color {
		return nil
	}
	return tea.RequestBackgroundColor
}

// background follows the terminal's background.
func (m *chat) background(msg tea.BackgroundColorMsg) {
	if msg.Color == nil || !m.style.Color {
		return
	}
	s := styleFor(m.config)
	if draw.Light(msg.Color) {
		links := s.Links
		s = draw.LightStyle()
		s.Links = links
	}
	m.style = s
	m.transcript.Restyle(s)
}

// wheelLines is how far one notch of the mouse wheel scrolls.
const wheelLines = 3

// wheel scrolls what is on the screen.
func (m *chat) wheel(msg tea.MouseWheelMsg) tea.Cmd {
	by, key := wheelLines, tea.KeyPressMsg{Code: tea.KeyDown}
	switch msg.Button {
	case tea.MouseWheelUp:
		by, key = -wheelLines, tea.KeyPressMsg{Code: tea.KeyUp}
	case tea.MouseWheelDown:
	default:
		return nil
	}
	if len(m.questions.waiting) > 0 || m.panel == nil {
		m.transcript.Scroll(by)
		return nil
	}
	var all []tea.Cmd
	for range wheelLines {
		if m.panel != nil {
			all = append(all, m.toPanel(key))
		}
	}
	return tea.Batch(all...)
}

// mouseMode is what the terminal is to tell of the mouse: its wheel, or nothing, so that dragging
// selects.
func (m *chat) mouseMode() tea.MouseMode {
	if m.keyboard.selecting || environment(m.config)["TERM"] == "dumb" {
		return tea.MouseModeNone
	}
	return tea.MouseModeCellMotion
}

// toggleMouse gives the mouse to the terminal, for selecting, or takes it back, for scrolling.
func (m *chat) toggleMouse(string) tea.Cmd {
	m.keyboard.selecting = !m.keyboard.selecting
	said := "the mouse wheel scrolls here; hold shift (option or fn on a Mac) to select with the mouse, or type /mouse"
	if m.keyboard.selecting {
		said = "the mouse selects text, as the terminal does it; /mouse makes its wheel scroll again"
	}
	m.tell(said)
	return nil
}

// longTurn is how long a turn takes after which somebody is told that it has ended.
const longTurn = time.Minute

// Notices of Config.Notify.
const (
	NotifyOff    = "off"    // no notice
	NotifyBell   = "bell"   // the terminal's bell
	NotifyOSC9   = "osc9"   // a notification, as iTerm2, WezTerm, Ghostty and kitty know them
	NotifyOSC777 = "osc777" // a notification, as urxvt, foot and terminals with VTE know them
)

// notify tells that a turn has ended that took a while.
func (m *chat) notify(took time.Duration) tea.Cmd {
	if took < longTurn {
		return nil
	}
	text := strings.ReplaceAll(draw.OneLine(m.windowTitle()), ";", ",")
	text += ": done after " + took.Truncate(time.Second).String()
	switch m.config.Notify {
	case NotifyBell:
		return tea.Raw("\a")
	case NotifyOSC9:
		return tea.Raw("\x1b]9;" + text + "\a")
	case NotifyOSC777:
		return tea.Raw("\x1b]777;notify;winnow;" + text + "\a")
	}
	return nil
}

// leftLines is how many lines of the transcript are left in the terminal at the end.
const leftLines = 2000

// leave writes the transcript into the terminal that the chat has left, so that it can be scrolled
// back to.
func (m *chat) leave(out io.Writer) error {
	lines, cut := m.transcript.Last(leftLines)
	if len(lines) == 0 {
		return nil
	}
	if cut && m.session.id != "" {
		text := "· the beginning is left out: winnow inspect --log " + m.session.id
		lines = slices.Insert(lines, 0, draw.Paint(m.style.Dim, text), "")
	}
	w := colorprofile.NewWriter(out, m.config.Environ)
	if colorless(m.config) {
		w.Profile = colorprofile.ASCII
	}
	for i, l := range lines {
		lines[i] = draw.Safe(l)
	}
	_, err := fmt.Fprintln(w, strings.Join(lines, "\n"))
	return err
}

// output is the terminal.
func (m *chat) output() io.Writer {
	if m.config.Output != nil {
		return m.config.Output
	}
	return os.Stdout
}
