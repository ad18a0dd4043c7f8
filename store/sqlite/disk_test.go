package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/sqlite"
)

func random(size int) []byte {
	data := make([]byte, size)
	rand.NewChaCha8([32]byte{1}).Read(data)
	return data
}

func TestContent_isStoredOnceAndCompressed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "winnow.db")
	s := open(t, sqlite.Config{Path: path})
	count := func() (n, bytes int) {
		t.Helper()
		if err := raw(t, path).QueryRow(`SELECT count(*), coalesce(sum(length(data)), 0) FROM content`).Scan(&n,
			&bytes); err != nil {
			t.Fatal(err)
		}
		return n, bytes
	}
	output := words(1, 100_000)
	call := func(id string) session.Message {
		return session.Message{MessageInfo: session.MessageInfo{ID: id}, Parts: []session.Part{
			{ID: id, Type: session.ToolPart, State: &session.ToolState{Status: session.Completed, Output: output}}}}
	}
	for _, id := range []string{"one", "two"} {
		if err := s.Create(t.Context(), session.Info{ID: id}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Apply(t.Context(), id, store.Change{Append: []session.Message{call("a"),
			call("b")}}); err != nil {
			t.Fatal(err)
		}
	}
	if n, bytes := count(); n != 1 || bytes > len(output)/2 {
		t.Errorf("an output of %d bytes in four messages of two sessions takes %d rows, %d bytes", len(output), n,
			bytes)
	}
	var rest int
	if err := raw(t, path).QueryRow(`SELECT sum(length(data)) FROM part`).Scan(&rest); err != nil || rest > 4000 {
		t.Errorf("the parts themselves take %d bytes, %v", rest, err)
	}
	shorter := call("b")
	shorter.Parts[0].State.Output = "short"
	for step, do := range []func() error{
		func() error {
			_, err := s.Apply(t.Context(), "one", store.Change{Base: 2, Update: []session.Message{shorter}})
			return err
		},
		func() error { return s.Delete(t.Context(), "one") },
		func() error {
			_, err := s.Apply(t.Context(), "two", store.Change{Base: 2, Update: []session.Message{shorter}})
			return err
		},
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
		if n, _ := count(); n != 1 {
			t.Errorf("step %d: %d outputs are kept, want the one that is still there", step, n)
		}
	}
	if err := s.Delete(t.Context(), "two"); err != nil {
		t.Fatal(err)
	}
	if n, _ := count(); n != 0 {
		t.Errorf("%d outputs are left of no sessions", n)
	}
}

// People and SQL should find JSON where JSON will do.
func TestStore_keepsOrdinaryMessagesAsJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "winnow.db")
	s := open(t, sqlite.Config{Path: path})
	fill(t, s)
	for table, column := range map[string]string{"session": "info", "message": "info", "part": "data"} {
		var rows, valid int
		if err := raw(t, path).QueryRow(`SELECT count(*), sum(typeof(`+column+`) = 'text' AND json_valid(`+column+`)) FROM `+table).
			Scan(&rows, &valid); err != nil {
			t.Fatal(err)
		}
		if rows == 0 || rows != valid {
			t.Errorf("%s: %d of %d rows are JSON", table, valid, rows)
		}
	}
	odd := session.Message{MessageInfo: session.MessageInfo{ID: "odd"},
		Parts: []session.Part{{Type: session.TextPart, Text: "\xff"}}}
	if _, err := s.Apply(t.Context(), "ses", store.Change{Append: []session.Message{odd}}); err != nil {
		t.Fatal(err)
	}
	var kind string
	if err := raw(t, path).QueryRow(`SELECT typeof(data) FROM part ORDER BY message DESC LIMIT 1`).Scan(&kind); err != nil || kind != "blob" {
		t.Errorf("text that is not UTF-8 is kept as %s, %v", kind, err)
	}
	var texts int
	if err := raw(t, path).QueryRow(`SELECT count(*) FROM part WHERE json_extract(iif(typeof(data) = 'text', data, '{}'), '$.type') = type`).
		Scan(&texts); err != nil || texts != 15 {
		t.Errorf("SQL finds the type of %d parts of 15, %v", texts, err)
	}
}

func TestOpen_manyAtOnceMakeOneStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "winnow.db")
	errs := make([]error, 8)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
			if err == nil {
				defer s.Close()
				err = s.Create(t.Context(), session.Info{ID: fmt.Sprint(i)})
			}
			errs[i] = err
		})
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	list, err := open(t, sqlite.Config{Path: path}).List(t.Context())
	if err != nil || len(list) != len(errs) {
		t.Errorf("%d sessions of %d, %v", len(list), len(errs), err)
	}
}

