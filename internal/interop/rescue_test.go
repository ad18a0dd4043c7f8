//go:build interop

package interop

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
)

// gate stands before an upstream, and refuses requests as a provider does.
type gate struct {
	URL string

	mu      sync.Mutex
	refuses func(path string, body []byte) *denial // nil: nothing
	refused int                                    // how many requests were
	passed  int                                    // how many requests for answers were not
	largest int                                    // bytes of the largest request that passed
}

// denial is how a provider refuses a request.
type denial struct {
	status int
	body   string // JSON, or events of a stream
}

// claudeDenies and openAIDenies are refusals of an invalid request.
func claudeDenies(message string) *denial {
	text, _ := json.Marshal(message)
	return &denial{400, `{"type":"error","error":{"type":"invalid_request_error","message":` + string(text) + `}}`}
}

func openAIDenies(code, message string) *denial {
	text, _ := json.Marshal(message)
	return &denial{400, fmt.Sprintf(`{"error":{"message":%s,"type":"invalid_request_error","param":"input","code":%q}}`,
		text, code)}
}

// fullWindow is how OpenAI's Responses refuse a prompt that is too long: within the stream.
func fullWindow() *denial {
	const failed = `{"type":"response.failed","sequence_number":3,"response":{"id":"resp_1","object":"response",` +
		`"created_at":1755041560,"status":"failed","background":false,"error":{"code":"context_length_exceeded",` +
		`"message":"Your input exceeds the context window of this model. Please adjust your input and try again."},` +
		`"incomplete_details":null,"instructions":null,"usage":null,"user":null,"metadata":{}}}`
	return &denial{200, "event: response.failed\ndata: " + failed + "\n\n"}
}

func newGate(t *testing.T, a *agent) *gate {
	t.Helper()
	to, err := url.Parse(a.up.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1
	g := &gate{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if d := g.look(r.URL.Path, body); d != nil {
			w.Header().Set("Content-Type", "application/json")
			if strings.HasPrefix(d.body, "event: ") {
				w.Header().Set("Content-Type", "text/event-stream")
			}
			w.WriteHeader(d.status)
			_, _ = io.WriteString(w, d.body)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	g.URL = server.URL
	a.leadTo(t, g.URL)
	a.die = make(chan struct{}) // a run that is refused may fail
	return g
}

func (g *gate) look(path string, body []byte) *denial {
	g.mu.Lock()
	defer g.mu.Unlock()
	if strings.HasSuffix(path, "/count_tokens") || len(body) == 0 {
		return nil
	}
	if dir := os.Getenv("WINNOW_SICK"); dir != "" {
		_ = os.WriteFile(filepath.Join(dir, fmt.Sprintf("req-%03d-%d%s", g.passed+g.refused, len(body),
			strings.ReplaceAll(path, "/", "-"))), body, 0o600)
	}
	if g.refuses != nil {
		if d := g.refuses(path, body); d != nil {
			g.refused++
			return d
		}
	}
	g.passed++
	g.largest = max(g.largest, len(body))
	return nil
}

// from has requests refused from now on; it returns how many were until now.
func (g *gate) from(refuses func(path string, body []byte) *denial) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if refuses != nil {
		g.refuses = refuses
	}
	return g.refused
}

// above refuses requests of more bytes than the largest so far and some more.
func (g *gate) above(more int, deny func(tokens, limit int) *denial) {
	g.mu.Lock()
	most := g.largest + more
	g.mu.Unlock()
	g.from(func(_ string, body []byte) *denial {
		if len(body) > most {
			return deny(len(body)/4, most/4)
		}
		return nil
	})
}

// with refuses requests in which all of some texts are.
func (g *gate) with(d *denial, texts ...string) {
	g.from(func(_ string, body []byte) *denial {
		for _, text := range texts {
			if !bytes.Contains(body, []byte(text)) {
				return nil
			}
		}
		return d
	})
}

// picture writes an image of noise into the project.
func (a *agent) picture(t *testing.T) string {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, 120, 120))
	noise := rand.New(rand.NewPCG(1, 2))
	for i := range 120 * 120 {
		img.Set(i%120, i/120, color.NRGBA{uint8(noise.UintN(256)), uint8(noise.UintN(256)), uint8(noise.UintN(256)), 255})
	}
	var text bytes.Buffer
	if err := png.Encode(&text, img); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(a.Project, "shot.png")
	putFile(t, path, text.String())
	return path
}

