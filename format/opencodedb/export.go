package opencodedb

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/session"
)

// exporter writes one session down as the product's export.
type exporter struct {
	id      string
	out     bytes.Buffer
	any     bool // a message was written
	named   bool // what is stored has its ids inside, as JSON files have
	damaged []format.Damage
}

// rows writes what a database has of the session.
func (e *exporter) rows(ctx context.Context, tx *sql.Tx) error {
	t, err := tablesOf(ctx, tx)
	if err != nil {
		return err
	}
	second := false
	var row record
	for _, table := range t.sessions() {
		found, err := records(ctx, tx, `SELECT * FROM `+table+` WHERE id = ?`, e.id)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			row, second = found[0], table == "session_v2"
			break
		}
	}
	if row == nil {
		return ErrNotFound
	}
	if !second && t.message2 {
		n := []int{0}
		if t.message {
			if n, err = list[int](ctx, tx, `SELECT count(*) FROM (SELECT 1 FROM message WHERE session_id = ? LIMIT 1)`, e.id); err != nil {
				return err
			}
		}
		if n[0] == 0 {
			if n, err = list[int](ctx, tx, `SELECT count(*) FROM (SELECT 1 FROM session_message WHERE session_id = ? LIMIT 1)`, e.id); err != nil {
				return err
			}
			second = n[0] > 0
		}
	}
	e.begin(infoOf(row, e.damage))
	if second {
		return e.settled(ctx, tx)
	}
	return e.messages(ctx, tx)
}

// messages writes the rows of the first generation: messages by the time at which they were created, their parts by id, as the product
// orders them.
func (e *exporter) messages(ctx context.Context, tx *sql.Tx) error {
	type message struct {
		id      string
		created any
		data    []byte
	}
	rows, err := tx.QueryContext(ctx, `SELECT id, time_created, data FROM message WHERE session_id = ? ORDER BY time_created, id`, e.id)
	if err != nil {
		return err
	}
	defer rows.Close()
	var messages []message
	for rows.Next() {
		var m message
		var id sql.NullString
		if err := rows.Scan(&id, &m.created, &m.data); err != nil {
			return err
		}
		if m.id = id.String; !id.Valid {
			e.damage(format.Damage{Bytes: len(m.data), Reason: "a row of the table message has no id"})
		}
		messages = append(messages, m)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	statement, err := tx.PrepareContext(ctx, `SELECT id, data FROM part WHERE message_id = ? ORDER BY id`)
	if err != nil {
		return err
	}
	defer statement.Close()
	total := 0
	for i := range messages {
		m := &messages[i]
		parts, err := e.parts(ctx, statement, m.id)
		if err != nil {
			return err
		}
		total += len(parts)
		e.message(m.id, m.data, record{"time_created": m.created}, parts)
		m.data = nil // a session may be large
	}
	held, err := list[int](ctx, tx, `SELECT count(*) FROM part WHERE session_id = ?`, e.id)
	if err != nil {
		return err
	}
	if missing := held[0] - total; missing > 0 {
		e.damage(format.Damage{Reason: fmt.Sprintf("%d rows of the table part belong to messages that are not there", missing)})
	}
	return nil
}

// piece is one part as it is stored.
type piece struct {
	id   string
	data []byte
}

func (e *exporter) parts(ctx context.Context, statement *sql.Stmt, message string) ([]piece, error) {
	rows, err := statement.QueryContext(ctx, message)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var parts []piece
	for rows.Next() {
		var p piece
		var id sql.NullString
		if err := rows.Scan(&id, &p.data); err != nil {
			return nil, err
		}
		if p.id = id.String; !id.Valid {
			e.damage(format.Damage{Bytes: len(p.data), Reason: "a row of the table part has no id"})
		}
		parts = append(parts, p)
	}
	return parts, rows.Err()
}

// message writes one message of the first generation.
func (e *exporter) message(id string, data []byte, row record, parts []piece) {
	var info object
	list := make([][]byte, 0, len(parts))
	answered := false
	for _, p := range parts {
		inner, bad := members(p.data, "part "+p.id)
		if bad != nil {
			e.damage(*bad)
			if len(inner) == 0 {
				continue
			}
		}
		switch kind(inner, "type") {
		case "tool", "step-start", "step-finish", "reasoning", "patch":
			answered = true
		}
		var part object
		part.splice(inner)
		e.name(&part, inner, "id", p.id, "sessionID", e.id, "messageID", id)
		list = append(list, part.value())
	}
	inner, bad := members(data, "message "+id)
	if bad != nil {
		e.damage(*bad)
		if kind(inner, "role") == "" {
			role := session.User
			if answered { // such parts are the model's
				role = session.Assistant
			}
			info.add("role", quoted(string(role)))
		}
		if created, ok := row.number("time_created"); ok {
			var time object
			time.add("created", numeral(created))
			info.add("time", time.value())
		}
	}
	info.splice(inner)
	e.name(&info, inner, "id", id, "sessionID", e.id)
	e.next()
	e.out.WriteString("{\n      \"info\": ")
	e.out.Write(dress(info.value(), "      "))
	e.out.WriteString(",\n      \"parts\": [")
	for i, part := range list {
		if i > 0 {
			e.out.WriteByte(',')
		}
		e.out.WriteString("\n        ")
		e.out.Write(dress(part, "        "))
	}
	if len(list) > 0 {
		e.out.WriteString("\n      ")
	}
	e.out.WriteString("]\n    }")
}

// name adds the ids that a row has in columns of their own. Of a file it adds those that it lacks.
func (e *exporter) name(o *object, inner []byte, pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		if !e.named || !hasMember(inner, pairs[i]) {
			o.add(pairs[i], quoted(pairs[i+1]))
		}
	}
}

