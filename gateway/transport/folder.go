package transport

import (
	"strings"

	"github.com/winnowhq/winnow/format/body"
	"github.com/winnowhq/winnow/session"
)

// environment begins what Codex tells its model when it goes on in another folder.
const environment = "<environment_context>"

// locate notes in each message the folder in which the client works, where it says so: paths in
// commands are relative to it. known is how many messages have that already.
func locate(messages []session.Message, n *body.Native, known int) {
	var at *session.Path
	if known > 0 {
		at = messages[known-1].Path
	} else if folder := n.Folder(); folder != "" {
		at = &session.Path{Cwd: folder}
	}
	for i := known; i < len(messages); i++ {
		m := &messages[i]
		for j := range m.Parts {
			p := &m.Parts[j]
			if m.Role != session.User || !strings.HasPrefix(p.Text, environment) {
				continue
			}
			if folder := body.Folder(p.Text); folder != "" {
				at = &session.Path{Cwd: folder}
			}
		}
		m.Path = at
	}
}
