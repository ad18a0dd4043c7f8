package tenant

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Scope is one thing that a token allows.
type Scope string

const (
	// Relay lets requests go to the providers.
	Relay Scope = "relay"
	// Read shows the tenant's sessions, on the page, and its figures.
	Read Scope = "read"
	// Act lets what was decided be undone, restored and pinned on the page.
	Act Scope = "act"
	// Admin shows all tenants, lets Read and Act count for each, and opens the page of jobs and the
	// admin API.
	Admin Scope = "admin"
	// Metrics shows the figures of all tenants, and nothing else.
	Metrics Scope = "metrics"
)

// Scopes are what a token allows, in the order in which they are listed.
type Scopes []Scope

// AllScopes are the scopes that there are.
func AllScopes() Scopes { return Scopes{Relay, Read, Act, Admin, Metrics} }

// Has reports whether a scope is among them.
func (s Scopes) Has(scope Scope) bool { return slices.Contains(s, scope) }

// String lists them with commas between.
func (s Scopes) String() string {
	words := make([]string, len(s))
	for i, scope := range s {
		words[i] = string(scope)
	}
	return strings.Join(words, ",")
}

// ParseScopes reads a list with commas; each scope counts once, in the order of AllScopes.
func ParseScopes(list string) (Scopes, error) {
	asked := map[Scope]bool{}
	for word := range strings.SplitSeq(list, ",") {
		scope := Scope(strings.TrimSpace(word))
		if !AllScopes().Has(scope) {
			return nil, fmt.Errorf("unknown scope %q; there are %s", word, AllScopes())
		}
		asked[scope] = true
	}
	return slices.DeleteFunc(AllScopes(), func(s Scope) bool { return !asked[s] }), nil
}

// Token is what is kept of a token: everything but the token itself.
type Token struct {
	ID     string `json:"id"`     // its id, which is not secret
	Tenant string `json:"tenant"` // the tenant that it belongs to
	Label  string `json:"label"`  // its purpose; may be empty
	Owner  string `json:"owner"`  // the person who asks with it, empty for none
	Hash   string `json:"-"`      // SHA-256, hexadecimal
	Scopes Scopes `json:"scopes"` // its rights: "relay", "read", "act", "admin", "metrics"

	Created time.Time `json:"created"`          // when it was made
	Expires time.Time `json:"expires,omitzero"` // when it expires; without it never
	// When it was last shown, to a minute; without it never.
	Used    time.Time `json:"used,omitzero"`
	Revoked time.Time `json:"revoked,omitzero"` // when it was revoked
}

// Prefix begins every token, so that people and scanners for secrets know what it is.
const Prefix = "wt_"

// MostLabel is how many bytes of a label there may be.
const MostLabel = 100

// NewToken makes a token, which is shown once, and what is kept of it. lasts is how long it counts,
// 0 for good.
func NewToken(tenant, label string, scopes Scopes, now time.Time, lasts time.Duration) (shown string, t Token,
	err error) {
	shown, _ = NewSecret()
	if t, err = GivenToken(shown, tenant, label, scopes, now, lasts); err != nil {
		return "", t, err
	}
	return shown, t, nil
}

// leastSecret is how many characters a token has behind its prefix at least. It is kept as a plain
// SHA-256, so that it must be too long to be guessed.
const leastSecret = 32

// inSecret reports whether a character may be in a token, which may stand in a path and a header.
func inSecret(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
}

// GivenToken returns the record of a token that somebody else made.
func GivenToken(shown, tenant, label string, scopes Scopes, now time.Time, lasts time.Duration) (t Token, err error) {
	secret, ok := strings.CutPrefix(shown, Prefix)
	switch {
	case !ok || len(secret) < leastSecret || strings.ContainsFunc(secret, func(r rune) bool { return !inSecret(r) }):
		return t, fmt.Errorf("a token is %s and at least %d letters, digits, - and _ that nobody can guess", Prefix,
			leastSecret)
	case len(scopes) == 0:
		return t, fmt.Errorf("a token without a scope allows nothing; there are %s", AllScopes())
	case len(label) > MostLabel || strings.ContainsFunc(label, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return t, fmt.Errorf("a label is one line of at most %d bytes", MostLabel)
	case lasts < 0:
		return t, fmt.Errorf("a token that expired before it was made")
	}
	id := make([]byte, 6)
	rand.Read(id) // it never fails
	t = Token{ID: "tok_" + hex.EncodeToString(id), Tenant: tenant, Label: label, Hash: HashOf(shown), Scopes: scopes,
		Created: now.UTC().Truncate(time.Millisecond)}
	if lasts > 0 {
		t.Expires = t.Created.Add(lasts)
	}
	return t, nil
}

// CheckOwner says what is wrong with the name of a person.
func CheckOwner(name string) error {
	if len(name) > MostLabel || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return fmt.Errorf("%q cannot name a person: write it without spaces, at most %d bytes, as ann@example.com",
			name,
			MostLabel)
	}
	return nil
}

// Person is whom a token's requests count for: its owner, or the token itself if it has none.
func (t Token) Person() string { return cmp.Or(t.Owner, t.ID) }

// NewSecret makes what is shown of a token, and its hash, which is kept.
func NewSecret() (shown, hash string) {
	random := make([]byte, 32)
	rand.Read(random) // it never fails
	shown = Prefix + base64.RawURLEncoding.EncodeToString(random)
	return shown, HashOf(shown)
}

// HashOf is the SHA-256 of a token, as it is kept.
func HashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// State is "valid", "expired" or "revoked" at a time.
func (t Token) State(now time.Time) string {
	switch {
	case !t.Revoked.IsZero(): // whatever the clock says of whoever revoked it
		return "revoked"
	case !t.Expires.IsZero() && !now.Before(t.Expires):
		return "expired"
	}
	return "valid"
}

// Lifetime is how long a token is valid from when it was made; 0 without an end.
func (t Token) Lifetime() time.Duration {
	if t.Expires.IsZero() {
		return 0
	}
	return t.Expires.Sub(t.Created)
}

// Rotated makes a token in the place of another one, with the same tenant, label, owner and scopes.
// The old one is valid for an overlap more, unless it ends before; without an overlap it is
// revoked.
func (t Token) Rotated(now time.Time, overlap, lifetime time.Duration) (shown string, next, old Token, err error) {
	if state := t.State(now); state != "valid" {
		return "", next, old, fmt.Errorf("the token %s is %s: make a new one", t.ID, state)
	}
	shown, next, err = NewToken(t.Tenant, t.Label, t.Scopes, now, lifetime)
	next.Owner, old = t.Owner, t
	end := now.UTC().Truncate(time.Millisecond).Add(overlap)
	if old.Expires.IsZero() || end.Before(old.Expires) {
		old.Expires = end
	}
	if overlap == 0 {
		old.Revoked = end
	}
	return shown, next, old, err
}
