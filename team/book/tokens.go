package book

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/winnowhq/winnow/gateway/tenant"
)

// AddToken keeps a token. ErrNotFound if there is no such tenant.
func (b *Book) AddToken(ctx context.Context, who string, t tenant.Token) error {
	e := &tenant.Entry{Who: who, Did: "token add", What: t.ID + " " + t.Scopes.String()}
	return b.change(ctx, e, func(tx *sql.Tx) error { return add(ctx, tx, t, e) })
}

// add keeps a token, and says in an entry of the audit log whose it is.
func add(ctx context.Context, tx *sql.Tx, t tenant.Token, e *tenant.Entry) error {
	of, err := named(ctx, tx, t.Tenant)
	if err != nil {
		return err
	}
	e.Tenant = of.Store
	scopes, allows, hash := forBefore(t)
	done, err := tx.ExecContext(ctx, `INSERT INTO book_token
		(id, tenant, label, owner, hash, scopes, allows, created, expires, used, revoked)
		SELECT $1, name, $2, $3, $4, $5, $6, $7, $8, 0, 0 FROM book_tenant WHERE name = $9`,
		t.ID, t.Label, t.Owner, hash, scopes, allows, millis(t.Created), millis(t.Expires), of.Store)
	return some(done, err, noTenant(t.Tenant))
}

// unknownBefore stands before the hash of a token of which the version before knows no scope.
const unknownBefore = "-"

// forBefore is how the scopes and the hash of a token are kept so that a replica of the version
// before, which knows no scope Metrics, goes on: see migrations/00005_people.sql.
func forBefore(t tenant.Token) (scopes, allows, hash string) {
	known := slices.DeleteFunc(slices.Clone(t.Scopes), func(s tenant.Scope) bool { return s == tenant.Metrics })
	switch len(known) {
	case len(t.Scopes):
		return t.Scopes.String(), "", t.Hash
	case 0:
		return string(tenant.Read), t.Scopes.String(), unknownBefore + t.Hash
	}
	return known.String(), t.Scopes.String(), t.Hash
}

func noToken(id string) error { return fmt.Errorf("%w: the token %s", tenant.ErrNotFound, id) }

// Revoke makes a token count no more, at once. ErrNotFound if there is no such token.
func (b *Book) Revoke(ctx context.Context, who, id string) (tenant.Token, error) {
	t, err := b.Token(ctx, id)
	if err != nil {
		return t, err
	}
	if t.Revoked.IsZero() {
		t.Revoked = b.now().UTC().Truncate(time.Millisecond)
	}
	e := &tenant.Entry{Who: who, Did: "token revoke", What: id}
	return t, b.change(ctx, e, func(tx *sql.Tx) error {
		of, err := named(ctx, tx, t.Tenant)
		if err != nil {
			return err
		}
		e.Tenant = of.Store
		done, err := tx.ExecContext(ctx, `UPDATE book_token SET revoked = $1 WHERE id = $2`, millis(t.Revoked), id)
		return some(done, err, noToken(id))
	})
}

// Rotate makes a token in the place of another one, which counts for an overlap more. The new one
// is shown once. ErrNotFound if there is no such token.
func (b *Book) Rotate(ctx context.Context, who, id string, overlap time.Duration) (
	shown string, next, old tenant.Token, err error) {
	if old, err = b.Token(ctx, id); err != nil {
		return "", next, old, err
	}
	lifetime, err := b.lifetime(ctx, old)
	if err != nil {
		return "", next, old, err
	}
	if shown, next, old, err = old.Rotated(b.now(), overlap, lifetime); err != nil {
		return "", next, old, err
	}
	e := &tenant.Entry{Who: who, Did: rotated, What: id + replacedBy + next.ID}
	err = b.change(ctx, e, func(tx *sql.Tx) error {
		if err := add(ctx, tx, next, e); err != nil {
			return err
		}
		done, err := tx.ExecContext(ctx, `
			UPDATE book_token SET expires = $1, revoked = $2 WHERE id = $3 AND revoked = 0`,
			millis(old.Expires), millis(old.Revoked), id)
		return some(done, err, fmt.Errorf("%w: the token %s was revoked meanwhile", tenant.ErrNotFound, id))
	})
	return shown, next, old, err
}

// The entry of the audit log about a token that was rotated: tok_1 to tok_2.
const (
	rotated    = "token rotate"
	replacedBy = " to "
)

// lifetime is how long a token lasts that is made in the place of another one. A token that was
// rotated before ends with the overlap; the one in its place, which the audit log names, has its
// lifetime.
func (b *Book) lifetime(ctx context.Context, t tenant.Token) (time.Duration, error) {
	for {
		var what string
		err := b.db.QueryRowContext(ctx, `SELECT what FROM book_audit
			WHERE tenant = (SELECT tenant FROM book_token WHERE id = $1) AND did = $2 AND what LIKE $3
			ORDER BY time DESC LIMIT 1`, t.ID, rotated, t.ID+replacedBy+"%").Scan(&what)
		if errors.Is(err, sql.ErrNoRows) {
			return t.Lifetime(), nil
		}
		if err != nil {
			return 0, err
		}
		_, id, _ := strings.Cut(what, replacedBy)
		next, err := b.Token(ctx, id)
		if errors.Is(err, tenant.ErrNotFound) {
			return t.Lifetime(), nil
		}
		if err != nil {
			return 0, err
		}
		t = next
	}
}

const selectTokens = `SELECT k.id, ` + shownName + `, k.label, k.owner, k.hash, k.scopes, k.allows, k.created,
	k.expires, k.used, k.revoked FROM book_token AS k JOIN book_tenant ON name = k.tenant`

func readToken(r row) (t tenant.Token, err error) {
	var scopes, allows string
	var created, expires, used, revoked int64
	if err := r.Scan(&t.ID, &t.Tenant, &t.Label, &t.Owner, &t.Hash, &scopes, &allows, &created, &expires, &used,
		&revoked); err != nil {
		return t, err
	}
	t.Created, t.Expires, t.Used, t.Revoked = fromMillis(created), fromMillis(expires), fromMillis(used),
		fromMillis(revoked)
	t.Hash = strings.TrimPrefix(t.Hash, unknownBefore)
	t.Scopes, err = tenant.ParseScopes(cmp.Or(allows, scopes))
	return t, err
}

// Token is the token of an id. ErrNotFound if there is no such token.
func (b *Book) Token(ctx context.Context, id string) (tenant.Token, error) {
	t, err := readToken(b.db.QueryRowContext(ctx, selectTokens+` WHERE k.id = $1`, id))
	if errors.Is(err, sql.ErrNoRows) {
		err = noToken(id)
	}
	return t, err
}

// Tokens are the tokens of a tenant, "" for all, oldest first.
func (b *Book) Tokens(ctx context.Context, of string) ([]tenant.Token, error) {
	return rows(ctx, b.db, readToken, selectTokens+` WHERE `+shownName+` = $1 OR $2 = '' ORDER BY k.created, k.id`, of,
		of)
}

// Used notes when tokens were last shown, by id.
func (b *Book) Used(ctx context.Context, when map[string]time.Time) error {
	for _, id := range slices.Sorted(maps.Keys(when)) {
		ms := millis(when[id])
		_, err := b.db.ExecContext(ctx, `UPDATE book_token SET used = $1 WHERE id = $2 AND used < $3`, ms, id, ms)
		if err != nil {
			return err
		}
	}
	return nil
}
