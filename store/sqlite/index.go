package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"math"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/exact"
	"github.com/winnowhq/winnow/store/internal/packed"
	"github.com/winnowhq/winnow/store/internal/words"
)

const (
	// batchBytes is about how much text one transaction indexes, less on a slow machine. Other
	// writers wait that long, a few tenths of a second.
	batchBytes = 2 << 20
	// batchMessages is how many messages one transaction indexes at most.
	batchMessages = 1000
)

// Queries that are repeated for each batch or session. None of them may scan all sessions: the
// indexes session_behind and kept_fresh hold exactly the work that is left.
const (
	countBehind = `SELECT (SELECT coalesce(sum(messages - indexed), 0) FROM session WHERE indexed < messages)
		+ (SELECT count(*) FROM stale) + (SELECT count(*) FROM kept WHERE fresh)`
	nextStale  = `SELECT session, message FROM stale LIMIT 1`
	nextBehind = `SELECT num, indexed, messages FROM session WHERE indexed < messages ORDER BY num LIMIT 1`
	nextKept   = `SELECT DISTINCT session FROM kept WHERE fresh`
)

// Index brings the index up to date, in transactions of bounded size, if there is one.
func (s *Store) Index(ctx context.Context, tell func(done, all int)) (err error) {
	defer s.explain(ctx, "index", "", &err)
	return s.index(ctx, tell)
}

func (s *Store) index(ctx context.Context, tell func(done, all int)) error {
	if s.writer == nil {
		return store.ErrReadOnly
	}
	if without, err := s.unindexed(ctx); err != nil || without {
		return err
	}
	all, err := s.behind(ctx)
	if err != nil || all == 0 {
		return err
	}
	for done := 0; ; {
		if tell != nil {
			tell(done, max(all, done))
		}
		n := 0
		err := s.write(ctx, func(t *transaction) (err error) {
			n, err = t.index()
			return err
		})
		if err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
		done += n
	}
}

// behind counts the messages that are not indexed as they are now, and the kept texts that may not
// be.
func (s *Store) behind(ctx context.Context) (n int, err error) {
	err = s.reader.db.QueryRowContext(ctx, countBehind).Scan(&n)
	return n, err
}

// index indexes a batch of messages and returns how many.
func (t *transaction) index() (messages int, err error) {
	var without bool
	if err := t.read(`SELECT EXISTS (SELECT 1 FROM unindexed)`, nil, &without); err != nil || without {
		return 0, err
	}
	size := 0
	if err := t.freshlyKept(); err != nil {
		return 0, err
	}
	enough := func() bool { return messages >= batchMessages || size >= batchBytes || messages > 0 && t.w.turn.over() }
	for !enough() {
		var num, position int64
		err := t.read(nextStale, nil, &num, &position)
		if errors.Is(err, sql.ErrNoRows) {
			break
		}
		if err != nil {
			return 0, err
		}
		if err := t.forget(`session = ? AND message = ?`, num, position); err != nil {
			return 0, err
		}
		n, _, err := t.indexFrom(num, position, position+1, math.MaxInt)
		if err != nil {
			return 0, err
		}
		if err := t.exec(`DELETE FROM stale WHERE session = ? AND message = ?`, num, position); err != nil {
			return 0, err
		}
		size += n
		messages++
	}
	for !enough() {
		var num, from, to int64
		err := t.read(nextBehind, nil, &num, &from, &to)
		if errors.Is(err, sql.ErrNoRows) {
			break
		}
		if err != nil {
			return 0, err
		}
		n, next, err := t.indexFrom(num, from, min(to, from+int64(batchMessages-messages)), batchBytes-size)
		if err != nil {
			return 0, err
		}
		if err := t.exec(`UPDATE session SET indexed = ? WHERE num = ?`, next, num); err != nil {
			return 0, err
		}
		size += n
		messages += int(next - from)
	}
	return messages, nil
}

