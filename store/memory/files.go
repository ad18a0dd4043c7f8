package memory

import (
	"context"
	"maps"

	"github.com/winnowhq/winnow/store"
)

var _ store.Filer = (*Store)(nil)

// Files returns the files that were looked at, by path.
func (s *Store) Files(ctx context.Context) (map[string]store.File, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.ready(ctx, "files", ""); err != nil {
		return nil, err
	}
	files := maps.Clone(s.files)
	if files == nil {
		files = map[string]store.File{}
	}
	return files, nil
}

// SetFiles remembers files.
func (s *Store) SetFiles(ctx context.Context, files ...store.File) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx, "files", ""); err != nil {
		return err
	}
	s.setFiles(files...)
	return nil
}

func (s *Store) setFiles(files ...store.File) {
	if s.files == nil {
		s.files = map[string]store.File{}
	}
	for _, f := range files {
		s.files[f.Path] = f
	}
}
