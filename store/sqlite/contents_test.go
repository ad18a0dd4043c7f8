package sqlite_test

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/sqlite"
)

// whole checks that the file is sound, and that what refers to each other in it is all there and
// nothing is left over.
func whole(t *testing.T, db *sql.DB) {
	t.Helper()
	rows, err := db.Query(`PRAGMA integrity_check`)
	if err != nil {
		t.Errorf("integrity_check: %v", err)
		return
	}
	defer rows.Close()
	for rows.Next() {
		var answer string
		if err := rows.Scan(&answer); err != nil || answer != "ok" {
			t.Errorf("the file is not sound: %s, %v", answer, err)
		}
	}
	queries := append(slices.Clone(sqlite.Contradictions), [2]string{"contents that nobody has", `SELECT count(*) FROM content
		WHERE num NOT IN (SELECT content FROM part WHERE content IS NOT NULL UNION SELECT content FROM apart
			UNION SELECT content FROM piece UNION SELECT content FROM kept)`},
		[2]string{"changed messages that are no more", `SELECT count(*) FROM stale WHERE NOT EXISTS (
			SELECT 1 FROM message m WHERE m.session = stale.session AND m.position = stale.message)`})
	for _, q := range queries {
		what, query := q[0], q[1]
		var n int
		if err := db.QueryRow(query).Scan(&n); err != nil || n != 0 {
			t.Errorf("%s: %d, %v", what, n, err)
		}
	}
}

