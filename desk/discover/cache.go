package discover

import (
	"os"
	"path/filepath"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/text/plainfile"
)

// cacheVersion changes with what is remembered; a cache of another version is begun anew.
const cacheVersion = 7

// Cache remembers what was measured, so that a file that did not change is not read again. It is
// only a convenience: a damaged one is begun anew, and one that cannot be written is done without.
// A nil Cache remembers nothing. It is safe for concurrent use.
type Cache struct {
	mu      sync.Mutex
	before  map[string]remembered
	now     map[string]remembered
	prices  string // the fingerprint of the catalogue that the costs are from
	changed bool
}

// remembered is one session as it was measured, and what its file looked like.
type remembered struct {
	Found
	Modified int64 `json:"modified"` // nanoseconds
}

type cacheFile struct {
	Version  int                   `json:"version"`
	Prices   string                `json:"prices,omitzero"`
	Sessions map[string]remembered `json:"sessions"`
}

// LoadCache reads a cache. It is empty if there is no file, or one that is not understood.
func LoadCache(path string) *Cache {
	c := &Cache{before: map[string]remembered{}, now: map[string]remembered{}}
	data, _, err := plainfile.Read(path, 0)
	if err != nil {
		return c
	}
	var file cacheFile
	if json.Unmarshal(data, &file) == nil && file.Version == cacheVersion && file.Sessions != nil {
		c.before, c.prices = file.Sessions, file.Prices
	}
	return c
}

// priced forgets what was measured at other prices.
func (c *Cache) priced(fingerprint string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.prices != fingerprint {
		c.prices, c.changed = fingerprint, true
		clear(c.before)
	}
}

// recall fills in what is remembered of a session whose file is as it was.
func (c *Cache) recall(f *Found) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.before[f.Source]
	if !ok || r.Bytes != f.Bytes || r.Modified != f.Updated.UnixNano() {
		return false
	}
	now := *f
	*f = r.Found
	f.path, f.session, f.folder, f.root, f.Updated = now.path, now.session, now.folder, now.root, now.Updated
	c.now[f.Source] = r
	return true
}

func (c *Cache) remember(f *Found) {
	if c == nil || f.Updated.IsZero() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now[f.Source] = remembered{*f, f.Updated.UnixNano()}
	c.changed = true
}

// Save writes the cache, mode 0600: titles and folders are in it. Sessions that were not asked for
// are forgotten.
func (c *Cache) Save(path string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.changed && len(c.now) == len(c.before) {
		return nil
	}
	text, err := json.Marshal(cacheFile{cacheVersion, c.prices, c.now}, json.Deterministic(true))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return plainfile.Replace(path, func(f *os.File) error {
		_, err := f.Write(text)
		return err
	})
}
