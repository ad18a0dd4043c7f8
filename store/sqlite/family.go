package sqlite

import (
	"context"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/descendants"
	"github.com/winnowhq/winnow/store/internal/packed"
)

var _ store.FamilyLister = (*Store)(nil)

// Family returns the infos of a session and of those that descend from it.
func (s *Store) Family(ctx context.Context, id string) (family []session.Info, err error) {
	defer s.explain(ctx, "family", id, &err)
	return descendants.Of(id, func(id string) (all []descendants.Found, err error) {
		rows, err := s.reader.db.QueryContext(ctx, `
			WITH RECURSIVE family (id) AS (
				SELECT ? UNION
				SELECT s.id FROM family CROSS JOIN session AS s ON s.parent = family.id WHERE s.parent <> ''
			)
			SELECT info, parent IS NULL FROM session WHERE id IN (SELECT id FROM family)
			UNION ALL SELECT info, true FROM session WHERE parent IS NULL`, id)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		for rows.Next() {
			var f descendants.Found
			var info []byte
			if err := rows.Scan(&info, &f.Aside); err != nil {
				return nil, err
			}
			if f.Info, err = packed.Decode[session.Info](info); err != nil {
				return nil, err
			}
			all = append(all, f)
		}
		return all, rows.Err()
	})
}