// sessionFile is the file that has the session of an agent.
func (a *agent) sessionFile(t *testing.T) (found string) {
	t.Helper()
	text := a.save(t)
	err := filepath.WalkDir(a.Home, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, ".jsonl") && bytes.Equal(readFile(t, path), text) {
			found = path
		}
		return err
	})
	if err != nil || found == "" {
		t.Fatalf("the session is in no file: %v", err)
	}
	return found
}

// broken is a state in which a product leaves a session.
type broken struct {
	name  string
	start func(*testing.T) *agent
	sick  func(*testing.T, *agent, *gate) // has the product write it
	code  string                          // what rescue finds
	lives bool                            // it is answered, but its new lines are lost
}

const (
	anthropicImage = "messages.2.content.0.tool_result.content.0.image.source.base64: image exceeds 5 MB maximum: " +
		"7340032 bytes > 5242880 bytes"
	openAIImage       = "The image data you provided does not represent a valid image. Please check your input and try again."
	anthropicThinking = "messages.1.content.0: Invalid `signature` in `thinking` block"
	openAIThinking    = "The encrypted content for item rs_1 could not be verified. Reason: Encrypted content could not be " +
		"decrypted or parsed."
)

var brokenStates = []broken{
	{name: "claude/prompt too long", start: claudeAgent, code: "too-long", sick: func(t *testing.T, a *agent, g *gate) {
		a.Env = append(a.Env, "DISABLE_AUTO_COMPACT=1")
		a.work(t, "Read list.txt, please. CAPYBARA", lines("EARLY", 900), lines("MIDDLE", 900))
		g.above(-20_000, func(tokens, limit int) *denial {
			return claudeDenies(fmt.Sprintf("prompt is too long: %d tokens > %d maximum", tokens, limit))
		})
	}},
	{name: "claude/compaction refused", start: claudeAgent, code: "too-long", sick: func(t *testing.T, a *agent, g *gate) {
		a.work(t, "Read list.txt, please. CAPYBARA", lines("EARLY", 900), lines("MIDDLE", 900))
		most := g.largest - 20_000
		g.from(func(_ string, body []byte) *denial {
			if len(body) > most || bytes.Contains(body, []byte("create a detailed summary")) {
				return claudeDenies(fmt.Sprintf("prompt is too long: %d tokens > %d maximum", len(body)/4, most/4))
			}
			return nil
		})
	}},
	{name: "claude/fold that loops", start: claudeAgent, code: "loop", lives: true,
		sick: func(t *testing.T, a *agent, _ *gate) {
			putFile(t, filepath.Join(a.Home, ".claude", "settings.json"), `{"autoCompactWindow":100000}`)
			a.work(t, "Read list.txt, please. CAPYBARA", lines("EARLY", 900))
			a.holds = func(llmtest.Request) <-chan struct{} { // whatever it folds, its window stays full
				a.usage = full()
				return nil
			}
			for range 16 {
				a.queue = append(a.queue, a.shell(lines("LATE", 20)))
			}
			a.say(t, "And the end. OTTER")
			a.holds, a.usage, a.queue = nil, nil, nil
		}},
	{name: "claude/torn line", start: claudeAgent, code: "torn", lives: true, sick: torn},
	{name: "codex/prompt too long", start: codexAgent, code: "too-long", sick: func(t *testing.T, a *agent, g *gate) {
		a.work(t, "Read list.txt, please. CAPYBARA", lines("EARLY", 900), lines("MIDDLE", 900))
		most := g.largest - 20_000
		g.from(func(_ string, body []byte) *denial {
			if len(body) > most || bytes.Contains(body, []byte("CONTEXT CHECKPOINT COMPACTION")) {
				return fullWindow()
			}
			return nil
		})
	}},
	{name: "codex/remote compaction fails", start: codexOfOpenAI, code: "compaction",
		sick: func(t *testing.T, a *agent, g *gate) {
			a.work(t, "Read list.txt, please. CAPYBARA", lines("EARLY", 900))
			a.usage = &session.Usage{Input: 150_000, Output: 20}
			g.from(func(path string, body []byte) *denial {
				if strings.HasSuffix(path, "/compact") || bytes.Contains(body, []byte(`"type":"compaction_trigger"`)) {
					return openAIDenies("invalid_request_error", "Compaction is not available.")
				}
				return nil
			})
			a.queue = []llmtest.Call{a.shell(lines("MIDDLE", 900))}
			a.say(t, "And the middle. OTTER")
			a.queue = nil
		}},
	{name: "codex/image refused", start: codexAgent, code: "image", sick: func(t *testing.T, a *agent, g *gate) {
		a.say(t, "Good morning. CAPYBARA")
		g.with(openAIDenies("invalid_value", openAIImage), `"input_image"`)
		id := codexThread(t, a)
		a.run(t, "exec", "resume", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check", "-i",
			a.picture(t), id, "Look at it.")
	}},
	{name: "codex/reasoning refused", start: codexThinking, code: "thinking", sick: func(t *testing.T, a *agent, g *gate) {
		a.think = "a wombat of a thought"
		a.work(t, "Read list.txt, please. CAPYBARA", "cat list.txt")
		a.think = ""
		g.with(openAIDenies("invalid_encrypted_content", openAIThinking), `"encrypted_content"`)
	}},
	{name: "codex/torn line", start: codexAgent, code: "torn", lives: true, sick: torn},
	{name: "pi/prompt too long", start: piAgent, code: "too-long", sick: func(t *testing.T, a *agent, g *gate) {
		a.work(t, "Read list.txt, please. CAPYBARA", lines("EARLY", 900), lines("MIDDLE", 900))
		most := g.largest - 20_000
		g.from(func(_ string, body []byte) *denial {
			if len(body) > most || !bytes.Contains(body, []byte(`"tools":`)) { // a summary neither
				return openAIDenies("context_length_exceeded", fmt.Sprintf("This model's maximum context length is %d tokens. "+
					"However, your messages resulted in %d tokens. Please reduce the length of the messages.", most/4, len(body)/4))
			}
			return nil
		})
	}},
	{name: "pi/image refused", start: piSeeing, code: "image", sick: func(t *testing.T, a *agent, g *gate) {
		a.say(t, "Good morning. CAPYBARA")
		g.with(claudeDenies(anthropicImage), `"type":"image"`)
		a.queue = []llmtest.Call{{Name: "read", Arguments: fmt.Sprintf(`{"path":%q}`, a.picture(t))}}
		a.say(t, "Look at it.")
	}},
	{name: "pi/thinking refused", start: piSeeing, code: "thinking", sick: func(t *testing.T, a *agent, g *gate) {
		a.think = "a wombat of a thought"
		a.work(t, "Read list.txt, please. CAPYBARA", "cat list.txt")
		a.think = ""
		g.with(claudeDenies(anthropicThinking), "a wombat of a thought")
	}},
	{name: "pi/torn line", start: piAgent, code: "torn", lives: true, sick: torn},
}

