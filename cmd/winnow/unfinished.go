package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// unfinished are the temporary files of a run. The zero value is ready.
type unfinished struct {
	mu        sync.Mutex
	names     map[string]bool
	abandoned bool
}

// abandon removes what is not finished. From then on nothing is finished any more.
func (u *unfinished) abandon() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.abandoned = true
	for name := range u.names {
		os.Remove(name) // nothing can be done about it at this point
	}
}

func (u *unfinished) create(path string) (*os.File, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.abandoned {
		return nil, context.Canceled
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, err
	}
	if u.names == nil {
		u.names = map[string]bool{}
	}
	u.names[f.Name()] = true
	return f, nil
}

func (u *unfinished) remove(name string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.names, name)
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (u *unfinished) finish(name, path string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.abandoned {
		return context.Canceled
	}
	if err := os.Rename(name, path); err != nil {
		return err
	}
	delete(u.names, name)
	return nil
}

// write writes to a temporary file beside the target and renames it: whoever looks sees the old file or the new one. A
// device or a pipe is written to directly.
func (u *unfinished) write(ctx context.Context, path string, write func(io.Writer) error) (err error) {
	mode := fs.FileMode(0o600) // a session may hold anything
	if info, err := os.Stat(path); err == nil {
		if !info.Mode().IsRegular() {
			return writeDevice(ctx, path, write)
		}
		mode = info.Mode().Perm()
	}
	f, err := u.create(path)
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreClosed(f.Close()), u.remove(f.Name()))
		}
	}()
	if err := copyOut(ctx, f, write); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := errors.Join(f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return u.finish(f.Name(), path)
}

func writeDevice(ctx context.Context, path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(copyOut(ctx, f, write), f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

func copyOut(ctx context.Context, f io.Writer, write func(io.Writer) error) error {
	w := bufio.NewWriterSize(attentive{ctx, f}, 1<<20)
	if err := write(w); err != nil {
		return err
	}
	return w.Flush()
}

// attentive stops writing when its context ends.
type attentive struct {
	ctx context.Context
	w   io.Writer
}

func (a attentive) Write(data []byte) (int, error) {
	if err := a.ctx.Err(); err != nil {
		return 0, err
	}
	return a.w.Write(data)
}

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
