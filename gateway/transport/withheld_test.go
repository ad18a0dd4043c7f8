package transport

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/cache"
	"github.com/winnowhq/winnow/store/sqlite"
)

// The laws hold where the store does not have what was said: also after restarts, and where next to
// nothing of it fits into memory.
func TestTransport_hostileClientsOfAStoreThatWithholds(t *testing.T) {
	sequential(t)
	for _, p := range llmtest.Protocols() {
		for _, memory := range []int{1, 1 << 30} {
			t.Run(fmt.Sprint(p, ", ", memory), func(t *testing.T) {
				walk(t, p, "", 0, func(s *stage) { s.withholds = memory })
			})
		}
		t.Run(fmt.Sprint(p, ", folded"), func(t *testing.T) {
			walk(t, p, "", 14_000, func(s *stage) { s.withholds = 1 })
		})
	}
	t.Run("bound", func(t *testing.T) {
		walk(t, llmtest.Anthropic, "claude-opus-5-5", 0, func(s *stage) { s.withholds = 1 })
	})
}

// What is sent is the same, request by request, whether the store has what was said or not.
func TestWithhold_decidesTheSame(t *testing.T) {
	sequential(t)
	sent := func(withholds int) (all [][]byte) {
		s := play(t, llmtest.Anthropic, 60, Options{})
		s.withholds = withholds
		s.restart()
		for i, at := range s.steps() {
			if i%7 == 6 && withholds > 0 {
				s.restart()
			}
			s.send(s.request(at))
		}
		for _, r := range s.server.Records() {
			all = append(all, r.Body)
		}
		return all
	}
	plain, withheld := sent(0), sent(1<<30)
	if len(plain) != len(withheld) {
		t.Fatalf("%d and %d requests", len(plain), len(withheld))
	}
	for i := range plain {
		if !bytes.Equal(plain[i], withheld[i]) {
			t.Fatalf("request %d differs", i)
		}
	}
}

// Nothing that the client or the model said is in the files of the store, but what winnow quotes.
func TestWithhold_nothingSaidIsKept(t *testing.T) {
	for _, withholds := range []int{0, 1 << 20} {
		s := play(t, llmtest.Anthropic, 30, Options{})
		path := filepath.Join(t.TempDir(), "s.db")
		s.store = must[store.Store](sqlite.Open(t.Context(), sqlite.Config{Path: path}))
		s.withholds = withholds
		s.restart()
		steps := s.steps()
		for _, at := range steps {
			s.send(s.request(at))
		}
		var lines []string // that somebody said
		for _, m := range s.log[:steps[len(steps)-1]] {
			for i := range m.Parts {
				lines = append(lines, regexp.MustCompile(`[A-Za-z0-9 ,.]{40,}`).FindAllString(saidIn(&m.Parts[i]), -1)...)
			}
		}
		sessions := must(s.store.List(context.Background()))
		if len(sessions) == 0 || len(lines) < 20 {
			t.Fatalf("%d sessions, %d lines", len(sessions), len(lines))
		}
		if err := s.store.Close(); err != nil {
			t.Fatal(err)
		}
		var kept []byte
		for _, name := range must(filepath.Glob(path + "*")) {
			kept = append(kept, must(os.ReadFile(name))...)
		}
		found := slices.DeleteFunc(lines, func(line string) bool { return !bytes.Contains(kept, []byte(line)) })
		if withholds == 0 && len(found) == 0 {
			t.Error("a store that keeps what is said has nothing of it: the test sees nothing")
		}
		if withholds > 0 && len(found) > 0 {
			t.Errorf("the store has %d pieces of what was said, such as %q", len(found), found[0])
		}
	}
}

// A summary is kept, and knows the folder of the messages that it stands for. The folder is not.
func TestWithhold_noFolderIsKept(t *testing.T) {
	const folder = "/home/ann/projects/canary"
	path := filepath.Join(t.TempDir(), "s.db")
	kept := must(sqlite.Open(t.Context(), sqlite.Config{Path: path}))
	w := Withhold(kept, cache.NewPool(1<<20))
	at := &session.Path{Cwd: folder, Root: folder}
	info := session.Info{ID: "live_1", Title: "canary", Directory: folder}
	if err := w.Create(t.Context(), info); err != nil {
		t.Fatal(err)
	}
	var asked, summary session.Message
	asked.ID, asked.Role, asked.Path, asked.Parts = "m0", session.User, at, []session.Part{{ID: "p", Type: session.TextPart, Text: "x"}}
	summary.ID, summary.Role, summary.Path, summary.Parts = "msg_2", session.Assistant, at, []session.Part{{ID: "q", Type: session.TextPart, Text: "y"}}
	if _, err := w.Apply(t.Context(), info.ID, store.Change{Info: &info, Append: []session.Message{asked, summary}}); err != nil {
		t.Fatal(err)
	}
	if err := kept.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range must(filepath.Glob(path + "*")) {
		if bytes.Contains(must(os.ReadFile(name)), []byte("canary")) {
			t.Errorf("%s has the folder", filepath.Base(name))
		}
	}
}

func saidIn(p *session.Part) string {
	if p.State != nil {
		return string(p.State.Input) + "\n" + p.State.Result()
	}
	return p.Text
}

// What is not kept says so where somebody asks for it.
func TestMessage_withheldKeepsWhatItWasAbout(t *testing.T) {
	m := session.Message{Parts: []session.Part{
		{ID: "p", Type: session.TextPart, Text: "secret"},
		{ID: "q", Type: session.ToolPart, Tool: "read", CallID: "c", State: &session.ToolState{
			Status: session.Completed, Input: []byte(`{"path":"secret"}`), Output: "secret"}},
	}}
	m.ID, m.Role = "m4", session.Assistant
	sum := content(&m)
	bare := m.Withhold(sum.String())
	if content(&bare) != sum || bare.Parts[1].Tool != "read" || !bare.Parts[1].State.Final() || bare.Parts[0].ID != "p" {
		t.Errorf("withheld: %+v", bare)
	}
	if bytes.Contains(fmt.Appendf(nil, "%+v", bare), []byte("secret")) {
		t.Errorf("it is still there: %+v", bare)
	}
}
