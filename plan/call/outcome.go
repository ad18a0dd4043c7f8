package call

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/winnowhq/winnow/session"
)

// Outcome is how a call ended, as far as the log tells.
type Outcome struct {
	// Known is false for a call that has not ended, and for a command that gave neither an exit
	// status nor a telling line.
	Known  bool
	Failed bool
	// Refused is set when a person or a permission stopped the call: nothing was tried.
	Refused bool
	// Exit is the exit status of a command where one was reported, -1 where none was.
	Exit int
}

// refusing are the words of a person or a permission that stopped a call.
var refusing = newWords([]string{"doesn't want to proceed", "user rejected", "rejected permission",
	"permission denied by user", "user denied", "was rejected",
	"interrupted by user", "requires approval", "haven't granted", "user cancelled", "user aborted",
	"doesn't want to take this action", "request interrupted",
	"stop what you are doing", "tool execution aborted", "prevents you from using this specific tool"})

// detached are the words that say that a command goes on.
var detached = newWords(nil, "running in background", "running in the background", "still running",
	"Process running with session ID")

// traceback is how a Python program that ends with an exception says so.
var traceback = newWords(nil, "Traceback (most recent call last)")

// outcome judges a call: by its status, by the exit status that the product noted, and for tests
// and builds by what they printed.
func outcome(p *session.Part, c *Call) Outcome {
	s := p.State
	o := Outcome{Exit: -1}
	if !s.Final() {
		return o
	}
	if s.Status == session.Failed {
		o.Known, o.Failed = true, true
		o.Refused = refusing.in(head(s.Error, 400))
		if n, ok := exitStatus(s.Error); ok {
			o.Exit = n
		}
		return o
	}
	text := c.Command()
	if text == "" {
		o.Known = true
		o.Failed = quietFailure(s.Output)
		return o
	}
	if a := Parse(s.Metadata); a != nil {
		for _, name := range []string{"exit", "exitCode", "exit_code", "returncode"} {
			if n, err := strconv.Atoi(a.Text(name)); err == nil && a.Get(name).Kind() == '0' {
				o.Exit, o.Known, o.Failed = n, true, n != 0
			}
		}
	}
	if !o.Known {
		if n, ok := exitStatus(s.Output); ok {
			o.Exit, o.Known, o.Failed = n, true, n != 0
		}
	}
	if strings.Contains(head(s.Output, 200), "proposed edit has introduced new syntax error") {
		o.Known, o.Failed = true, true
		return o
	}
	if n := len(c.Actions); n > 1 && c.Actions[n-1].Exact && c.Actions[n-1].Op == Edit &&
		strings.HasPrefix(strings.TrimSpace(text), "edit ") {
		o.Known = true // the line editor tells of its failures, see above
		return o
	}
	main := c.Main
	c.Detached = detached.in(head(s.Output, 300))
	if main == nil || c.Detached {
		return o
	}
	if o.Failed && o.Exit == 1 && main.Kind == Look {
		o.Failed = notFound(s.Output) && !main.Masked // grep, diff and test say "no" with 1
	}
	if main.Kind == Test || main.Kind == Build || main.Kind == Install {
		if !o.Known || !o.Failed && main.Masked {
			switch verdict(s.Output) {
			case failing:
				o.Known, o.Failed = true, true
			case passing:
				o.Known = true
			}
		}
	} else if !o.Known {
		o.Failed = notFound(s.Output) && !(main.Kind == Look && main.Masked) || traceback.in(s.Output)
		o.Known = o.Failed
	}
	return o
}

// judgeSilent judges the commands whose output does not tell their status: if a product reports
// failed commands as failed calls, the others worked. The log, or the name of the tool, shows
// whether the product does.
func judgeSilent(calls []Call) {
	reports := false
	for i := range calls {
		c := &calls[i]
		if c.Tool == "Bash" || c.Status == session.Failed && c.Outcome.Exit > 0 && c.Command() != "" {
			reports = true
			break
		}
	}
	if !reports {
		return
	}
	for i := range calls {
		c := &calls[i]
		if c.Status == session.Completed && !c.Outcome.Known && c.Outcome.Exit < 0 && c.Command() != "" && !c.Detached {
			c.Outcome.Known = true
		}
	}
}

// quietFailures are how a tool other than a shell begins when it says that it failed.
var quietFailures = []string{"error:", "error ", "<tool_use_error>", "failed to ", "no replacement was performed",
	"invalid `"}

// quietFailure reports whether a tool other than a shell said in its output that it failed.
func quietFailure(output string) bool {
	head := strings.TrimSpace(output)
	return slices.ContainsFunc(quietFailures, func(words string) bool { return hasPrefixFold(head, words) })
}

