package discover

import (
	"path/filepath"
	"strings"

	"github.com/winnowhq/winnow/format/cline"
	"github.com/winnowhq/winnow/text/plainfile"
	"github.com/winnowhq/winnow/text/span"
)

// mostManifest bounds what is read of a session's manifest, in bytes: it has the prompt in it.
const mostManifest = 4 << 20

// ofCline fills in what the folder of a session of Cline's says: <session>.json, the project and a
// title; the name of the folder, for which session a sub-agent works, whose messages are in the
// same folder under another name.
func (f *Found) ofCline() {
	folder := filepath.Dir(f.path)
	session := filepath.Base(folder)
	f.ID = strings.TrimSuffix(filepath.Base(f.path), cline.Ending) // unless the file says another
	sub := f.ID != session
	if sub {
		f.Parent = session
	}
	text, _, err := plainfile.Read(filepath.Join(folder, session+".json"), mostManifest)
	if err != nil || !span.Valid(text) {
		return // the messages are there all the same
	}
	f.Project = span.String(span.Get(text, "cwd"))
	if !sub {
		f.Title = span.String(span.Get(text, "metadata", "title"))
	}
}
