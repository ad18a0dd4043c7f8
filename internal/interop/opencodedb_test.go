//go:build interop

package interop

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/format/opencodedb"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
)

// served is an OpenCode that runs as a server.
type served struct {
	*client
	url  string
	stop func()
}

// serve starts the product's server and waits until it listens.
func serve(t *testing.T, c *client) *served {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	how := c.starts("serve", "--port", "0", "--print-logs")
	command := exec.CommandContext(ctx, how.Path, how.Args[1:]...)
	command.Dir, command.Env = how.Dir, how.Env
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 5 * time.Second
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(c.Home, "serve.log"))
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	s := &served{client: c}
	listening := make(chan string, 1)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			if at := regexp.MustCompile(`http://[0-9.:]+`).FindString(lines.Text()); at != "" {
				select {
				case listening <- at:
				default:
				}
			}
		}
	}()
	stopped := false
	s.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		<-drained
		command.Wait() // it ends by the signal
		log.Close()
	}
	t.Cleanup(s.stop)
	select {
	case s.url = <-listening:
	case <-drained:
		t.Fatal("opencode serve ended at once")
	case <-time.After(2 * time.Minute):
		t.Fatal("opencode serve does not listen")
	}
	return s
}

// call posts to the server and returns what it answered.
func (s *served) call(t *testing.T, path string, body any) []byte {
	t.Helper()
	answer, err := s.post(path, body)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func (s *served) post(path string, body any) ([]byte, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 300 {
		err = fmt.Errorf("POST %s: %s: %s", path, response.Status, answer)
	}
	return answer, err
}

// begin makes a session and returns its id.
func (s *served) begin(t *testing.T, title string) string {
	t.Helper()
	var made struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(s.call(t, "/session", map[string]any{"title": title}), &made); err != nil ||
		made.ID == "" {
		t.Fatalf("no session was made: %v", err)
	}
	return made.ID
}

// prompt says something in a session, to a model of a provider.
func prompt(provider, text string) map[string]any {
	return map[string]any{
		"model": map[string]any{"providerID": provider, "modelID": "m1"},
		"parts": []any{map[string]any{"type": "text", "text": text}},
	}
}

// same compares our reading of a session with the product's own export, byte for byte. Where the
// product wrote by itself between the two, they are compared again.
func same(t *testing.T, store *opencodedb.Store, c *client, id, when string) {
	t.Helper()
	read := func() string {
		text, damaged, err := store.Export(t.Context(), id)
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		if len(damaged) > 0 {
			t.Errorf("%s: %s: damaged: %v", when, id, damaged)
		}
		return string(text)
	}
	var ours, theirs string
	for range 10 {
		before := read()
		theirs = c.run(t, "export", id)
		if ours = read(); ours == theirs || before == ours {
			break
		}
		t.Logf("%s: the product wrote to %s meanwhile", when, id)
	}
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Errorf("%s: session %s differs (-opencode export +ours):\n%s", when, id, diff[:min(len(diff), 4000)])
	}
	// The document is what the export's reader gives.
	doc, err := store.Read(t.Context(), id)
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	if diff := cmp.Diff(readExport(t, []byte(theirs)).Session, doc.Session); diff != "" {
		t.Errorf("%s: the log of %s differs (-export +database):\n%s", when, id, diff)
	}
	t.Logf("%s: %s equals its export: %d messages, %d bytes", when, id, len(doc.Session.Messages), len(ours))
}