// torn has the product run into the end of the room for its file while it writes a line.
func torn(t *testing.T, a *agent, _ *gate) {
	a.work(t, "Read list.txt, please. CAPYBARA", lines("EARLY", 100))
	size := len(a.save(t))
	a.queue = []llmtest.Call{a.shell(lines("LATE", 900))}
	if filepath.Base(a.bin) == "codex" { // it has larger files beside that of the session
		kept := filepath.Join(a.Home, "kept")
		a.through = []string{"unshare", "-m", "sh", "-c", fmt.Sprintf(`set -e; cd "$HOME/.codex"; cp -a sessions %[1]q
			mount -t tmpfs -o size=%[2]d tmpfs sessions; cp -a %[1]q/. sessions; cd "$OLDPWD"; "$@" || true
			cp -a "$HOME/.codex/sessions/." %[1]q`, kept, (size/4096+2)*4096), "sh"}
		codexExec(t, a.client, codexThread(t, a), "And the end. NARWHAL")
		if out, err := exec.Command("cp", "-a", kept+"/.", filepath.Join(a.Home, ".codex", "sessions")).CombinedOutput(); err != nil {
			t.Fatalf("cp: %v: %s", err, out)
		}
		if err := os.RemoveAll(kept); err != nil {
			t.Fatal(err)
		}
	} else {
		const block = 512 // as sh counts
		a.through = []string{"sh", "-c", fmt.Sprintf(`ulimit -f %d; exec "$@"`, size/block+6), "sh"}
		a.say(t, "And the end. NARWHAL")
	}
	a.through, a.queue = nil, nil
	if text := a.save(t); len(text) == size || text[len(text)-1] == '\n' {
		t.Fatalf("the file has %d bytes, had %d, and its last line is whole", len(text), size)
	}
}

