package command

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/text/process"
)

// A watch for a boundary ends after watchFor; it looks at the file every watchEvery.
const (
	watchFor   = 2 * time.Minute
	watchEvery = 25 * time.Millisecond
)

// startWatch starts a process that anchors a compaction as soon as the product has written it. The
// product may be killed before its plugin is asked again, so nothing ties the process to it: it has
// a session of its own, and holds neither a pipe nor a folder of the product's open.
func startWatch(a *cli.App, path string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	cmd := exec.Command(program, "anchor", "--watch-from", strconv.FormatInt(info.Size(), 10), path)
	cmd.Env, cmd.Dir = a.Env.Environ, string(os.PathSeparator)
	process.Detach(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}

// anchorWhenWritten anchors the compaction that a file waits for as soon as all of it is there,
// behind the first from bytes. It ends without that if somebody else did it, and after watchFor:
// what is in the file by then is anchored or repaired, as the next start of the session would do.
func anchorWhenWritten(ctx context.Context, a *cli.App, path string, from int64) error {
	limit, stop := context.WithTimeout(ctx, watchFor)
	defer stop()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	w := boundaryWatch{path: path, at: from}
	for {
		if _, err := os.Stat(awaitedAt(a, path)); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		grown, err := w.grown()
		if err != nil {
			return err
		}
		if grown && w.seen {
			doc, err := anchorBy(ctx, a, path, false)
			if err != nil || doc.Done != "nothing" {
				return err
			}
		}
		select {
		case <-tick.C:
		case <-limit.Done():
			if !w.seen {
				return nil
			}
			_, err := anchor(ctx, a, path)
			return err
		}
	}
}

// boundaryWatch follows a file that only grows.
type boundaryWatch struct {
	path string
	at   int64 // how much of it was looked at: whole lines
	seen bool  // a boundary was written since
}

// grown reads the whole lines that were added, and reports whether there are any.
func (w *boundaryWatch) grown() (bool, error) {
	f, err := os.Open(w.path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	w.at = min(w.at, info.Size()) // somebody made it shorter
	text, err := io.ReadAll(io.NewSectionReader(f, w.at, info.Size()-w.at))
	if err != nil {
		return false, err
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	w.at += int64(len(text))
	w.seen = w.seen || bytes.Contains(text, []byte(`"compact_boundary"`))
	return len(text) > 0, nil
}
