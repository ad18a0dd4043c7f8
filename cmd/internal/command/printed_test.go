package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/gateway/shared"
	"github.com/winnowhq/winnow/team"
	"github.com/winnowhq/winnow/text/visible"
)

// poison is what no terminal may be sent: the clipboard, titles, a cleared screen, strings of a
// device, cursor movements, colours of a stranger, direction overrides, isolates and marks, tags,
// and bytes that are not UTF-8. It is given as Go text; jsonPoison is the same within a string of a
// JSON file.
const poison = "\x1b]52;c;cm0gLXJm\x07\x1b]0;owned\x1b\\\x1b]2;owned\x07\x1b[2J\x1b[8m\x1bPq\x1b\\\x1b_x\x1b\\\x1bc\u009b2J\u009d0;t\u009c\x9b2J\b\b\x7f\rover" +
	"\u202egnorw\u2066iso\u200frtl\u061c\u200b\ufeff\U000e0041\U000e0101\u2028\xff\xfe end"

const jsonPoison = `\u001b]52;c;cm0gLXJm\u0007\u001b]0;owned\u001b\\\u001b]2;owned\u0007\u001b[2J\u001b[8m\u001bPq\u001b\\\u001b_x\u001b\\\u001bc` + "\u009b2J\u009d0;t\u009c\x9b2J" + `\b\b\u007f\rover` +
	"\u202egnorw\u2066iso\u200frtl\u061c\u200b\ufeff\U000e0041\U000e0101\u2028\xff\xfe" + `\ud83d end`

// poisoned puts poison into every text, title, id, path and name of a session file of any format.
func poisoned(data []byte) []byte {
	data = regexp.MustCompile(`"(text|content|output)"(\s*:\s*)"`).ReplaceAll(data, []byte(`"$1"$2"nul\u0000 `)) // in a name it could not be an argument
	ids := `id|uuid|parentUuid|parentId|sessionID|sessionId|messageID|parentID|callID|call_id|tool_use_id|toolCallId|tool_call_id`
	typed := strings.NewReplacer("\u009c\x9b", "\u009c", "\xff\xfe"+`\ud83d`, "", "$", "$$").Replace(jsonPoison) // UTF-8, so that it can be an argument
	data = regexp.MustCompile(`"(`+ids+`)"(\s*:\s*)"((?:[^"\\]|\\.)*)"`).ReplaceAll(data, []byte(`"$1"$2"$3`+typed+`"`))
	members := `text|content|title|slug|message|` +
		`cwd|directory|root|command|cmd|filePath|file_path|path|output|model|modelID|provider|providerID|error|summary|thinking|observation|action|response|thought|` +
		`working_dir|environment|gitBranch|agent|pattern|description|system|instructions`
	data = regexp.MustCompile(`"(`+members+`)"(\s*:\s*)"((?:[^"\\]|\\.)*)"`).ReplaceAll(data, []byte(`"$1"$2"$3`+strings.ReplaceAll(jsonPoison, "$", "$$")+`"`))
	within := strings.ReplaceAll(strings.ReplaceAll(jsonPoison, `\`, `\\`), "$", "$$") // arguments that are JSON in a string
	data = regexp.MustCompile(`\\"(cmd|command|path|file_path|filePath)\\"(\s*:\s*)\\"((?:[^"\\])*)\\"`).ReplaceAll(data, []byte(`\"$1\"$2\"$3`+within+`\"`))
	n := 0
	return regexp.MustCompile(`"(name|tool|toolName)"(\s*:\s*)"((?:[^"\\]|\\.)*)"`).ReplaceAllFunc(data, func(member []byte) []byte {
		if n++; n%3 > 0 { // most tools stay known, so that something is found in their calls
			return member
		}
		return append(append(slices.Clone(member[:len(member)-1]), jsonPoison...), '"')
	})
}

// ourOwn is all that may be sent to a terminal beside text: our colours, and on standard error the
// line of progress.
var ourOwn = regexp.MustCompile("\x1b\\[(?:0|1|1;33|(?:1;)?38;5;[0-9]{1,3})m|\r\x1b\\[K")

