package gateway

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// temporary is a folder of temporary files that only this user can read. It is locked while it is
// in use, so that one that is left by a crash is known, and goes with the next start.
type temporary struct {
	dir  string
	lock *flock.Flock
}

const (
	temporaryName = "winnow-wrap-"
	lockName      = "lock"
)

// file writes a temporary file and returns its path. It goes with the plan.
func (p *Plan) file(name string, data []byte) (path string, err error) {
	if p.temp == nil {
		sweep()
		dir, err := os.MkdirTemp("", temporaryName)
		if err != nil {
			return "", err
		}
		p.temp = &temporary{dir, flock.New(filepath.Join(dir, lockName))}
		if err := p.temp.lock.Lock(); err != nil {
			return "", errors.Join(err, p.Remove())
		}
	}
	path = filepath.Join(p.temp.dir, name)
	return path, os.WriteFile(path, data, 0o600)
}

// Remove removes the temporary files of the plan.
func (p *Plan) Remove() error {
	if p.temp == nil {
		return nil
	}
	return errors.Join(p.temp.lock.Unlock(), os.RemoveAll(p.temp.dir))
}

// sweep removes what crashes have left: folders that nobody holds. Those of others cannot be
// opened.
func sweep() {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), temporaryName+"*", lockName)) // the pattern is right
	for _, file := range left {
		lock := flock.New(file)
		if free, err := lock.TryLock(); err != nil || !free {
			continue
		}
		_ = os.RemoveAll(filepath.Dir(file)) // the next start tries again
		_ = lock.Unlock()
	}
}
