package snapshot

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// many is how many files of its own a repository may have before Pack does something; git's own limit is of that order.
const many = 4096

// Pack writes what the snapshots hold into one file where it is many. Nothing is deleted from the repository by it: every snapshot that was ever taken
// stays. To be rid of old ones, remove the folder of the repository.
func (r *Repository) Pack(ctx context.Context) error {
	// Objects are spread evenly over 256 folders.
	some, err := os.ReadDir(filepath.Join(r.dir, "objects", "17"))
	if err != nil || len(some)*256 < r.many {
		return nil
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return fmt.Errorf("packing snapshots: %w", err)
	}
	defer unlock()
	all, err := r.run(ctx, nil, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
	if err == nil {
		_, err = r.run(ctx, bytes.NewReader(all), "pack-objects", "--quiet", "--window=10", filepath.Join(r.dir, "objects", "pack", "pack"))
	}
	if err == nil {
		_, err = r.run(ctx, nil, "prune-packed", "--quiet")
	}
	if err == nil {
		return nil
	}
	left, _ := filepath.Glob(filepath.Join(r.dir, "objects", "pack", "tmp_*")) // of a git that was stopped; nobody else works here
	for _, name := range left {
		os.Remove(name)
	}
	return fmt.Errorf("packing snapshots: %w", err)
}
