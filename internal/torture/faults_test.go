package torture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/sqlite"
)

// base is what was done to the store before the operation that meets a fault.
var base = []string{"create", "append", "big", "append", "pin", "big", "append", "prune", "big", "append", "import"}

// TestFaultyDisk_atEveryWrite takes the disk away at the first, the second, … the last operation of
// the disk that each operation of the engine needs: full from there on, one I/O error, I/O errors
// from there on. Without -torture most of these moments are left out.
func TestFaultyDisk_atEveryWrite(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it happens at the same time: -short is for the race detector")
	}
	if err := disk.install(); err != nil {
		t.Skip(err)
	}
	faults, failed, committed := 0, 0, 0
	kinds, step := []string{"append", "big", "update", "observe", "prune", "compact", "schedule", "execute", "undo", "redo", "restore", "pin", "unpin", "import", "delete", "search",
		"keep", "fork", "rename", "dismiss", "undismiss", "charge", "publish", "aside"}, int64(1)
	if !*long {
		kinds, step = []string{"append", "compact", "import", "fork"}, 9
	}
	for _, kind := range kinds {
		f, err := newFaulty(t.Context(), t.TempDir(), kind)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		for _, how := range []trouble{failFull, failOnce, failBroken} {
			for n := int64(1); ; n += step {
				met, fine, err := f.try(t.Context(), n, how)
				if err != nil {
					t.Fatalf("%s, %s operation %d of the disk: %v", kind, how, n, err)
				}
				if !met {
					break
				}
				faults++
				if fine {
					committed++
				} else {
					failed++
				}
			}
		}
	}
	t.Logf("%d faults: %d were one clear error and changed nothing, %d came after the change was safe", faults, failed, committed)
	if failed == 0 {
		t.Error("no fault was an error")
	}
}

// faulty is a store that an operation is done to again and again, with a fault of the disk each
// time at another moment.
type faulty struct {
	dir  string
	data []byte // the store before
	op   op
	// What it says before and after each change that the operation makes, and after one more
	// append: when the operation failed, and when not.
	states       []contents
	failed, fine contents
}

const faultySeed = 4 // balanced

func newFaulty(ctx context.Context, dir, kind string) (*faulty, error) {
	f := &faulty{dir: dir}
	path := filepath.Join(dir, "base.db")
	kept, err := sqlite.Open(ctx, sqlite.Config{Path: path})
	if err != nil {
		return nil, err
	}
	defer kept.Close()
	w, err := newWorker(faultySeed, kept)
	if err != nil {
		return nil, err
	}
	model, err := newReplica(faultySeed)
	if err != nil {
		return nil, err
	}
	kinds := append(slices.Clone(base), prelude[kind]...)
	if kind == "delete" {
		kinds = append(kinds, "import", "import", "import")
	}
	for i, before := range kinds {
		o := op{i + 1, before}
		if _, err := w.do(ctx, o); err != nil {
			return nil, err
		}
		if _, err := model.do(ctx, o); err != nil {
			return nil, err
		}
	}
	if err := kept.Close(); err != nil {
		return nil, err
	}
	if f.data, err = os.ReadFile(path); err != nil {
		return nil, err
	}
	f.op = op{len(kinds) + 1, kind}
	if err := model.restart(); err != nil {
		return nil, err
	}
	var result string
	if f.states, result, err = model.apply(ctx, f.op); err != nil || result != "ok" {
		return nil, fmt.Errorf("undisturbed it ends with %s, %v", result, err)
	}
	if f.fine, err = f.next(ctx, model); err != nil {
		return nil, err
	}
	model.done = model.done[:len(model.done)-1]
	if err := model.back(ctx, 0); err != nil {
		return nil, err
	}
	f.failed, err = f.next(ctx, model)
	return f, err
}

// after is what is done when the fault is over.
func (f *faulty) after() op { return op{f.op.N + 1, "append"} }

func (f *faulty) next(ctx context.Context, model *replica) (contents, error) {
	if _, err := model.do(ctx, f.after()); err != nil {
		return nil, err
	}
	return dump(ctx, model.kept.Store)
}

// try does the operation with a fault at one operation of the disk. met is false when there are not
// so many.
func (f *faulty) try(ctx context.Context, n int64, how trouble) (met, fine bool, err error) {
	path := filepath.Join(f.dir, "winnow.db")
	for _, beside := range []string{"", "-wal", "-shm"} {
		os.Remove(path + beside)
	}
	if err := os.WriteFile(path, f.data, 0o600); err != nil {
		return false, false, err
	}
	kept, err := sqlite.Open(ctx, sqlite.Config{Path: path})
	if err != nil {
		return false, false, err
	}
	defer kept.Close()
	w, err := newWorker(faultySeed, kept)
	if err != nil {
		return false, false, err
	}
	if err := disk.arm(n, how); err != nil {
		return false, false, err
	}
	_, failed := w.do(ctx, f.op)
	met = disk.disarm() >= n
	if failed != nil {
		if err := clear(failed, path, how); err != nil {
			return met, false, err
		}
	}
	got, err := dump(ctx, kept)
	if err != nil {
		return met, false, fmt.Errorf("afterwards it cannot be read: %w", err)
	}
	at := slices.IndexFunc(f.states, got.equal)
	last := len(f.states) - 1
	fine = failed == nil
	switch {
	case at == last && failed == nil, at == 0 && failed != nil:
	case failed != nil && at > 0 && at < last && slices.Contains(several, f.op.Kind):
		return met, false, errors.Join(kept.Close(), sound(ctx, path)) // what it did before that is whole
	default:
		return met, fine, fmt.Errorf("it ended with %v, and %d of %d changes are there: %s", failed, at, last, difference(f.states[0], got))
	}
	if _, err := w.do(ctx, f.after()); err != nil {
		return met, fine, fmt.Errorf("with the disk well again: %w", err)
	}
	want := f.failed
	if fine {
		want = f.fine
	}
	if got, err = dump(ctx, kept); err != nil {
		return met, fine, err
	}
	if !want.equal(got) {
		return met, fine, fmt.Errorf("with the disk well again: %s", difference(want, got))
	}
	if err := kept.Close(); err != nil {
		return met, fine, err
	}
	return met, fine, sound(ctx, path)
}

