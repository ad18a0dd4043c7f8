package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/exact"
	"github.com/winnowhq/winnow/store/internal/packed"
)

// Messages yields the log newest first. A log of few messages takes one round trip and no
// connection after it; of a longer one pages are read as they are consumed, in one transaction.
func (s *Store) Messages(ctx context.Context, id string) iter.Seq2[session.Message, error] {
	return s.log(ctx, id, false)
}

// Sketch yields the log without the texts that are kept apart.
func (s *Store) Sketch(ctx context.Context, id string) iter.Seq2[session.Message, error] {
	return s.log(ctx, id, true)
}

func (s *Store) log(ctx context.Context, id string, sketch bool) iter.Seq2[session.Message, error] {
	return func(yield func(session.Message, error) bool) {
		err := s.messages(ctx, id, sketch, func(m session.Message) bool { return yield(m, nil) })
		if err != nil {
			s.explain(ctx, "messages", id, &err)
			yield(session.Message{}, err)
		}
	}
}

// messages returns no error once yield wants no more.
func (s *Store) messages(ctx context.Context, id string, sketch bool, yield func(session.Message) bool) error {
	r := reader{s: s, id: key(id), sketch: sketch}
	defer r.end()
	if err := s.again(ctx, func() error { return r.begin(ctx) }); err != nil {
		return err
	}
	for {
		for len(r.page) > 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			message, err := r.message(&r.page[0])
			if err != nil {
				return err
			}
			r.page = r.page[1:]
			if !yield(message) {
				return nil
			}
		}
		if r.read >= r.messages {
			return nil
		}
		if err := s.again(ctx, func() error { return r.goOn(ctx) }); err != nil {
			return err
		}
	}
}

// A page is how many messages are read at once: the first few, then more.
const (
	firstPage = 16
	nextPage  = 64
)

// reader reads a log in pages, in one transaction.
type reader struct {
	s      *Store
	id     []byte
	sketch bool

	conn     *pgxpool.Conn // nil once all is read
	counted  bool          // it counts among the iterations that hold a connection
	messages int64
	revision int64
	read     int64        // how many were
	page     []messageRow // those that were read and not yielded yet
	apart    map[int64][]apartRow
}

type messageRow struct {
	position int64
	info     []byte
	parts    [][]byte
	apart    int
}

type apartRow struct {
	part int
	contentRow
	field string
}

// contentRow is a content as it is in the database; size is nil if it is not.
type contentRow struct {
	size  *int64
	codec *int16
	data  []byte
}

func (s *Store) unpack(c *contentRow) ([]byte, error) {
	if c.size == nil || c.codec == nil {
		return nil, errors.New("it is gone")
	}
	return s.db.packer.Decompress(packed.Codec(*c.codec), c.data, int(*c.size))
}

