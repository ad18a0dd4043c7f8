package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/winnowhq/winnow/snapshot"
)

// snapshots are those of a working folder. They are kept beside the store, in a repository for each folder; snapshot.ErrNoGit where there is no git.
func (a *app) snapshots(ctx context.Context, folder string) (*snapshot.Repository, error) {
	dir, err := a.snapshotsOf(folder)
	if err != nil {
		return nil, err
	}
	if full, err := filepath.EvalSymlinks(a.path(folder)); err == nil && (filepath.Dir(full) == full || a.env.home() != "" && full == filepath.Clean(a.env.home())) {
		return nil, hinted{fmt.Errorf("%s is not the folder of a project, so that no snapshots of its files are taken", full), "work in the folder of a project"}
	}
	return snapshot.Open(ctx, snapshot.Config{Dir: dir, WorkTree: folder, Leave: []string{a.storeAt() + "*", filepath.Dir(dir)}})
}

// snapshotsThere are those of a working folder where there are any: nil otherwise.
func (a *app) snapshotsThere(ctx context.Context, folder string) (*snapshot.Repository, error) {
	dir, err := a.snapshotsOf(folder)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return a.snapshots(ctx, folder)
}

// snapshotsOf is where the snapshots of a folder are kept.
func (a *app) snapshotsOf(folder string) (string, error) {
	store := a.storeAt()
	if store == "" {
		return "", usage("there is no home folder to keep snapshots in; name a file for the store with --store")
	}
	full, err := filepath.EvalSymlinks(a.path(folder))
	if err != nil {
		return "", fmt.Errorf("the working folder: %w", err)
	}
	sum := sha256.Sum256([]byte(full))
	return filepath.Join(filepath.Dir(store), "snapshots", filepath.Base(full)+"-"+hex.EncodeToString(sum[:6])), nil
}
