package workbench

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/winnowhq/winnow/agent/snapshot"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
)

// Snapshots are those of a working folder. They are kept beside the store, in a repository for each
// folder. Without git the error is snapshot.ErrNoGit.
func Snapshots(ctx context.Context, a *cli.App, folder string) (*snapshot.Repository, error) {
	dir, err := snapshotsOf(a, folder)
	if err != nil {
		return nil, err
	}
	full, err := filepath.EvalSymlinks(a.Path(folder))
	home := a.Env.Home()
	if err == nil && (filepath.Dir(full) == full || home != "" && full == filepath.Clean(home)) {
		err := fmt.Errorf("%s is not the folder of a project, so no snapshots of its files are taken", full)
		return nil, cli.Hint(err, "work in the folder of a project")
	}
	return snapshot.Open(ctx, snapshot.Config{Dir: dir, WorkTree: folder,
		Leave: []string{source.StoreBeside(a) + "*", filepath.Dir(dir)}})
}

// SnapshotsThere are those of a working folder, nil if there are none.
func SnapshotsThere(ctx context.Context, a *cli.App, folder string) (*snapshot.Repository, error) {
	dir, err := snapshotsOf(a, folder)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return Snapshots(ctx, a, folder)
}

// snapshotsOf is where the snapshots of a folder are kept.
func snapshotsOf(a *cli.App, folder string) (string, error) {
	store := source.StoreBeside(a)
	if store == "" {
		return "", cli.Usage("there is no home folder to keep snapshots in; name a file for the store with --store")
	}
	full, err := filepath.EvalSymlinks(a.Path(folder))
	if err != nil {
		return "", fmt.Errorf("the working folder: %w", err)
	}
	sum := sha256.Sum256([]byte(full))
	return filepath.Join(filepath.Dir(store), "snapshots", filepath.Base(full)+"-"+hex.EncodeToString(sum[:6])), nil
}

// errUnwatched is why there are no snapshots if the settings say so.
var errUnwatched = errors.New("no snapshots of the files are taken (the setting snapshots is false)")

// packing is how long the snapshots may be packed at the end: nobody waits long to leave.
const packing = 5 * time.Second

// watchFiles opens the snapshots of the folder. If many were taken they are packed at the end,
// unless somebody is in a hurry to leave.
func (b *Bench) watchFiles(ctx context.Context) {
	var files *snapshot.Repository
	switch {
	case !b.settings.Snapshots:
		b.Blind = errUnwatched
	case b.states == "":
		files, b.Blind = Snapshots(ctx, b.app, b.Folder)
	default:
		files, b.Blind = snapshot.Open(ctx, snapshot.Config{Dir: b.states, WorkTree: b.Folder})
	}
	if b.Blind != nil {
		if b.settings.Snapshots {
			b.Notices = append(b.Notices, b.Blind.Error())
		}
		return
	}
	b.Files = files
	b.close = append(b.close, func() error {
		if ctx.Err() != nil {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, packing)
		defer cancel()
		files.Pack(ctx) // what fails changes nothing, and is done the next time
		return nil
	})
}
