package tenant

import (
	"time"

	"github.com/winnowhq/winnow/store"
)

// Erasure is the receipt of what was erased. It holds nothing of it.
type Erasure struct {
	// The tenant that it belonged to; empty for a store that is no tenant's.
	Tenant string   `json:"tenant"`
	Person string   `json:"person,omitzero"` // who was erased, if it was one person
	Stores []string `json:"stores"`          // the names of the stores in which it was
	store.Amount
	Tokens   int `json:"tokens"`   // how many tokens were deleted
	Requests int `json:"requests"` // how many requests of others' sessions belong to nobody now
	// How many entries of the audit log were deleted, or name nobody now.
	Entries int       `json:"entries"`
	By      string    `json:"by"`   // who erased it
	Time    time.Time `json:"time"` // when it was erased
	// Data that remains elsewhere, and for how long, a sentence each.
	Remains []string `json:"remains"`
}