// TestOpenCode_itsDatabaseIsReadWhileItRuns lets the product write sessions of every kind and reads
// them from its database meanwhile.
func TestOpenCode_itsDatabaseIsReadWhileItRuns(t *testing.T) {
	tries(t, "compact", "read its store")
	script := []llmtest.Call{
		{Name: "bash", Arguments: `{"command":"echo pebble-$((40+2)); seq 1 40","description":"count the pebbles"}`},
		{Name: "todowrite", Arguments: `{"todos":[{"content":"count the ` +
			`shells","status":"pending","priority":"high"},{"content":"count the ` +
			`pebbles","status":"completed","priority":"low"}]}`},
		{Name: "read", Arguments: `{"filePath":"no-such-file.txt"}`},
		{Name: "bash", Arguments: `{"command":"echo shell-$((50+1))","description":"count the shells"}`},
	}
	u := provider(t, func(r llmtest.Request) llmtest.Reply {
		switch {
		case len(r.ToolNames()) == 0:
			return llmtest.Reply{Text: "## Goal\n\nCount what lies on the beach."}
		case r.Contains("as a diver: look below"):
			return llmtest.Reply{Text: "There is a wreck."}
		case r.Contains("Send a diver."):
			if r.Results() == 0 {
				return llmtest.Reply{Text: "Down.", Calls: []llmtest.Call{{Name: "task",
					Arguments: `{"description":"look below","prompt":"as a diver: look ` +
						`below","subagent_type":"general"}`}}}
			}
			return llmtest.Reply{Text: "The diver saw a wreck."}
		case r.Contains("Count the beach.") && r.Results() < len(script):
			return llmtest.Reply{Text: "Next.", Calls: script[r.Results():][:1]}
		}
		return llmtest.Reply{Text: "All counted."}
	})
	asked, release := make(chan struct{}, 16), make(chan struct{})
	slow := provider(t, func(llmtest.Request) llmtest.Reply {
		asked <- struct{}{}
		<-release
		return llmtest.Reply{Text: "Too late."}
	})
	released := false
	letGo := func() {
		if !released {
			close(release)
			released = true
		}
	}
	t.Cleanup(letGo) // before the upstream is closed, which waits for its requests

	c := newOpenCode(t, u)
	file := filepath.Join(c.Project, "opencode.json")
	config, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	other := fmt.Sprintf(`"provider":{"slow":{"npm":"@ai-sdk/openai-compatible","name":"slow",`+
		`"options":{"baseURL":"%s/v1","apiKey":"k"},"models":{"m1":{"name":"m1","limit":{"context":200000,`+
		`"output":8000},"tool_call":true}}},`, slow.URL)
	if err := os.WriteFile(file, []byte(strings.Replace(string(config), `"provider":{`, other, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	s := serve(t, c)
	data := filepath.Join(c.Home, ".local", "share", "opencode")

	counted := s.begin(t, "The beach")
	s.call(t, "/session/"+counted+"/message", prompt("local", "Count the beach."))
	s.call(t, "/session/"+counted+"/summarize", map[string]any{"providerID": "local", "modelID": "m1"})
	s.call(t, "/session/"+counted+"/message", prompt("local", "And now?"))
	dived := s.begin(t, "The diver")
	s.call(t, "/session/"+dived+"/message", prompt("local", "Send a diver."))

	stores, err := opencodedb.Stores(data)
	if err != nil || len(stores) != 1 {
		t.Fatalf("stores in %s: %v %v", data, stores, err)
	}
	store, err := opencodedb.Open(stores[0])
	if err != nil {
		t.Fatal(err)
	}
	list, err := store.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	child := ""
	for _, l := range list {
		t.Logf("listed: %s %q parent %q, %d messages, %.0f tokens in", l.ID, l.Title, l.ParentID, l.Messages,
			float64(l.Tokens.Input))
		if l.ParentID == dived {
			child = l.ID
		}
	}
	if len(list) != 3 || child == "" {
		t.Errorf("%d sessions are listed, want the two and the diver's own", len(list))
	}
	// The product still writes by itself now and then; a reader that wrote would change the files
	// every time.
	for attempt := 1; ; attempt++ {
		before := digest(t, stores[0])
		for _, l := range list {
			if _, err := store.Read(t.Context(), l.ID); err != nil {
				t.Fatal(err)
			}
		}
		after := digest(t, stores[0])
		if after == before {
			break
		}
		if attempt == 30 {
			t.Fatalf("the database or its log changes whenever it is read: %s, then %s", before, after)
		}
		time.Sleep(time.Second)
	}
	for _, l := range list {
		same(t, store, c, l.ID, "while it serves")
	}
	doc, err := store.Read(t.Context(), counted)
	if err != nil {
		t.Fatal(err)
	}
	pivots, tools, failed := 0, map[string]int{}, 0
	for i := range doc.Session.Messages {
		m := &doc.Session.Messages[i]
		if m.Completes() {
			pivots++
		}
		for _, p := range m.Parts {
			if p.Type == session.ToolPart {
				tools[p.Tool]++
				if p.State.Status == session.Failed {
					failed++
				}
			}
		}
	}
	if pivots != 1 || tools["bash"] != 2 || tools["todowrite"] != 1 || failed != 1 {
		t.Errorf("the first session has %d pivots, %v calls, %d failed", pivots, tools, failed)
	}

	// A turn that hangs on the provider: what is there so far is read, and equals the export.
	hung := s.begin(t, "The tide")
	answered := make(chan error, 1)
	go func() {
		_, err := s.post("/session/"+hung+"/message", prompt("slow", "Wait for the tide."))
		answered <- err
	}()
	select {
	case <-asked:
	case err := <-answered:
		t.Fatalf("the prompt was answered before the provider: %v", err)
	case <-time.After(2 * time.Minute):
		t.Fatal("the provider was never asked")
	}
	same(t, store, c, hung, "while a turn runs")
	s.call(t, "/session/"+hung+"/abort", map[string]any{})
	if err := <-answered; err != nil {
		t.Logf("the aborted prompt ended with: %v", err)
	}
	letGo()
	same(t, store, c, hung, "after it was aborted")
	doc, err = store.Read(t.Context(), hung)
	if err != nil {
		t.Fatal(err)
	}
	if last := doc.Session.Messages[len(doc.Session.Messages)-1]; !last.Failed() ||
		!strings.Contains(string(last.Error), "Aborted") {
		t.Errorf("the aborted turn ends with the error %s", last.Error)
	}

	// Many readers while the product writes.
	wrote := make(chan error, 1)
	go func() {
		for range 3 {
			if _, err := s.post("/session/"+dived+"/message", prompt("local", "Count the beach.")); err != nil {
				wrote <- err
				return
			}
		}
		wrote <- nil
	}()
	reads, done := 0, false
	for !done {
		select {
		case err := <-wrote:
			if err != nil {
				t.Error(err)
			}
			done = true
		default:
			doc, err := store.Read(t.Context(), dived)
			if err != nil {
				t.Fatalf("read %d while it writes: %v", reads, err)
			}
			if len(doc.Damaged) > 0 {
				t.Errorf("read %d while it writes: damaged: %v", reads, doc.Damaged)
			}
			reads++
		}
	}
	t.Logf("read %d times while the product wrote", reads)
	same(t, store, c, dived, "after it was written to")

	s.stop()
	for _, id := range []string{counted, dived, child, hung} {
		same(t, store, c, id, "after it was stopped")
	}

	// Compacted, a session of the database is an export that another installation imports and
	// resumes.
	file = filepath.Join(c.Home, "compacted.json")
	newWorkshop(t, nil).run(t, "compact", opencodedb.Name(stores[0], dived), "-o", file)
	resumed := importInto(t, u, readFile(t, file))
	u.Forget()
	resumed.run(t, "run", "-s", dived, "Where are we?")
	sent := lastChat(t, u)
	if !strings.Contains(sent, "Made from the log without a model") || !strings.Contains(sent, "Where are we?") {
		t.Errorf("the request after the import, want a summary and the question:\n%.3000s", sent)
	}
}

// digest tells whether a database or its log was written to.
func digest(t *testing.T, path string) string {
	t.Helper()
	sum := ""
	for _, name := range []string{path, path + "-wal"} {
		text, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		sum += fmt.Sprintf("%d bytes %x ", len(text), sha256.Sum256(text))[:30]
	}
	return sum
}

// TestOpenCode_itsOlderFoldersEqualItsExport needs a version from before the database, such as
// 1.1.27: WINNOW_CLIENTS=…/node_modules with it alone.
func TestOpenCode_itsOlderFoldersEqualItsExport(t *testing.T) {
	tries(t, "read its store")
	script := []llmtest.Call{
		{Name: "bash", Arguments: `{"command":"echo pebble-$((40+2))","description":"count the pebbles"}`},
		{Name: "todowrite", Arguments: `{"todos":[{"id":"1","content":"count the ` +
			`shells","status":"pending","priority":"high"}]}`},
		{Name: "read", Arguments: `{"filePath":"no-such-file.txt"}`},
	}
	u := provider(t, func(r llmtest.Request) llmtest.Reply {
		if len(r.ToolNames()) == 0 || r.Results() >= len(script) {
			return llmtest.Reply{Text: "All counted."}
		}
		return llmtest.Reply{Text: "Next.", Calls: script[r.Results():][:1]}
	})
	c := newOpenCode(t, u)
	if version := c.run(t, "--version"); !regexp.MustCompile(`^1\.(0|1)\.`).MatchString(version) {
		t.Skipf("%s keeps a database", strings.TrimSpace(version))
	}
	putFile(t, filepath.Join(c.Home, ".cache", "opencode", "models.json"), "{}") // it would fetch one
	c.run(t, "run", "Count the beach.")
	id := regexp.MustCompile(`ses_[A-Za-z0-9]+`).FindString(c.run(t, "session", "list"))
	c.run(t, "run", "-s", id, "And now?")
	stores, err := opencodedb.Stores(filepath.Join(c.Home, ".local", "share", "opencode"))
	if err != nil || len(stores) == 0 {
		t.Fatalf("stores: %v %v", stores, err)
	}
	store, err := opencodedb.Open(stores[0])
	if err != nil {
		t.Fatal(err)
	}
	list, err := store.List(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != id {
		t.Fatalf("%+v, %v", list, err)
	}
	t.Logf("listed: %+v", list[0])
	if list[0].Messages < 6 {
		t.Errorf("the session has %d messages: the product did not get to work", list[0].Messages)
	}
	same(t, store, c, id, "in its folders")
}
