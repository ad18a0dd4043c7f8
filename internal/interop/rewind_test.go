//go:build interop

package interop

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/session"
)

// ownSummary begins every summary that winnow makes without a model.
const ownSummary = "Made from the log without a model"

// past are the turns of a session that is rewound: the prompt, and a word that its command prints.
// Winnow folds the first two behind the fourth: the third and the fourth are the tail.
var past = []struct{ prompt, output string }{
	{"Read the first list, please. CAPYBARA", "EARLY"},
	{"Read the second list. WALRUS", "MIDDLE"},
	{"Read the third list. NARWHAL", "LATE"},
	{"Read the fourth list. TAPIR", "NEWER"},
	{"Read the fifth list. GIRAFFE", "AFTER"},
	{"Read the sixth list. ZEBRA", "LAST"},
}

const beforeFold = 4 // turns of the past that are there when it is folded

// begins plays the turns before the fold, and goes plays those behind it.
func (a *agent) begins(t *testing.T) { a.plays(t, 0, beforeFold) }
func (a *agent) goes(t *testing.T)   { a.plays(t, beforeFold, len(past)) }

func (a *agent) plays(t *testing.T, from, to int) {
	t.Helper()
	for _, turn := range past[from:to] {
		a.work(t, turn.prompt, lines(turn.output, 200))
	}
}

// remembers checks which turns of the past a request has whole, each exactly once, and none of the
// others; and whether the summary is in it, once.
func remembers(t *testing.T, r llmtest.Request, summary bool, whole ...int) {
	t.Helper()
	said, gave, summaries := spoken(r)
	if want := map[bool]int{true: 1}[summary]; summaries != want {
		t.Errorf("the request has %d summaries, want %d", summaries, want)
	}
	for i, turn := range past {
		want := 0
		if slices.Contains(whole, i+1) {
			want = 1
		}
		if n := strings.Count(said, turn.prompt); n != want {
			t.Errorf("turn %d: the request has its prompt %d times, want %d", i+1, n, want)
		}
		if n := strings.Count(gave, turn.output+"-line-150"); n != want {
			t.Errorf("turn %d: the request has its output %d times, want %d", i+1, n, want)
		}
	}
}

// spoken takes a request apart: its texts, the results of its calls, and the number of summaries.
func spoken(r llmtest.Request) (said, gave string, summaries int) {
	var texts, results []string
	for _, m := range r.Messages {
		for i := range m.Parts {
			switch p := &m.Parts[i]; {
			case p.Type == session.TextPart && strings.Contains(p.Text, ownSummary):
				summaries++
			case p.Type == session.TextPart:
				texts = append(texts, p.Text)
			case p.Type == session.ToolPart:
				results = append(results, p.State.Result())
			}
		}
	}
	return strings.Join(texts, "\n"), strings.Join(results, "\n"), summaries
}

// reads checks that winnow reads a session of a product as the product sent it, folds it again, and
// takes that back.
func (w *workshop) reads(t *testing.T, a *agent, text []byte, asked llmtest.Request) {
	t.Helper()
	shown := visible(readAny(t, text), a.cleared)
	a.agreesOnPast(t, shown[:len(shown)-1], asked) // without the answer to the request
	putFile(t, filepath.Join(w.dir, "session"), string(text))
	w.run(t, "inspect", filepath.Join(w.dir, "session"))
	again := w.change(t, text, "compact", "--to", "1000")
	w.undo(t, again, text)
}

// inPlace runs a command of winnow on a file of a product's.
func (w *workshop) inPlace(t *testing.T, command, path string) {
	t.Helper()
	cmd := exec.Command(w.winnow, command, path, "--in-place", "--force")
	cmd.Dir, cmd.Env = w.dir, []string{"HOME=" + w.dir, "WINNOW_COMPACTION_KEEP=3200"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("winnow %s: %v\n%s", command, err, out)
	}
}

// refuses checks that winnow has nothing to do with a file, and leaves it as it is.
func (w *workshop) refuses(t *testing.T, command, path string) {
	t.Helper()
	before := readFile(t, path)
	if w.run(t, command, path, "--in-place", "--force") || !bytes.Equal(before, readFile(t, path)) {
		t.Errorf("winnow %s changed %s", command, path)
	}
}

// refused checks that a product refuses its arguments, and sends no request.
func (a *agent) refused(t *testing.T, args ...string) {
	t.Helper()
	a.die = make(chan struct{}) // a run may fail
	a.run(t, args...)
	a.die = nil
	if n := len(requestsTo(a.up)); n > 0 {
		t.Errorf("%q: the product made %d requests", args, n)
	}
}

// agreesOnPast checks that a request has the calls of a view with the same results, and what the
// user wrote in it.
func (a *agent) agreesOnPast(t *testing.T, shown []session.Message, asked llmtest.Request) {
	t.Helper()
	a.agreesOnCalls(t, shown, asked)
	for i := range shown {
		if m := &shown[i]; m.Written() && !asked.Contains(strings.TrimSpace(m.Text())) {
			t.Errorf("the request lacks what the user wrote: %.300q", m.Text())
		}
	}
}
