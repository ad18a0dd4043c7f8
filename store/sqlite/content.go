package sqlite

import (
	"database/sql"
	"errors"

	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/packed"
)

// keep returns the number of a content, and writes it if the store does not have it yet.
func (t *transaction) keep(c *packed.Content) (num int64, err error) {
	err = t.read(`SELECT num FROM content WHERE hash = ?`, []any{c.Hash[:]}, &num)
	if !errors.Is(err, sql.ErrNoRows) {
		return num, err
	}
	if c.Packed == nil { // the store had it when we looked, and has deleted it since
		if c.Codec, c.Packed, err = t.packer.Compress([]byte(c.Text)); err != nil {
			return 0, err
		}
	}
	result, err := t.run(`INSERT INTO content (hash, size, codec, data) VALUES (?, ?, ?, ?)`, c.Hash[:], len(c.Text),
		int(c.Codec), c.Packed)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

// drop deletes those of some contents that are no longer used.
func (t *transaction) drop(nums []int64) error {
	for _, num := range nums {
		sizes, err := column[int64](t.query(`DELETE FROM content WHERE num = ?1
			AND NOT EXISTS (SELECT 1 FROM part WHERE content = ?1)
			AND NOT EXISTS (SELECT 1 FROM apart WHERE content = ?1)
			AND NOT EXISTS (SELECT 1 FROM piece WHERE content = ?1)
			AND NOT EXISTS (SELECT 1 FROM kept WHERE content = ?1) RETURNING length(data)`, num))
		if err != nil {
			return err
		}
		for _, size := range sizes {
			t.dropped = t.dropped.Plus(store.Amount{Texts: 1, Bytes: size})
		}
	}
	return nil
}

// contents returns the numbers of contents that a query names.
func (t *transaction) contents(query string, args ...any) (nums []int64, err error) {
	return column[int64](t.query(query, args...))
}
