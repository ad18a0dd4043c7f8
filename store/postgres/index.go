package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/exact"
	"github.com/winnowhq/winnow/store/internal/packed"
)

const (
	// batchBytes is about how much text one transaction indexes.
	batchBytes = 2 << 20
	// batchMessages is how many messages one transaction indexes at most.
	batchMessages = 1000
	// batchStale is how many changed messages one transaction indexes at most.
	batchStale = 100
)

// Index brings the index up to date, in transactions of bounded size, if there is one. Of several at
// a time the first does it, for the others it is store.ErrLocked. Changes of a session wait for the
// last moment of a transaction alone; deleting the session waits for all of it.
func (s *Store) Index(ctx context.Context, tell func(done, all int)) (err error) {
	defer s.explain(ctx, "index", "", &err)
	return s.index(ctx, tell)
}

func (s *Store) index(ctx context.Context, tell func(done, all int)) error {
	if s.db.readOnly {
		return store.ErrReadOnly
	}
	all, _, err := s.behind(ctx)
	if err != nil || all == 0 {
		return err
	}
	if err := s.freshlyKept(ctx); err != nil {
		return err
	}
	for done := 0; ; {
		if tell != nil {
			tell(done, max(all, done))
		}
		n := 0
		if err := s.alone(ctx, false, func(i *indexer) (err error) {
			n, err = i.batch()
			return err
		}); err != nil {
			return err
		}
		if n == 0 {
			break
		}
		done += n
	}
	// What is new stays in the list that the server keeps of it, until that is full: to empty it each
	// time writes some times as much to its log, and saves a search some milliseconds.
	return s.sweep(ctx)
}

