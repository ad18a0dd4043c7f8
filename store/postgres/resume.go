package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// mostFresh is how many messages Resume reads at most: more are read in pages.
const mostFresh = 256

// The messages of a session that are new to a reader who knows a revision ($3) and how many messages it
// had then ($4); none if more than $5 were added.
const (
	freshMessages = `SELECT m.position, m.info, m.parts, m.apart` + fromFresh + whereFresh
	freshApart    = `SELECT a.message, a.part, a.field, c.size, c.codec, c.data` + fromFresh + `
		JOIN apart AS a ON a.tenant = m.tenant AND a.session = m.session AND a.message = m.position
		LEFT JOIN content AS c ON c.tenant = a.tenant AND c.hash = a.content` + whereFresh
	fromFresh = ` FROM session AS s JOIN message AS m ON m.tenant = s.tenant AND m.session = s.num
			AND (m.revision > $3 OR m.position >= $4)`
	whereFresh = ` WHERE s.tenant = $1 AND s.id = $2 AND s.messages <= $4::bigint + $5::bigint`
)

// Resume implements [store.Resumer], in one round trip.
func (s *Store) Resume(ctx context.Context, id string, since store.Mark) (
	state store.State, now store.Mark, fresh map[int]session.Message, err error) {
	defer s.explain(ctx, "resume", id, &err)
	var row stateRow
	var page []messageRow
	var apart map[int64][]apartRow
	found := false
	err = s.with(ctx, func(conn *pgxpool.Conn) error {
		row, page, apart, found = stateRow{}, nil, map[int64][]apartRow{}, false
		var b pgx.Batch
		b.Queue(beginRead)
		b.Queue(selectState, s.tenant, key(id)).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				found = true
				if err := rows.Scan(row.columns()...); err != nil {
					return err
				}
			}
			return rows.Err()
		})
		if since != (store.Mark{}) {
			args := []any{s.tenant, key(id), since.Revision, since.Messages, mostFresh}
			b.Queue(freshMessages, args...).Query(func(rows pgx.Rows) (err error) {
				page, err = pgx.CollectRows(rows, scanMessage)
				return err
			})
			b.Queue(freshApart, args...).Query(func(rows pgx.Rows) error { return scanApart(rows, apart) })
		}
		b.Queue(`COMMIT`)
		return conn.SendBatch(ctx, &b).Close()
	})
	switch {
	case err != nil:
		return state, now, nil, err
	case !found:
		return state, now, nil, store.ErrNotFound
	}
	if state, err = row.state(); err != nil {
		return state, now, nil, err
	}
	now = store.Mark{Origin: fmt.Sprint(row.number, " ", row.started, " ", s.db.breaks.Load()), Revision: state.Revision,
		Messages: state.Messages}
	if now.Origin != since.Origin || now.Messages < since.Messages || now.Messages > since.Messages+mostFresh {
		return state, now, nil, nil
	}
	fresh = make(map[int]session.Message, len(page))
	added := 0
	for i := range page {
		if page[i].position >= int64(since.Messages) {
			added++
		}
		if fresh[int(page[i].position)], err = s.message(&page[i], apart[page[i].position], false); err != nil {
			return state, now, nil, corrupt(&page[i], err)
		}
	}
	if added != now.Messages-since.Messages {
		return state, now, nil, nil // messages are missing: who reads the log is told so
	}
	return state, now, fresh, nil
}
