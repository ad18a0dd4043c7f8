package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/discover"
	"github.com/winnowhq/winnow/desk/inplace"
	"github.com/winnowhq/winnow/format/opencodedb"
	"github.com/winnowhq/winnow/look/retrieve"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/text/plainfile"
)

// fileFinder finds what was left out of session files. A file that --in-place replaced shows the
// handle; its text is in the file itself, or in one of its originals.
type fileFinder struct {
	a         *cli.App
	handle    string
	originals []inplace.Original // the newest first
	failed    error              // why a file that has the handle could not be read
}

func newFileFinder(a *cli.App, handle string) *fileFinder {
	f := &fileFinder{a: a, handle: handle}
	if room, err := output.Room(a); err == nil {
		f.originals, _ = room.Originals() // those that can be read
	}
	return f
}

// anywhere looks in all files that were replaced, then in the sessions of products on this
// computer, the newest first. It returns the file that has the part.
func (f *fileFinder) anywhere(ctx context.Context) (retrieve.Found, string, error) {
	var tried []string
	try := func(word string) (retrieve.Found, string, bool) {
		path, _, _ := opencodedb.Split(word)
		path = cmp.Or(path, word)
		if slices.Contains(tried, word) || !mentions(path, f.handle) {
			return retrieve.Found{}, "", false
		}
		tried = append(tried, word)
		found, at, err := f.in(ctx, word)
		if err != nil && winnow.CodeOf(err) != winnow.NotFound {
			f.failed = cmp.Or(f.failed, err)
		}
		return found, at, err == nil
	}
	for _, o := range f.originals {
		if found, at, ok := try(o.Source); ok {
			return found, at, nil
		}
	}
	search := source.Search(f.a)
	search.NamesOnly = true
	defer f.a.Progress("looking in the sessions on this computer")()
	sessions, _, err := search.Find(ctx)
	if err != nil {
		return retrieve.Found{}, "", err
	}
	slices.SortStableFunc(sessions, func(a, b discover.Found) int { return b.Updated.Compare(a.Updated) })
	for _, s := range sessions {
		if found, at, ok := try(s.Source); ok {
			return found, at, nil
		}
	}
	return retrieve.Found{}, "", cmp.Or(f.failed, errNotInFiles)
}

// errNotInFiles is the error of a handle that no file has.
var errNotInFiles = errors.New("no file has it")

// in looks for the part in one session, then in the originals of its file.
func (f *fileFinder) in(ctx context.Context, word string) (retrieve.Found, string, error) {
	edited, err := f.read(ctx, word)
	if err == nil && f.whole(edited) {
		return edited, word, nil
	}
	real, failed := inplace.Real(f.a.Path(word))
	for _, o := range f.originals {
		if o.Missing || o.Source != real && (failed == nil || o.Source != f.a.Path(word)) {
			continue
		}
		found, failed := f.read(ctx, o.Path)
		if failed != nil || !f.whole(found) {
			continue
		}
		found.Hidden = true
		if edited.Part.State != nil && strings.Contains(string(edited.Part.State.Input), f.mark(edited)) {
			found.Elided = append(found.Elided, rule.Input)
		}
		return found, o.Path, nil
	}
	if err == nil {
		err = cli.Hint(&winnow.Error{Code: winnow.NotFound, Op: "recall",
			Err: errors.New("the text of " + f.handle + " was left out of " + word + ", and no original has it")},
			"`winnow doctor originals` lists the originals that are kept")
	}
	return retrieve.Found{}, "", err
}

// read finds the part in one file.
func (f *fileFinder) read(ctx context.Context, word string) (retrieve.Found, error) {
	s, err := source.Open(ctx, f.a, word)
	if err != nil {
		return retrieve.Found{}, err
	}
	defer s.Close()
	return retrieve.In(ctx, s.Engine, s.ID, f.handle)
}

// mark is what the placeholder of a part begins with.
func (f *fileFinder) mark(found retrieve.Found) string { return "[winnow " + found.Handle }

// whole reports whether a part is there with its text, not with a placeholder.
func (f *fileFinder) whole(found retrieve.Found) bool {
	input := ""
	if found.Part.State != nil {
		input = string(found.Part.State.Input)
	}
	return !strings.Contains(found.Text, f.mark(found)) && !strings.Contains(input, f.mark(found))
}

// mentions reports whether a file has a handle in it. Of a folder that is not known without reading
// all of it.
func mentions(path, handle string) bool {
	if cli.IsFolder(path) {
		return true
	}
	file, _, err := plainfile.Open(path)
	if err != nil {
		return errors.Is(err, os.ErrNotExist) // its originals may have it
	}
	defer file.Close()
	const piece = 1 << 20
	buffer, kept := make([]byte, piece+len(handle)), 0
	for {
		n, err := io.ReadFull(file, buffer[kept:kept+piece])
		if bytes.Contains(buffer[:kept+n], []byte(handle)) {
			return true
		}
		if err != nil {
			return false
		}
		kept = copy(buffer, buffer[kept+n-len(handle):kept+n])
	}
}