// alone runs a transaction of which a tenant has one at a time. If another one runs it is
// store.ErrLocked at once, or waits for its end.
func (s *Store) alone(ctx context.Context, wait bool, do func(*indexer) error) error {
	return s.with(ctx, func(c *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
			i := indexer{ctx: ctx, s: s, tx: tx}
			const lock = `hashtextextended('winnow index ' || $1, 0)`
			if wait {
				if err := i.exec(`SELECT pg_advisory_xact_lock(` + lock + `)`); err != nil {
					return err
				}
				return do(&i)
			}
			var free bool
			err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock(`+lock+`)`, s.tenant).Scan(&free)
			if err == nil && !free {
				err = fmt.Errorf("%w: somebody else brings the index up to date", store.ErrLocked)
			}
			if err != nil {
				return err
			}
			return do(&i)
		})
	})
}

// freshlyKept notes the messages for which texts were kept after they were indexed, a session at a
// time: whoever keeps a text of it waits that long, and not for the index.
func (s *Store) freshlyKept(ctx context.Context) error {
	nums, err := rows(ctx, s, pgx.RowTo[int64], `SELECT DISTINCT session FROM kept WHERE tenant = $1 AND fresh`, s.tenant)
	if err != nil {
		return err
	}
	for _, num := range nums {
		err := s.alone(ctx, false, func(i *indexer) error {
			if indexed, err := i.stays(num); err != nil || indexed < 0 {
				return err
			}
			return i.exec(`
				WITH fresh AS (UPDATE kept SET fresh = false WHERE tenant = $1 AND session = $2 AND fresh RETURNING part)
				INSERT INTO stale (tenant, session, message, revision)
					SELECT DISTINCT m.tenant, m.session, m.position, 0
					FROM fresh JOIN session AS s ON s.tenant = $1 AND s.num = $2
					JOIN message AS m ON m.tenant = $1 AND m.session = $2 AND m.position < s.indexed
						AND fresh.part = ANY (m.names)
					ON CONFLICT DO NOTHING`, num)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// behind counts the messages that are not indexed as they are now, and the kept texts that may not
// be: none if there is no index.
func (s *Store) behind(ctx context.Context) (n int, without bool, err error) {
	err = s.one(ctx, `SELECT without, CASE WHEN without THEN 0 ELSE
			(SELECT coalesce(sum(messages - indexed), 0)::bigint FROM session WHERE tenant = $1 AND indexed < messages)
			+ (SELECT count(*) FROM stale WHERE tenant = $1) + (SELECT count(*) FROM kept WHERE tenant = $1 AND fresh) END
		FROM (SELECT EXISTS (SELECT FROM unindexed WHERE tenant = $1) AS without) AS u`, []any{s.tenant}, &without, &n)
	return n, without, err
}

// indexer indexes a batch in a transaction.
type indexer struct {
	ctx context.Context
	s   *Store
	tx  pgx.Tx

	size, done int
	found      foundRows
}

// foundRows are documents in columns.
type foundRows struct {
	sessions, messages []int64
	parts, pieces      []int32
	roles, tools       [][]byte
	times              []float64
	words              []string
}

func (i *indexer) exec(sql string, args ...any) error {
	_, err := i.tx.Exec(i.ctx, sql, append([]any{i.s.tenant}, args...)...)
	return err
}

// batch returns how much it did, 0 if there is nothing left.
func (i *indexer) batch() (done int, err error) {
	var without bool
	if err := i.tx.QueryRow(i.ctx, `SELECT EXISTS (SELECT FROM unindexed WHERE tenant = $1)`, i.s.tenant).
		Scan(&without); err != nil || without {
		return 0, err
	}
	if err := i.stale(); err != nil {
		return 0, err
	}
	reached, err := i.behind()
	if err != nil {
		return 0, err
	}
	if err := i.write(); err != nil {
		return 0, err
	}
	// Last, because changes of the sessions wait from here on.
	for num, next := range reached {
		if err := i.exec(`UPDATE session SET indexed = $3 WHERE tenant = $1 AND num = $2`, num, next); err != nil {
			return 0, err
		}
	}
	return i.done, nil
}

// stays makes sure that a session is not deleted before the transaction ends, and returns how many
// of its messages are indexed; -1 if it has gone.
func (i *indexer) stays(num int64) (indexed int64, err error) {
	err = i.tx.QueryRow(i.ctx, `SELECT indexed FROM session WHERE tenant = $1 AND num = $2 FOR KEY SHARE`, i.s.tenant,
		num).
		Scan(&indexed)
	if errors.Is(err, pgx.ErrNoRows) {
		return -1, nil
	}
	return indexed, err
}

// stale indexes messages anew that have changed. The session is locked first, as by who deletes it.
func (i *indexer) stale() error {
	type place struct{ Session, Message int64 }
	rows, err := i.tx.Query(i.ctx, `SELECT DISTINCT session, message FROM stale WHERE tenant = $1 LIMIT $2`, i.s.tenant,
		batchStale)
	if err != nil {
		return err
	}
	places, err := pgx.CollectRows(rows, pgx.RowToStructByPos[place])
	if err != nil {
		return err
	}
	i.done += len(places)
	for _, p := range places {
		indexed, err := i.stays(p.Session)
		if err != nil {
			return err
		}
		// Before the message is read: a change that comes meanwhile is noted once more.
		if err := i.exec(`DELETE FROM stale WHERE tenant = $1 AND session = $2 AND message = $3`, p.Session,
			p.Message); err != nil {
			return err
		}
		if p.Message >= indexed {
			continue // its turn comes
		}
		if err := i.exec(`DELETE FROM found WHERE tenant = $1 AND session = $2 AND message = $3`, p.Session,
			p.Message); err != nil {
			return err
		}
		if _, err := i.messages(p.Session, p.Message, p.Message+1); err != nil {
			return err
		}
	}
	return nil
}

// behind indexes messages that are new, and returns up to where in each session.
func (i *indexer) behind() (reached map[int64]int64, err error) {
	reached = map[int64]int64{}
	for last := int64(-1); i.done < batchMessages && i.size < batchBytes; {
		var num, from, to int64
		err := i.tx.QueryRow(i.ctx, `SELECT num, indexed, messages FROM session
			WHERE tenant = $1 AND indexed < messages AND num > $2 ORDER BY num LIMIT 1`, i.s.tenant, last).Scan(&num, &from, &to)
		if errors.Is(err, pgx.ErrNoRows) {
			break
		}
		if err != nil {
			return nil, err
		}
		last = num
		if now, err := i.stays(num); err != nil {
			return nil, err
		} else if now < 0 {
			continue
		}
		for from < to && i.done < batchMessages && i.size < batchBytes {
			next, err := i.messages(num, from, min(to, from+nextPage, from+int64(batchMessages-i.done)))
			if err != nil {
				return nil, err
			}
			i.done += int(next - from)
			from = next
		}
		reached[num] = from
	}
	return reached, nil
}

// messages prepares the documents of the messages of a session between two positions, and returns
// the position behind them. A damaged message has none; reading it reports the damage.
func (i *indexer) messages(num, from, to int64) (next int64, err error) {
	var list []messageRow
	apart := map[int64][]apartRow{}
	kept := map[string]contentRow{}
	args := []any{i.s.tenant, num, from, to}
	var b pgx.Batch
	b.Queue(`SELECT position, info, parts, apart FROM message
		WHERE tenant = $1 AND session = $2 AND position >= $3 AND position < $4 ORDER BY position`, args...).
		Query(func(rows pgx.Rows) (err error) {
			list, err = pgx.CollectRows(rows, scanMessage)
			return err
		})
	b.Queue(`SELECT a.message, a.part, a.field, c.size, c.codec, c.data
		FROM apart AS a LEFT JOIN content AS c ON c.tenant = a.tenant AND c.hash = a.content
		WHERE a.tenant = $1 AND a.session = $2 AND a.message >= $3 AND a.message < $4`, args...).
		Query(func(rows pgx.Rows) error { return scanApart(rows, apart) })
	b.Queue(`SELECT k.part, c.size, c.codec, c.data
		FROM kept AS k JOIN content AS c ON c.tenant = k.tenant AND c.hash = k.content
		WHERE k.tenant = $1 AND k.session = $2 AND EXISTS (SELECT FROM message AS m
			WHERE m.tenant = $1 AND m.session = $2 AND m.position >= $3 AND m.position < $4 AND k.part = ANY (m.names))`, args...).
		Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var part []byte
				var c contentRow
				if err := rows.Scan(&part, &c.size, &c.codec, &c.data); err != nil {
					return err
				}
				kept[string(part)] = c
			}
			return rows.Err()
		})
	if err := i.tx.SendBatch(i.ctx, &b).Close(); err != nil {
		return 0, err
	}
	for k := range list {
		if err := i.ctx.Err(); err != nil {
			return 0, err
		}
		m, err := i.s.message(&list[k], apart[list[k].position], false)
		i.size += 100
		if err != nil {
			continue
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			text := ""
			if c, ok := kept[string(key(p.ID))]; ok && p.Type == session.ToolPart {
				data, _ := i.s.unpack(&c) // a text that is damaged or of a newer version is skipped
				text = string(data)
			}
			i.part(num, list[k].position, j, &m.MessageInfo, p, text)
		}
	}
	return to, nil
}

func (i *indexer) part(num, message int64, position int, m *session.MessageInfo, p *session.Part, kept string) {
	pieces, size := documents(i.s.tenant, p, kept)
	i.size += size
	for n, words := range pieces {
		f := &i.found
		f.sessions, f.messages = append(f.sessions, num), append(f.messages, message)
		f.parts, f.pieces = append(f.parts, int32(position)), append(f.pieces, int32(n))
		f.roles, f.tools = append(f.roles, []byte(m.Role)), append(f.tools, []byte(p.Tool))
		f.times, f.words = append(f.times, packed.Finite(float64(m.Time.Created))), append(f.words, words)
	}
}

// write writes the documents.
func (i *indexer) write() error {
	f := &i.found
	if len(f.words) == 0 {
		return nil
	}
	return i.exec(`INSERT INTO found (tenant, session, message, part, piece, role, tool, time, words)
		SELECT $1, f.session, f.message, f.part, f.piece, f.role, f.tool, f.time, f.words::tsvector
		FROM unnest($2::bigint[], $3::bigint[], $4::int[], $5::int[], $6::bytea[], $7::bytea[], $8::float8[],
			$9::text[])
			AS f(session, message, part, piece, role, tool, time, words)`,
		f.sessions, f.messages, f.parts, f.pieces, f.roles, f.tools, f.times, f.words)
}

func scanMessage(row pgx.CollectableRow) (m messageRow, err error) {
	err = row.Scan(&m.position, &m.info, &m.parts, &m.apart)
	return m, err
}

// scanApart reads what messages have apart, by their position.
func scanApart(rows pgx.Rows, apart map[int64][]apartRow) error {
	for rows.Next() {
		var position int64
		var a apartRow
		if err := rows.Scan(&position, &a.part, &a.field, &a.size, &a.codec, &a.data); err != nil {
			return err
		}
		apart[position] = append(apart[position], a)
	}
	return rows.Err()
}

// headOf decodes a message without its parts.
func headOf(info []byte) (packed.Head, error) { return exact.Decode[packed.Head](info) }
