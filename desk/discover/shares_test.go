package discover

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// record is a record of Claude Code.
func record(parent, kind, rest string) string {
	return fmt.Sprintf(`{"parentUuid":%q,"isSidechain":false,"cwd":"/home/a/lamp","sessionId":"s","type":%q,%s}`+"\n",
		parent, kind, rest)
}

const picture = `"message":{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`

func TestShares_countsBytes(t *testing.T) {
	first := record("0", "user", `"uuid":"1","message":{"role":"user","content":"Light the lamp"}`)
	said := record("1", "user", `"uuid":"2","message":{"role":"user","content":"a \"type\":\"progress\" in a text"}`)
	within := record("1", "user", `"toolUseResult":{"type":"progress"},"uuid":"2"`)
	progress := record("2", "progress", `"data":{"type":"hook_progress"},"uuid":"3"`)
	snapshot := `{"type":"file-history-snapshot","messageId":"m1","snapshot":{"messageId":"m1"},"isSnapshotUpdate":false}` + "\n"
	longer := strings.Replace(snapshot, "false", "true, \"more\": 1", 1)
	other := strings.ReplaceAll(snapshot, "m1", "m2")
	image := func(n int) string { return record("3", "user", picture+strings.Repeat("A", n)+`"}}]}`) }
	for name, test := range map[string]struct {
		files []string // the oldest first
		want  Shares
	}{
		"nothing":      {[]string{first + said + within}, Shares{}},
		"progress":     {[]string{first + progress + said + progress}, Shares{Progress: int64(2 * len(progress))}},
		"snapshots":    {[]string{first + longer + other + snapshot}, Shares{Snapshots: int64(len(longer))}},
		"picture":      {[]string{first + image(5000)}, Shares{Pictures: 5000}},
		"huge picture": {[]string{first + image(3<<20) + image(2000)}, Shares{Pictures: 3<<20 + 2000}},
		"small data":   {[]string{first + image(500)}, Shares{}},
		"fork":         {[]string{first + progress, first + said}, Shares{Progress: int64(len(progress)), Copied: int64(len(first))}},
		"no line end":  {[]string{first + strings.TrimSuffix(progress, "\n")}, Shares{Progress: int64(len(progress) - 1)}},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			for n, text := range test.files {
				path := filepath.Join(home, ".claude", "projects", "-lamp", fmt.Sprint(n, ".jsonl"))
				when := time.Date(2026, 1, 1+n, 0, 0, 0, 0, time.UTC)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(path, when, when); err != nil {
					t.Fatal(err)
				}
			}
			s := Search{Env: Env{Home: home}}
			found, problems, err := s.Find(t.Context())
			if err != nil || len(problems) > 0 || len(found) != len(test.files) {
				t.Fatal(found, problems, err)
			}
			shares, problems, err := s.Shares(t.Context(), found)
			if err != nil || len(problems) > 0 {
				t.Fatal(problems, err)
			}
			var got Shares
			for _, each := range shares {
				got.Add(each)
			}
			if got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// Whichever bytes a file has, no share is larger than the file.
func FuzzShares(f *testing.F) {
	f.Add([]byte(record("2", "progress", `"data":{}`)))
	f.Add([]byte(record("3", "user", picture+strings.Repeat("A", 2000)+`"}}]}`)))
	f.Add([]byte(`{"type":"file-history-snapshot","messageId":"m"}` + "\n" + `{"type":"file-history-snapshot","messageId":"m"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := scanTwice(data)
		if err != nil {
			t.Fatal(err)
		}
		size := int64(len(data))
		for _, n := range []int64{got.Progress, got.Snapshots, got.Pictures, got.Copied, got.Progress + got.Snapshots} {
			if n < 0 || n > size {
				t.Errorf("%+v of %d bytes", got, size)
			}
		}
	})
}

// scanTwice scans a file that is like the one before it, a few kilobytes at a time.
func scanTwice(data []byte) (s Shares, err error) {
	records := map[uint64]int{}
	for n := range 2 {
		if s, err = scan(bufio.NewReaderSize(bytes.NewReader(data), 4<<10), n, records); err != nil {
			return s, err
		}
	}
	return s, nil
}