// clear wants an error that says what is wrong, where, and what to do.
func clear(err error, path string, how trouble) error {
	var known *store.Error
	switch {
	case how == failFull && !errors.Is(err, store.ErrFull):
		return fmt.Errorf("the error does not say that the disk is full: %w", err)
	case !errors.As(err, &known) || known.Path != path || known.Hint == "":
		return fmt.Errorf("the error does not say where and what to do: %w", err)
	case strings.Count(err.Error(), "\n") > 0:
		return fmt.Errorf("the error is not one: %w", err)
	}
	return nil
}

// TestFaultyDisk_whileAStoreIsMade does the same to opening a store: a new one, or one of an older
// version.
func TestFaultyDisk_whileAStoreIsMade(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it happens at the same time: -short is for the race detector")
	}
	if err := disk.install(); err != nil {
		t.Skip(err)
	}
	faults := 0
	ctx := t.Context()
	for _, old := range append(oldStores(t), "") {
		var data []byte
		if old != "" {
			var err error
			if data, err = os.ReadFile(old); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(t.TempDir(), "winnow.db")
		step := int64(1)
		if !*long {
			step = 40
		}
		want, err := migrated(ctx, data, filepath.Join(t.TempDir(), "undisturbed.db"))
		if err != nil {
			t.Fatal(err)
		}
		for _, how := range []trouble{failFull, failOnce, failBroken} {
			for n := int64(1); ; n += step {
				for _, beside := range []string{"", "-wal", "-shm", "-journal"} {
					os.Remove(path + beside)
				}
				if err := os.WriteFile(path, data, 0o600); err != nil {
					t.Fatal(err)
				}
				if err := disk.arm(n, how); err != nil {
					t.Fatal(err)
				}
				kept, failed := sqlite.Open(ctx, sqlite.Config{Path: path})
				met := disk.disarm() >= n
				if failed == nil {
					kept.Close()
				} else if err := clear(failed, path, how); err != nil {
					t.Fatalf("%s, %s operation %d of the disk: %v", old, how, n, err)
				}
				got, err := reopened(ctx, path)
				if err != nil {
					t.Fatalf("%s, %s operation %d of the disk: the next time: %v", old, how, n, err)
				}
				if !want.equal(got) {
					t.Fatalf("%s, %s operation %d of the disk: %s", old, how, n, difference(want, got))
				}
				if !met {
					break
				}
				faults++
			}
		}
	}
	t.Logf("%d faults", faults)
}

// TestFaultyDisk_whileAStoreIsClosed does it while the log is written into the file: nothing is
// lost, whatever fails there.
func TestFaultyDisk_whileAStoreIsClosed(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it happens at the same time: -short is for the race detector")
	}
	if err := disk.install(); err != nil {
		t.Skip(err)
	}
	ctx := t.Context()
	f, err := newFaulty(ctx, t.TempDir(), "big")
	if err != nil {
		t.Fatal(err)
	}
	step, faults, failures := int64(1), 0, 0
	if !*long {
		step = 9
	}
	for _, how := range []trouble{failFull, failOnce, failBroken} {
		for n := int64(1); ; n += step {
			path := filepath.Join(t.TempDir(), "winnow.db")
			if err := os.WriteFile(path, f.data, 0o600); err != nil {
				t.Fatal(err)
			}
			kept, err := sqlite.Open(ctx, sqlite.Config{Path: path})
			if err != nil {
				t.Fatal(err)
			}
			w, err := newWorker(faultySeed, kept)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.do(ctx, f.op); err != nil {
				t.Fatal(err)
			}
			if err := disk.arm(n, how); err != nil {
				t.Fatal(err)
			}
			if err := kept.Close(); err != nil {
				failures++
			}
			met := disk.disarm() >= n
			got, err := reopened(ctx, path)
			if err != nil {
				t.Fatalf("%s operation %d of the disk: the next time: %v", how, n, err)
			}
			if want := f.states[len(f.states)-1]; !want.equal(got) {
				t.Fatalf("%s operation %d of the disk: %s", how, n, difference(want, got))
			}
			if !met {
				break
			}
			faults++
		}
	}
	t.Logf("%d faults, %d of them an error", faults, failures)
}

func reopened(ctx context.Context, path string) (contents, error) {
	kept, err := sqlite.Open(ctx, sqlite.Config{Path: path})
	if err != nil {
		return nil, err
	}
	defer kept.Close()
	got, err := dump(ctx, kept)
	return got, errors.Join(err, sound(ctx, path))
}

func migrated(ctx context.Context, data []byte, path string) (contents, error) {
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return nil, err
	}
	return reopened(ctx, path)
}

// oldStores are files that earlier versions wrote.
func oldStores(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "store", "sqlite", "testdata", "version*.db"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}
