package command

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/desk/archive"
	"github.com/winnowhq/winnow/desk/inplace"
)

var (
	gcKills = flag.Int("gc-kills", 5, "how often TestGC_killed kills winnow gc")
	gcBytes = flag.Int64("gc-bytes", 8e6, "bytes of the computer that TestGC_aLargeComputer makes up; 5e9 takes minutes")
	gcFiles = flag.Int("gc-files", 40, "session files of that computer")
)

// madeUp is a home folder full of made-up sessions.
type madeUp struct {
	t    *testing.T
	home string
	dice *rand.Rand
	n    int // records written so far
	text string
}

// fileState is the state that a session file must have again.
type fileState struct {
	hash     string
	mode     os.FileMode
	modified time.Time
}

// fill writes sessions of Claude Code, Codex and pi that were last written to up to 120 days ago.
func (m *madeUp) fill(files int, bytes int64) {
	m.t.Helper()
	var words strings.Builder
	for words.Len() < 1<<20 { // of a few thousand words
		fmt.Fprintf(&words, "w%x ", m.dice.IntN(4000)*m.dice.IntN(4000))
	}
	m.text = words.String()
	for i := range files {
		project := fmt.Sprintf("/home/keeper/project-%d", i%max(2, files/25))
		id := fmt.Sprintf("%08x-0000-4000-8000-%012x", m.dice.Uint32(), i)
		size := bytes / int64(files)
		if i%2 == 0 { // a few are much larger
			size = size * 3 / 2
		} else {
			size /= 2
		}
		var path string
		var record func() string
		head := ""
		switch i % 4 {
		case 0, 1:
			path = filepath.Join(".claude", "projects", strings.ReplaceAll(project, "/", "-"), id+".jsonl")
			record = func() string { return m.claude(id, project) }
		case 2:
			path = filepath.Join(".codex", "sessions", "2026", "01", "02", "rollout-2026-01-02T00-00-00-"+id+".jsonl")
			head = fmt.Sprintf(`{"timestamp":"2026-01-02T00:00:00Z","type":"session_meta","payload":{"id":%q,"timestamp":"2026-01-02T00:00:00Z","cwd":%q,"originator":"codex_cli_rs","cli_version":"0.50.0"}}`+"\n", id, project)
			record = func() string {
				return fmt.Sprintf(`{"timestamp":"2026-01-02T00:00:00Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":%q}]}}`+"\n", m.some(2000))
			}
		case 3:
			path = filepath.Join(".pi", "agent", "sessions", "--"+strings.Trim(strings.ReplaceAll(project, "/", "-"), "-")+"--", "2026-01-02T00-00-00-000Z_"+id+".jsonl")
			head = fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":"2026-01-02T00:00:00.000Z","cwd":%q}`+"\n", id, project)
			last := "null"
			record = func() string {
				m.n++
				own := fmt.Sprintf("%q", fmt.Sprintf("%08x", m.n))
				line := fmt.Sprintf(`{"type":"message","id":%s,"parentId":%s,"timestamp":"2026-01-02T00:00:00.000Z","message":{"role":"user","content":%q,"timestamp":1767312000000}}`+"\n", own, last, m.some(2000))
				last = own
				return line
			}
		}
		m.file(filepath.Join(m.home, path), head, record, size, m.dice.IntN(120))
	}
}

func (m *madeUp) some(most int) string {
	at := m.dice.IntN(len(m.text) - most)
	return m.text[at : at+m.dice.IntN(most)]
}

// claude is the next record of a session: one of the user, or of a kind that nobody reads again.
func (m *madeUp) claude(id, project string) string {
	m.n++
	head := fmt.Sprintf(`{"parentUuid":"u-%d","isSidechain":false,"userType":"external","cwd":%q,"sessionId":%q,"version":"2.1.0",`, m.n-1, project, id)
	tail := fmt.Sprintf(`"uuid":"u-%d","timestamp":"2026-01-02T00:00:00.000Z"}`+"\n", m.n)
	switch m.dice.IntN(20) {
	case 0, 1, 2:
		return head + fmt.Sprintf(`"type":"progress","data":{"type":"bash_progress","output":%q},`, m.some(1000)) + tail
	case 3:
		return fmt.Sprintf(`{"type":"file-history-snapshot","messageId":"u-%d","snapshot":{"messageId":"u-%[1]d","trackedFileBackups":{},"timestamp":"2026-01-02T00:00:00.000Z"},"isSnapshotUpdate":true}`+"\n", m.n%7)
	case 4:
		bytes := make([]byte, 3000)
		for i := range bytes {
			bytes[i] = byte(m.dice.Uint32())
		}
		return head + fmt.Sprintf(`"type":"user","message":{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":%q}}]},`, base64.StdEncoding.EncodeToString(bytes)) + tail
	}
	return head + fmt.Sprintf(`"type":"user","message":{"role":"user","content":%q},`, m.some(4000)) + tail
}

