package chat

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow/agent/chat/internal/draw"
)

// composedMsg says that the editor has ended in which somebody wrote.
type composedMsg struct {
	folder string
	err    error
}

// compose opens what is typed in the editor that VISUAL or EDITOR name.
func (m *chat) compose() tea.Cmd {
	env := environment(m.config)
	program := cmp.Or(env["VISUAL"], env["EDITOR"], "vi")
	folder, err := os.MkdirTemp(env["TMPDIR"], "winnow-message-")
	if err != nil {
		m.status.hint = "no file to edit can be made: " + draw.OneLine(err.Error())
		return nil
	}
	name := filepath.Join(folder, "message.md")
	if err := os.WriteFile(name, []byte(m.input.Value()), 0o600); err != nil {
		os.RemoveAll(folder)
		m.status.hint = "no file to edit can be written: " + draw.OneLine(err.Error())
		return nil
	}
	cmd := exec.Command("sh", "-c", program+` "$1"`, "sh", name)
	cmd.Dir, cmd.Env = m.config.Directory, m.config.Environ
	return tea.ExecProcess(cmd, func(err error) tea.Msg { return composedMsg{folder, err} })
}

// composed takes over what was written.
func (m *chat) composed(msg composedMsg) {
	defer os.RemoveAll(msg.folder)
	text, err := os.ReadFile(filepath.Join(msg.folder, "message.md"))
	switch {
	case msg.err != nil:
		m.status.hint = "the editor failed (" + draw.OneLine(msg.err.Error()) + "); EDITOR names another one"
		return
	case err != nil:
		m.status.hint = "what was written cannot be read: " + draw.OneLine(err.Error())
		return
	}
	m.input.Edited(strings.TrimSuffix(string(text), "\n"))
	m.input.reset()
}
