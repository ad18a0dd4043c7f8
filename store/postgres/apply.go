package postgres

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/internal/exact"
	"github.com/winnowhq/winnow/store/internal/packed"
)

// Create adds an empty session.
func (s *Store) Create(ctx context.Context, info session.Info) (err error) {
	defer s.explain(ctx, "create", info.ID, &err)
	if err := s.ready(ctx); err != nil {
		return err
	}
	if info.ID == "" {
		return errors.New("a session needs an id")
	}
	data, err := exact.Encode(info)
	if err != nil {
		return err
	}
	// The token tells a session that this call made, and whose answer was lost, from another one.
	token, made := newToken(), false
	err = s.one(ctx, `
		WITH made AS (
			INSERT INTO session (tenant, id, info, updated, revision, messages, token) VALUES ($1, $2, $3, $4, 1, 0, $5)
			ON CONFLICT DO NOTHING RETURNING true
		) SELECT EXISTS (SELECT FROM made) OR EXISTS (SELECT FROM session WHERE tenant = $1 AND id = $2 AND token = $5)`,
		[]any{s.tenant, key(info.ID), bytesOf(data), updated(info), token}, &made)
	if err == nil && !made {
		err = store.ErrExists
	}
	return err
}

// updated returns the time to sort by.
func updated(info session.Info) float64 { return finite(float64(info.Time.Updated)) }

// newToken is the name of a change that no other one has.
func newToken() []byte {
	token := make([]byte, 16)
	rand.Read(token)
	return token
}

// Delete deletes a session, everything that belongs to it, and the contents that no other session
// uses.
func (s *Store) Delete(ctx context.Context, id string) (err error) {
	defer s.explain(ctx, "delete", id, &err)
	tried := false
	err = s.with(ctx, func(c *pgxpool.Conn) error {
		_, err := c.Exec(ctx, `SELECT winnow_delete($1, $2)`, s.tenant, key(id))
		if tried && code(err) == codeNotFound {
			return nil // it was deleted, and the answer was lost
		}
		tried = err != nil
		return err
	})
	if err != nil {
		return err
	}
	return s.sweep(ctx)
}

// sweep deletes contents that are in use no longer.
func (s *Store) sweep(ctx context.Context) error {
	var gone int64
	return s.one(ctx, `SELECT winnow_sweep($1)`, []any{s.tenant}, &gone)
}

// Apply writes a change with one call, in one round trip; two if it has more than a megabyte of
// large texts, of which it asks first which are there already, or if it sets a session aside.
func (s *Store) Apply(ctx context.Context, id string, c store.Change) (revision int64, err error) {
	defer s.explain(ctx, "apply", id, &err)
	if err := s.ready(ctx); err != nil {
		return 0, err
	}
	if err := c.Check(id); err != nil {
		if c.Create != nil {
			return 0, err
		}
		if _, missing := s.revision(ctx, id); missing != nil {
			return 0, missing // that says more
		}
		return 0, err
	}
	r, err := encode(c)
	if err != nil {
		return 0, err
	}
	more, err := s.beside(ctx, id, c)
	if err != nil {
		return 0, err
	}
	token, ask := newToken(), true
	for range 5 { // of sessions that are set aside, and contents that go, at the same moment
		aside, err := s.setAside(ctx, c)
		if err != nil {
			return 0, err
		}
		contents, err := s.pack(ctx, r.contents(), ask)
		if err != nil {
			return 0, err
		}
		revision, err = s.call(ctx, id, token, c, r, aside, contents, more)
		var told *pgconn.PgError
		if !errors.As(err, &told) {
			return revision, err
		}
		switch {
		case told.Code == codeGone:
			ask = false
			continue
		case told.Code == codeExists && told.Message == "session" && c.Aside != "":
			continue
		case told.Code == codeConflict:
			return 0, fmt.Errorf("%w: it is at revision %s, the change was decided on %d", store.ErrConflict, told.Message, c.Base)
		case told.Code == codeNoMessage:
			at := 0
			fmt.Sscan(told.Message, &at)
			return 0, fmt.Errorf("update %q: %w", r.updatedIDs[max(0, at-1)], store.ErrNoMessage)
		case told.Code == codeNoOther:
			return 0, fmt.Errorf("what session %s keeps: %w", c.Keep, store.ErrNotFound)
		}
		return 0, err
	}
	return 0, fmt.Errorf("%w: others change the same again and again", store.ErrLocked)
}

// aside is the session that makes place for a new one.
type aside struct {
	id, info []byte
	revision int64
}

