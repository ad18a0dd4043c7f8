package tenant

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// Directory is everything that is known of the tenants at one moment. It does not change: there is
// a new one instead.
type Directory struct {
	revision int64
	tenants  map[string]Tenant
	names    map[string]string // of tenants, by their stores
	tokens   map[string]Token  // by hash
	hashes   map[string]string // by the token's id
}

// NewDirectory is a directory of tenants with their tokens, as of a revision of the book.
func NewDirectory(revision int64, tenants []Tenant, tokens []Token) *Directory {
	d := &Directory{revision, make(map[string]Tenant, len(tenants)), make(map[string]string, len(tenants)),
		make(map[string]Token, len(tokens)), make(map[string]string, len(tokens))}
	for _, t := range tenants {
		t.Store = cmp.Or(t.Store, t.Name)
		d.tenants[t.Name], d.names[t.Store] = t, t.Name
	}
	for _, t := range tokens {
		d.tokens[t.Hash], d.hashes[t.ID] = t, t.Hash
	}
	return d
}

// OfClients is the directory of a person, the tenant without a name, whose clients are named with the
// hashes of their tokens. A client's name is the label of its token.
func OfClients(hashes map[string]string) *Directory {
	var tokens []Token
	for name, hash := range hashes {
		tokens = append(tokens, Token{Label: name, Hash: strings.ToLower(hash)})
	}
	return NewDirectory(0, []Tenant{{}}, tokens)
}

// Revision is that of the book from which it was read.
func (d *Directory) Revision() int64 { return d.revision }

// Len is how many tenants there are.
func (d *Directory) Len() int { return len(d.tenants) }

// Tenant is the tenant of a name.
func (d *Directory) Tenant(name string) (t Tenant, ok bool) {
	t, ok = d.tenants[name]
	return t, ok
}

// OfStore is the tenant whose sessions are in the store of a name.
func (d *Directory) OfStore(store string) (t Tenant, ok bool) {
	name, ok := d.names[store]
	return d.tenants[name], ok
}

// Stores are the names of all tenants' stores, in order.
func (d *Directory) Stores() []string { return slices.Sorted(maps.Keys(d.names)) }

// Tenants are all tenants, by name.
func (d *Directory) Tenants() map[string]Tenant { return d.tenants }

// Owners are the names of the tenants to whom tokens belong, by the token's id.
func (d *Directory) Owners() map[string]string {
	all := make(map[string]string, len(d.tokens))
	for _, t := range d.tokens {
		all[t.ID] = t.Tenant
	}
	return all
}

// Admits reports whether a client that was let in may still ask: the tenant with this store is
// there, and its token is in force. The id of the token is "" for somebody who signed in.
func (d *Directory) Admits(store, id string, now time.Time) bool {
	_, there := d.names[store]
	by, known := d.tokens[d.hashes[id]]
	return there && (id == "" || known && by.State(now) == "valid")
}

// Who is whose token is shown; ok is false if nobody has it, or it counts no more. It is found by
// its SHA-256: how long that takes tells nothing of a token that could be used.
func (d *Directory) Who(shown string, now time.Time) (t Tenant, by Token, ok bool) {
	by, ok = d.tokens[HashOf(shown)]
	if !ok || by.State(now) != "valid" {
		return Tenant{}, Token{}, false
	}
	t, ok = d.tenants[by.Tenant]
	return t, by, ok
}
