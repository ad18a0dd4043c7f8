// Package bus carries texts between the processes of one gateway, by LISTEN and NOTIFY of the
// PostgreSQL that they share. Nothing is kept: a process that is away misses it.
package bus

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/winnowhq/winnow/gateway/shared"
)

const (
	channel = "winnow_live"
	// waiting is how many texts wait to be told at most; more are lost.
	waiting = 1000
	pause   = 100 * time.Millisecond // in which texts are gathered, to be sent at once
	again   = time.Second            // between two connections
)

// Bus is one process at the bus.
type Bus struct {
	process string
	connect func(context.Context) (*pgx.Conn, error)
	log     *slog.Logger
	texts   chan text
	stop    context.CancelFunc
	ended   chan struct{}
}

type text struct {
	tenant string
	write  func() []byte
}

// Open connects in the background, and again whenever a connection breaks. heard is called with
// the texts of other processes, one after the other.
func Open(
	connect func(context.Context) (*pgx.Conn, error), heard func(tenant string, text []byte), log *slog.Logger,
) *Bus {
	ctx, stop := context.WithCancel(context.Background())
	b := &Bus{process: rand.Text(), connect: connect, log: log, texts: make(chan text, waiting), stop: stop,
		ended: make(chan struct{}, 2)}
	go b.connected(ctx, func(conn *pgx.Conn) error { return b.listen(ctx, conn, heard) })
	go b.connected(ctx, func(conn *pgx.Conn) error { return b.send(ctx, conn) })
	return b
}

// Tell implements shared.Bus. PostgreSQL takes 7,999 bytes, with the names in front of the text.
func (b *Bus) Tell(tenant string, write func() []byte) {
	select {
	case b.texts <- text{tenant, write}:
	default:
	}
}

// Close ends it.
func (b *Bus) Close() {
	b.stop()
	<-b.ended
	<-b.ended
}

// connected uses connections, one after the other, until the bus ends.
func (b *Bus) connected(ctx context.Context, use func(*pgx.Conn) error) {
	defer func() { b.ended <- struct{}{} }()
	for ctx.Err() == nil {
		conn, err := b.connect(ctx)
		if err == nil {
			err = use(conn)
			conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // it broke, or is not needed any more
		}
		if ctx.Err() == nil {
			b.log.Debug("pages show this process alone for now", "error", err)
			sleep(ctx, again)
		}
	}
}

// listen hands on the texts of other processes.
func (b *Bus) listen(ctx context.Context, conn *pgx.Conn, heard func(string, []byte)) error {
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return err
	}
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		process, rest, _ := strings.Cut(n.Payload, "\n")
		if tenant, text, whole := strings.Cut(rest, "\n"); whole && process != b.process {
			heard(tenant, []byte(text))
		}
	}
}

// send sends the texts that wait, whenever there are some.
func (b *Bus) send(ctx context.Context, conn *pgx.Conn) error {
	for {
		var batch pgx.Batch
		select {
		case <-ctx.Done():
			return ctx.Err()
		case t := <-b.texts:
			b.queue(&batch, t)
		}
		sleep(ctx, pause) // what is committed at a time takes one lock of the server
		for len(b.texts) > 0 {
			b.queue(&batch, <-b.texts)
		}
		if err := conn.SendBatch(ctx, &batch).Close(); err != nil {
			return err
		}
	}
}

func (b *Bus) queue(batch *pgx.Batch, t text) {
	if told := t.write(); told != nil && len(told) <= shared.MostTold {
		batch.Queue("SELECT pg_notify($1, $2)", channel, b.process+"\n"+t.tenant+"\n"+string(told))
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
