package discover

import (
	"path/filepath"
	"strings"
)

// CodexResumes reports whether Codex resumes one rollout rather than another one of the same thread.
// It keeps a thread's id when the user goes back to an older turn, and goes on in a new rollout. The
// names tell: each begins with its time, and whichever was written last does not matter.
func CodexResumes(path, other string) bool { return filepath.Base(path) > filepath.Base(other) }

// resumedFirst moves, among the rollouts of each thread of Codex, the one that Codex resumes to the
// front.
func resumedFirst(found []Found) {
	first := map[string]int{}
	for i := range found {
		f := &found[i]
		if f.Product != "codex" || f.ID == "" {
			continue
		}
		if at, there := first[f.ID]; !there {
			first[f.ID] = i
		} else if CodexResumes(f.Source, found[at].Source) {
			found[at], found[i] = found[i], found[at]
		}
	}
}

// resumed is the rollout that Codex resumes instead of one, among files: it itself, mostly.
func (s *Search) resumed(f *Found, files []file, at location) *Found {
	for i := range files {
		path := files[i].path
		if f.Product != "codex" || files[i].place.Product != f.Product || !CodexResumes(path, f.Source) ||
			f.ID == "" || !strings.Contains(filepath.Base(path), f.ID) {
			continue
		}
		if head, err := s.head(files[i].place, path, at); err == nil && head != nil && head.ID == f.ID {
			f = head
		}
	}
	return f
}
