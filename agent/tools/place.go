package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/agent/permission"
	"github.com/winnowhq/winnow/text/plainfile"
)

// place is a file or a folder that a call names.
type place struct {
	shown  string // for people and models: relative to the working folder where it is below it, as it was named
	path   string // where it really is: absolute, no link in it
	inside bool   // path is the working folder or below it
}

// locate finds what a call means by a name.
func locate(c agent.Call, name string) (place, error) {
	if strings.ContainsRune(name, 0) || len(name) > 4096 {
		return place{}, errors.New("that is not a path")
	}
	if !filepath.IsAbs(c.Directory) {
		return place{}, fmt.Errorf("the working folder %q is not absolute", c.Directory)
	}
	name = strings.TrimPrefix(name, "file://")
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return place{}, err
		}
		name = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(c.Directory, name)
	}
	name = filepath.Clean(name)
	at, err := permission.Resolve(name)
	if err != nil {
		return place{}, err
	}
	home, err := permission.Resolve(c.Directory)
	if err != nil {
		return place{}, err
	}
	shown := name
	if rel, err := filepath.Rel(filepath.Clean(c.Directory), name); err == nil && filepath.IsLocal(rel) {
		shown = rel
	}
	return place{shown: shown, path: at, inside: permission.Within(home, at)}, nil
}

// missing reports whether an error means that there is nothing at a path.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// permitted locates what a call means by a name, and asks for permission to do something with it.
// An answer may take long: it holds for the place that was asked about, not for where a link that
// came meanwhile leads.
func permitted(ctx context.Context, c agent.Call, tool, action, name string) (place, error) {
	at, err := locate(c, name)
	if err != nil {
		return place{}, err
	}
	return at, ask(ctx, c, at, agent.Permission{Tool: tool, Action: action, Target: at.path, Inside: at.inside})
}

// ask asks for permission. If there is nobody to ask, the default policy decides, and what it would
// ask about is refused.
func ask(ctx context.Context, c agent.Call, at place, p agent.Permission) error {
	if c.Ask == nil {
		c.Ask = permission.Policy{}.Asker(nil)
	}
	if err := c.Ask(ctx, p); err != nil || at.path == "" {
		return err
	}
	if still, err := permission.Resolve(at.path); err != nil || still != at.path {
		return fmt.Errorf("nothing was done: while permission was asked for, %s became a link to another place",
			at.shown)
	}
	return nil
}

// regular fails, in words for a model, if a place is not a plain file.
func regular(at place) (fs.FileInfo, error) {
	info, err := os.Stat(at.path)
	switch {
	case missing(err):
		return nil, fmt.Errorf("there is no file %s%s", at.shown, alike(at))
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder: use list", at.shown)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a plain file but %s", at.shown, plainfile.Kind(info.Mode()))
	}
	return info, nil
}

// alike names files of the same folder that may have been meant: the same name in another case or
// with another ending. Of a folder outside nothing is told.
func alike(at place) string {
	if !at.inside {
		return ""
	}
	entries, err := os.ReadDir(filepath.Dir(at.path))
	if err != nil {
		return ""
	}
	bare := func(name string) string { return strings.ToLower(strings.TrimSuffix(name, filepath.Ext(name))) }
	var names []string
	for _, e := range entries {
		if bare(e.Name()) == bare(filepath.Base(at.path)) && len(names) < 3 {
			names = append(names, filepath.Join(filepath.Dir(at.shown), e.Name()))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; there is " + strings.Join(names, ", ")
}
