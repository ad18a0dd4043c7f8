package workbench

import (
	"context"
	"path/filepath"

	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/session"
)

// Notify is how the end of a long turn is told, as the settings have it.
func (b *Bench) Notify() string { return b.settings.Notify }

// Changes are what a session changed in the folder's files, from its first snapshot to its newest.
func (b *Bench) Changes(ctx context.Context, id string) ([]session.FileDiff, error) {
	log, _, err := b.Engine.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	from, to := session.Snapshots(log.Messages)
	if from == "" || from == to {
		return nil, nil
	}
	return b.Files.Diff(ctx, from, to)
}

// Export writes a session into a file, in the format that it came in, or as an export of OpenCode.
// A relative name is one in the folder that the command was started in.
func (b *Bench) Export(ctx context.Context, id, file, started string) (string, error) {
	s := &source.Session{Engine: b.Engine, Store: b.store, ID: id}
	var out output.Target
	if err := output.Origin(ctx, s, &out); err != nil {
		return "", err
	}
	if file == "" {
		name := out.Format
		if s.Doc != nil {
			name = s.Doc.Format
		}
		file = output.FileName(id) + output.Extension(name)
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(started, file)
	}
	out.To, out.Mask = file, true
	return output.Write(ctx, b.app, s, &out, "exported")
}
