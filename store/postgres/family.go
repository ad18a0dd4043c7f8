package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/descendants"
	"github.com/winnowhq/winnow/store/internal/packed"
)

var _ store.FamilyLister = (*Store)(nil)

// Family returns the infos of a session and of those that descend from it, in one round trip. The
// OFFSET has the server look up one id after the other, whatever it believes of the tables.
func (s *Store) Family(ctx context.Context, id string) (family []session.Info, err error) {
	defer s.explain(ctx, "family", id, &err)
	return descendants.Of(id, func(id string) ([]descendants.Found, error) {
		return rows(ctx, s, func(row pgx.CollectableRow) (f descendants.Found, err error) {
			var info []byte
			if err := row.Scan(&info, &f.Aside); err != nil {
				return f, err
			}
			f.Info, err = packed.Decode[session.Info](info)
			return f, err
		}, `WITH RECURSIVE family (id) AS (
				SELECT $2::bytea UNION
				SELECT s.id FROM family, LATERAL (
					SELECT id FROM session WHERE tenant = $1 AND parent = family.id AND parent <> '' OFFSET 0
				) AS s
			)
			SELECT s.info, s.aside FROM family, LATERAL (
				SELECT info, parent IS NULL AS aside FROM session WHERE tenant = $1 AND id = family.id OFFSET 0
			) AS s
			UNION ALL SELECT info, true FROM session WHERE tenant = $1 AND parent IS NULL`, s.tenant, key(id))
	})
}
