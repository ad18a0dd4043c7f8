package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/packed"
)

// Wanted is called within the transaction of a change that says that a summary is wanted (see
// store.Prepared): what it writes is there if the change is. After an error nothing is. It may be
// called again for a change that was written, if the answer of the server was lost.
type Wanted func(ctx context.Context, tx pgx.Tx, tenant, session string, p store.Prepared) error

// OnWanted has f called for changes from now on, nil for none. It is safe for concurrent use.
func (d *Database) OnWanted(f Wanted) {
	if f == nil {
		d.wanted.Store(nil)
		return
	}
	d.wanted.Store(&f)
}

// failed are the statements that mark requests, by their positions among all of the session, as
// failed.
func (s *Store) failed(ctx context.Context, id string, positions []int) (all []statement, err error) {
	if len(positions) == 0 {
		return nil, nil
	}
	type spend struct {
		revision, ordinal int64
		data              []byte
	}
	found, err := rows(ctx, s, func(row pgx.CollectableRow) (p spend, err error) {
		return p, row.Scan(&p.revision, &p.ordinal, &p.data)
	}, `SELECT p.revision, p.ordinal, p.data
		FROM session AS s JOIN spend AS p ON p.tenant = s.tenant AND p.session = s.num
		WHERE s.tenant = $1 AND s.id = $2 ORDER BY p.revision, p.ordinal`, s.tenant, key(id))
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		if _, err := s.revision(ctx, id); err != nil {
			return nil, err
		}
	}
	for _, at := range positions {
		if at < 0 || at >= len(found) {
			return nil, fmt.Errorf("there is no request %d of %d", at, len(found))
		}
		encoded, err := packed.Failed(found[at].data)
		if err != nil {
			return nil, err
		}
		all = append(all, statement{`UPDATE spend SET data = $5
			WHERE tenant = $1 AND session = ` + num + ` AND revision = $3 AND ordinal = $4`,
			[]any{found[at].revision, found[at].ordinal, bytesOf(encoded)}})
	}
	return all, nil
}