func (m *madeUp) file(path, head string, record func() string, size int64, days int) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o640)
	if err != nil {
		m.t.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	n, _ := w.WriteString(head)
	var some []string // repeated, so that gigabytes take no minute to think of
	for at := 0; int64(n) < size; at++ {
		if at < 2000 {
			some = append(some, record())
		}
		more, _ := w.WriteString(some[at%len(some)])
		n += more
	}
	then := time.Now().Add(-time.Duration(days)*24*time.Hour - 2*time.Hour)
	if err := errors.Join(w.Flush(), f.Close(), os.Chtimes(path, then, then)); err != nil {
		m.t.Fatal(err)
	}
}

// states are the session files of the computer.
func (m *madeUp) states() map[string]fileState {
	m.t.Helper()
	states := map[string]fileState{}
	for _, folder := range []string{".claude", ".codex", ".pi"} {
		err := filepath.WalkDir(filepath.Join(m.home, folder), func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), ".") {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			info, err := e.Info()
			sum := sha256.Sum256(data)
			states[path] = fileState{hex.EncodeToString(sum[:]), info.Mode(), info.ModTime()}
			return err
		})
		if err != nil {
			m.t.Fatal(err)
		}
	}
	return states
}

func (m *madeUp) archive() archive.Archive {
	return archive.Archive{Room: inplace.Room{Dir: filepath.Join(m.home, ".local", "share", "winnow"), Now: time.Now}}
}

// check fails unless every session is whole in its place, or whole in the archive, or one of both
// without parts that are in the archive. It returns how many are whole in their place.
func (m *madeUp) check(want map[string]fileState) (placed int) {
	m.t.Helper()
	list, err := m.archive().Everything()
	if err != nil {
		m.t.Fatal(err)
	}
	archived, parts := map[string]archive.Session{}, map[string]archive.Session{} // by path, and by path and hash
	for _, s := range list {
		switch {
		case s.Parts != nil:
			parts[s.Source+s.Parts.Hash] = s
		case archived[s.Source].Source == "": // the newest
			archived[s.Source] = s
		}
	}
	got := m.states()
	for path, state := range want {
		there, ok := got[path]
		if !ok {
			s, ok := archived[path]
			if !ok {
				m.t.Fatalf("%s is neither in its place nor in the archive", path)
			}
			if err := s.Verify(m.t.Context()); err != nil {
				m.t.Fatal(err)
			}
			there = fileState{s.Hash, state.mode, s.Modified}
		} else if there.hash == state.hash {
			placed++
		}
		for there.hash != state.hash {
			s, ok := parts[path+there.hash]
			if !ok {
				m.t.Fatalf("%s is %v, want %v", path, there, state)
			}
			if err := s.Verify(m.t.Context()); err != nil {
				m.t.Fatal(err)
			}
			there.hash = s.Hash
		}
		if there.mode != state.mode || !there.modified.Equal(state.modified) {
			m.t.Fatalf("%s is %v, want %v", path, there, state)
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			m.t.Fatalf("%s was not there before", path)
		}
	}
	return placed
}

func newMadeUp(t *testing.T, files int, bytes int64) (*desk, *madeUp) {
	t.Helper()
	d := newDesk(t)
	m := &madeUp{t: t, home: filepath.Join(filepath.Dir(d.dir), "home"), dice: rand.New(rand.NewPCG(7, 9))}
	real, err := filepath.EvalSymlinks(filepath.Dir(d.dir))
	if err != nil {
		t.Fatal(err)
	}
	m.home = filepath.Join(real, "home") // as receipts name it
	m.fill(files, bytes)
	return d, m
}

