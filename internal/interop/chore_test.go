//go:build interop

package interop

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/sqlite"
)

// A chore of a hundred calls ends alike with and without winnow in between: the same calls are
// made, the same files are there, and the provider finds fault with nothing more.
func TestClaudeCode_wrapped(t *testing.T) { wrapped(t, claudeAgent) }
func TestCodex_wrapped(t *testing.T)      { wrapped(t, codexAgent) }
func TestOpenCode_wrapped(t *testing.T)   { wrapped(t, openCodeAgent) }
func TestOpenCode_wrappedOnMessages(t *testing.T) {
	wrapped(t, func(t *testing.T) *agent { return openCodeOver(t, "@ai-sdk/anthropic") })
}
func TestOpenCode_wrappedOnResponses(t *testing.T) {
	wrapped(t, func(t *testing.T) *agent { return openCodeOver(t, "@ai-sdk/openai") })
}
func TestPi_wrapped(t *testing.T) { wrapped(t, piAgent) }
func TestPi_wrappedOnMessages(t *testing.T) {
	wrapped(t, func(t *testing.T) *agent { return piOver(t, "anthropic-messages") })
}
func TestQwenCode_wrapped(t *testing.T)  { wrapped(t, qwenReader) }
func TestGeminiCLI_wrapped(t *testing.T) { wrapped(t, geminiReader) }
func TestCopilot_wrapped(t *testing.T)   { wrapped(t, copilotReader) }
func TestCline_wrapped(t *testing.T)     { wrapped(t, clineReader) }

func wrapped(t *testing.T, start func(*testing.T) *agent) {
	tries(t, "wrap")
	winnow := buildWinnow(t, t.TempDir())
	alone, through, folded := start(t), start(t), start(t)
	through.through = []string{winnow, "wrap", "--mode", "full"}
	limit := 0 // of the window that folds, so that it must
	for _, a := range []*agent{alone, through, folded} {
		if a == folded {
			limit = largest(through) * 3 / 5
			a.through = append([]string{"/usr/bin/env", fmt.Sprint("WINNOW_COMPACTION_THRESHOLD=", limit)}, through.through...)
		}
		a.chore(t)
		if diff := gocmp.Diff(files(t, alone), files(t, a)); diff != "" {
			t.Errorf("the project is another one (-alone +through winnow):\n%.2000s", diff)
		}
		if want, got := len(requestsTo(alone.up)), len(requestsTo(a.up)); got != want {
			t.Errorf("%d requests without winnow, %d with it", want, got)
		}
		if was, is := alone.up.Problems(), a.up.Problems(); len(is) > len(was) {
			t.Errorf("the provider finds fault with %d requests, without winnow with %d: %s", len(is), len(was), is[len(is)-1])
		}
	}
	folds := made(t, folded.Home, pivot.Compaction)
	t.Logf("%s: %d requests, billed %s alone, %s through winnow (%d prunings, %d folds), %s folded at %d (%d folds)",
		filepath.Base(alone.bin), len(requestsTo(alone.up)), bills(alone), bills(through), made(t, through.Home, pivot.Pruning),
		made(t, through.Home, pivot.Compaction), bills(folded), limit, folds)
	if folds == 0 {
		t.Errorf("nothing was folded at %d tokens", limit)
	}
}

