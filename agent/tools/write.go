package tools

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rogpeppe/go-internal/diff"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/text/plainfile"
	"github.com/winnowhq/winnow/text/quantity"
)

// Write makes a file, or puts another text in its place.
type Write struct{}

func (Write) Name() string           { return "write" }
func (Write) Description() string    { return told("write").Description }
func (Write) Schema() jsontext.Value { return told("write").Schema }
func (Write) Serial()                {} // files are changed

func (t Write) Run(ctx context.Context, c agent.Call) (agent.Result, error) {
	a := argumentsOf(t.Name(), c.Input)
	name := a.need("filePath", "file_path", "path")
	content := a.given("content")
	switch {
	case a.err != nil:
		return agent.Result{}, a.err
	case rule.ContainsPlaceholder(content):
		return agent.Result{}, errPlaceholder
	}
	at, err := permitted(ctx, c, t.Name(), "write", name)
	if err != nil {
		return agent.Result{}, err
	}
	old, info, err := before(at)
	if err != nil {
		return agent.Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return agent.Result{}, err
	}
	if err := put(at.path, []byte(content), info); err != nil {
		return agent.Result{}, err
	}
	r := agent.Result{Title: at.shown, Metadata: map[string]any{"created": info == nil, "bytes": len(content)}}
	what := "a new file"
	switch {
	case info != nil && info.Size() > mostEdited:
		what = "in place of " + quantity.Count(int(info.Size()), "byte")
	case info != nil:
		what = "in place of " + quantity.Count(call.LineCount(string(old)), "line")
	}
	r.Output = fmt.Sprintf("Done: wrote %s (%s) to %s, %s.", quantity.Count(call.LineCount(content), "line"),
		quantity.Count(len(content), "byte"), printable(at.shown), what)
	if info == nil || info.Size() <= mostEdited {
		addDiff(r.Metadata, at, old, []byte(content))
	}
	return r, nil
}

// errPlaceholder is said to a model that copied what stands in place of a text.
var errPlaceholder = errors.New("nothing was written: the text holds a note that stands in your context in place of " +
	"something left out, " +
	"such as [winnow …: … left out]. It is not part of any file. Read the piece again and send what really belongs " +
	"there")

// mostEdited is how many bytes a file may have that is read to be changed.
const mostEdited = 32 << 20

// before is what a file holds before it is changed; info is nil if there is no file yet, and the
// text of one above mostEdited is left where it is.
func before(at place) ([]byte, fs.FileInfo, error) {
	info, err := os.Stat(at.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if _, err := regular(at); err != nil {
		return nil, nil, err
	}
	if info.Size() > mostEdited {
		return nil, info, nil
	}
	old, _, err := plainfile.Read(at.path, 0)
	return old, info, err
}

// put writes a file in one go: a reader sees the old text or the new one, and a crash
// leaves one of them. The mode of the old file stays; info is nil for a new one, which gets the
// mode that new files have. The folder is made where it is missing.
func put(path string, text []byte, info fs.FileInfo) (err error) {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	if info != nil && info.Mode().Perm()&0o222 == 0 {
		return fmt.Errorf("%s is read-only", filepath.Base(path))
	}
	sweep(folder)
	temporary := filepath.Join(folder, unfinished+rand.Text()[:16]+".tmp")
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", path, bare(err))
	}
	defer func() {
		if err != nil {
			os.Remove(temporary)
		}
	}()
	_, err = f.Write(text)
	if err == nil && info != nil {
		err = f.Chmod(info.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky))
	}
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

// bare is what went wrong without the name of a file that nobody knows.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// unfinished is what the names of files begin with that are to be put in the place of others.
const unfinished = ".winnow-"

// sweep removes what processes left that were killed while they wrote into a folder: no write takes
// an hour. What cannot be removed stays.
func sweep(folder string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	at, _ := slices.BinarySearchFunc(entries, unfinished,
		func(e fs.DirEntry, name string) int { return strings.Compare(e.Name(), name) })
	for _, e := range entries[at:] {
		if !strings.HasPrefix(e.Name(), unfinished) {
			break
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && strings.HasSuffix(e.Name(), ".tmp") &&
			time.Since(info.ModTime()) > time.Hour {
			os.Remove(filepath.Join(folder, e.Name()))
		}
	}
}

// mostDiff is how many bytes of a diff are kept with a call; a larger one is left out, because half
// a diff is useless.
const mostDiff = 256 << 10

// addDiff puts the unified diff of a change among the metadata, for people, with the lines that
// came and went.
func addDiff(m map[string]any, at place, old, now []byte) {
	name := filepath.ToSlash(at.shown)
	text := diff.Diff("a/"+name, old, "b/"+name, now)
	added, removed := 0, 0
	heading := 3 // lines that name the files
	for line := range strings.Lines(string(text)) {
		if heading--; heading >= 0 {
			continue
		}
		switch line[0] {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	m["added"], m["removed"] = added, removed
	if len(text) > mostDiff {
		m["diffOmitted"] = quantity.Number(len(text)) + " bytes"
		return
	}
	m["diff"] = string(text)
}
