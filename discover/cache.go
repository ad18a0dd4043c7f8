package discover

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/plainfile"
)

// cacheVersion changes with what is remembered; a cache of another version is begun anew.
const cacheVersion = 4

// Cache remembers what was measured, so that a file that did not change is not read again. It is nothing but a convenience: a damaged one is
// begun anew, and one that cannot be written is done without. A nil Cache remembers nothing. It is safe for concurrent use.
type Cache struct {
	mu      sync.Mutex
	before  map[string]remembered
	now     map[string]remembered
	changed bool
}

// remembered is one session as it was measured, and what its file looked like.
type remembered struct {
	Found
	Modified int64 `json:"modified"` // nanoseconds
}

type cacheFile struct {
	Version  int                   `json:"version"`
	Sessions map[string]remembered `json:"sessions"`
}

// LoadCache reads a cache; without a file, or with one that is not understood, it is empty.
func LoadCache(path string) *Cache {
	c := &Cache{before: map[string]remembered{}, now: map[string]remembered{}}
	data, _, err := plainfile.Read(path, 0)
	if err != nil {
		return c
	}
	var file cacheFile
	if json.Unmarshal(data, &file) == nil && file.Version == cacheVersion && file.Sessions != nil {
		c.before = file.Sessions
	}
	return c
}

// recall fills in what is remembered of a session whose file is as it was.
func (c *Cache) recall(f *Found) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.before[f.Source]
	if !ok || r.Bytes != f.Bytes || r.Modified != f.stamp.UnixNano() {
		return false
	}
	now := *f
	*f = r.Found
	f.path, f.session, f.folder, f.stamp, f.Updated = now.path, now.session, now.folder, now.stamp, now.Updated
	c.now[f.Source] = r
	return true
}

func (c *Cache) remember(f *Found) {
	if c == nil || f.stamp == (time.Time{}) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now[f.Source] = remembered{*f, f.stamp.UnixNano()}
	c.changed = true
}

// Save writes the cache, mode 0600: titles and folders are in it. Sessions that were not asked for are forgotten.
func (c *Cache) Save(path string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.changed && len(c.now) == len(c.before) {
		return nil
	}
	text, err := json.Marshal(cacheFile{cacheVersion, c.now}, json.Deterministic(true))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".sessions.*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		if gone := os.Remove(f.Name()); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}
