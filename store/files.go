package store

import (
	"context"
	"crypto/sha256"
)

// Filer is a store that remembers which files it has looked at, so that importing a folder again costs what is new. Not every
// store is one.
type Filer interface {
	// Files returns what is known, by path.
	Files(ctx context.Context) (map[string]File, error)
	// SetFiles remembers files, each in place of what was known about its path.
	SetFiles(ctx context.Context, files ...File) error
}

// File is a file as it was when it was looked at. It is forgotten with its session.
type File struct {
	Path     string // absolute; the word for a session in a database
	Size     int64  // bytes; of a session in a database those that its rows hold
	Modified int64  // by the file system's clock, nanoseconds since 1970; of a session in a database when the latest of its rows was written
	Seen     int64  // when it was read, by the same clock
	Hash     [sha256.Size]byte
	Session  string // id of the session that is in it, "" when it is none
	// Messages is how many messages of the file the session has; of a file without a session, how many formats were known when it was looked
	// at, so that a version that knows more looks again.
	Messages int
}