// codexOfOpenAI is Codex with a provider that has compactions of its own.
func codexOfOpenAI(t *testing.T) *agent {
	a := codexAgent(t)
	a.setUp(t, ".codex/config.toml", `name = "local"`, `name = "OpenAI"`)
	return a
}

// codexThinking is Codex with a model that reasons.
func codexThinking(t *testing.T) *agent {
	a := codexAgent(t)
	a.setUp(t, ".codex/config.toml", "model_auto", "model_reasoning_summary = \"detailed\"\n"+
		"model_supports_reasoning_summaries = true\nmodel_auto")
	return a
}

// piSeeing is pi with a model of Anthropic's that sees images and thinks.
func piSeeing(t *testing.T) *agent {
	a := piOver(t, "anthropic-messages")
	a.setUp(t, ".pi/agent/models.json", `"id":"scripted"`, `"id":"scripted","reasoning":true,"input":["text","image"]`)
	return a
}

// setUp changes a setting of the product.
func (a *agent) setUp(t *testing.T, file, old, now string) {
	t.Helper()
	path := filepath.Join(a.Home, file)
	text := strings.Replace(string(readFile(t, path)), old, now, 1)
	putFile(t, path, text)
}

func codexThread(t *testing.T, a *agent) string {
	t.Helper()
	_, doc := codexRollout(t, a.client)
	return doc.Session.Info.ID
}

// TestRescue_brokenByTheProduct: a session that a real product left in a state in which it cannot go
// on is cured; the product goes on with it before a provider that still refuses the sick shape; and
// the cure is undone to the byte.
func TestRescue_brokenByTheProduct(t *testing.T) {
	dir := t.TempDir()
	winnow := buildWinnow(t, dir)
	for _, b := range brokenStates {
		t.Run(b.name, func(t *testing.T) {
			tries(t, "rescue", "undo of a rescue")
			a := b.start(t)
			g := newGate(t, a)
			b.sick(t, a, g)
			for range 2 { // dead at every turn
				if b.lives {
					break
				}
				was := g.from(nil)
				a.say(t, "Go on, WALRUS.")
				if g.from(nil) == was {
					keepSick(t, b.name, a.save(t))
					t.Fatal("the product goes on: the state is no broken one")
				}
			}
			sick := a.save(t)
			path := a.sessionFile(t)
			keepSick(t, b.name, sick)
			ours := func(ends int, args ...string) string {
				t.Helper()
				cmd := exec.Command(winnow, args...)
				cmd.Dir, cmd.Env = a.Project, []string{"HOME=" + a.Home, "XDG_DATA_HOME=" + dir + "/data"}
				var out, problems strings.Builder
				cmd.Stdout, cmd.Stderr = &out, &problems
				if err := cmd.Run(); cmd.ProcessState.ExitCode() != ends {
					t.Fatalf("winnow %q: %v\n%s%s", args, err, out.String(), problems.String())
				}
				return out.String()
			}
			time.Sleep(2100 * time.Millisecond) // a file that was just written is refused
			if said := ours(4, "doctor", path); !strings.Contains(said, "winnow rescue ") {
				t.Errorf("doctor says: %s", said)
			}
			var done struct {
				Ailments     []struct{ Code, Sentence, Cure string }
				Undo, Resume string
			}
			text := ours(0, "rescue", path, "--json")
			if err := json.Unmarshal([]byte(text), &done, json.MatchCaseInsensitiveNames(true)); err != nil {
				t.Fatal(err)
			}
			if len(done.Ailments) != 1 || done.Ailments[0].Code != b.code || done.Resume == "" {
				t.Fatalf("rescue did: %s", text)
			}
			t.Logf("it said %.200q; %s; resume with %q", done.Ailments[0].Sentence, done.Ailments[0].Cure, done.Resume)
			cured := readFile(t, path)
			t.Logf("undo: %s", ours(0, "undo", path, "--in-place"))
			if !bytes.Equal(readFile(t, path), sick) {
				t.Fatal("undone, the file is another one")
			}
			ours(0, "rescue", path)
			if bytes.Equal(readFile(t, path), sick) {
				t.Fatalf("rescued again, the file is as it was; it had %d bytes", len(cured))
			}
			was := g.from(nil)
			a.up.Forget()
			a.say(t, "And now, OKAPI?")
			if n := g.from(nil) - was; n > 0 {
				t.Errorf("%d requests of the resumed session are refused", n)
			}
			a.asked(t, "OKAPI")
			ours(5, "rescue", path, "--force")
			ours(0, "undo", path, "--in-place", "--force")
			if grown := readFile(t, path); !bytes.HasPrefix(grown, sick) || len(grown) == len(sick) {
				t.Errorf("undone after another turn, the file does not begin with what it was: %d bytes, %d", len(grown), len(sick))
			}
		})
	}
}

