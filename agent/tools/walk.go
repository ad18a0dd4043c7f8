package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"github.com/winnowhq/winnow/agent"
)

// entry is a file or folder that a walk comes to.
type entry struct {
	path   string // absolute
	name   string // slash-separated, relative to where the walk began
	folder bool
	dir    fs.DirEntry
}

// walk goes through a folder by name, folders before what is in them. .git is left out, and what
// .gitignore files say; a link is told as what it is, and not followed. visit returns errSkip for a
// folder that it does not want to see the inside of, errStop to end. A folder that cannot be read
// is passed over.
func walk(ctx context.Context, root string, visit func(entry) error) error {
	g, prefix := ignoredIn(root)
	err := walkFolder(ctx, root, "", prefix, g, visit)
	if err == errStop {
		return nil
	}
	return err
}

var (
	errStop = errors.New("stop")
	errSkip = errors.New("skip")
)

func walkFolder(ctx context.Context, folder, name, prefix string, g ignored, visit func(entry) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		if name == "" {
			return err
		}
		return nil
	}
	g = g.with(folder, path.Join(prefix, name))
	for _, d := range entries {
		e := entry{path: filepath.Join(folder, d.Name()), name: path.Join(name, d.Name()), folder: d.IsDir(), dir: d}
		if d.Name() == ".git" || g.leavesOut(path.Join(prefix, e.name), e.folder) {
			continue
		}
		err := visit(e)
		if err == errSkip {
			continue
		}
		if err == nil && e.folder {
			err = walkFolder(ctx, e.path, e.name, prefix, g, visit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Files are the files and folders below a folder, as the tools find them, at most a number of them:
// relative and slash-separated, folders with a slash at their end. more says that there are more.
func Files(ctx context.Context, folder string, most int) (names []string, more bool, err error) {
	err = walk(ctx, folder, func(e entry) error {
		if len(names) == most {
			more = true
			return errStop
		}
		if e.folder {
			e.name += "/"
		}
		names = append(names, e.name)
		return nil
	})
	return names, more, err
}

// searched is the folder or file that a search begins in, the working folder if name is "". It asks
// for permission to read it.
func searched(ctx context.Context, c agent.Call, a *arguments, name string) (place, fs.FileInfo, error) {
	if a.err != nil {
		return place{}, nil, a.err
	}
	at, err := permitted(ctx, c, a.tool, "read", cmp.Or(name, c.Directory))
	if err != nil {
		return place{}, nil, err
	}
	info, err := os.Stat(at.path)
	if missing(err) {
		return place{}, nil, fmt.Errorf("there is no folder %s%s", at.shown, alike(at))
	}
	return at, info, err
}

// under is how an entry below a place is shown: as one may name it in another call.
func (p place) under(name string) string {
	return printable(filepath.ToSlash(filepath.Join(p.shown, filepath.FromSlash(name))))
}

// printable quotes a name that would not stay on its line.
func printable(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}
