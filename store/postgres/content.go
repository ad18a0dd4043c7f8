package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/winnowhq/winnow/store/internal/packed"
)

// contents are large texts in columns, each once.
type contents struct {
	hashes [][]byte
	sizes  []int64
	codecs []int16
	data   [][]byte
	held   [][]byte // hashes of those that are there already
}

// asked is from how many bytes of contents on it is asked which are there already, which costs a
// round trip: compressing and sending that much takes about as long.
const asked = 1 << 20

// pack compresses contents. If ask is set and there is much of them, those that the database has
// are only named.
func (s *Store) pack(ctx context.Context, all []*packed.Content, ask bool) (c contents, err error) {
	c = contents{[][]byte{}, []int64{}, []int16{}, [][]byte{}, [][]byte{}}
	seen := map[[32]byte]bool{}
	size := 0
	var once []*packed.Content
	for _, one := range all {
		if !seen[one.Hash] {
			seen[one.Hash] = true
			once = append(once, one)
			size += len(one.Text)
		}
	}
	if ask && size > asked {
		c.held, err = rows(ctx, s, pgx.RowTo[[]byte], `SELECT hash FROM content WHERE tenant = $1 AND hash = ANY ($2)`,
			s.tenant, hashesOf(once))
		if err != nil {
			return c, err
		}
		if c.held == nil {
			c.held = [][]byte{}
		}
		there := map[[32]byte]bool{}
		for _, hash := range c.held {
			there[[32]byte(hash)] = true
		}
		once = slices.DeleteFunc(once, func(one *packed.Content) bool { return there[one.Hash] })
	}
	err = packed.Spread(len(once), func(i int) (err error) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if one := once[i]; one.Packed == nil {
			one.Codec, one.Packed, err = s.db.packer.Compress([]byte(one.Text))
		}
		return err
	})
	for _, one := range once {
		c.hashes, c.sizes = append(c.hashes, one.Hash[:]), append(c.sizes, int64(len(one.Text)))
		c.codecs, c.data = append(c.codecs, int16(one.Codec)), append(c.data, nonNil(one.Packed))
	}
	return c, err
}

// nonNil is data that is not NULL.
func nonNil(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}

func hashesOf(all []*packed.Content) [][]byte {
	hashes := make([][]byte, len(all))
	for i := range all {
		hashes[i] = all[i].Hash[:]
	}
	return hashes
}
