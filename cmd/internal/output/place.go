package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/winnowhq/winnow/cmd/internal/cli"
)

// Place says which files may be written to.
type Place struct {
	Flag    string      // that named the file, and may name another
	Force   bool        // an existing file is overwritten
	Read    fs.FileInfo // what is read, which is never overwritten; nil if it is not a file
	Instead string      // what to do rather than overwrite it; "" is to name another file
	Own     func(path string) bool
	What    string // what may be overwritten: files of which Own is true
}

// Check refuses what must not be overwritten, and follows links.
func (p Place) Check(path string) (string, error) {
	another := "name another file with " + p.Flag
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		if folder := filepath.Dir(path); !cli.IsFolder(folder) {
			return "", cli.Hint(fmt.Errorf("%s cannot be written: there is no folder %s", path, folder),
				"make the folder first, or "+another)
		}
		return path, nil
	case err != nil:
		return "", err
	case info.IsDir():
		return "", cli.Usage("%s is a folder; name a file in it", path)
	case p.Read != nil && os.SameFile(info, p.Read):
		if p.Instead != "" {
			another = p.Instead
		}
		return "", cli.Usage("%s is what is read; %s", path, another)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	switch {
	case !info.Mode().IsRegular(), p.Force: // a device or a pipe is written to, not replaced
		return path, nil
	case p.Own != nil && (info.Size() == 0 || p.Own(path)):
		return path, nil
	case p.Own != nil:
		return "", cli.Usage("%s is there already and is not %s; use --force to overwrite it, or %s", path, p.What,
			another)
	}
	return "", cli.Usage("%s is there already; use --force to overwrite it, or %s", path, another)
}
