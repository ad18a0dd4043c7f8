package sqlite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/packed"
)

// contradictions are queries that count what contradicts itself, with what that is.
var contradictions = [][2]string{
	{"foreign keys", `SELECT count(*) FROM pragma_foreign_key_check`},
	{"messages without session", `SELECT count(*) FROM message WHERE session NOT IN (SELECT num FROM session)`},
	{"messages that are not counted", `SELECT count(*) FROM session
		WHERE messages <> (SELECT count(*) FROM message WHERE session = num)`},
	{"logs with a gap", `SELECT count(*) FROM session
		WHERE messages <> 1 + (SELECT max(position) FROM message WHERE session = num)`},
	{"parts without message", `SELECT count(*) FROM part WHERE NOT EXISTS (
		SELECT 1 FROM message m WHERE m.session = part.session AND m.position = part.message)`},
	{"parts that are not counted", `SELECT count(*) FROM message m WHERE m.parts <> (
		SELECT count(*) FROM part WHERE part.session = m.session AND part.message = m.position)`},
	{"kept texts whose content is gone", `SELECT count(*) FROM kept WHERE content NOT IN (SELECT num FROM content)`},
	{"parts whose content is gone", `SELECT count(*) FROM part
		WHERE content IS NOT NULL AND content NOT IN (SELECT num FROM content)`},
	{"places whose content is gone", `SELECT count(*) FROM apart WHERE content NOT IN (SELECT num FROM content)`},
	{"places without part", `SELECT count(*) FROM apart a WHERE NOT EXISTS (
		SELECT 1 FROM part p WHERE p.session = a.session AND p.message = a.message AND p.position = a.part)`},
	{"places that are not counted", `SELECT count(*) FROM part p WHERE p.apart <> (
		SELECT count(*) FROM apart a WHERE p.session = a.session AND p.message = a.message AND p.position = a.part)`},
	{"pieces whose content is gone", `SELECT count(*) FROM piece WHERE content NOT IN (SELECT num FROM content)`},
	{"pieces that are not counted", `SELECT count(*) FROM source
		WHERE pieces <> (SELECT count(*) FROM piece WHERE piece.session = source.session)`},
	{"pieces without source", `SELECT count(*) FROM piece WHERE session NOT IN (SELECT session FROM source)`},
	{"documents without part", `SELECT count(*) FROM sought s
		WHERE NOT EXISTS (SELECT 1 FROM stale x WHERE x.session = s.session AND x.message = s.message)
			AND NOT EXISTS (
				SELECT 1 FROM part p WHERE p.session = s.session AND p.message = s.message AND p.position = s.part)`},
	{"documents beyond the watermark", `SELECT count(*) FROM sought s
		WHERE message >= (SELECT indexed FROM session WHERE num = s.session)`},
	{"documents that are not in both", `SELECT count(*) FROM (SELECT doc FROM sought EXCEPT SELECT rowid FROM found)
		UNION ALL SELECT count(*) FROM (SELECT rowid FROM found EXCEPT SELECT doc FROM sought) ORDER BY 1 DESC`},
	{"watermarks beyond the log", `SELECT count(*) FROM session WHERE indexed > messages`},
	{"decisions and files without session", `SELECT count(*) FROM (
			SELECT session FROM elision UNION SELECT session FROM pin UNION SELECT session FROM undone
			UNION SELECT session FROM dismissed UNION SELECT session FROM receipt UNION SELECT session FROM spend
			UNION SELECT session FROM source UNION SELECT session FROM kept)
		WHERE session NOT IN (SELECT num FROM session)`},
}

// checkPage is how many contents are looked at in one transaction.
const checkPage = 32

// Check looks through the whole file for damage, without comparing indexes of single columns with
// their tables; whether tables agree with each other, and the index of words with the log; and
// whether texts are what their hashes say. It reads all of it: the context may end it.
func (s *Store) Check(ctx context.Context) (store.Health, error) {
	var h store.Health
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(s.path + suffix); err == nil {
			h.Bytes += info.Size()
		}
	}
	if err := s.reader.db.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&h.Schema); err != nil {
		return h, explain(ctx, "check", s.path, "", err)
	}
	rows, err := s.reader.db.QueryContext(ctx, `PRAGMA quick_check(`+strconv.Itoa(store.MostProblems)+`)`)
	if err != nil {
		return h, explain(ctx, "check", s.path, "", err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return h, explain(ctx, "check", s.path, "", err)
		}
		if text != "ok" {
			h.Problems = append(h.Problems, text)
		}
	}
	if err := rows.Err(); err != nil {
		return h, explain(ctx, "check", s.path, "", err)
	}
	rows.Close()
	if len(h.Problems) > 0 {
		return h, nil // what is read from a damaged file says nothing
	}
	if err := s.checkTables(ctx, &h); err != nil {
		return h, explain(ctx, "check", s.path, "", err)
	}
	if err := s.checkContents(ctx, &h); err != nil {
		return h, explain(ctx, "check", s.path, "", err)
	}
	h.Problems = h.Problems[:min(len(h.Problems), store.MostProblems)]
	return h, nil
}

func (s *Store) checkTables(ctx context.Context, h *store.Health) error {
	for _, c := range contradictions {
		var n int
		if err := s.reader.db.QueryRowContext(ctx, c[1]).Scan(&n); err != nil {
			return err
		}
		if n > 0 {
			h.Problems = append(h.Problems, fmt.Sprintf("%s: %d", c[0], n))
		}
	}
	return nil
}

func (s *Store) checkContents(ctx context.Context, h *store.Health) error {
	for last := int64(-1); len(h.Problems) < store.MostProblems; {
		rows, err := s.reader.db.QueryContext(ctx,
			`SELECT num, hash, size, codec, data FROM content WHERE num > ? ORDER BY num LIMIT ?`, last, checkPage)
		if err != nil {
			return err
		}
		n := 0
		for ; rows.Next(); n++ {
			var size int
			var how packed.Codec
			var hash, data []byte
			if err := rows.Scan(&last, &hash, &size, &how, &data); err != nil {
				return errors.Join(err, rows.Close())
			}
			text, err := s.packer.Decompress(how, data, size)
			if sum := sha256.Sum256(text); err == nil && !bytes.Equal(sum[:], hash) {
				err = errors.New("it is not what its hash says")
			}
			if err != nil {
				h.Problems = append(h.Problems, fmt.Sprintf("text %d is damaged: %v", last, err))
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil || n == 0 {
			return err
		}
	}
	return nil
}
