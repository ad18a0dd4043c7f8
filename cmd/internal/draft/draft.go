// Package draft writes files that appear whole or not at all.
package draft

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Files are the temporary files of a run. The zero value is ready.
type Files struct {
	mu        sync.Mutex
	names     map[string]bool
	abandoned bool
	Faults    func(step string) error // see Env.Faults
}

// Step is one thing that is done with a file, and can fail.
func (u *Files) Step(name string, do func() error) error {
	if u.Faults != nil {
		if err := u.Faults(name); err != nil {
			return err
		}
	}
	return do()
}

// Abandon removes what is not finished. From then on nothing is finished any more.
func (u *Files) Abandon() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.abandoned = true
	for name := range u.names {
		os.Remove(name) // nothing can be done about it at this point
	}
}

func (u *Files) Create(path string) (*os.File, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.abandoned {
		return nil, context.Canceled
	}
	sweep(path)
	var f *os.File
	err := u.Step("create", func() (err error) {
		before, after := temporary(path)
		f, err = os.CreateTemp(filepath.Dir(path), before+"*"+after)
		return err
	})
	if err != nil {
		return nil, err
	}
	claim(f) // as long as this process lives, nobody else removes it
	if u.names == nil {
		u.names = map[string]bool{}
	}
	u.names[f.Name()] = true
	return f, nil
}

// temporary is what the name of a temporary file begins and ends with.
func temporary(path string) (before, after string) {
	return "." + filepath.Base(path) + ".", ".unfinished"
}

// sweep removes what earlier runs left that were killed while they wrote to the same path. It is
// only tidying up: what cannot be removed stays.
func sweep(path string) {
	folder := filepath.Dir(path)
	list, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	before, after := temporary(path)
	for _, entry := range list {
		random, ok := strings.CutPrefix(entry.Name(), before)
		random, ended := strings.CutSuffix(random, after)
		if !ok || !ended || random == "" || strings.Trim(random, "0123456789") != "" {
			continue
		}
		name := filepath.Join(folder, entry.Name())
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		info, err := f.Stat()
		// One that was made just now may not be claimed yet.
		left := err == nil && time.Since(info.ModTime()) > time.Second && claim(f)
		f.Close()
		if left {
			os.Remove(name)
		}
	}
}

func (u *Files) Remove(name string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.names, name)
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (u *Files) Finish(name, path string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.abandoned {
		return context.Canceled
	}
	if err := u.Step("rename", func() error { return os.Rename(name, path) }); err != nil {
		return err
	}
	delete(u.names, name)
	return nil
}

// Write writes to a temporary file beside the target and renames it: a reader sees the old
// file or the new one. A device or a pipe is written to directly.
func (u *Files) Write(ctx context.Context, path string, write func(io.Writer) error) error {
	mode := fs.FileMode(0o600) // a session may hold anything
	if info, err := os.Stat(path); err == nil {
		if !info.Mode().IsRegular() {
			return writeDevice(ctx, path, write)
		}
		mode = info.Mode().Perm()
	}
	name, err := u.Draft(ctx, path, mode, write)
	if err != nil {
		return err
	}
	if err = ctx.Err(); err == nil {
		err = u.Finish(name, path)
	}
	if err != nil {
		return errors.Join(err, u.Remove(name))
	}
	return nil
}

// Draft writes to a temporary file beside the target, and returns its name. After an error there is
// none.
func (u *Files) Draft(ctx context.Context, path string, mode fs.FileMode, write func(io.Writer) error) (name string,
	err error) {
	f, err := u.Create(path)
	if err != nil {
		return "", fmt.Errorf("%s cannot be written: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreClosed(f.Close()), u.Remove(f.Name()))
		}
	}()
	if err := copyOut(ctx, stepwise{u, f}, write); err != nil {
		return "", fmt.Errorf("writing %s: %w", path, err)
	}
	for _, last := range []struct {
		step string
		do   func() error
	}{
		{"chmod", func() error { return f.Chmod(mode) }}, {"sync", f.Sync}, {"close", f.Close},
	} {
		if err := u.Step(last.step, last.do); err != nil {
			return "", fmt.Errorf("writing %s: %w", path, err)
		}
	}
	return f.Name(), nil
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

// stepwise makes each write a step.
type stepwise struct {
	u *Files
	w io.Writer
}

func (s stepwise) Write(data []byte) (n int, err error) {
	err = s.u.Step("write", func() error { n, err = s.w.Write(data); return err })
	return n, err
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