// setAside encodes the info that a session gets that makes place for a new one.
func (s *Store) setAside(ctx context.Context, c store.Change) (a aside, err error) {
	if c.Create == nil || c.Aside == "" {
		return a, nil
	}
	var data []byte
	err = s.one(ctx, `SELECT info, revision FROM session WHERE tenant = $1 AND id = $2`,
		[]any{s.tenant, key(c.Create.ID)}, &data, &a.revision)
	if errors.Is(err, pgx.ErrNoRows) {
		return a, nil // nothing is to be set aside
	}
	if err != nil {
		return a, err
	}
	info, err := exact.Decode[session.Info](data)
	if err != nil {
		return a, fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	}
	info.ID = c.Aside
	encoded, err := exact.Encode(info)
	if err != nil {
		return a, err
	}
	a.id, a.info = key(c.Aside), bytesOf(encoded)
	return a, nil
}

// apply calls winnow_apply, whose parameters are in the order of the arguments of call.
var apply = "SELECT winnow_apply(" + placeholders(59) + ")"

func placeholders(n int) string {
	var b bytes.Buffer
	for i := 1; i <= n; i++ {
		if i > 1 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "$%d", i)
	}
	return b.String()
}

func (s *Store) call(ctx context.Context, id string, token []byte, c store.Change, r *encoded, a aside, p contents,
	more []statement) (revision int64, err error) {
	var keep []byte
	if c.Create != nil && c.Keep != "" {
		keep = key(c.Keep)
	}
	args := []any{
		s.tenant, key(id), c.Base, token,
		r.created, r.createdAt, a.id, a.info, a.revision, keep,
		r.info, r.infoAt,
		p.hashes, p.sizes, p.codecs, p.data, p.held,
	}
	args = append(args, r.appended.args()...)
	args = append(args, r.updated.args()...)
	args = append(args, r.restoreParts, r.restoreFields, r.commitParts, r.commitFields, r.commits,
		r.undo, r.undoWhole, r.redo, r.dismiss, r.dismissWhole, r.undismiss,
		r.unpin, r.pinIDs, r.pins, r.receipts, r.spend, r.relayed,
		c.Source != nil, r.format, r.path, r.size, r.pieces)
	// In one round trip too, and one transaction.
	send := func(to sender) error {
		if c.File == nil && len(more) == 0 {
			return to.QueryRow(ctx, apply, args...).Scan(&revision)
		}
		var b pgx.Batch
		b.Queue(apply, args...).QueryRow(func(row pgx.Row) error { return row.Scan(&revision) })
		for _, m := range more {
			b.Queue(m.sql, m.args...)
		}
		if c.File != nil {
			s.queueFile(&b, *c.File)
		}
		return to.SendBatch(ctx, &b).Close()
	}
	wanted := s.db.wanted.Load()
	err = s.with(ctx, func(conn *pgxpool.Conn) error {
		if wanted == nil || c.Prepared == nil || !c.Prepared.Wanted() {
			return send(conn)
		}
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if err := send(tx); err != nil {
				return err
			}
			return (*wanted)(ctx, tx, s.tenant, id, *c.Prepared)
		})
	})
	return revision, err
}

// encoded is a change as the database takes it: in columns. A list that is not nil is an array, and
// all of them are.
type encoded struct {
	created, info               []byte
	createdAt, infoAt           *float64
	appended, updated           columns
	updatedIDs                  []string
	restoreParts, restoreFields [][]byte
	commitParts, commitFields   [][]byte
	commits                     [][]byte
	undo, undoWhole, redo       [][]byte
	dismiss, dismissWhole       [][]byte
	undismiss                   [][]byte
	unpin, pinIDs, pins         [][]byte
	receipts, spend             [][]byte
	relayed                     []*float64
	format, path                []byte
	size                        int64
	pieces                      [][]byte
	messages                    [][]packed.Message
	source                      []packed.Content
}

// contents returns all contents of a change.
func (r *encoded) contents() (all []*packed.Content) {
	for _, messages := range r.messages {
		for i := range messages {
			for j := range messages[i].Parts {
				apart := messages[i].Parts[j].Apart
				for k := range apart {
					all = append(all, &apart[k].Content)
				}
			}
		}
	}
	for i := range r.source {
		all = append(all, &r.source[i])
	}
	return all
}

// columns are messages in columns.
type columns struct {
	ids, infos    [][]byte
	apart         []int32
	partMessages  []int64 // ordinals of messages
	parts, names  [][]byte
	fieldMessages []int64
	fieldParts    []int32 // positions of parts
	fields        []string
	hashes        [][]byte
}

func newColumns(messages []packed.Message) columns {
	c := columns{ids: [][]byte{}, infos: [][]byte{}, apart: []int32{}, partMessages: []int64{}, parts: [][]byte{},
		names: [][]byte{}, fieldMessages: []int64{}, fieldParts: []int32{}, fields: []string{}, hashes: [][]byte{}}
	for i := range messages {
		m := &messages[i]
		c.ids, c.infos = append(c.ids, key(m.ID)), append(c.infos, bytesOf(m.Info))
		apart := 0
		for j := range m.Parts {
			p := &m.Parts[j]
			c.partMessages = append(c.partMessages, int64(i))
			c.parts, c.names = append(c.parts, bytesOf(p.Data)), append(c.names, key(p.ID))
			for k := range p.Apart {
				apart++
				c.fieldMessages, c.fieldParts = append(c.fieldMessages, int64(i)), append(c.fieldParts, int32(j))
				c.fields, c.hashes = append(c.fields, p.Apart[k].Field), append(c.hashes, p.Apart[k].Hash[:])
			}
		}
		c.apart = append(c.apart, int32(apart))
	}
	return c
}