// beginRead begins a transaction that sees one moment.
const beginRead = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`

// Messages of a session from one number of messages before the end to another.
const (
	selectMessages = `SELECT m.position, m.info, m.parts, m.apart
		FROM session AS s JOIN message AS m ON m.tenant = s.tenant AND m.session = s.num
			AND m.position >= s.messages - $3::bigint AND m.position < s.messages - $4::bigint
		WHERE s.tenant = $1 AND s.id = $2 ORDER BY m.position DESC`
	selectApart = `SELECT a.message, a.part, a.field, c.size, c.codec, c.data
		FROM session AS s JOIN apart AS a ON a.tenant = s.tenant AND a.session = s.num
			AND a.message >= s.messages - $3::bigint AND a.message < s.messages - $4::bigint
		LEFT JOIN content AS c ON c.tenant = a.tenant AND c.hash = a.content
		WHERE s.tenant = $1 AND s.id = $2`
)

// begin reads the first page. It keeps its connection if there are more, unless too many
// iterations do so: then it reads all of them, so that one iteration within another never waits for
// the connections that the outer ones hold.
func (r *reader) begin(ctx context.Context) (err error) {
	if r.conn, err = r.s.db.pool.Acquire(ctx); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			r.end()
		}
	}()
	var b pgx.Batch
	b.Queue(beginRead)
	found := false
	b.Queue(`SELECT messages, revision FROM session WHERE tenant = $1 AND id = $2`, r.s.tenant, r.id).
		Query(func(rows pgx.Rows) error {
			for rows.Next() {
				found = true
				if err := rows.Scan(&r.messages, &r.revision); err != nil {
					return err
				}
			}
			return rows.Err()
		})
	r.read, r.page, r.apart = 0, nil, nil
	r.queue(&b, firstPage)
	if err := r.conn.SendBatch(ctx, &b).Close(); err != nil {
		return err
	}
	if !found {
		return store.ErrNotFound
	}
	r.read = firstPage
	r.counted = true
	if held := r.s.db.reading.Add(1); held > r.s.db.most {
		for r.read < r.messages {
			if err := r.next(ctx); err != nil {
				return err
			}
		}
	}
	if r.read >= r.messages {
		r.end()
	}
	return nil
}

// queue asks for the next messages.
func (r *reader) queue(b *pgx.Batch, more int64) {
	args := []any{r.s.tenant, r.id, r.read + more, r.read}
	b.Queue(selectMessages, args...).Query(func(rows pgx.Rows) error {
		page, err := pgx.CollectRows(rows, scanMessage)
		r.page = append(r.page, page...)
		return err
	})
	if r.sketch {
		return
	}
	b.Queue(selectApart, args...).Query(func(rows pgx.Rows) error {
		if r.apart == nil {
			r.apart = map[int64][]apartRow{}
		}
		return scanApart(rows, r.apart)
	})
}

// goOn reads the next page, once all before it are yielded. If the connection broke meanwhile, it
// goes on with another one, if the session is as it was.
func (r *reader) goOn(ctx context.Context) (err error) {
	r.page, r.apart = nil, nil // of an attempt that failed
	defer func() {
		if err != nil {
			r.end()
		}
	}()
	if r.conn != nil {
		return r.next(ctx)
	}
	if r.conn, err = r.s.db.pool.Acquire(ctx); err != nil {
		return err
	}
	r.counted = true
	r.s.db.reading.Add(1)
	var b pgx.Batch
	b.Queue(beginRead)
	var revision int64
	b.Queue(`SELECT revision FROM session WHERE tenant = $1 AND id = $2`, r.s.tenant, r.id).
		QueryRow(func(row pgx.Row) error { return row.Scan(&revision) })
	switch err := r.conn.SendBatch(ctx, &b).Close(); {
	case err != nil && !errors.Is(err, pgx.ErrNoRows):
		return err
	case revision != r.revision:
		return fmt.Errorf("%w: the connection broke while it was read", store.ErrConflict)
	}
	return r.next(ctx)
}

// next reads the next page.
func (r *reader) next(ctx context.Context) error {
	var b pgx.Batch
	r.queue(&b, nextPage)
	if err := r.conn.SendBatch(ctx, &b).Close(); err != nil {
		return err
	}
	if r.read += nextPage; r.read >= r.messages {
		r.end()
	}
	return nil
}

// end ends the transaction and gives the connection back.
func (r *reader) end() {
	if r.conn == nil {
		return
	}
	if c := r.conn.Conn(); !c.IsClosed() && c.PgConn().TxStatus() != 'I' {
		_, _ = r.conn.Exec(context.Background(), `ROLLBACK`) // else the pool drops the connection
	}
	r.conn.Release()
	r.conn = nil
	if r.counted {
		r.counted = false
		r.s.db.reading.Add(-1)
	}
}

// message decodes a message.
func (r *reader) message(row *messageRow) (session.Message, error) {
	apart := r.apart[row.position]
	delete(r.apart, row.position)
	m, err := r.s.message(row, apart, r.sketch)
	if err != nil {
		return m, corrupt(row, err)
	}
	return m, nil
}

func corrupt(row *messageRow, err error) error {
	return fmt.Errorf("%w: message %d: %w", store.ErrCorrupt, row.position, err)
}

// message decodes a message, without its large texts if it is only sketched.
func (s *Store) message(row *messageRow, apart []apartRow, sketch bool) (m session.Message, err error) {
	h, err := headOf(row.info)
	if err != nil {
		return m, err
	}
	m = session.Message{MessageInfo: h.MessageInfo, Unknown: h.Unknown}
	if len(row.parts) == 0 {
		return m, nil
	}
	if !sketch && len(apart) != row.apart {
		return m, fmt.Errorf("%d of its %d large texts are left", len(apart), row.apart)
	}
	m.Parts = make([]session.Part, len(row.parts))
	for i, data := range row.parts {
		if m.Parts[i], err = exact.Decode[session.Part](data); err != nil {
			return m, fmt.Errorf("part %d: %w", i, err)
		}
	}
	for i := range apart {
		a := &apart[i]
		if a.part >= len(m.Parts) {
			return m, fmt.Errorf("there is no part %d for its %s", a.part, a.field)
		}
		if err := s.join(&m.Parts[a.part], a); err != nil {
			return m, fmt.Errorf("part %d: %w", a.part, err)
		}
	}
	return m, nil
}

// join puts a text back into its part.
func (s *Store) join(p *session.Part, a *apartRow) error {
	text, err := s.unpack(&a.contentRow)
	if err == nil {
		err = packed.Join(p, a.field, text)
	}
	if err != nil {
		return fmt.Errorf("its %s: %w", a.field, err)
	}
	return nil
}
