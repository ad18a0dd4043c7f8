package hook

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
)

// shell is a hook that is a text for sh.
func shell(t *testing.T, text string) []string {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh to write a hook in")
	}
	return []string{"sh", "-c", text}
}

// failures are what a runner told of hooks that failed.
type failures []string

func (f *failures) add(_, what string) { *f = append(*f, what) }

var asked = winnow.Compacting{
	SessionID: "ses_1", Auto: true, Policy: "balanced", Model: "acme/small", Tokens: 1200,
	Request: pivot.Request{
		System: "You write notes.", Instruction: "Write them.", Messages: make([]session.Message, 3), Tail: make([]session.Message, 2), Budget: 400,
		Focus: "the lamp", Directory: "/coast",
	},
}

func TestCompacting_isToldWhatIsAboutToBeFolded(t *testing.T) {
	dir := t.TempDir()
	var failed failures
	r := New(Config{Compacting: shell(t, "cat > told.json; pwd > folder"), Dir: dir, Environ: []string{"PATH=" + os.Getenv("PATH")}, Context: []string{"one line"}, Failed: failed.add})
	got, err := r.Hooks().Compacting(t.Context(), asked)
	if err != nil || !cmp.Equal(got, winnow.CompactingResult{}) || len(failed) > 0 {
		t.Fatalf("nothing was printed, and it changes %+v: %v %v", got, err, failed)
	}
	text, err := os.ReadFile(filepath.Join(dir, "told.json"))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"version":1,"hook":"session.compacting","sessionID":"ses_1","directory":"/coast","trigger":"auto","rejected":false,` +
		`"policy":"balanced","model":"acme/small","messages":3,"tokens":1200,"tailMessages":2,"budget":400,` +
		`"system":"You write notes.","prompt":"Write them.","context":["one line"],"focus":"the lamp"}` + "\n"
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("it reads (-want +got):\n%s", diff)
	}
}

func TestCompacting_saysWhatChanges(t *testing.T) {
	for name, test := range map[string]struct {
		prints string
		want   winnow.CompactingResult
		ends   bool
		cancel string
	}{
		"nothing":        {},
		"white space":    {prints: `\n \n`},
		"empty object":   {prints: `{}`},
		"context":        {prints: `{"context": ["The branch is lamp.", "Two tests fail."]}`, want: winnow.CompactingResult{Context: []string{"The branch is lamp.", "Two tests fail."}}},
		"prompts":        {prints: `{"prompt": "Write it short.", "system": "You are terse."}`, want: winnow.CompactingResult{Prompt: "Write it short.", System: "You are terse."}},
		"result":         {prints: `{"result": "## Goal\\nThe lamp."}`, want: winnow.CompactingResult{Answer: &pivot.Answer{Text: "## Goal\nThe lamp.", Finish: "stop", Model: "hook"}}},
		"no continue":    {prints: `{"continue": false}`, ends: true},
		"continue":       {prints: `{"continue": true}`},
		"cancel":         {prints: `{"cancel": true, "reason": "the tests are red", "result": "x"}`, cancel: "the tests are red"},
		"cancel, mutely": {prints: `{"cancel": true}`, cancel: "it gave no reason"},
		"a reason alone": {prints: `{"reason": "none"}`},
	} {
		t.Run(name, func(t *testing.T) {
			var failed failures
			r := New(Config{Compacting: shell(t, fmt.Sprintf("printf '%s'", test.prints)), Failed: failed.add})
			got, err := r.Hooks().Compacting(t.Context(), asked)
			if test.cancel != "" {
				if err == nil || err.Error() != test.cancel {
					t.Errorf("the error is %v, want %q", err, test.cancel)
				}
			} else if err != nil || len(failed) > 0 {
				t.Fatalf("%v %v", err, failed)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("it changes (-want +got):\n%s", diff)
			}
			if goesOn := r.Hooks().Continue(t.Context(), "ses_1", session.Message{}); goesOn == test.ends {
				t.Errorf("the work goes on by itself: %v", goesOn)
			}
			if !r.Hooks().Continue(t.Context(), "ses_2", session.Message{}) {
				t.Error("it holds another session up")
			}
		})
	}
}

// Whatever goes wrong with a hook changes nothing, and is told in one line.
func TestCompacting_failsOpen(t *testing.T) {
	for name, test := range map[string]struct {
		command []string
		told    string
	}{
		"exit code":        {shell(t, `echo; echo "no such branch" >&2; echo second >&2; echo '{"cancel": true}'; exit 3`), "exit code 3: no such branch"},
		"a signal":         {shell(t, `kill -9 $$`), "exit code 137"},
		"not JSON":         {shell(t, `echo done`), "not the JSON object"},
		"a list":           {shell(t, `echo '["a"]'`), "not the JSON object"},
		"two objects":      {shell(t, `echo '{"cancel": true} {}'`), "not the JSON object"},
		"an unknown name":  {shell(t, `echo '{"cancle": true}'`), "cancle"},
		"a wrong type":     {shell(t, `echo '{"context": "one line"}'`), "context"},
		"no summary":       {shell(t, `printf '%s' '{"result": "All is well."}'`), "its result does not count: the summary has none of the headings"},
		"too long":         {shell(t, `printf '{"result": "# %s"}' "$(yes lamp | head -n 3000 | tr '\n' ' ')"`), "not smaller than what it replaces"},
		"too much":         {shell(t, `head -c 1100000 /dev/zero | tr '\0' ' '; echo '{"cancel": true}'`), "more than 1048576 bytes"},
		"no such program":  {[]string{"winnow-has-no-such-program", "x"}, "not found"},
		"no such file":     {[]string{filepath.Join(t.TempDir(), "hook.sh")}, "no such file"},
		"not a program":    {[]string{t.TempDir()}, "permission denied"},
		"a NUL":            {[]string{"sh", "\x00"}, "invalid argument"},
		"colours on a tty": {shell(t, `printf '\033[31mred\033[0m\n\033]0;title\007' >&2; exit 1`), "exit code 1: red"},
	} {
		t.Run(name, func(t *testing.T) {
			var failed failures
			r := New(Config{Compacting: test.command, Failed: failed.add})
			got, err := r.Hooks().Compacting(t.Context(), asked)
			if err != nil || !cmp.Equal(got, winnow.CompactingResult{}) {
				t.Errorf("it changes %+v: %v", got, err)
			}
			if len(failed) != 1 || !strings.HasPrefix(failed[0], "the hook session.compacting failed, and the work goes on without it: ") ||
				!strings.Contains(failed[0], test.told) || strings.ContainsAny(failed[0], "\n\x1b") {
				t.Errorf("told is %q, want %q in one line", failed, test.told)
			}
		})
	}
}

// A hook that reads nothing is not held up by what it is told, nor by a process that it leaves behind.
func TestCompacting_needNotRead(t *testing.T) {
	long := asked
	long.Request.Instruction = strings.Repeat("long ", 1<<16) // more than a pipe holds
	var failed failures
	r := New(Config{Compacting: shell(t, `exec 0<&-; sleep 5 & echo '{"prompt": "p"}'`), Failed: failed.add})
	got, err := r.Hooks().Compacting(t.Context(), long)
	if err != nil || got.Prompt != "p" || len(failed) > 0 {
		t.Errorf("%+v %v %v", got, err, failed)
	}
}

func TestCompacting_endsTheWholeGroupOfWhatTakesTooLong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	var failed failures
	r := New(Config{Compacting: shell(t, `sleep 60 & echo $! > `+file+`; wait`), Timeout: 300 * time.Millisecond, Failed: failed.add})
	if got, err := r.Hooks().Compacting(t.Context(), asked); err != nil || !cmp.Equal(got, winnow.CompactingResult{}) {
		t.Errorf("it changes %+v: %v", got, err)
	}
	if len(failed) != 1 || !strings.Contains(failed[0], "it took longer than 300ms and was ended") {
		t.Errorf("told is %q", failed)
	}
	gone(t, file)
}

// gone waits until the process whose number a file has is ended.
func gone(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Skip("the hook was ended before it had begun: ", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	for p.Signal(syscall.Signal(0)) == nil { // what never ends is ended by the test's own deadline
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err == nil && strings.Contains(string(state), ") Z ") {
			return // nobody asked how it ended
		}
		time.Sleep(time.Millisecond)
	}
}

func TestCompacting_endsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("somebody stopped it")
	go func() {
		for {
			if _, err := os.Stat(filepath.Join(dir, "begun")); err == nil {
				cancel(why)
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	var failed failures
	r := New(Config{Compacting: shell(t, `: > begun; sleep 60`), Dir: dir, Timeout: time.Minute, Failed: failed.add})
	if _, err := r.Hooks().Compacting(ctx, asked); !errors.Is(err, why) || len(failed) > 0 {
		t.Errorf("it ends with %v, and told is %q", err, failed)
	}
}

func TestHooks_withoutACommandThereAreNone(t *testing.T) {
	if h := New(Config{Compacted: []string{"true"}}).Hooks(); h.Compacting != nil || h.Continue != nil {
		t.Error("the engine is given a hook that does nothing")
	}
}

// worked is an engine with a session that has something to prune and to fold.
func worked(t *testing.T, hooks winnow.Hooks) (*winnow.Engine, string) {
	t.Helper()
	e, err := winnow.Open(winnow.Config{Hooks: hooks})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	id, err := e.Create(t.Context(), session.Info{Title: "The lamp", Directory: "/coast"})
	if err != nil {
		t.Fatal(err)
	}
	said := func(role session.Role, parts ...session.Part) session.Message {
		return session.Message{MessageInfo: session.MessageInfo{Role: role}, Parts: parts}
	}
	for i := range 8 {
		err := errors.Join(
			e.Append(t.Context(), id, said(session.User, session.Part{Type: session.TextPart, Text: fmt.Sprintf("Change lamp %d.", i)})),
			e.Append(t.Context(), id, said(session.Assistant, session.Part{Type: session.ToolPart, Tool: "read", CallID: fmt.Sprint("call_", i),
				State: &session.ToolState{Status: session.Completed, Input: []byte(`{"filePath":"lamp.go"}`), Output: strings.Repeat("a line of the lamp\n", 2000)}})),
			e.Append(t.Context(), id, said(session.Assistant, session.Part{Type: session.TextPart, Text: "Changed."})),
		)
		if err != nil {
			t.Fatal(err)
		}
	}
	return e, id
}

func TestWatch_tellsWhatHappenedInItsOrder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "told")
	var failed failures
	r := New(Config{Compacted: shell(t, "cat >> "+file), Elided: shell(t, "cat >> "+file), Failed: failed.add})
	e, id := worked(t, winnow.Hooks{})
	w := r.Watch(e)
	pruned, err := e.Prune(t.Context(), id, false)
	if err != nil || pruned.Pruned == nil {
		t.Fatalf("%v: %+v", err, pruned)
	}
	receipt, err := e.Compact(t.Context(), id, winnow.CompactOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	w.Run(t.Context())
	text, err := os.ReadFile(file)
	if err != nil || len(failed) > 0 {
		t.Fatal(err, failed)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 2 {
		t.Fatalf("told is %s", text)
	}
	var first, second Input
	if err := errors.Join(json.Unmarshal([]byte(lines[0]), &first), json.Unmarshal([]byte(lines[1]), &second)); err != nil {
		t.Fatal(err)
	}
	if first.Hook != "elision.committed" || first.SessionID != id || first.Directory != "/coast" || first.Receipt != nil ||
		!cmp.Equal(first.Elisions, elisions(pruned.Pruned.Committed)) {
		t.Errorf("of the pruning it reads %s", lines[0])
	}
	saved := 0
	for _, el := range first.Elisions {
		saved += el.Tokens
	}
	if saved != rule.Saves(pruned.Pruned.Committed) || saved == 0 {
		t.Errorf("it saves %d tokens", saved)
	}
	if second.Hook != "session.compacted" || second.Receipt == nil || second.Receipt.ID != receipt.ID || second.Version != Version || len(second.Elisions) > 0 {
		t.Errorf("of the compaction it reads %s", lines[1])
	}
}

func TestWatch_whatFailsIsToldAndTheNextOneIsRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "told")
	var failed failures
	r := New(Config{Compacted: shell(t, "cat >> "+file), Elided: shell(t, "echo broken >&2; exit 1"), Failed: failed.add})
	e, id := worked(t, winnow.Hooks{})
	w := r.Watch(e)
	if _, err := e.Prune(t.Context(), id, false); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Compact(t.Context(), id, winnow.CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	w.Close()
	w.Run(t.Context())
	if len(failed) != 1 || !strings.Contains(failed[0], "the hook elision.committed failed") || !strings.Contains(failed[0], "broken") {
		t.Errorf("told is %q", failed)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

// In an engine: what the command prints is the summary, or cancels it with the error that has a code.
func TestHooks_inAnEngine(t *testing.T) {
	summary := `{"result": "## Goal\n\nChange the lamps, all of them, one after the other."}`
	e, id := worked(t, New(Config{Compacting: shell(t, "cat <<'END'\n"+summary+"\nEND")}).Hooks())
	receipt, err := e.Compact(t.Context(), id, winnow.CompactOptions{})
	if err != nil || receipt.Summarizer != "hook" {
		t.Fatalf("%v: %+v", err, receipt)
	}
	e, id = worked(t, New(Config{Compacting: shell(t, `echo '{"cancel": true, "reason": "the tests are red"}'`)}).Hooks())
	_, err = e.Compact(t.Context(), id, winnow.CompactOptions{})
	if winnow.CodeOf(err) != winnow.Cancelled || !strings.Contains(err.Error(), "the tests are red") {
		t.Errorf("the error is %v", err)
	}
}

// What looks like a key is not told.
func TestInput_hasNoSecrets(t *testing.T) {
	key := "sk-ant-api03-" + strings.Repeat("aB3dE6gH9j", 9) + "-xYz12AAA"
	file := filepath.Join(t.TempDir(), "told")
	c := asked
	c.Request.Focus = "the key " + key
	if _, err := New(Config{Compacting: shell(t, "cat > "+file)}).Hooks().Compacting(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(text), key) || json.Unmarshal(text, new(Input)) != nil {
		t.Errorf("%v: it is told %s", err, text)
	}
}

// docs/hooks.md says what every member means.
func TestDocuments_areInTheBook(t *testing.T) {
	book, err := os.ReadFile(filepath.Join("..", "..", "docs", "hooks.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []reflect.Type{reflect.TypeFor[Input](), reflect.TypeFor[Folding](), reflect.TypeFor[Elision](), reflect.TypeFor[Output]()} {
		for i := range kind.NumField() {
			if name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ","); name != "" && !strings.Contains(string(book), "`"+name+"`") {
				t.Errorf("docs/hooks.md does not name %s of %s", name, kind.Name())
			}
		}
	}
}

// What a hook prints is foreign: it is read or refused, and never changes what it was not asked for.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{"", " ", "{}", `{"context":["a"],"cancel":true}`, `{"cancel":1}`, "[1]", `{"a":`, "\xff", `{"continue":null}`, `{"result":"\ud800"}`, `{"cancel":true,"cancel":false}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, printed []byte) {
		o, err := read(printed)
		if err != nil {
			return
		}
		r, err := o.result()
		if (err != nil) != o.Cancel || (r.Answer != nil) != (strings.TrimSpace(o.Result) != "" && !o.Cancel) {
			t.Errorf("%q is %+v: %+v, %v", printed, o, r, err)
		}
	})
}
