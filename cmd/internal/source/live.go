package source

import (
	"context"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/format/opencode"
	"github.com/winnowhq/winnow/format/opencodedb"
	"github.com/winnowhq/winnow/format/opencodeserver"
)

// StoredID is the path of OpenCode's store and the whole id of the session in it that SRC stands
// for; ok is false if SRC is something else.
func StoredID(ctx context.Context, a *cli.App, src string) (path, id string, ok bool, err error) {
	word, err := Resolve(ctx, a, src)
	if err != nil {
		return "", "", false, err
	}
	if _, _, ok = inStore(a, word); ok {
		path, id, ok = opencodedb.Split(word)
	}
	return path, id, ok, nil
}

// OpenLive opens a session of a running OpenCode, which is told of changes. With dry it is not.
func OpenLive(ctx context.Context, a *cli.App, server *opencodeserver.Server, id string, dry bool) (*Session, error) {
	settings, err := a.Settings()
	if err != nil {
		return nil, err
	}
	wipe := a.Progress("reading " + id)
	doc, err := server.Read(ctx, id)
	wipe()
	if err != nil {
		return nil, err
	}
	s := &Session{Path: opencode.Name + ":" + id, ID: doc.Session.Info.ID, Doc: doc, Stored: true, Live: server,
		dry: dry}
	return s, s.Start(ctx, a, settings)
}
