package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/text/plainfile"
)

// Take keeps the state of the folder and returns the hash of its tree: the same for the same names,
// bytes and kinds. When ctx ends it stops at once; what it had kept by then it need not read again.
func (r *Repository) Take(ctx context.Context) (tree string, err error) {
	unlock, err := r.lock(ctx)
	if err != nil {
		return "", fmt.Errorf("snapshot: %w", err)
	}
	defer unlock()
	if tree, err = r.take(ctx, nil); err != nil {
		return "", fmt.Errorf("snapshot of %s: %w", r.folder, err)
	}
	return tree, nil
}

// take keeps the state of the folder. Of wanted, paths in the folder, what is there is kept even if
// it is ignored or large. The lock is held.
func (r *Repository) take(ctx context.Context, wanted []string) (string, error) {
	if err := put(filepath.Join(r.dir, "info", "exclude"), r.exclude); err != nil {
		return "", err
	}
	list, err := r.list(ctx)
	if err != nil {
		// An index that was cut off in a crash is made again.
		os.Remove(filepath.Join(r.dir, "index"))
		if list, err = r.list(ctx); err != nil {
			return "", err
		}
	}
	var add, remove, left []string
	for entry := range split(list) {
		tag, name, ok := strings.Cut(entry, " ")
		if !ok || strings.HasSuffix(name, "/") { // a repository in the folder
			continue
		}
		info, err := r.lstat(name)
		switch {
		case tag == "R", err != nil, info.IsDir():
			remove = append(remove, r.prefix+name)
		case tag == "?" && info.Mode().IsRegular() && info.Size() > r.largest:
			left = append(left, name)
		default:
			add = append(add, r.prefix+name)
		}
	}
	for _, name := range wanted {
		if info, err := r.lstat(name); err == nil && (info.Mode().IsRegular() || info.Mode()&fs.ModeSymlink != 0) {
			add = append(add, r.prefix+name)
		}
	}
	if err := r.index(ctx, slices.Compact(remove), "--force-remove"); err != nil {
		return "", err
	}
	// A stretch at a time: what is in the index need not be read again where this is cut off.
	for stretch := range slices.Chunk(add, 2000) {
		if err := r.add(ctx, stretch); err != nil {
			return "", err
		}
	}
	args := []string{"write-tree"}
	if r.prefix != "" {
		args = append(args, "--prefix="+r.prefix)
	}
	out, err := r.run(ctx, nil, args...)
	if err != nil && r.prefix != "" && ctx.Err() == nil && r.none(ctx) {
		out, err = r.run(ctx, bytes.NewReader(nil), "mktree") // nothing of the folder is in the index
	}
	if err != nil {
		return "", err
	}
	tree := strings.TrimSpace(string(out))
	return tree, r.remember(tree, left)
}

// list says what differs from the index: "?" is new, "C" has changed, "R" is gone.
func (r *Repository) list(ctx context.Context) ([]byte, error) {
	return r.run(ctx, nil, "ls-files", "-z", "-t", "--others", "--modified", "--deleted", "--exclude-standard")
}

func (r *Repository) none(ctx context.Context) bool {
	out, err := r.run(ctx, nil, "ls-files", "-z")
	return err == nil && len(out) == 0
}

// add puts files into the index. One that cannot be read, or that git takes for no name of a file,
// does not keep the others out.
func (r *Repository) add(ctx context.Context, names []string) error {
	err := r.index(ctx, names, "--add", "--remove", "--replace")
	var failed interface{ ExitCode() int }
	if err == nil || ctx.Err() != nil || !errors.As(err, &failed) {
		return err
	}
	if len(names) == 1 {
		f, _, unreadable := plainfile.Open(filepath.Join(r.top, filepath.FromSlash(names[0])))
		if unreadable != nil || strings.Contains(err.Error(), "Invalid path") {
			return nil
		}
		f.Close()
		return err // the file is not what is wrong
	}
	half := len(names) / 2
	if err := r.add(ctx, names[:half]); err != nil {
		return err
	}
	return r.add(ctx, names[half:])
}

func (r *Repository) index(ctx context.Context, names []string, args ...string) error {
	if len(names) == 0 {
		return nil
	}
	in := strings.NewReader(strings.Join(names, "\x00") + "\x00")
	_, err := r.runIn(ctx, r.top, in, append(append([]string{"update-index", "-z"}, args...), "--stdin")...)
	return err
}

// remember notes which files of the folder a snapshot lacks for their size, so that going back to
// it does not remove them.
func (r *Repository) remember(tree string, left []string) error {
	file := r.leftOf(tree)
	if len(left) == 0 {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	before, _ := os.ReadFile(file) // there may be none
	for name := range split(before) {
		left = append(left, name)
	}
	slices.Sort(left)
	return put(file, []byte(strings.Join(slices.Compact(left), "\x00")+"\x00"))
}

func (r *Repository) leftOf(tree string) string { return filepath.Join(r.dir, "left-out", tree) }

// lstat looks at a path in the folder, not through symbolic links on the way to it.
func (r *Repository) lstat(name string) (fs.FileInfo, error) {
	for i := range len(name) {
		if name[i] != '/' {
			continue
		}
		if info, err := os.Lstat(filepath.Join(r.folder, name[:i])); err != nil {
			return nil, err
		} else if !info.IsDir() {
			return nil, fs.ErrNotExist
		}
	}
	return os.Lstat(filepath.Join(r.folder, filepath.FromSlash(name)))
}

// split yields the names between NULs.
func split(data []byte) iter.Seq[string] {
	return strings.FieldsFuncSeq(string(data), func(c rune) bool { return c == 0 })
}