// Killed at any moment while it archives, shrinks or brings back, winnow gc loses nothing: each
// session is whole in its place, or whole in the archive, or what it lacks is there.
func TestGC_killed(t *testing.T) {
	if testing.Short() {
		t.Skip("each process does one thing after the other: -short is for the race detector")
	}
	d, m := newMadeUp(t, 24, 6e6)
	want := m.states()
	dice := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	back := func() {
		t.Helper()
		for range 1000 {
			if o := d.outcome(d.command("gc", "--undo")); o.code == 5 {
				break
			} else if o.code != 0 {
				t.Fatalf("undo ends with %d: %s", o.code, o.stderr)
			}
		}
		if placed := m.check(want); placed != len(want) {
			t.Fatalf("%d of %d sessions are in their place", placed, len(want))
		}
	}
	began := time.Now()
	if o := d.outcome(d.command("gc", "--archive", "1d", "--force")); o.code != 0 {
		t.Fatal(o.stderr)
	}
	usual := time.Since(began)
	if placed := m.check(want); placed == len(want) {
		t.Fatal("nothing was archived")
	}
	back()
	killed, between, runs := 0, 0, 0
	for killed < *gcKills {
		args := []string{"gc", "--shrink", "--force"}
		switch dice.IntN(5) {
		case 0, 1:
			args = []string{"gc", "--archive", "1d", "--force"}
		case 2:
			args = []string{"gc", "--undo"}
		}
		cmd := d.command(args...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(dice.Float64() * float64(usual)))
		cmd.Process.Kill()
		cmd.Wait()
		runs++
		switch code := cmd.ProcessState.ExitCode(); code {
		case -1:
			killed++
		case 0, 5:
		default:
			t.Fatalf("%v ended by itself with %d: %s", args, code, &out)
		}
		if placed := m.check(want); placed > 0 && placed < len(want) {
			between++
		}
		if dice.IntN(4) == 0 {
			back()
		}
	}
	if o := d.outcome(d.command("gc", "--archive", "1d", "--force")); o.code != 0 {
		t.Fatal(o.stderr)
	}
	back()
	for _, pattern := range []string{".claude/projects/*/.*", ".codex/sessions/*/*/*/.*", ".pi/agent/sessions/*/.*", ".local/share/winnow/archive/.*", ".local/share/winnow/originals/[^.]*"} {
		if left, _ := filepath.Glob(filepath.Join(m.home, pattern)); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
	t.Logf("%d of %d runs killed within %v; after %d of them some sessions were whole in their place and some not", killed, runs,
		usual.Round(time.Millisecond), between)
}

// Measuring and archiving a computer takes as long as its disk and processor need; the log has the
// times. go test -run aLargeComputer -gc-bytes 5000000000 -gc-files 2000 -v
func TestGC_aLargeComputer(t *testing.T) {
	if testing.Short() {
		t.Skip("each process does one thing after the other: -short is for the race detector")
	}
	d, m := newMadeUp(t, *gcFiles, *gcBytes)
	took := func(what string, args ...string) {
		t.Helper()
		began := time.Now()
		cmd := d.command(args...)
		o := d.outcome(cmd)
		if o.code != 0 {
			t.Fatalf("%v ended with %d: %s", args, o.code, o.stderr)
		}
		t.Logf("%s: %v\n%s", what, time.Since(began).Round(time.Millisecond), o.stdout)
	}
	took("measured", "gc")
	want := m.states()
	took("measured what is dead", "gc", "--shrink", "--dry-run")
	took("shrunk", "gc", "--shrink", "--force")
	if placed := m.check(want); placed == len(want) {
		t.Error("nothing was shrunk")
	}
	took("put back", "gc", "--undo")
	took("archived", "gc", "--archive", "30d", "--force")
	if placed := m.check(want); placed == len(want) {
		t.Error("nothing was archived")
	}
	took("measured what is left", "gc")
	took("brought back", "gc", "--undo")
	if placed := m.check(want); placed != len(want) {
		t.Errorf("%d of %d sessions are in their place", placed, len(want))
	}
}
