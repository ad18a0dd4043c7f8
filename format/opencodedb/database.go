package opencodedb

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/session"
)

// database is the path of an SQLite file.
type database string

// needed are the product's tables with the columns that are read by name: session, message and part
// of the first generation, session_v2 and session_message of the second.
var needed = []struct {
	table   string
	columns []string
}{
	{"session_v2", []string{"id"}},
	{"session", []string{"id"}},
	{"message", []string{"id", "session_id", "time_created", "data"}},
	{"part", []string{"id", "message_id", "session_id", "data"}},
	{"session_message", []string{"id", "session_id", "type", "seq", "time_created", "data"}},
	{"project", []string{"id"}},
}

// tables are the product's tables that a database has, each with the names of its columns.
type tables map[string]map[string]bool

func tablesOf(ctx context.Context, tx *sql.Tx) (tables, error) {
	t := tables{}
	var lacking []string
	for _, n := range needed {
		columns := map[string]bool{}
		const text = `SELECT c.name FROM sqlite_schema s, pragma_table_info(s.name) c
			WHERE s.type = 'table' AND s.name = ?`
		for r, err := range records(tx.QueryContext(ctx, text, n.table)) {
			if err != nil {
				return nil, err
			}
			columns[r.text("name")] = true
		}
		// Another program may have tables of these names, and so may an unknown version.
		whole := len(columns) > 0
		for _, column := range n.columns {
			if len(columns) > 0 && !columns[column] {
				whole, lacking = false, append(lacking, n.table+"."+column)
			}
		}
		if whole {
			t[n.table] = columns
		}
	}
	if t["message"] == nil || t["part"] == nil {
		delete(t, "message")
		delete(t, "part")
	}
	first := t["session"] != nil && t["message"] != nil
	second := t["session_message"] != nil && (t["session"] != nil || t["session_v2"] != nil)
	switch {
	case first || second:
		return t, nil
	case len(lacking) > 0:
		return nil, fmt.Errorf("%w, or of an unknown version: it lacks %s", ErrNoSessions, strings.Join(lacking, ", "))
	}
	return nil, fmt.Errorf("%w: it has none of the product's tables", ErrNoSessions)
}

// of returns those of some tables that the database has.
func (t tables) of(names ...string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return t[name] == nil })
}

// sessions are the tables that hold sessions; what the first of them has counts.
func (t tables) sessions() []string { return t.of("session_v2", "session") }

// counts is how many rows of a table each session has. An index holds the answer.
func (t tables) counts(ctx context.Context, tx *sql.Tx, table string) (map[string]int, error) {
	n := map[string]int{}
	if t[table] == nil {
		return n, nil
	}
	rows, err := tx.QueryContext(ctx, `SELECT session_id, count(*) n FROM `+table+` GROUP BY session_id`)
	for r, err := range records(rows, err) {
		if err != nil {
			return nil, err
		}
		n[r.text("session_id")] = int(r.number("n")) // rows without a session hide nothing
	}
	return n, nil
}

func (d database) list(ctx context.Context) ([]Listing, error) {
	return snapshot(ctx, d, func(tx *sql.Tx) ([]Listing, error) { return listRows(ctx, tx) })
}

func listRows(ctx context.Context, tx *sql.Tx) ([]Listing, error) {
	t, err := tablesOf(ctx, tx)
	if err != nil {
		return nil, err
	}
	first, err := t.counts(ctx, tx, "message")
	if err != nil {
		return nil, err
	}
	second, err := t.counts(ctx, tx, "session_message")
	if err != nil {
		return nil, err
	}
	projects := map[string]string{}
	if t["project"] != nil {
		for r, err := range records(tx.QueryContext(ctx, `SELECT * FROM project`)) {
			if err != nil {
				return nil, err
			}
			projects[r.text("id")] = r.text("worktree")
		}
	}
	var found []Listing
	seen := map[string]bool{"": true}
	for _, table := range t.sessions() {
		for r, err := range records(tx.QueryContext(ctx, `SELECT * FROM `+table)) {
			if err != nil {
				return nil, err
			}
			l := listingOf(r)
			if seen[l.ID] {
				continue
			}
			seen[l.ID] = true
			l.Project = projects[r.text("project_id")]
			l.Generation, l.Messages = 1, first[l.ID]
			if table == "session_v2" || first[l.ID] == 0 && second[l.ID] > 0 {
				l.Generation, l.Messages = 2, second[l.ID]
			}
			found = append(found, l)
		}
	}
	return found, nil
}

func listingOf(r record) Listing {
	count := func(name string) int { return int(r.number("tokens_" + name)) }
	return Listing{
		ID: r.text("id"), ParentID: r.text("parent_id"), Title: r.text("title"), Directory: r.text("directory"),
		Version: r.text("version"), Cost: r.number("cost"),
		Tokens: session.Usage{
			Input: count("input"), Output: count("output"), Reasoning: count("reasoning"),
			Cache: session.CacheUsage{Read: count("cache_read"), Write: count("cache_write")},
		},
		Created: session.Millis(r.number("time_created")), Updated: session.Millis(r.number("time_updated")),
	}
}

func (d database) holdings(ctx context.Context) (map[string]holding, error) {
	return snapshot(ctx, d, func(tx *sql.Tx) (map[string]holding, error) { return sumRows(ctx, tx) })
}

// texts are the columns of a session's row whose change leaves its time of update as it is.
var texts = []string{"title", "directory", "parent_id", "revert", "metadata", "permission", "model", "agent"}

// sumRows sums what the rows of each session hold.
func sumRows(ctx context.Context, tx *sql.Tx) (map[string]holding, error) {
	t, err := tablesOf(ctx, tx)
	if err != nil {
		return nil, err
	}
	traces := map[string]Trace{}
	messages := map[string]map[string]int64{} // bytes by table and session
	timeless := map[string]bool{}             // sessions with rows without a time
	for _, table := range t.of("session_v2", "session", "message", "part", "session_message") {
		id, size := "session_id", "octet_length(data)"
		if table == "session_v2" || table == "session" {
			id, size = "id", "0"
			for _, name := range texts {
				if t[table][name] {
					size += ` + coalesce(octet_length(` + name + `), 0)`
				}
			}
		}
		written := "NULL"
		if t[table]["time_updated"] {
			written = "max(time_updated)"
		}
		sums := map[string]int64{}
		messages[table] = sums
		// octet_length takes the length of a text from the head of its row, so that the pages of a
		// long text are not read; "+" groups in the order of the table, where an index would jump.
		for r, err := range records(tx.QueryContext(ctx,
			`SELECT `+id+` id, sum(`+size+`) size, `+written+` written FROM `+table+` GROUP BY +`+id)) {
			if err != nil {
				return nil, err
			}
			id, size := r.text("id"), int64(r.number("size"))
			sums[id] += size
			one := traces[id]
			traces[id] = Trace{one.Bytes + size, max(one.Written, session.Millis(r.number("written")))}
			timeless[id] = timeless[id] || r["written"] == nil
		}
	}
	held := map[string]holding{}
	for id, trace := range traces {
		if timeless[id] {
			trace.Written = 0
		}
		// A session may have rows of the other generation that its export does not show.
		_, first := messages["message"][id]
		size := messages["message"][id] + messages["part"][id]
		if second := messages["session_message"][id]; second > 0 && (!first || t["session_v2"] != nil) {
			size = second
		}
		held[id] = holding{size, trace}
	}
	return held, nil
}