func TestClose_letsAnIterationGoOn(t *testing.T) {
	s := open(t, sqlite.Config{Path: filled(t)})
	read := 0
	for _, err := range s.Messages(t.Context(), "ses") {
		if err != nil {
			t.Fatal(err)
		}
		if read++; read == 1 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if read != 3 {
		t.Errorf("read %d messages of 3", read)
	}
}

// childPath is set in processes that the tests below start: the store that they write to.
const childPath = "WINNOW_TEST_STORE"

// TestMain makes the test binary a writer of its own where a test asks for one: it appends until it
// has appended as many messages as it was told, and prints the id of each when it is written.
func TestMain(m *testing.M) {
	path := os.Getenv(childPath)
	if path == "" {
		os.Exit(m.Run())
	}
	if err := child(path, os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func child(path, name, count string) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	ctx := context.Background()
	s, err := sqlite.Open(ctx, sqlite.Config{Path: path})
	if err != nil {
		return err
	}
	for i := range n {
		m := childMessage(name, i)
		if _, err := s.Apply(ctx, "ses", store.Change{Append: m}); err != nil {
			return err
		}
		fmt.Println(m[0].ID)
	}
	return s.Close()
}

func childMessage(name string, n int) []session.Message {
	return []session.Message{{MessageInfo: session.MessageInfo{ID: fmt.Sprintf("%s/%d", name, n)},
		Parts: []session.Part{
			{Type: session.TextPart, Text: name},
			{Type: session.ToolPart, State: &session.ToolState{Output: strings.Repeat(fmt.Sprintln(name, n), 1000)}},
		}}}
}

func start(t *testing.T, path, name string, count int) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, name, fmt.Sprint(count))
	c.Env = append(os.Environ(), childPath+"="+path)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill() })
	return c, bufio.NewScanner(out)
}

func TestApply_ofTwoProcessesLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "winnow.db")
	s := open(t, sqlite.Config{Path: path})
	if err := s.Create(t.Context(), session.Info{ID: "ses"}); err != nil {
		t.Fatal(err)
	}
	const each = 100
	var children []*exec.Cmd
	for _, name := range []string{"x", "y"} {
		c, lines := start(t, path, name, each)
		go func() {
			for lines.Scan() { // read on, so that it is not held up
			}
		}()
		children = append(children, c)
	}
	for n := range each { // and this process too
		if _, err := s.Apply(t.Context(), "ses", store.Change{Append: childMessage("z", n)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range children {
		if err := c.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	next := map[string]int{"x": each, "y": each, "z": each}
	for m, err := range s.Messages(t.Context(), "ses") {
		if err != nil {
			t.Fatal(err)
		}
		name, n, _ := strings.Cut(m.ID, "/")
		if next[name]--; n != fmt.Sprint(next[name]) || len(m.Parts) != 2 {
			t.Errorf("message %s with %d parts where %s/%d should be", m.ID, len(m.Parts), name, next[name])
		}
	}
	for name, left := range next {
		if left != 0 {
			t.Errorf("%d messages of %s are missing", left, name)
		}
	}
	st, err := s.State(t.Context(), "ses")
	if err != nil || st.Messages != 3*each || st.Revision != 3*each+1 {
		t.Errorf("revision %d with %d messages, %v", st.Revision, st.Messages, err)
	}
	sound(t, path)
}

func TestApply_survivesTheEndOfItsProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "winnow.db")
	s := open(t, sqlite.Config{Path: path})
	if err := s.Create(t.Context(), session.Info{ID: "ses"}); err != nil {
		t.Fatal(err)
	}
	written := 0
	for round := range 3 {
		c, lines := start(t, path, fmt.Sprint("round", round), 1_000_000)
		for range 30 + round {
			if !lines.Scan() {
				t.Fatal("the writer stopped by itself")
			}
			written++
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			written++
		}
		c.Wait()
		st, err := s.State(t.Context(), "ses")
		if err != nil {
			t.Fatal(err)
		}
		// One may have been written whose id was not printed any more.
		if n := messages(t, s); n != st.Messages || n < written || n > written+round+1 {
			t.Errorf("%d messages, %d counted, where %d were reported as written", n, st.Messages, written)
		}
	}
	sound(t, path)
}
