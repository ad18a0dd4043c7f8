package session

import (
	"encoding/binary"
	"io"
	"strconv"
	"sync"
	"time"
)

// Prefixes of ids.
const (
	SessionID = "ses"
	MessageID = "msg"
	PartID    = "prt"
)

// IDs makes ids: a prefix, twelve hex digits that ascend with time (48 bits of milliseconds times
// 4096 plus a counter), and fourteen random characters. They are names, never an order: the digits
// wrap about every two years and two months. Safe for concurrent use.
type IDs struct {
	// Random gives the random characters. It must be set.
	Random io.Reader

	mu      sync.Mutex
	millis  int64
	counter int64
}

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// New returns the next id with this prefix ("msg_…"). Two ids of one source never agree.
func (g *IDs) New(prefix string, now time.Time) string {
	g.mu.Lock()
	if millis := now.UnixMilli(); millis > g.millis {
		g.millis, g.counter = millis, 0
	}
	g.counter++
	stamp := uint64(g.millis)*4096 + uint64(g.counter)
	var random [14]byte
	_, err := io.ReadFull(g.Random, random[:])
	g.mu.Unlock()
	if err != nil {
		// Without randomness the counter still keeps the ids of this source apart.
		binary.BigEndian.PutUint64(random[:], stamp)
	}
	return FormatID(prefix, stamp, random)
}

// FormatID writes an id from its stamp and fourteen bytes.
func FormatID(prefix string, stamp uint64, random [14]byte) string {
	hex := strconv.FormatUint(stamp&(1<<48-1), 16)
	id := make([]byte, 0, len(prefix)+1+12+14)
	id = append(id, prefix...)
	id = append(id, '_')
	for range 12 - len(hex) {
		id = append(id, '0')
	}
	id = append(id, hex...)
	for _, b := range random {
		id = append(id, base62[int(b)%len(base62)])
	}
	return string(id)
}