// TestRescue_openCode: OpenCode imports the cure into its own store; of an export the rescue is undone
// to the byte.
func TestRescue_openCode(t *testing.T) {
	dir := t.TempDir()
	winnow := buildWinnow(t, dir)
	chatFull := func(most int) func(string, []byte) *denial {
		return func(_ string, body []byte) *denial {
			if len(body) > most {
				return openAIDenies("context_length_exceeded", fmt.Sprintf("This model's maximum context length is %d tokens. "+
					"However, your messages resulted in %d tokens. Please reduce the length of the messages.", most/4, len(body)/4))
			}
			return nil
		}
	}
	for _, b := range []broken{
		{name: "prompt too long", start: openCodeAgent, code: "too-long", sick: func(t *testing.T, a *agent, g *gate) {
			a.work(t, "Read list.txt, please. CAPYBARA", lines("EARLY", 900), lines("MIDDLE", 900))
			g.from(chatFull(g.largest - 20_000))
		}},
	} {
		t.Run(b.name, func(t *testing.T) {
			tries(t, "rescue", "undo of a rescue")
			a := b.start(t)
			g := newGate(t, a)
			b.sick(t, a, g)
			was := g.from(nil)
			a.say(t, "Go on, WALRUS.")
			sick := a.save(t)
			keepSick(t, "opencode/"+b.name, sick)
			if g.from(nil) == was {
				t.Fatal("the product goes on: the state is no broken one")
			}
			ours := func(ends int, args ...string) string {
				t.Helper()
				cmd := exec.Command(winnow, args...)
				cmd.Dir = a.Project
				cmd.Env = append([]string{"HOME=" + a.Home, "XDG_DATA_HOME=", "PATH=" + filepath.Dir(a.bin) + ":" + os.Getenv("PATH")}, a.Env...)
				out, err := cmd.CombinedOutput()
				if cmd.ProcessState.ExitCode() != ends {
					t.Fatalf("winnow %q: %v\n%s", args, err, out)
				}
				return string(out)
			}
			file := filepath.Join(a.Project, "export.json")
			putFile(t, file, string(sick))
			time.Sleep(2100 * time.Millisecond) // a file that was just written is refused
			if said := ours(0, "rescue", file); !strings.Contains(said, "("+b.code+")") {
				t.Errorf("rescue says: %s", said)
			}
			ours(0, "undo", file, "--in-place")
			if !bytes.Equal(readFile(t, file), sick) {
				t.Error("undone, the export is another one")
			}
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			said := ours(0, "rescue", "opencode:")
			t.Logf("%s", said)
			if !strings.Contains(said, "opencode --session ses_") {
				t.Errorf("the line that resumes is missing")
			}
			was = g.from(nil)
			a.up.Forget()
			a.say(t, "And now, OKAPI?")
			if n := g.from(nil) - was; n > 0 {
				t.Errorf("%d requests of the resumed session are refused", n)
			}
			a.asked(t, "OKAPI")
		})
	}
}

// keepSick writes a session to the folder that WINNOW_SICK names, to look at.
func keepSick(t *testing.T, name string, text []byte) {
	if dir := os.Getenv("WINNOW_SICK"); dir != "" {
		putFile(t, filepath.Join(dir, strings.NewReplacer("/", "-", " ", "-").Replace(name)), string(text))
	}
}