// notFound reports whether a short output says that a program or a file is missing.
func notFound(output string) bool {
	return len(output) < 600 && ContainsAny(output, "command not found", "No such file or directory",
		"Permission denied", "cannot access", "not a git repository", "not recognized as")
}

// exitStatus finds the exit status that products write into the text: at its head or at its tail.
func exitStatus(output string) (int, bool) {
	pieces := [...]string{head(output, 300), ""}
	if len(output) > 300 {
		pieces[1] = output[len(output)-200:]
	}
	for _, piece := range pieces {
		if !exiting.in(piece) {
			continue
		}
		lower := strings.ToLower(piece)
		for _, mark := range []string{"exit code: ", "exit code ", "exited with code ", "exit_code\":",
			"exit status ", "[exit code: ", "exited with status "} {
			at := strings.Index(lower, mark)
			if at < 0 {
				continue
			}
			// not of piece: what is no UTF-8 is longer in small letters
			rest := strings.TrimLeft(lower[at+len(mark):], " ")
			end := 0
			for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
				end++
			}
			if n, err := strconv.Atoi(rest[:end]); err == nil && n < 256 {
				return n, true
			}
		}
	}
	return 0, false
}

// head is the first bytes of a text.
func head(text string, size int) string { return text[:min(size, len(text))] }

// exiting are the words that go before every exit status.
var exiting = newWords([]string{"exit code", "exit_code", "exit status", "exited with "})

type judgement int

const (
	unclear judgement = iota
	passing
	failing
)

// failures are words by which tests and compilers say that something went wrong, wherever they
// stand.
var failures = newWords(nil, "--- FAIL", "\nFAIL\t", "[build failed]", "npm ERR!", "error[E", "error TS",
	"Traceback (most recent call last)", "AssertionError", "panic: ",
	"SyntaxError:", "BUILD FAILED", "FAILURES!", "ELIFECYCLE", "fatal error:", "command not found",
	"Could not resolve", "cannot find module", "npm error")

// counted are the words that failures are counted with; successes are those by which a success is
// told.
var (
	counted   = newWords([]string{" fail", " error"})
	successes = newWords(nil, "ok  \t", " passed", " passing", "BUILD SUCCESS", "0 failed", "test result: ok",
		"Successfully", "success")
)

// verdict reads what tests and compilers print. The tail counts most: that is where they sum up.
func verdict(output string) judgement {
	text := Bound(output)
	tail := text[max(0, len(text)-4000):]
	if countsFailures(tail) {
		return failing
	}
	if failures.in(text) || strings.Contains(text, "✖ ") {
		return failing
	}
	if successes.in(tail) || ContainsAny(tail, "PASS", "✓", "OK (") ||
		strings.HasSuffix(strings.TrimSpace(tail), "OK") {
		return passing
	}
	return unclear
}

// countsFailures reports whether a line begins with a word for a failure, or counts some.
func countsFailures(text string) bool {
	for rest := text; ; {
		for rest != "" && (rest[0] == ' ' || rest[0] >= '\t' && rest[0] <= '\r') { // lines of nothing else too
			rest = rest[1:]
		}
		if rest == "" {
			break
		}
		line, end := rest, strings.IndexByte(rest, '\n')
		if rest = ""; end >= 0 {
			line, rest = line[:end], line[end+1:]
		}
		if line[0]|0x20 != 'f' && line[0]|0x20 != 'e' && line[0] < utf8.RuneSelf {
			continue
		}
		line = strings.TrimSpace(line)
		if hasPrefixFold(line, "fail") || hasPrefixFold(line, "error:") || hasPrefixFold(line, "errors:") {
			return true
		}
	}
	for at := counted.next(text, 0); at >= 0; {
		if at == 0 || text[at-1] < '0' || text[at-1] > '9' { // nothing is counted with it
			at = counted.next(text, at+1)
			continue
		}
		from, to := strings.LastIndexByte(text[:at], '\n')+1, len(text)
		if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
			to = at + n
		}
		lower := strings.ToLower(strings.TrimSpace(text[from:to]))
		for _, word := range []string{" failed", " failing", " failures", " errors", " error"} {
			if n, ok := countBefore(lower, word); ok && n > 0 {
				return true
			}
		}
		at = counted.next(text, to)
	}
	return false
}

// countBefore is the number that stands before a word: "3 failed" has 3 before " failed".
func countBefore(line, word string) (int, bool) {
	at := strings.Index(line, word)
	if at <= 0 {
		return 0, false
	}
	start := at
	for start > 0 && line[start-1] >= '0' && line[start-1] <= '9' {
		start--
	}
	if start == at {
		return 0, false
	}
	n, err := strconv.Atoi(line[start:at])
	return n, err == nil
}

func ContainsAny(text string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}