// A conversation goes on that was folded when its credential is exchanged, as after an OAuth refresh
// or a key's rotation: it stays one session, what was left out stays left out, and a provider that
// binds thinking to the prompt refuses nothing.
func TestClaudeCode_anotherCredentialInTheMiddle(t *testing.T) {
	tries(t, "exchange the credential")
	a := &agent{}
	up := llmtest.Start(t, llmtest.Script{Lenient: true, Binds: true, Answer: func(r llmtest.Request) llmtest.Reply {
		reply := a.answer(r)
		if len(r.ToolNames()) > 0 {
			reply.Reasoning = fmt.Sprintf("There were %d messages before this thought.", len(r.Messages))
		}
		return reply
	}})
	claudeAgentOn(t, a, up)
	a.Env = slices.DeleteFunc(a.Env, func(v string) bool { return strings.HasPrefix(v, "ANTHROPIC_API_KEY=") })
	a.Env = append(a.Env, "ANTHROPIC_MODEL=claude-opus-5-5", "CLAUDE_CODE_API_KEY_HELPER_TTL_MS=200")
	helper := filepath.Join(a.Home, "key.sh")
	putFile(t, helper, "#!/bin/sh\necho x >>"+helper+".n\necho sk-$(wc -l <"+helper+".n)\n")
	if err := os.Chmod(helper, 0o755); err != nil {
		t.Fatal(err)
	}
	putFile(t, filepath.Join(a.Home, ".claude", "settings.json"), fmt.Sprintf(`{"apiKeyHelper":%q}`, helper))
	a.through = []string{"/usr/bin/env", "WINNOW_COMPACTION_THRESHOLD=35000", buildWinnow(t, t.TempDir()), "wrap", "--mode", "full"}
	a.chore(t)
	keys, requests := map[string]bool{}, requestsTo(a.up)
	for _, r := range requests {
		keys[cmp.Or(r.Header.Get("X-Api-Key"), r.Header.Get("Authorization"))] = true
	}
	if len(keys) < 3 {
		t.Errorf("%d requests came with %d credentials", len(requests), len(keys))
	}
	if got := a.up.Problems(); len(got) > 0 {
		t.Errorf("the provider refused %d requests: %s", len(got), got[0])
	}
	folds, sessions := made(t, a.Home, pivot.Compaction), 0
	list, _ := kept(t, a.Home)
	for _, l := range list {
		if l.Messages > 20 {
			sessions++
		}
	}
	t.Logf("%d requests with %d credentials, %d folds, %d sessions of more than 20 messages", len(requests), len(keys), folds, sessions)
	if folds == 0 || sessions != 1 {
		t.Error("it was not folded, or did not stay one session")
	}
}

// asks counts the requests for answers, but for those in which the product sums up by itself.
func (a *agent) asks() (n int) {
	for _, r := range requestsTo(a.up) {
		if !a.sumsUp(r) {
			n++
		}
	}
	return n
}

// largest is the largest prompt that an agent sent, in tokens.
func largest(a *agent) (tokens int) {
	for _, r := range a.up.Records() {
		tokens = max(tokens, r.Usage.Prompt())
	}
	return tokens
}

// made counts what was done to the conversations of a product that has this home: of these kinds, or
// all of it.
func made(t *testing.T, home string, kinds ...pivot.Kind) (n int) {
	t.Helper()
	_, states := kept(t, home)
	for _, state := range states {
		for i := range state.Receipts {
			if len(kinds) == 0 || slices.Contains(kinds, state.Receipts[i].Kind) {
				n++
			}
		}
	}
	return n
}

// kept are the conversations of a product that has this home.
func kept(t *testing.T, home string) (list []store.Listing, states []store.State) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(home, ".local", "share", "winnow", "winnow.db")})
	if err != nil {
		t.Fatalf("winnow kept nothing: %v", err)
	}
	defer db.Close()
	if list, err = db.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, l := range list {
		state, err := db.State(t.Context(), l.Info.ID)
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, state)
	}
	return list, states
}

// chore has a hundred commands run, which print much and write files: in five turns where the
// product plays more than one, for after thirty calls in a turn Gemini CLI asks a model whether it
// goes round in circles.
func (a *agent) chore(t *testing.T) {
	t.Helper()
	turns := 5
	if a.single {
		turns = 1
	}
	for turn := range turns {
		var commands []string
		for i := range 100 / turns {
			n := turn*100/turns + i
			commands = append(commands, fmt.Sprintf("%s | tee out-%d.txt | tail -%d", lines(fmt.Sprintf("OUT-%d", n%7), 150), n, 10+n%5*30))
		}
		a.work(t, fmt.Sprintf("Do part %d of the chore. CAPYBARA", turn+1), commands...)
	}
}

// files are the files of a project that a chore left.
func files(t *testing.T, a *agent) map[string]string {
	t.Helper()
	all := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(a.Project, "out-*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		all[filepath.Base(path)] = string(readFile(t, path))
	}
	return all
}

// bills is what the provider's reports cost, by the prices of the model; that of models that nobody
// knows is in tokens.
func bills(a *agent) string {
	cost, tokens, priced := 0.0, 0, false
	for _, r := range a.up.Records() {
		tokens += r.Usage.Prompt()
		for _, provider := range []string{"anthropic", "openai", "google"} {
			m := model.Default().Lookup(provider + "/" + strings.TrimPrefix(r.Model, "models/"))
			if c, ok := m.Cost(bill.Usage(r.Usage)); ok && !m.Unknown {
				cost, priced = cost+c, true
				break
			}
		}
	}
	if !priced {
		return fmt.Sprintf("%d tokens of prompts", tokens)
	}
	return fmt.Sprintf("$%.4f, %d tokens of prompts", cost, tokens)
}
