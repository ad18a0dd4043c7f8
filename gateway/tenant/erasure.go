package tenant

import (
	"time"

	"github.com/winnowhq/winnow/store"
)

// Erasure is the receipt of what was erased. It holds nothing of it.
type Erasure struct {
	Tenant string   `json:"tenant"` // "" of a store that is no tenant's
	Person string   `json:"person,omitzero"`
	Stores []string `json:"stores"` // in which it was
	store.Amount
	Tokens   int       `json:"tokens"`
	Requests int       `json:"requests"` // that are nobody's now
	Entries  int       `json:"entries"`  // of the audit log that are gone, or name nobody now
	By       string    `json:"by"`
	Time     time.Time `json:"time"`
	Remains  []string  `json:"remains"` // what is left elsewhere, and for how long; a sentence each
}