func count(t *testing.T, s *sqlite.Store, query string, args ...any) (n int) {
	t.Helper()
	if err := s.Reader().QueryRow(query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// heavy is a message whose part is large in every place that there is.
func heavy(id string) session.Message {
	big := func(name string) string { return words(uint64(len(name)), 5000+len(name)) + name }
	json := func(name string) []byte { return []byte(fmt.Sprintf("{ %q : %q }", name, big(name))) }
	return session.Message{MessageInfo: session.MessageInfo{ID: id, Role: session.Assistant}, Parts: []session.Part{
		{ID: id + "-1", Type: session.TextPart, Text: big("text"), Metadata: json("metadata"),
			Unknown: []byte(fmt.Sprintf(`{"new":%q}`, big("unknown")))},
		{ID: id + "-2", Type: session.ToolPart, Tool: "write", URL: big("url"), Prompt: big("prompt"),
			State: &session.ToolState{
				Status: session.Completed, Input: json("input"), Raw: big("raw"), Output: big("output"),
				Error: big("error"), Metadata: json("result"),
				Unknown: []byte(fmt.Sprintf(`{"new":%q}`, big("other"))),
				Attachments: []session.Part{{ID: "a"}, {ID: "b", Type: session.FilePart,
					URL: "data:," + big("attachment")}},
			}},
	}}
}

func TestContents_everyLargeTextIsKeptOnce(t *testing.T) {
	s := open(t, sqlite.Config{Path: filepath.Join(t.TempDir(), "winnow.db")})
	want := heavy("m")
	for _, id := range []string{"one", "two"} {
		if err := s.Create(t.Context(), session.Info{ID: id}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Apply(t.Context(), id, store.Change{Append: []session.Message{want, want}}); err != nil {
			t.Fatal(err)
		}
		for m, err := range s.Messages(t.Context(), id) {
			if err != nil {
				t.Fatal(err)
			}
			same(t, want, m)
		}
	}
	const places = 12
	if n := count(t, s, `SELECT count(*) FROM content`); n != places {
		t.Errorf("%d contents, want %d", n, places)
	}
	if n := count(t, s, `SELECT max(length(data)) FROM part`); n > 1000 {
		t.Errorf("a part takes %d bytes beside its contents", n)
	}
	if _, err := s.Apply(t.Context(), "one", store.Change{Base: 2,
		Update: []session.Message{{MessageInfo: session.MessageInfo{ID: "m"}}}}); err != nil {
		t.Fatal(err)
	}
	whole(t, s.Reader())
	if err := s.Delete(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	if n := count(t, s, `SELECT count(*) FROM content`); n != places {
		t.Errorf("%d contents are left to the other session, want %d", n, places)
	}
	if err := s.Delete(t.Context(), "two"); err != nil {
		t.Fatal(err)
	}
	if n := count(t, s, `SELECT count(*) FROM content`); n != 0 {
		t.Errorf("%d contents are left to nobody", n)
	}
	whole(t, s.Reader())
}

func TestSource_ofAFileThatGrewSharesItsPieces(t *testing.T) {
	s := open(t, sqlite.Config{Path: filepath.Join(t.TempDir(), "winnow.db")})
	data := random(5 << 20)
	for _, id := range []string{"one", "two"} {
		if err := s.Create(t.Context(), session.Info{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	set := func(id string, data []byte) {
		t.Helper()
		if err := s.SetSource(t.Context(), id, store.Source{Format: "pi", Path: "p", Data: data}); err != nil {
			t.Fatal(err)
		}
		got, err := s.Source(t.Context(), id)
		if err != nil || !bytes.Equal(got.Data, data) {
			t.Fatalf("the file came back otherwise: %v", err)
		}
		whole(t, s.Reader())
	}
	set("one", data[:3<<20+5])
	set("one", data[:4<<20+7])
	set("two", data)
	if n := count(t, s, `SELECT count(*) FROM content`); n != 6 {
		t.Errorf("%d pieces, want 5 and the end of the shorter file", n)
	}
	set("one", nil)
	set("one", data[1:]) // nothing of it is at the same place
	if err := s.Delete(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	set("two", data)
	if n := count(t, s, `SELECT count(*) FROM content`); n != 5 {
		t.Errorf("%d pieces are left, want 5", n)
	}
}

// A row that lies about its size, or that was written to unfold without end, is damage, and takes
// no memory to speak of.
func TestContents_hostileRowsAreRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it happens at the same time: -short is for the race detector")
	}
	binaryFrame := func(size uint64, blocks int) []byte {
		// content size, 2 MiB window
		frame := append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xc0, 0x58}, binary.LittleEndian.AppendUint64(nil, size)...)
		for range blocks {
			frame = append(frame, 0x02, 0x00, 0x10, 'x') // 128 KiB of x, and more blocks to come
		}
		return append(frame, 0x03, 0x00, 0x10, 'x')
	}
	// The same without a content size.
	endless := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58}
	for range 100_000 { // 12 GiB
		endless = append(endless, 0x02, 0x00, 0x10, 'x')
	}
	endless = append(endless, 0x03, 0x00, 0x10, 'x')
	for name, row := range map[string]struct {
		codec, size int
		data        []byte
	}{
		"no codec":            {9, 5000, []byte("x")},
		"a huge size":         {2, 1 << 60, binaryFrame(1<<60, 3)},
		"a negative size":     {2, -1, binaryFrame(5000, 3)},
		"a size of its own":   {2, 1 << 29, binaryFrame(1<<29, 10)},
		"less than it says":   {2, 30 << 20, binaryFrame(30<<20, 300)},
		"more than it says":   {2, 5000, binaryFrame(5000, 300)},
		"more than it holds":  {2, 900 << 20, append(binaryFrame(900<<20, 10), random(50_000)...)},
		"without end":         {2, 5000, endless},
		"without end, larger": {2, 40 << 20, endless},
		"no zstd":             {2, 5000, []byte("nothing of the kind")},
		"nothing":             {2, 5000, nil},
		"raw":                 {0, 5000, []byte("x")},
	} {
		t.Run(name, func(t *testing.T) {
			path := filled(t)
			db := raw(t, path)
			if _, err := db.Exec(`UPDATE content SET codec = ?, size = ?, data = ? WHERE num = (SELECT content FROM part WHERE message = 2 AND content IS NOT NULL)`,
				row.codec, row.size, append([]byte{}, row.data...)); err != nil {
				t.Fatal(err)
			}
			s := open(t, sqlite.Config{Path: path})
			before := allocated()
			var last error
			for _, last = range s.Messages(t.Context(), "ses") {
				break
			}
			wants(t, last, store.ErrCorrupt, path)
			if took := allocated() - before; took > 400<<20 { // in all, at no time at once: of 12 GB
				t.Errorf("it took %d MB to find out", took>>20)
			}
		})
	}
}

func TestContents_largerThanWhatIsTrustedComeBack(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 40 MB")
	}
	s := open(t, sqlite.Config{Path: filepath.Join(t.TempDir(), "winnow.db")})
	output := strings.Repeat(words(1, 10_000), 4000)
	m := steps(1, 10, 1)
	m[0].Parts[3].State.Output = output
	if err := s.Create(t.Context(), session.Info{ID: "ses"}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it is there
		if _, err := s.Apply(t.Context(), "ses", store.Change{Append: m}); err != nil {
			t.Fatal(err)
		}
	}
	for m, err := range s.Messages(t.Context(), "ses") {
		if err != nil || m.Parts[3].State.Output != output {
			t.Fatalf("the output came back otherwise: %v", err)
		}
	}
}

func same(t *testing.T, want, got session.Message) {
	t.Helper()
	if !reflect.DeepEqual(want, got) {
		t.Errorf("message %s came back otherwise (-want +got):\n%s", want.ID, cmp.Diff(want, got))
	}
}

// allocated is how many bytes were allocated since the process began.
func allocated() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.TotalAlloc)
}

func copyOf(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "winnow.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