// freshlyKept marks messages as stale that were indexed before a text was kept for one of their
// parts. Parts have no index by id, so the parts of a session are scanned once for all its kept
// texts.
func (t *transaction) freshlyKept() error {
	nums, err := t.contents(nextKept)
	if err != nil {
		return err
	}
	for _, num := range nums {
		if err := t.exec(`INSERT OR IGNORE INTO stale (session, message)
			SELECT part.session, part.message
			FROM part CROSS JOIN kept ON kept.session = part.session AND kept.part = part.id
			WHERE part.session = ?1 AND part.message < (SELECT indexed FROM session WHERE num = ?1)
				AND kept.fresh`, num); err != nil {
			return err
		}
		if err := t.exec(`UPDATE kept SET fresh = 0 WHERE session = ? AND fresh`, num); err != nil {
			return err
		}
	}
	return nil
}

// indexFrom indexes the messages of a session from one position up to another, until enough bytes
// are done or the turn is over. A damaged message is indexed as empty; reading it reports the
// damage.
func (t *transaction) indexFrom(num, from, to int64, enough int) (size int, next int64, err error) {
	read := partReader{packer: t.packer}
	if read.parts, err = t.stmt(selectParts); err != nil {
		return 0, 0, err
	}
	if read.apart, err = t.stmt(selectApart); err != nil {
		return 0, 0, err
	}
	var keeps bool
	if err := t.read(`SELECT EXISTS (SELECT 1 FROM kept WHERE session = ?)`, []any{num}, &keeps); err != nil {
		return 0, 0, err
	}
	for next = from; next < to && size < enough && (next == from || !t.w.turn.over()); next++ {
		var data []byte
		err := t.read(`SELECT info FROM message WHERE session = ? AND position = ?`, []any{num, next}, &data)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return 0, 0, err
		}
		var h packed.Head
		if err == nil {
			if h, err = exact.Decode[packed.Head](data); err != nil {
				continue
			}
		}
		parts, err := read.some(t.ctx, num, next, 0, math.MaxInt64)
		if errors.Is(err, store.ErrCorrupt) && code(err) == 0 {
			parts, err = nil, nil
		}
		if err != nil {
			return 0, 0, err
		}
		for i := range parts {
			kept := ""
			if keeps && parts[i].Type == session.ToolPart {
				if kept, err = keptText(t.ctx, t.w.conn, t.packer, num, parts[i].ID); err != nil &&
					(code(err) != 0 || t.ctx.Err() != nil) {
					return 0, 0, err // a text that is damaged or of a newer version is skipped
				}
			}
			n, err := t.indexPart(num, next, i, &h.MessageInfo, &parts[i], kept)
			if err != nil {
				return 0, 0, err
			}
			size += n
		}
		size += 100
	}
	return size, next, nil
}

func (t *transaction) indexPart(num, message int64, position int, m *session.MessageInfo, p *session.Part,
	kept string) (size int, err error) {
	var columns [words.Columns][]string
	for _, f := range words.Fields(p, kept) {
		columns[f.Column] = append(columns[f.Column], f.Text)
		size += len(f.Text)
	}
	if size == 0 {
		return 0, nil
	}
	result, err := t.run(`INSERT INTO sought (session, message, part, role, tool, time) VALUES (?, ?, ?, ?, ?, ?)`,
		num, message, position, string(m.Role), p.Tool, packed.Finite(float64(m.Time.Created)))
	if err != nil {
		return 0, err
	}
	doc, err := result.LastInsertId()
	if err != nil {
		return 0, err
	}
	err = t.exec(`INSERT INTO found (rowid, said, asked, answered) VALUES (?, ?, ?, ?)`, doc,
		words.Folded(columns[words.Said]...), words.Folded(columns[words.Asked]...),
		words.Folded(columns[words.Answered]...))
	return size, err
}

// forget removes documents from the index.
func (t *transaction) forget(where string, args ...any) error {
	if err := t.exec(`DELETE FROM found WHERE rowid IN (SELECT doc FROM sought WHERE `+where+`)`, args...); err != nil {
		return err
	}
	return t.exec(`DELETE FROM sought WHERE `+where, args...)
}
