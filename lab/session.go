package lab

import (
	"slices"

	"github.com/winnowhq/winnow/session"
)

// Session is the log as it is replayed: what is no item left out, and the ids that events name.
func (t *Trace) Session() session.Session {
	return session.Session{Info: session.Info{ID: t.ID, Title: t.Name, Directory: t.directory}, Messages: slices.Clone(t.log)}
}
