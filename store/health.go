package store

import "context"

// Checker is a store that looks through all that it has for damage. Not every store is one.
type Checker interface {
	// Check reads everything, which takes as long as that takes; the context may end it. What it
	// finds wrong is in Health, and no error. It changes nothing, and nobody waits for it.
	Check(ctx context.Context) (Health, error)
}

// Health is how a store is.
type Health struct {
	Schema   int      // version of the tables
	Bytes    int64    // that it takes on the disk; of a database with tenants, those of all of them
	Problems []string // a sentence each, at most MostProblems; none in a sound store
}

// MostProblems is how many problems are found before a Checker stops looking.
const MostProblems = 5
