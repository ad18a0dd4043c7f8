package chat

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/winnowhq/winnow/agent/chat/internal/draw"
	"github.com/winnowhq/winnow/agent/tools"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
)

// mostFiles is how many files of a folder are known for completion.
const mostFiles = 10_000

// listFiles lists the files of the folder when an @ begins, once for each.
func (m *chat) listFiles() tea.Cmd {
	if _, ok := m.input.mention(); !ok {
		m.input.listed = false
		return nil
	}
	if m.input.listed || m.config.Directory == "" {
		return nil
	}
	m.input.listed = true
	folder := m.config.Directory
	return m.do(func(ctx context.Context) func() tea.Cmd {
		names, _, err := tools.Files(ctx, folder, mostFiles)
		files := make([]file, 0, len(names))
		for _, name := range names {
			if !strings.ContainsAny(name, " \t\n\r") { // such a name would end at its first space
				files = append(files, fileOf(name))
			}
		}
		return func() tea.Cmd {
			if err == nil {
				m.input.files, m.input.found = files, nil
			}
			return nil
		}
	})
}

// attachable are the endings of files that are attached, and not only named.
var attachable = []string{".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf"}

// pastedFile is the path of an image or a document that was pasted, or dropped onto the terminal,
// as one line: plain, quoted, with backslashes before its spaces, or as file://. "" for any other
// text.
func (m *chat) pastedFile(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > 4096 || strings.ContainsAny(text, "\n\r") ||
		!slices.Contains(attachable, strings.ToLower(filepath.Ext(strings.Trim(text, `'"`)))) {
		return ""
	}
	path := strings.ReplaceAll(text, `\ `, " ")
	if n := len(text); n > 2 && text[0] == text[n-1] && (text[0] == '\'' || text[0] == '"') {
		path = text[1 : n-1]
	}
	if address, err := url.Parse(text); err == nil && address.Scheme == "file" {
		path = address.Path
	}
	return m.absolute(path)
}

// absolute is a path as somebody types it.
func (m *chat) absolute(path string) string {
	if rest, home := strings.CutPrefix(path, "~/"); home {
		path = filepath.Join(environment(m.config)["HOME"], rest)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(m.config.Directory, path)
	}
	return filepath.Clean(path)
}

// attachPasted attaches a file whose path was pasted; if it is another kind of file, or none, the
// text is pasted.
func (m *chat) attachPasted(path, text string) tea.Cmd {
	return m.do(func(context.Context) func() tea.Cmd {
		part, ok, err := tools.Media(path)
		return func() tea.Cmd {
			switch {
			case ok:
				m.input.Attach(part, fileLabel(part))
				return nil
			case err != nil && !os.IsNotExist(err):
				m.status.hint = draw.OneLine(err.Error())
			}
			m.input.Paste(text)
			return nil
		}
	})
}

// fileLabel is how an attached file is shown in the line.
func fileLabel(p session.Part) string {
	_, data, _ := strings.Cut(p.URL, ",")
	size := len(data)/4*3 - strings.Count(data[max(0, len(data)-2):], "=")
	return "[" + draw.OneLine(p.Filename) + " " + quantity.Bytes(size) + "]"
}

// attachedTo are the files that go with a text: those in the line, and the images and documents
// that it names with @.
func (m *chat) attachedTo(text string) []session.Part {
	all := m.input.Attached()
	for word := range strings.FieldsSeq(text) {
		name, ok := strings.CutPrefix(strings.Trim(word, "([{\"'`,;:)]}"), "@")
		if !ok || !slices.Contains(attachable, strings.ToLower(filepath.Ext(name))) {
			continue
		}
		if part, ok, err := tools.Media(m.absolute(name)); ok && err == nil {
			all = append(all, part)
		} else if err != nil && !os.IsNotExist(err) {
			m.note(draw.Warn(draw.OneLine(name) + " is not attached: " + draw.OneLine(err.Error())))
		}
	}
	return all
}
