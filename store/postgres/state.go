package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/packed"
)

// List returns one line for each session, last updated first.
func (s *Store) List(ctx context.Context) (list []store.Listing, err error) {
	defer s.explain(ctx, "list", "", &err)
	return rows(ctx, s, func(row pgx.CollectableRow) (l store.Listing, err error) {
		var info, format []byte
		if err := row.Scan(&info, &l.Messages, &format); err != nil {
			return l, err
		}
		l.Origin = string(format)
		l.Info, err = packed.Decode[session.Info](info)
		return l, err
	}, `SELECT s.info, s.messages, f.format
		FROM session AS s LEFT JOIN source AS f ON f.tenant = s.tenant AND f.session = s.num
		WHERE s.tenant = $1 ORDER BY s.updated DESC, s.changed DESC`, s.tenant)
}

// Revision returns State.Revision alone, in one round trip. It is not remembered: what another
// gateway decided is seen by the next request here.
func (s *Store) Revision(ctx context.Context, id string) (revision int64, err error) {
	defer s.explain(ctx, "revision", id, &err)
	return s.revision(ctx, id)
}

func (s *Store) revision(ctx context.Context, id string) (revision int64, err error) {
	err = s.one(ctx, `SELECT revision FROM session WHERE tenant = $1 AND id = $2`, []any{s.tenant, key(id)}, &revision)
	if errors.Is(err, pgx.ErrNoRows) {
		err = store.ErrNotFound
	}
	return revision, err
}

// stateRow is a session's row with all that is known about it except its messages.
type stateRow struct {
	number, revision, messages int64
	// started is when the server was started, in microseconds since 1970. After a failover or a restore
	// it differs, and the server may lack what a reader has.
	started                                            int64
	info, prepared                                     []byte
	elisions, pins, receipts, spent, undone, dismissed [][]byte
}

func (r *stateRow) columns() []any {
	return []any{&r.number, &r.started, &r.info, &r.revision, &r.messages, &r.prepared, &r.elisions, &r.pins,
		&r.receipts, &r.spent, &r.undone, &r.dismissed}
}

// selectState is one query, which sees one moment.
const selectState = `SELECT num, (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint,
		info, revision, messages, prepared,
		ARRAY(SELECT data FROM elision AS e WHERE e.tenant = s.tenant AND e.session = s.num ORDER BY e.revision,
		e.ordinal),
		ARRAY(SELECT data FROM pin AS p WHERE p.tenant = s.tenant AND p.session = s.num ORDER BY p.revision, p.ordinal),
		ARRAY(SELECT data FROM receipt AS r WHERE r.tenant = s.tenant AND r.session = s.num ORDER BY r.revision,
		r.ordinal),
		ARRAY(SELECT data FROM spend AS p WHERE p.tenant = s.tenant AND p.session = s.num ORDER BY p.revision,
		p.ordinal),
		ARRAY(SELECT whole FROM undone AS u WHERE u.tenant = s.tenant AND u.session = s.num),
		ARRAY(SELECT whole FROM dismissed AS d WHERE d.tenant = s.tenant AND d.session = s.num)
		FROM session AS s WHERE s.tenant = $1 AND s.id = $2`

// State returns all that is known about a session except its messages.
func (s *Store) State(ctx context.Context, id string) (state store.State, err error) {
	defer s.explain(ctx, "state", id, &err)
	var row stateRow
	err = s.one(ctx, selectState, []any{s.tenant, key(id)}, row.columns()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return state, store.ErrNotFound
	}
	if err != nil {
		return state, err
	}
	return row.state()
}

// state decodes a row.
func (r *stateRow) state() (state store.State, err error) {
	state.Revision, state.Messages = r.revision, int(r.messages)
	if state.Info, err = packed.Decode[session.Info](r.info); err != nil {
		return state, err
	}
	ledger, err := packed.All[rule.Elision](r.elisions)
	if err != nil {
		return state, err
	}
	state.Ledger = rule.NewLedger(ledger...)
	if state.Pins, err = packed.All[rule.Pin](r.pins); err != nil {
		return state, err
	}
	if state.Receipts, err = packed.All[pivot.Receipt](r.receipts); err != nil {
		return state, err
	}
	if r.prepared != nil {
		p, err := packed.Decode[store.Prepared](r.prepared)
		if err != nil {
			return state, err
		}
		state.Prepared = &p
	}
	state.Undone, state.Dismissed = packed.Set(r.undone), packed.Set(r.dismissed)
	state.Spent, err = packed.All[store.Spend](r.spent)
	return state, err
}

// Relayed returns the sessions of which a gateway relayed requests since a time.
func (s *Store) Relayed(ctx context.Context, since session.Millis, wanted func(session.Info) bool) (
	accounts []store.Account, err error) {
	defer s.explain(ctx, "status", "", &err)
	type found struct {
		id   []byte
		info session.Info
	}
	newest, err := rows(ctx, s, func(row pgx.CollectableRow) (f found, err error) {
		var info []byte
		if err := row.Scan(&f.id, &info); err != nil {
			return f, err
		}
		f.info, err = packed.Decode[session.Info](info)
		return f, err
	}, `SELECT s.id, s.info FROM session AS s JOIN (
			SELECT session, max(relayed) AS newest FROM spend WHERE tenant = $1 AND relayed >= $2 GROUP BY session
		) AS n ON n.session = s.num
		WHERE s.tenant = $1 ORDER BY n.newest DESC, s.id`, s.tenant, packed.Finite(float64(since)))
	if err != nil {
		return nil, err
	}
	for _, f := range newest {
		if wanted != nil && !wanted(f.info) {
			continue
		}
		var info []byte
		var spent [][]byte
		err := s.one(ctx, `SELECT info,
			ARRAY(SELECT data FROM spend AS p WHERE p.tenant = s.tenant AND p.session = s.num ORDER BY p.revision,
			p.ordinal)
			FROM session AS s WHERE s.tenant = $1 AND s.id = $2`, []any{s.tenant, f.id}, &info, &spent)
		if errors.Is(err, pgx.ErrNoRows) {
			continue // it was deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		a := store.Account{}
		if a.Info, err = packed.Decode[session.Info](info); err != nil {
			return nil, err
		}
		if a.Spent, err = packed.All[store.Spend](spent); err != nil {
			return nil, err
		}
		accounts = append(accounts, a)
	}
	return accounts, nil
}