// obeyed is the first thing in what was printed that a terminal obeys, or nobody sees, "" for
// nothing.
func obeyed(printed string) string {
	rest := ourOwn.ReplaceAllString(printed, "")
	if at := strings.IndexFunc(rest, func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t' || visible.Unseen(r)
	}); at >= 0 {
		return fmt.Sprintf("%q", rest[max(0, at-60):min(len(rest), at+20)])
	}
	if !utf8.ValidString(rest) {
		return "bytes that are not UTF-8"
	}
	return ""
}

// printing is a desk whose terminal can be chosen.
type printing struct {
	*desk
	screen bool // standard output and standard error are one
}

func (p *printing) prints(t *testing.T, args ...string) outcome {
	t.Helper()
	env := cli.System()
	var stdout, stderr bytes.Buffer
	env.Stdin, env.Stdout, env.Stderr, env.Dir, env.Environ = strings.NewReader(poison), &stdout, &stderr, p.dir, p.env
	env.StdinTerminal, env.StdoutTerminal, env.StderrTerminal, env.Width = false, p.screen, p.screen, 100
	env.Getenv = func(name string) string {
		for _, pair := range p.env {
			if n, value, _ := strings.Cut(pair, "="); n == name {
				return value
			}
		}
		return ""
	}
	defer forgetCompletions(args)()
	code := Program{Shared: team.Parts()}.Main(t.Context(), args, env)
	return outcome{code: code, stdout: stdout.String(), stderr: stderr.String()}
}

// isData tells of commands whose standard output is data that goes on byte for byte, where it is no
// terminal.
func isData(args []string) bool {
	switch args[0] {
	case "export":
		return !slices.Contains(args, "-o")
	case "inspect":
		return slices.Contains(args, "--as") && !slices.Contains(args, "--json")
	case "view":
		return !slices.Contains(args, "--json")
	case "run":
		return !slices.Contains(args, "--json")
	}
	return slices.Contains(args, "-o") && slices.Contains(args, "-")
}