func (c *columns) args() []any {
	return []any{c.ids, c.infos, c.apart, c.partMessages, c.parts, c.names,
		c.fieldMessages, c.fieldParts, c.fields, c.hashes}
}

func encode(c store.Change) (r *encoded, err error) {
	r = &encoded{pieces: [][]byte{}, relayed: []*float64{}}
	value := func(v any, e error) []byte {
		if e != nil {
			err = errors.Join(err, e)
			return []byte{}
		}
		return bytesOf(v)
	}
	keys := func(ids []string) [][]byte {
		keys := [][]byte{}
		for _, id := range ids {
			keys = append(keys, key(id))
		}
		return keys
	}
	whole := func(texts []string) [][]byte {
		all := [][]byte{}
		for _, text := range texts {
			all = append(all, []byte(text))
		}
		return all
	}
	if c.Create != nil {
		at := updated(*c.Create)
		r.created, r.createdAt = value(exact.Encode(*c.Create)), &at
	}
	if c.Info != nil {
		at := updated(*c.Info)
		r.info, r.infoAt = value(exact.Encode(*c.Info)), &at
	}
	latest := latest(c.Update)
	for i := range latest {
		r.updatedIDs = append(r.updatedIDs, latest[i].ID)
	}
	for _, messages := range [][]session.Message{c.Append, latest} {
		packed, e := packed.Messages(messages)
		err = errors.Join(err, e)
		r.messages = append(r.messages, packed)
	}
	if err != nil {
		return nil, err
	}
	r.appended, r.updated = newColumns(r.messages[0]), newColumns(r.messages[1])

	r.restoreParts, r.restoreFields = [][]byte{}, [][]byte{}
	for _, k := range c.Restore {
		r.restoreParts, r.restoreFields = append(r.restoreParts, key(k.Part)), append(r.restoreFields, key(string(k.Field)))
	}
	r.commitParts, r.commitFields, r.commits = [][]byte{}, [][]byte{}, [][]byte{}
	for _, e := range c.Commit {
		r.commitParts, r.commitFields = append(r.commitParts, key(e.Part)), append(r.commitFields, key(string(e.Field)))
		r.commits = append(r.commits, value(exact.Encode(e)))
	}
	r.undo, r.undoWhole, r.redo = keys(c.Undo), whole(c.Undo), keys(c.Redo)
	r.dismiss, r.dismissWhole, r.undismiss = keys(c.Dismiss), whole(c.Dismiss), keys(c.Undismiss)
	r.unpin, r.pinIDs, r.pins = keys(c.Unpin), [][]byte{}, [][]byte{}
	for _, p := range c.Pin {
		r.pinIDs, r.pins = append(r.pinIDs, key(p.ID)), append(r.pins, value(exact.Encode(p)))
	}
	r.receipts = [][]byte{}
	for _, receipt := range c.Receipts {
		r.receipts = append(r.receipts, value(exact.Encode(receipt)))
	}
	if c.Receipt != nil {
		r.receipts = append(r.receipts, value(exact.Encode(*c.Receipt)))
	}
	r.spend = [][]byte{}
	for _, p := range c.Spend {
		r.spend = append(r.spend, value(exact.Encode(p)))
		var at *float64
		if p.Live != nil {
			t := finite(float64(p.Time))
			at = &t
		}
		r.relayed = append(r.relayed, at)
	}
	if c.Source != nil {
		r.setSource(*c.Source)
	}
	return r, err
}

func (r *encoded) setSource(source store.Source) {
	r.format, r.path, r.size = []byte(source.Format), []byte(source.Path), int64(len(source.Data))
	r.source, r.pieces = packed.Pieces(source.Data), [][]byte{}
	for i := range r.source {
		r.pieces = append(r.pieces, r.source[i].Hash[:])
	}
}

// latest returns updates, of several with one id the last.
func latest(updates []session.Message) []session.Message {
	at := map[string]int{}
	var kept []session.Message
	for _, m := range updates {
		if i, twice := at[m.ID]; twice {
			kept[i] = m
			continue
		}
		at[m.ID] = len(kept)
		kept = append(kept, m)
	}
	return kept
}

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
		hashes := make([][]byte, len(once))
		for i := range once {
			hashes[i] = once[i].Hash[:]
		}
		c.held, err = rows(ctx, s, pgx.RowTo[[]byte], `SELECT hash FROM content WHERE tenant = $1 AND hash = ANY ($2)`,
			s.tenant, hashes)
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
