package opencodedb

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/winnowhq/winnow/session"
)

// tables says which of the product's tables a database has.
type tables struct {
	session, message, part bool // of the first generation
	session2, message2     bool // of the second
	project                bool
}

func tablesOf(ctx context.Context, tx *sql.Tx) (t tables, err error) {
	names, err := list[string](ctx, tx, `SELECT name FROM sqlite_schema WHERE type = 'table'`)
	if err != nil {
		return t, err
	}
	for _, name := range names {
		switch name {
		case "session":
			t.session = true
		case "message":
			t.message = true
		case "part":
			t.part = true
		case "session_v2":
			t.session2 = true
		case "session_message":
			t.message2 = true
		case "project":
			t.project = true
		}
	}
	// Another program may have tables of such names, and so may a version that is not known.
	var lacking []string
	for _, need := range []struct {
		table   *bool
		name    string
		columns []string
	}{
		{&t.session, "session", []string{"id"}}, {&t.session2, "session_v2", []string{"id"}},
		{&t.message, "message", []string{"id", "session_id", "time_created", "data"}}, {&t.part, "part", []string{"id", "message_id", "session_id", "data"}},
		{&t.message2, "session_message", []string{"id", "session_id", "type", "seq", "time_created", "data"}},
		{&t.project, "project", []string{"id"}},
	} {
		if !*need.table {
			continue
		}
		has, err := columns(ctx, tx, need.name)
		if err != nil {
			return t, err
		}
		for _, column := range need.columns {
			if !has[column] {
				*need.table = false
				lacking = append(lacking, need.name+"."+column)
			}
		}
	}
	t.message, t.part = t.message && t.part, t.message && t.part
	if !(t.session && t.message && t.part) && !(t.message2 && (t.session || t.session2)) {
		if len(lacking) > 0 {
			return t, fmt.Errorf("%w, or of a version that is not known: it lacks %s", ErrNoSessions, strings.Join(lacking, ", "))
		}
		return t, fmt.Errorf("%w: it has none of the product's tables", ErrNoSessions)
	}
	return t, nil
}

// counts is how many rows of a table each session has. An index holds the answer.
func counts(ctx context.Context, tx *sql.Tx, table string) (map[string]int, error) {
	rows, err := tx.QueryContext(ctx, `SELECT session_id, count(*) FROM `+table+` GROUP BY session_id`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	n := map[string]int{}
	for rows.Next() {
		var id sql.NullString // rows of no session hide nothing
		var count int
		if err := rows.Scan(&id, &count); err != nil {
			return nil, err
		}
		n[id.String] = count
	}
	return n, rows.Err()
}

func listRows(ctx context.Context, tx *sql.Tx) ([]Listing, error) {
	t, err := tablesOf(ctx, tx)
	if err != nil {
		return nil, err
	}
	var first, second map[string]int
	if t.message {
		if first, err = counts(ctx, tx, "message"); err != nil {
			return nil, err
		}
	}
	if t.message2 {
		if second, err = counts(ctx, tx, "session_message"); err != nil {
			return nil, err
		}
	}
	projects := map[string]string{}
	if t.project {
		roots, err := records(ctx, tx, `SELECT * FROM project`)
		if err != nil {
			return nil, err
		}
		for _, r := range roots {
			projects[r.text("id")] = r.text("worktree")
		}
	}
	var found []Listing
	seen := map[string]bool{}
	for _, table := range t.sessions() {
		sessions, err := records(ctx, tx, `SELECT * FROM `+table)
		if err != nil {
			return nil, err
		}
		for _, r := range sessions {
			id := r.text("id")
			if id == "" || seen[id] {
				continue
			}
			seen[id] = true
			l := listingOf(r)
			l.Project = projects[r.text("project_id")]
			l.Generation, l.Messages = 1, first[id]
			if table == "session_v2" || first[id] == 0 && second[id] > 0 {
				l.Generation, l.Messages = 2, second[id]
			}
			found = append(found, l)
		}
	}
	return found, nil
}

// sessions are the tables that hold sessions, the one that counts first.
func (t tables) sessions() []string {
	var names []string
	if t.session2 {
		names = append(names, "session_v2")
	}
	if t.session {
		names = append(names, "session")
	}
	return names
}

func listingOf(r record) Listing {
	number := func(name string) float64 {
		n, _ := r.number(name)
		return n
	}
	l := Listing{
		ID: r.text("id"), ParentID: r.text("parent_id"), Title: r.text("title"), Directory: r.text("directory"), Version: r.text("version"),
		Cost: number("cost"), Created: session.Millis(number("time_created")), Updated: session.Millis(number("time_updated")),
	}
	l.Tokens.Input, l.Tokens.Output, l.Tokens.Reasoning = int(number("tokens_input")), int(number("tokens_output")), int(number("tokens_reasoning"))
	l.Tokens.Cache.Read, l.Tokens.Cache.Write = int(number("tokens_cache_read")), int(number("tokens_cache_write"))
	return l
}

// sizeRows sums what the rows of each session hold. octet_length takes the length of a text from the head of its row, so that the pages
// that a long text runs over are not read.
func sizeRows(ctx context.Context, tx *sql.Tx) (map[string]int64, error) {
	t, err := tablesOf(ctx, tx)
	if err != nil {
		return nil, err
	}
	var names []string
	if t.message {
		names = append(names, "message", "part")
	}
	sizes := map[string]int64{}
	add := func(table string) error {
		rows, err := tx.QueryContext(ctx, `SELECT session_id, sum(octet_length(data)) FROM `+table+` GROUP BY +session_id`) // in the order of the table: an index would jump
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id sql.NullString
			var size sql.NullInt64
			if err := rows.Scan(&id, &size); err != nil {
				return err
			}
			sizes[id.String] += size.Int64
		}
		return rows.Err()
	}
	for _, table := range names {
		if err := add(table); err != nil {
			return nil, err
		}
	}
	if t.message2 {
		// A session of the first generation may have rows of the second that its export does not show.
		first := sizes
		sizes = map[string]int64{}
		if err := add("session_message"); err != nil {
			return nil, err
		}
		for id, size := range first {
			if !t.session2 || sizes[id] == 0 {
				sizes[id] = size
			}
		}
	}
	return sizes, nil
}