// settled writes the rows of the second generation in their own order. The product exports messages only once they are settled; a
// row that is still being written is as it is now.
func (e *exporter) settled(ctx context.Context, tx *sql.Tx) error {
	rows, err := tx.QueryContext(ctx, `SELECT id, type, time_created, data FROM session_message WHERE session_id = ? ORDER BY seq`, e.id)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var named, typed sql.NullString
		var created sql.NullFloat64
		var data []byte
		if err := rows.Scan(&named, &typed, &created, &data); err != nil {
			return err
		}
		id, of := named.String, typed.String
		if !named.Valid || !typed.Valid {
			e.damage(format.Damage{Bytes: len(data), Reason: "a row of the table session_message has no id or no type"})
		}
		inner, bad := members(data, "message "+id)
		if bad != nil {
			e.damage(*bad)
		}
		var m object
		m.add("id", quoted(id))
		m.add("type", quoted(of))
		if !hasMember(inner, "time") && created.Valid {
			var time object
			time.add("created", numeral(created.Float64))
			m.add("time", time.value())
		}
		m.splice(without(inner, "id", "type"))
		e.next()
		e.out.Write(dress(m.value(), "    "))
	}
	return rows.Err()
}

// begin writes the head of the export.
func (e *exporter) begin(info []byte) {
	e.out.WriteString("{\n  \"info\": ")
	e.out.Write(dress(info, "  "))
	e.out.WriteString(",\n  \"messages\": [")
}

// next begins an element of the list.
func (e *exporter) next() {
	if e.any {
		e.out.WriteByte(',')
	}
	e.any = true
	e.out.WriteString("\n    ")
}

// text is the whole export.
func (e *exporter) text() []byte {
	if e.any {
		e.out.WriteString("\n  ")
	}
	e.out.WriteString("]\n}\n")
	return e.out.Bytes()
}

func (e *exporter) damage(d format.Damage) { e.damaged = append(e.damaged, d) }

// dress indents a value as the product does.
func dress(value []byte, prefix string) []byte {
	text := jsontext.Value(value)
	if text.Indent(jsontext.WithIndentPrefix(prefix), jsontext.WithIndent("  "), session.ReadOptions()) != nil {
		return value
	}
	return text
}

// hasMember reports whether members have one of this name.
func hasMember(inner []byte, name string) bool {
	return len(without(inner, name)) != len(inner)
}

// without returns members without those of these names.
func without(inner []byte, names ...string) []byte {
	found := false
	for _, name := range names {
		found = found || bytes.Contains(inner, quoted(name))
	}
	if !found {
		return inner
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(append(append([]byte{'{'}, inner...), '}')), session.ReadOptions())
	if _, err := dec.ReadToken(); err != nil {
		return inner
	}
	var rest object
	dropped := false
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return inner
		}
		text := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return inner
		}
		drop := false
		for _, n := range names {
			drop = drop || n == text
		}
		if drop {
			dropped = true
		} else {
			rest.add(text, value)
		}
	}
	if !dropped {
		return inner
	}
	return rest.text
}
