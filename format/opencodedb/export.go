package opencodedb

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// exporter writes one session down as the product's export.
type exporter struct {
	id      string
	out     bytes.Buffer
	any     bool // a message was written
	named   bool // what is stored has its ids inside, as JSON files have
	damaged []format.Damage
}

// stored is a message or a part as it is stored.
type stored struct {
	id      string
	created any // the time at which a message was created, where a column tells
	data    []byte
}

func (d database) export(ctx context.Context, id string) (*exporter, error) {
	return snapshot(ctx, d, func(tx *sql.Tx) (*exporter, error) {
		e := &exporter{id: id}
		return e, e.rows(ctx, tx)
	})
}

// rows writes what a database has of the session.
func (e *exporter) rows(ctx context.Context, tx *sql.Tx) error {
	t, err := tablesOf(ctx, tx)
	if err != nil {
		return err
	}
	for _, table := range t.sessions() {
		var found record
		for r, err := range records(tx.QueryContext(ctx, `SELECT * FROM `+table+` WHERE id = ?`, e.id)) {
			if err != nil {
				return err
			}
			found = r
		}
		if found == nil {
			continue
		}
		e.begin(infoOf(found, e.damage))
		if table == "session" && t["message"] != nil {
			if any, err := e.first(ctx, tx); any || err != nil {
				return err
			}
		}
		if t["session_message"] != nil {
			return e.second(ctx, tx)
		}
		return nil
	}
	return ErrNotFound
}

// first writes the rows of the first generation, ordered as the product orders them: messages by
// the time at which they were created, their parts by id. It reports whether there are any.
func (e *exporter) first(ctx context.Context, tx *sql.Tx) (any bool, err error) {
	messages, err := e.stored("message")(tx.QueryContext(ctx,
		`SELECT id, time_created, data FROM message WHERE session_id = ? ORDER BY time_created, id`, e.id))
	if err != nil {
		return false, err
	}
	statement, err := tx.PrepareContext(ctx, `SELECT id, data FROM part WHERE message_id = ? ORDER BY id`)
	if err != nil {
		return false, err
	}
	defer statement.Close()
	missing := 0
	const held = `SELECT count(*) FROM part WHERE session_id = ?`
	if err := tx.QueryRowContext(ctx, held, e.id).Scan(&missing); err != nil {
		return false, err
	}
	for i, m := range messages {
		parts, err := e.stored("part")(statement.QueryContext(ctx, m.id))
		if err != nil {
			return false, err
		}
		e.message(m, parts)
		missing -= len(parts)
		messages[i].data = nil // a session may be large
	}
	if missing > 0 {
		reason := fmt.Sprintf("%d rows of the table part belong to messages that are not there", missing)
		e.damage(format.Damage{Reason: reason})
	}
	return len(messages) > 0, nil
}

// stored reads rows of a table: id, data, and the time where there is one.
func (e *exporter) stored(table string) func(*sql.Rows, error) ([]stored, error) {
	return func(rows *sql.Rows, err error) (found []stored, _ error) {
		for r, err := range records(rows, err) {
			if err != nil {
				return nil, err
			}
			one := stored{r.text("id"), r["time_created"], []byte(r.text("data"))}
			if r["id"] == nil {
				e.damage(format.Damage{Bytes: len(one.data), Reason: "a row of the table " + table + " has no id"})
			}
			found = append(found, one)
		}
		return found, nil
	}
}

// message writes one message of the first generation.
func (e *exporter) message(m stored, parts []stored) {
	answered := false
	list := []byte{'['}
	for _, p := range parts {
		inner, bad := e.parse(p.data, "part "+p.id)
		if bad && len(inner) == 0 {
			continue
		}
		switch inner.text("type") {
		case "tool", "step-start", "step-finish", "reasoning", "patch":
			answered = true
		}
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = append(list, e.name(inner, "id", p.id, "sessionID", e.id, "messageID", m.id).value()...)
	}
	var info object
	inner, bad := e.parse(m.data, "message "+m.id)
	if bad && inner.text("role") == "" {
		role := session.User
		if answered { // only the model's messages have such parts
			role = session.Assistant
		}
		info.add("role", span.Quote(string(role)))
	}
	if created, ok := number(m.created); bad && ok {
		info.add("time", timeOf(created))
	}
	info = append(info, inner...)
	var whole object
	whole.add("info", e.name(info, "id", m.id, "sessionID", e.id).value())
	whole.add("parts", append(list, ']'))
	e.next(whole)
}

// timeOf is the member "time" of a message.
func timeOf(created float64) []byte {
	var time object
	time.add("created", numeral(created))
	return time.value()
}

// name adds the ids that a row has in columns of their own. To a file it adds those that it lacks.
func (e *exporter) name(o object, pairs ...string) object {
	named := o
	for i := 0; i < len(pairs); i += 2 {
		if !e.named || !o.has(pairs[i]) {
			named.add(pairs[i], span.Quote(pairs[i+1]))
		}
	}
	return named
}

// second writes the rows of the second generation in their own order. The product exports messages
// only once they are settled; a row that is still being written is exported as it is now.
func (e *exporter) second(ctx context.Context, tx *sql.Tx) error {
	for r, err := range records(tx.QueryContext(ctx,
		`SELECT id, type, time_created, data FROM session_message WHERE session_id = ? ORDER BY seq`, e.id)) {
		if err != nil {
			return err
		}
		data := []byte(r.text("data"))
		if r["id"] == nil || r["type"] == nil {
			reason := "a row of the table session_message has no id or no type"
			e.damage(format.Damage{Bytes: len(data), Reason: reason})
		}
		inner, _ := e.parse(data, "message "+r.text("id"))
		var m object
		m.add("id", span.Quote(r.text("id")))
		m.add("type", span.Quote(r.text("type")))
		if created, ok := number(r["time_created"]); ok && !inner.has("time") {
			m.add("time", timeOf(created))
		}
		e.next(append(m, inner.without("id", "type")...))
	}
	return nil
}

// begin writes the head of the export.
func (e *exporter) begin(info object) {
	e.out.WriteString("{\n  \"info\": ")
	e.out.Write(dress(info, "  "))
	e.out.WriteString(",\n  \"messages\": [")
}

// next writes an element of the list.
func (e *exporter) next(message object) {
	if e.any {
		e.out.WriteByte(',')
	}
	e.any = true
	e.out.WriteString("\n    ")
	e.out.Write(dress(message, "    "))
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

// parse notes what cannot be read.
func (e *exporter) parse(data []byte, what string) (o object, bad bool) {
	o, damage := parse(data, what)
	if damage != nil {
		e.damage(*damage)
	}
	return o, damage != nil
}

// dress indents a value as the product does.
func dress(o object, prefix string) []byte {
	text := jsontext.Value(o.value())
	if text.Indent(jsontext.WithIndentPrefix(prefix), jsontext.WithIndent("  "), session.ReadOptions()) != nil {
		return o.value()
	}
	return text
}
