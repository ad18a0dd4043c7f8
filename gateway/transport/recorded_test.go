package transport

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/memory"
)

// recorder is a provider that keeps what it is sent, and says nothing.
type recorder struct {
	body   []byte
	header http.Header
}

func (r *recorder) RoundTrip(q *http.Request) (*http.Response, error) {
	r.body, r.header = nil, q.Header
	if q.Body != nil {
		r.body, _ = io.ReadAll(q.Body)
	}
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader("{}")),
		Request: q,
	}, nil
}

// recorded are the requests of a folder of recorded traffic, in order.
func recorded(t *testing.T, folder string) (requests []*http.Request, names []string) {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join(folder, "[0-9]*.json*"))
	slices.Sort(paths)
	for _, path := range paths {
		var was struct {
			Method, Path, Body string
			Headers            [][2]string
		}
		if err := json.Unmarshal(outside.Read(t, path), &was, session.ReadOptions(), json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		r, err := http.NewRequest(was.Method, "https://provider.example"+was.Path, strings.NewReader(was.Body))
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range was.Headers {
			r.Header.Add(h[0], h[1])
		}
		requests, names = append(requests, r), append(names, strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".gz"), ".json"))
	}
	return requests, names
}

// conversations are the requests of recorded folders, by what goes on with what: sub-agents,
// titles, classifiers, the client's own compactions and what follows them are apart.
var conversations = map[string][]string{
	"claude-code":           {"001 002 003 004 005 009 010 011 013", "006 007 008", "012", "014", "017"},
	"cline":                 {"001 002 003 004 005"},
	"codex":                 {"001 002 003 004 005 006 007 009", "008"},
	"codex-subagent":        {"001 002 003 005", "004"},
	"gemini-cli":            {"002 003 004 006 007 008"},
	"opencode-anthropic":    {"002 003 007 008", "004 005 006"},
	"opencode-chat":         {"002 003 004 005 006 007", "008", "009"},
	"opencode-responses":    {"002 003 007 008", "004 005 006"},
	"pi-messages":           {"001 002 003 004 005 006 008", "007"},
	"pi-openai-responses":   {"001 002 003"},
	"qwen-code":             {"001 002 003 004 005 006"},
	"codex-compaction":      {"001 002", "004 005 006 007 009", "008"},
	"qwen-subagent":         {"001 005", "002 003 004"},
	"claude-code-steps":     {"001 002 003 004 005 006 007 008 009 010 011"},
	"copilot-cli-anthropic": {"001 002 003 004"},
}

// What real clients send passes to the byte where nothing is left out of it, and each request joins
// the conversation that it goes on with.
func TestTransport_recordedTraffic(t *testing.T) {
	traffic := outside.Path(t, "fixtures", "traffic")
	folders, _ := filepath.Glob(filepath.Join(traffic, "*"))
	more, _ := filepath.Glob(filepath.Join(traffic, "extra", "*"))
	for _, folder := range append(folders, more...) {
		requests, names := recorded(t, folder)
		if len(requests) == 0 {
			continue
		}
		t.Run(filepath.Base(folder), func(t *testing.T) {
			set := settings.Default()
			set.Compaction.Auto = false
			engine, err := winnow.Open(winnow.Config{Settings: &set, Store: memory.New()})
			if err != nil {
				t.Fatal(err)
			}
			provider := &recorder{}
			transport := New(engine, Options{Base: provider})
			joined := map[string][]string{}
			for i, r := range requests {
				body := bytes.Clone(must(io.ReadAll(must(r.GetBody()))))
				header := r.Header.Clone()
				before := sizes(t, engine)
				if answer, err := transport.RoundTrip(r); err != nil {
					t.Fatal(err)
				} else if _, err := io.Copy(io.Discard, answer.Body); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(provider.body, body) {
					t.Errorf("%s: the body is another one", names[i])
				}
				for name := range header {
					if !slices.Equal(header[name], provider.header[name]) {
						t.Errorf("%s: header %s is %q, was %q", names[i], name, provider.header[name], header[name])
					}
				}
				into := "-"
				for id, n := range sizes(t, engine) {
					if n != before[id] {
						into = id
					}
				}
				joined[into] = append(joined[into], names[i])
			}
			var got []string
			for id, names := range joined {
				if id != "-" {
					got = append(got, strings.Join(names, " "))
				}
			}
			slices.Sort(got)
			if want, ok := conversations[filepath.Base(folder)]; ok && !slices.Equal(got, want) {
				t.Errorf("conversations:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// sizes are the lengths of the sessions of an engine.
func sizes(t *testing.T, e *winnow.Engine) map[string]int {
	t.Helper()
	list, err := e.Store().List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for _, l := range list {
		n[l.Info.ID] = l.Messages + 1
	}
	return n
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
