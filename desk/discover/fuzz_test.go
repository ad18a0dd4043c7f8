package discover

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A file in a folder of a product, whatever is in it, hides no other, and a cache, whatever is in it, changes nothing that is not in it for the same file.
func FuzzFind(f *testing.F) {
	cache := func(sessions string) []byte {
		return fmt.Appendf(nil, `{"version":%d,"sessions":%s}`, cacheVersion, sessions)
	}
	for _, name := range []string{"claude.jsonl", "codex.jsonl"} {
		f.Add([]byte(name), []byte(`{}`))
	}
	f.Add([]byte(`{"type":"user","sessionId":"s","cwd":"/a","message":{"role":"user","content":"hi"},"uuid":"u"}`+"\n"), cache(`{"x":{"bytes":5,"modified":7,"cost":-1}}`))
	f.Add([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"), cache(`null`))
	f.Add([]byte(`{"type":"session_meta","payload":{"id":"s","cwd":"/a"}}`), []byte(`[`))
	f.Add([]byte(`{"messages":[{"role":"user","content":"hi"}]}`), cache(`{"":{"bytes":1e99}}`))
	home := f.TempDir()
	f.Fuzz(func(t *testing.T, text, cached []byte) {
		folder := filepath.Join(home, ".claude", "projects", "p")
		own := filepath.Join(folder, "11111111-1111-4111-8111-111111111111.jsonl")
		good := filepath.Join(folder, "22222222-2222-4222-8222-222222222222.jsonl")
		memory := filepath.Join(home, "cache")
		const hello = `{"parentUuid":null,"type":"user","message":{"role":"user","content":"Hello."},"uuid":"00000000-0000-4000-8000-000000000001","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/coast","sessionId":"good","version":"2.1.197"}` + "\n"
		err := errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(own, text, 0o644), os.WriteFile(good, []byte(hello), 0o644), os.WriteFile(memory, cached, 0o600))
		if err != nil {
			t.Fatal(err)
		}
		find := func(c *Cache) []Found {
			s := &Search{Env: Env{Home: home}, Cache: c}
			found, _, err := s.Find(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Measure(t.Context(), found); err != nil {
				t.Fatal(err)
			}
			return found
		}
		fresh := find(nil)
		seen := false
		for _, one := range fresh {
			if seen = seen || one.Source == good; one.Source == good && (one.Project != "/coast" || one.Messages != 1) {
				t.Errorf("the other session is %+v", one)
			}
			if one.Messages < 0 || one.Tokens < 0 || one.Damaged < 0 || one.Source == "" {
				t.Errorf("found %+v", one)
			}
		}
		if !seen {
			t.Error("the other session is not found")
		}
		c := LoadCache(memory)
		same := cmp.Options{cmpopts.IgnoreUnexported(Found{})}
		if diff := cmp.Diff(fresh, find(c), same); diff != "" {
			t.Errorf("with a stranger's cache (-without +with):\n%s", diff)
		}
		if err := c.Save(memory); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fresh, find(LoadCache(memory)), same); diff != "" {
			t.Errorf("with its own cache (-without +with):\n%s", diff)
		}
	})
}
