package format

import "github.com/winnowhq/winnow/text/span"

// Shrinker is a Format whose files have bytes that the product never reads again.
type Shrinker interface {
	// Dead are edits of doc.Source, in its order, that take such bytes out. The product resumes the
	// shrunk file as it resumes the whole one.
	Dead(doc *Document) []Dead
}

// Dead is an edit that takes dead bytes out of a file, or that an entry needs once they are gone.
type Dead struct {
	span.Edit
	Kind string // Progress, Snapshots or Pictures
}

// Kinds of dead bytes.
const (
	Progress  = "progress"  // records of the progress of a call
	Snapshots = "snapshots" // file-history snapshots that a later one of the same message replaces
	Pictures  = "pictures"  // the base64 of pictures that are left out or folded
)