// covered are the arguments with which each command is tried; a command that is not in it fails the
// test. FILE is a session in a file, ID one in the store, PART and MESSAGE are of it, HERE the
// folder.
var covered = map[string][]string{
	"":        {"", "--json", "POISON", "inspect latest", "inspect claude-code:", "inspect claude-code:POISON", "--policy POISON inspect FILE", "--POISON", "--model POISON inspect FILE", "--store POISON list", "--config POISON list", "--counter POISON inspect FILE", "--help"},
	"inspect": {"inspect FILE", "inspect FILE --json", "inspect ID", "inspect HERE", "inspect HERE --json", "inspect POISON", "inspect", "inspect FILE POISON", "inspect FILE --html POISON/x", "inspect FILE --log", "inspect ID --diff", "inspect ID --as anthropic", "inspect FILE --as POISON"},
	"prune":   {"prune FILE -n", "prune FILE -o PRUNED --force", "prune FILE -n --json", "prune ID -n", "prune POISON", "prune FILE -o -"},
	"view":    {"view FILE", "view FILE --as anthropic", "view FILE --as openai", "view FILE --as responses", "view FILE --as gemini", "view FILE --json", "view ID", "view FILE --as POISON"},
	"compact": {"compact FILE -n", "compact FILE -o COMPACTED --force --summarizer offline", "compact FILE -n --json", "compact ID --summarizer offline", "compact FILE --focus POISON -n --show", "compact FILE --summarizer POISON", "compact FILE -o -"},
	"replay":  {"replay FILE", "replay FILE --json", "replay FILE --csv -", "replay ID", "replay POISON", "replay FILE --policies POISON"},
	"advise":  {"advise FILE", "advise FILE --json", "advise HERE", "advise POISON", "advise --project POISON", "advise FILE --apply"},
	"explain": {"explain FILE", "explain FILE PART", "explain ID", "explain ID PART --json", "explain ID POISON", "explain ID --handles"},
	"undo":    {"undo ID", "undo ID POISON", "undo FILE", "undo FILE --in-place --force", "undo POISON"},
	"redo":    {"redo ID", "redo ID POISON", "redo FILE", "redo FILE --in-place --force", "redo FILE POISON"},
	"restore": {"restore ID PART", "restore ID POISON", "restore FILE PART", "restore FILE PART --in-place --force", "restore --print PART", "restore ID PART --print POISON", "restore --print POISON"},
	"pin":     {"pin ID PART", "pin ID --text POISON --note POISON", "pin ID", "pin ID --json", "pin ID --remove POISON", "pin ID POISON"},
	"dismiss": {"dismiss ID", "dismiss ID 1", "dismiss ID --json", "dismiss ID POISON", "dismiss FILE"},
	"handles": {"handles FILE", "handles ID", "handles ID --json", "handles POISON"},
	"discard": {"discard ID PART", "discard ID POISON", "discard FILE PART", "discard ID turn:1", "discard ID turn:1 --json", "discard ID turn:POISON", "discard ID message:99"},
	"distill": {"distill ID PART --text POISON", "distill ID POISON --text POISON"},
	"doctor":  {"doctor", "doctor FILE", "doctor FILE --json", "doctor POISON", "doctor FILE --fix", "doctor POISON --fix"}, "doctor originals": {"doctor originals", "doctor originals POISON"}, "doctor originals prune": {"doctor originals prune --all --dry-run", "doctor originals prune POISON"}, "config models": {"config models", "config models POISON"},
	"install":    {"install claude --print", "install claude", "install claude --json", "install claude --project", "install POISON", "install"},
	"uninstall":  {"uninstall claude", "uninstall claude --json", "uninstall POISON"},
	"anchor":     {"anchor FILE", "anchor FILE --json", "anchor FILE --undo", "anchor POISON"},
	"repair":     {"repair FILE", "repair FILE --json", "repair POISON", "repair ID"},
	"originals":  {"originals", "originals --json", "originals POISON"},
	"run":        {"run POISON", "run POISON --json", "run --session ID POISON", "run --session POISON x", "run --allow POISON x", "run x --model POISON"},
	"chat":       {"chat", "chat POISON", "chat --session ID", "chat --json"},
	"import":     {"import FILE", "import FILE --json", "import HERE", "import POISON", "import FILE --update"},
	"export":     {"export ID", "export ID -o EXPORTED --force", "export FILE --format opencode", "export FILE --format codex", "export FILE --format claude-code", "export ID --format POISON", "export POISON"},
	"continue":   {"continue ID --in pi", "continue FILE --in codex", "continue FILE --in claude --json", "continue FILE --in POISON", "continue POISON --in pi"},
	"rescue":     {"rescue FILE -n", "rescue FILE -o CURED --force", "rescue FILE -n --json", "rescue ID", "rescue", "rescue POISON"},
	"list":       {"list", "list --json", "list --everywhere", "list --everywhere --json", "list --everywhere --all --sort POISON", "list POISON"},
	"ls":         {"ls", "ls --json", "ls --since 7d", "ls --since POISON", "ls --project POISON", "ls --all --sort POISON", "ls --store", "ls --store POISON", "ls POISON"},
	"cost":       {"cost", "cost --json", "cost --since 366d", "cost --since POISON", "cost --by POISON", "cost --project POISON", "cost --html POISON/x", "cost POISON"},
	"protect":    {"protect ID", "protect ID --json", "protect FILE", "protect ID PART --note POISON", "protect ID --text POISON", "protect ID", "protect ID --remove POISON", "protect ID --dismiss POISON", "protect --path POISON", "protect --path POISON --remove", "protect POISON", "protect"},
	"advanced":   {"advanced", "help advanced", "advanced POISON"},
	"status":     {"status", "status --json", "status --by rule", "status --line --session ID"},
	"search":     {"search lamp", "search lamp --json", "search owned", "search POISON", "search lamp --session POISON", "search lamp --session ID", "search lamp --product POISON"},
	"show":       {"show FILE", "show FILE --json", "show FILE --diff", "show ID", "show POISON"},
	"revert":     {"revert ID", "revert ID MESSAGE", "revert ID POISON", "revert POISON"},
	"config":     {"config", "config --json", "config POISON"},
	"config get": {"config get POISON", "config get model --describe", "config get model --json"}, "config unset": {"config unset POISON", "config unset model", "config unset titles --json"}, "config edit": {"config edit POISON"},
	"config add": {"config add POISON POISON", "config add compaction.protectedPaths POISON"}, "config remove": {"config remove POISON POISON", "config remove compaction.context POISON"},
	"config set": {"config set POISON POISON", "config set model POISON", "config set policy POISON"},
	"models":     {"models", "models POISON", "models --json", "models anthropic/POISON"},
	"engine":     {"engine --stdio", "engine --schema", "engine POISON"},
	"wrap":       {"wrap", "wrap POISON", "wrap -- POISON", "wrap --mode POISON claude", "wrap --upstream POISON claude", "wrap --upstream POISON=http://x -- x", "wrap --install-alias POISON", "wrap --log POISON/x -- x"},
	"recall":     {"recall PART", "recall PART --json", "recall PART lamp", "recall PART --session ID", "recall PART --session POISON", "recall POISON", "recall PART POISON", "recall PART --lines POISON"},
	"mcp":        {"mcp", "mcp POISON", "mcp --listen POISON", "mcp --session POISON"},
	"gc":         {"gc", "gc --json", "gc --archive 1h --dry-run", "gc --shrink", "gc --shrink --dry-run --json", "gc --archive POISON", "gc --product POISON", "gc --project POISON", "gc --archived", "gc --undo", "gc POISON"},
	"shape":      {"shape", "shape POISON", "shape --product POISON", "shape --product pi", "shape --product codex"},
	"serve":      {"serve POISON", "serve --listen POISON", "serve --mode POISON"},
	"version":    {"version", "version --json", "version POISON"},
	"help":       {"help", "help inspect", "help POISON"},

	"tenant": {"tenant", "tenant POISON"}, "tenant add": {"tenant add POISON", "tenant add ann", "tenant add bob --json", "tenant add --mode POISON x", "tenant add x --key POISON", "tenant add x --capture POISON"},
	"tenant list": {"tenant list", "tenant list --json", "tenant list POISON"}, "tenant show": {"tenant show ann", "tenant show ann --json", "tenant show POISON"}, "tenant set": {"tenant set ann --key a=POISON", "tenant set POISON --mode off", "tenant show ann"},
	"tenant token": {"tenant token", "tenant token POISON"}, "tenant token add": {"tenant token add ann --label POISON", "tenant token add POISON", "tenant token add ann --scopes POISON", "tenant token add ann --expires POISON"},
	"tenant token list": {"tenant token list", "tenant token list ann", "tenant token list POISON", "tenant token list --json"}, "tenant token revoke": {"tenant token revoke POISON"}, "tenant token rotate": {"tenant token rotate POISON", "tenant token rotate x --overlap POISON"},
	"tenant audit": {"tenant audit", "tenant audit --json", "tenant audit POISON", "tenant audit --limit POISON"}, "tenant remove": {"tenant remove POISON", "tenant remove bob"}, "tenant person": {"tenant person", "tenant person POISON"}, "tenant person erase": {"tenant person erase ann POISON", "tenant person erase ann POISON --yes", "tenant person erase POISON x --yes"},
	"session": {"session", "session POISON"}, "session delete": {"session delete POISON", "session delete ID", "session delete ID --json", "session delete --tenant POISON x"},
	"tenant erase": {"tenant erase POISON", "tenant erase ann", "tenant erase POISON --yes"},
	"serve token":  {"serve token", "serve token POISON"}, "serve token add": {"serve token add POISON", "serve token add", "serve token add ann --json"},
	"serve token list": {"serve token list", "serve token list --json", "serve token list POISON"}, "serve token remove": {"serve token remove POISON"},

	"originals prune": {"originals prune", "originals prune --all --dry-run", "originals prune --json --all", "originals prune POISON", "originals prune --older-than POISON"},

	"store": {"store", "store POISON"}, "store migrate": {"store migrate", "store migrate --json", "store migrate POISON", "store migrate --store POISON://x"}, "store copy": {"store copy", "store copy POISON COPIED", "store copy POISON postgres://POISON", "store copy x y --tenant POISON", "store copy POISON://x y"},

	"completion":      {"completion", "completion POISON", "__complete inspect ", "__complete show ", "__complete inspect POISON", "__complete --model ", "__complete POISON "},
	"completion bash": {"completion bash"}, "completion zsh": {"completion zsh"}, "completion fish": {"completion fish"}, "completion powershell": {"completion powershell"},
}

