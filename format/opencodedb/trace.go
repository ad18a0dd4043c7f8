package opencodedb

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"

	"github.com/winnowhq/winnow/session"
)

// Trace is what writing to a session leaves behind, and what can be seen without reading it. The session's own time of update is not enough: the
// product sets it when a turn begins, and goes on writing parts.
type Trace struct {
	Bytes int64 // of JSON, and in a database of what the session's own row holds as text
	// Written is the latest time of update of any of its rows, or of its files by the file system's clock. 0 is unknown: then an unchanged trace
	// tells nothing.
	Written session.Millis
}

// Traces returns the trace of each session, by id. In a database it looks at every row, though not at long contents.
//
// A session whose trace is the same as at an earlier reading was not written to since, unless that was within the clock's tick after Written: the trace has
// to be taken before the session is read, and counts only if it was old by then.
func (s *Store) Traces(ctx context.Context) (map[string]Trace, error) {
	var traces map[string]Trace
	var err error
	if s.files {
		traces, err = s.folders.traces(ctx)
	} else {
		err = s.snapshot(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
			traces, err = traceRows(ctx, tx)
			return err
		})
	}
	if err != nil {
		return nil, s.explain(err)
	}
	return traces, nil
}

func traceRows(ctx context.Context, tx *sql.Tx) (map[string]Trace, error) {
	t, err := tablesOf(ctx, tx)
	if err != nil {
		return nil, err
	}
	traces := map[string]Trace{}
	timeless := map[string]bool{} // sessions with rows that bear no time
	add := func(table, id, size string) error {
		has, err := columns(ctx, tx, table)
		if err != nil {
			return err
		}
		written := "NULL"
		if has["time_updated"] {
			written = "max(time_updated)"
		}
		rows, err := tx.QueryContext(ctx, `SELECT `+id+`, sum(`+size+`), `+written+` FROM `+table+` GROUP BY +`+id) // in the order of the table: an index would jump
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id sql.NullString
			var bytes, written sql.NullFloat64
			if err := rows.Scan(&id, &bytes, &written); err != nil {
				return err
			}
			one := traces[id.String]
			one.Bytes += int64(bytes.Float64)
			one.Written = max(one.Written, session.Millis(written.Float64))
			traces[id.String] = one
			if !written.Valid {
				timeless[id.String] = true
			}
		}
		return rows.Err()
	}
	for _, table := range t.sessions() {
		has, err := columns(ctx, tx, table)
		if err != nil {
			return nil, err
		}
		size := []string{"0"}
		for _, name := range []string{"title", "directory", "parent_id", "revert", "metadata", "permission", "model", "agent"} {
			if has[name] {
				size = append(size, `coalesce(octet_length(`+name+`), 0)`)
			}
		}
		if err := add(table, "id", strings.Join(size, " + ")); err != nil {
			return nil, err
		}
	}
	var tables []string
	if t.message {
		tables = append(tables, "message", "part")
	}
	if t.message2 {
		tables = append(tables, "session_message")
	}
	for _, table := range tables {
		if err := add(table, "session_id", "octet_length(data)"); err != nil {
			return nil, err
		}
	}
	for id := range timeless {
		traces[id] = Trace{Bytes: traces[id].Bytes}
	}
	return traces, nil
}

func (l layout) traces(ctx context.Context) (map[string]Trace, error) {
	names, err := l.sessions()
	if err != nil {
		return nil, err
	}
	traces := map[string]Trace{}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		info, err := os.Stat(name)
		if err != nil {
			continue // it was removed meanwhile
		}
		id := strings.TrimSuffix(info.Name(), ".json")
		one := Trace{Bytes: info.Size(), Written: session.Millis(info.ModTime().UnixMilli())}
		take := func(files []file) {
			for _, f := range files {
				one.Bytes += f.size
				one.Written = max(one.Written, f.modified)
			}
		}
		messages, err := filesIn(l.messages(id))
		take(messages)
		for _, m := range messages {
			parts, partsErr := filesIn(l.parts(id, m.id))
			err = errors.Join(err, partsErr)
			take(parts)
		}
		if err == nil { // of another one reading says what is wrong
			traces[id] = one
		}
	}
	return traces, nil
}