// withoutSessions are the commands that print the same whatever sessions there are.
var withoutSessions = map[string]bool{"config": true, "models": true, "tenant": true, "version": true}

// first is the first word of a command.
func first(name string) string { word, _, _ := strings.Cut(name, " "); return word }

// commandsOf are the words of every command.
func commandsOf(root *cobra.Command) (all []string) {
	var walk func(c *cobra.Command, name string)
	walk = func(c *cobra.Command, name string) {
		all = append(all, name)
		for _, sub := range c.Commands() {
			walk(sub, strings.TrimSpace(name+" "+sub.Name()))
		}
	}
	walk(root, "")
	return all
}

func TestPrinted_everyCommandIsCovered(t *testing.T) {
	root := root(&cli.App{Env: cli.Env{Getenv: func(string) string { return "" }}, Shared: shared.None(errors.New("no database"))})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, name := range commandsOf(root) {
		if len(covered[name]) == 0 {
			t.Errorf("winnow %s is not tried on a hostile session: give it arguments in the table", name)
		}
	}
}

// hostileProvider answers each kind of request with what a terminal would obey: every second one
// with an error.
func hostileProvider(t *testing.T) (baseURL string) {
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if n++; n%2 == 1 {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"type":"error","error":{"type":"invalid_request_error","message":"no %s"}}`, jsonPoison)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range []string{
			`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"any","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"It is done ` + jsonPoison + `"}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}`,
			`{"type":"message_stop"}`,
		} {
			kind, _, _ := strings.Cut(strings.TrimPrefix(event, `{"type":"`), `"`)
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, event)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// poisonedDesk is a desk with a hostile session in a file with a hostile name, in the store, and
// where its product keeps it.
func poisonedDesk(t *testing.T, sample string) (p *printing, words map[string]string) {
	t.Helper()
	p = &printing{desk: newTeamDesk(t)}
	providers, err := json.Marshal(map[string]any{"house": map[string]any{
		"protocol": "anthropic", "baseURL": hostileProvider(t), "headers": map[string]string{"x-api-key": "none"}}})
	if err != nil {
		t.Fatal(err)
	}
	p.env = append(p.env, "WINNOW_PROVIDERS="+string(providers), "WINNOW_MODEL=house/any", "PATH="+os.Getenv("PATH"), "TERM=xterm")
	data, err := os.ReadFile(filepath.Join("testdata", "sessions", sample))
	if err != nil {
		t.Fatal(err)
	}
	data = poisoned(data)
	ext := filepath.Ext(sample)
	name := strings.ReplaceAll("tide"+poison, "/", "_") + ext
	if err := os.WriteFile(filepath.Join(p.dir, name), data, 0o644); err != nil {
		name = p.put("tide\x1b]0;owned\x07\u202e"+ext, data) // a file system that wants UTF-8
	}
	kept := filepath.Join(filepath.Dir(p.dir), "home", ".claude", "projects", "-coast\x1b[2J")
	if err := os.MkdirAll(kept, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(kept, "0f1e2d3c-4b5a-4678-9abc-def012345678.jsonl"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	words = map[string]string{"FILE": name, "POISON": poison, "HERE": ".", "PRUNED": "pruned" + ext, "COMPACTED": "compacted" + ext, "EXPORTED": "exported" + ext, "ID": "none", "PART": "none", "MESSAGE": "none"}
	o := p.prints(t, "import", name, "--json")
	if o.code != cli.ExitDone && o.code != cli.ExitPartly {
		t.Fatalf("the hostile session is not read: exit code %d, %s", o.code, o.stderr)
	}
	id := o.document(t)["sessions"].([]any)[0].(map[string]any)["id"].(string)
	words["ID"], _, _ = strings.Cut(id, "\x1b") // the beginning of an id will do; with a backslash in it, it would be taken for a path
	shown := p.prints(t, "show", words["ID"], "--json")
	for _, m := range shown.document(t)["session"].(map[string]any)["messages"].([]any) {
		words["MESSAGE"] = m.(map[string]any)["info"].(map[string]any)["id"].(string)
		for _, part := range m.(map[string]any)["parts"].([]any) {
			if id, kind := part.(map[string]any)["id"].(string), part.(map[string]any)["type"]; kind == "tool" {
				words["PART"] = id
			}
		}
	}
	return p, words
}

// Whatever a session, a name of a file, an argument or a provider says: nothing of it is obeyed by
// the terminal that it is printed to.
func TestPrinted_nothingThatATerminalObeys(t *testing.T) {
	sequential(t)
	samples, err := os.ReadDir(filepath.Join("testdata", "sessions"))
	if err != nil {
		t.Fatal(err)
	}
	for i, sample := range samples {
		t.Run(sample.Name(), func(t *testing.T) {
			t.Parallel()
			p, words := poisonedDesk(t, sample.Name())
			saw := 0
			for _, name := range slices.Sorted(func(yield func(string) bool) {
				for name := range covered {
					if !yield(name) {
						return
					}
				}
			}) {
				for _, line := range covered[name] {
					if (strings.Contains(line, "completion") || withoutSessions[first(name)]) && i > 0 ||
						name == "replay" && i%3 > 0 {
						continue // the same for each session; and replays take long
					}
					var args []string
					for _, word := range strings.Split(line, " ") {
						for from, to := range words {
							word = strings.ReplaceAll(word, from, to)
						}
						args = append(args, word)
					}
					if line == "" {
						args = nil
					}
					p.screen = true
					o := p.prints(t, args...)
					if strings.Contains(o.stdout+o.stderr, "owned") {
						saw++
					}
					for what, printed := range map[string]string{"standard output": o.stdout, "standard error": o.stderr} {
						if bad := obeyed(printed); bad != "" {
							t.Errorf("winnow %s: %s of a terminal has %s", line, what, bad)
						}
					}
					if i%4 > 0 {
						continue
					}
					p.screen = false
					o = p.prints(t, args...)
					if bad := obeyed(o.stderr); bad != "" {
						t.Errorf("winnow %s: standard error in a pipe has %s", line, bad)
					}
					if strings.Contains(o.stdout+o.stderr, "\x1b") && !isData(args) {
						t.Errorf("winnow %s: colour in a pipe", line)
					}
					if bad := obeyed(o.stdout); bad != "" && (len(args) == 0 || !isData(args)) {
						t.Errorf("winnow %s: standard output in a pipe has %s", line, bad)
					}
				}
			}
			if saw < 30 {
				t.Errorf("only %d commands printed anything of what is hostile: it is no test", saw)
			}
		})
	}
}

// Completion scripts are programs: they must come through as they were made.
func TestPrinted_completionScriptsAreWhole(t *testing.T) {
	sequential(t)
	d := newDesk(t)
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		root := root(&cli.App{Env: cli.Env{Getenv: func(string) string { return "" }}, Shared: shared.None(errors.New("no database"))})
		var want bytes.Buffer
		root.SetOut(&want)
		root.InitDefaultCompletionCmd()
		root.SetArgs([]string{"completion", shell})
		if err := root.ExecuteContext(context.Background()); err != nil {
			t.Fatal(err)
		}
		if o := d.run("completion", shell); o.stdout != want.String() || o.stdout == "" {
			t.Errorf("the script for %s was changed: %d bytes of %d", shell, len(o.stdout), want.Len())
		}
	}
}

// In a pipe data is byte for byte what it was.
func TestPrinted_dataGoesThroughUnchanged(t *testing.T) {
	sequential(t)
	p, words := poisonedDesk(t, "claude.jsonl")
	want := string(p.read(words["FILE"]))
	if o := p.prints(t, "export", words["FILE"]); o.stdout != want {
		t.Errorf("export changed what it passes on: %d bytes of %d", len(o.stdout), len(want))
	}
	if o := p.prints(t, "view", words["FILE"], "--as", "anthropic"); !strings.Contains(o.stdout, "\u202e") {
		t.Errorf("view does not give the messages as they are sent: %.300s", o.stdout)
	}
}
