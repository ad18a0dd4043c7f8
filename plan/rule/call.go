package rule

import (
	"bytes"
	"crypto/sha256"
	"hash"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/coverage"
	"github.com/winnowhq/winnow/session"
)

// Call is what the rules know of a call that ended, without its texts.
type Call struct {
	Tool    *call.Tool
	Cwd     string // the folder in which it ran, "" when that is not known
	Actions []call.Action
	Outcome call.Outcome
	// Same is equal for calls of one tool with equal arguments in one folder, Retried also where
	// they differ in what does not change what is done: a description, a limit of time.
	Same, Retried Identity
	// Asks is the question of a command that does nothing but ask for the state of something: its
	// words, a NUL between two, and whether they are patterns. "" for others. Entered is the folder
	// of a "cd" that it begins with. Goes is set for a command that changes the folder, GoesOn for
	// one that changes it to anything but Entered.
	Asks, Entered string
	Goes, GoesOn  bool
	// Shown is which lines of which files the call shows.
	Shown coverage.Shown
}

// Identity tells calls apart: equal ones are of the same tool, with the same arguments, in the same
// folder.
type Identity [16]byte

// Worked reports whether a call did what was asked, as far as the log tells.
func (c *Call) Worked() bool { return !c.Outcome.Failed }

// Command is the command that a call ran, "" when it ran none.
func (c *Call) Command() string {
	for i := range c.Actions {
		if c.Actions[i].Op == call.Run {
			return c.Actions[i].Command
		}
	}
	return ""
}

// Call understands a call that ended, once.
func (f *Facts) Call(p *session.Part, cwd string) *Call {
	return f.call(p, f.know(p), cwd)
}

func (f *Facts) call(p *session.Part, known *fact, cwd string) *Call {
	if known.call == nil || known.call.Cwd != cwd {
		known.read(p, cwd)
		f.counted++
	}
	return known.call
}

// read understands a call: what it did, what it was about, and which paths it names.
func (known *fact) read(p *session.Part, cwd string) {
	var arguments call.Arguments
	known.call, arguments = understand(p, cwd)
	known.target, known.paths, known.understood = targetOf(p, arguments), pathsOf(arguments), true
}

// understand reads a call, and gives its arguments as call.Members walks them. Of the actions the
// Texts are dropped: the log has them.
func understand(p *session.Part, cwd string) (*Call, call.Arguments) {
	did := call.Of(p, cwd)
	shows := coverage.OfCall(p, &did, cwd)
	for i := range did.Actions {
		did.Actions[i].Old, did.Actions[i].New = "", ""
	}
	arguments := did.Arguments
	if !did.Members {
		arguments = nil
		for name, value := range call.Members(p.State.Input) {
			arguments = append(arguments, call.Argument{Name: name, Value: value})
		}
	}
	c := &Call{Tool: did.Entry(), Cwd: cwd, Actions: did.Actions, Outcome: did.Outcome, Shown: shows}
	c.question(&did)
	c.Same, c.Retried = identities(p, arguments, cwd)
	return c, arguments
}

// volatile are arguments that change nothing about what a call does: words for people, and limits
// of time.
var volatile = []string{"description", "timeout", "timeout_ms", "timeoutMs", "yield_time_ms", "justification",
	"explanation", "toolSummary", "toolAction"}

// identities of a call. Arguments count whatever their order; one that is null is as if it were not
// there, and of two with one name the last counts.
func identities(p *session.Part, arguments call.Arguments, cwd string) (same, retried Identity) {
	var few [16]call.Argument
	values, differ := few[:0], false
	if p.State.Input.Kind() == '{' {
		for _, a := range arguments {
			if value, ok := canonical(a.Value); ok && value.Kind() != 'n' {
				if at := slices.IndexFunc(values, func(m call.Argument) bool { return m.Name == a.Name }); at >= 0 {
					values[at].Value = value
				} else {
					values = append(values, call.Argument{Name: a.Name, Value: value})
				}
			}
		}
		slices.SortFunc(values, func(a, b call.Argument) int { return strings.Compare(a.Name, b.Name) })
	} else {
		values = append(values, call.Argument{Value: p.State.Input})
	}
	for _, m := range values {
		differ = differ || slices.Contains(volatile, m.Name)
	}
	same = identity(p.Tool, cwd, values)
	if retried = same; differ {
		retried = identity(p.Tool, cwd, slices.DeleteFunc(values,
			func(m call.Argument) bool { return slices.Contains(volatile, m.Name) }))
	}
	return same, retried
}

// identity of a tool with arguments in a folder: a hash of all of it, a zero behind each piece.
// What is long is not copied for it.
func identity(tool, cwd string, values []call.Argument) Identity {
	var room [1024]byte
	text := append(append(append(append(room[:0], tool...), 0), cwd...), 0)
	var long hash.Hash
	for _, m := range values {
		text = append(append(text, m.Name...), 0)
		if len(text)+len(m.Value)+len(values)*64 > len(room) {
			if long == nil {
				long = sha256.New()
			}
			long.Write(text)
			long.Write(m.Value)
			text = text[:0]
		} else {
			text = append(text, m.Value...)
		}
		text = append(text, 0)
	}
	if long == nil {
		sum := sha256.Sum256(text)
		return Identity(sum[:16])
	}
	long.Write(text)
	return Identity(long.Sum(text[:0])[:16])
}

// canonical is a JSON value in the form in which equal ones have equal bytes. Most are written so.
func canonical(value jsontext.Value) (jsontext.Value, bool) {
	if plainly(value) {
		return value, true
	}
	value = value.Clone()
	return value, value.Canonicalize(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) == nil
}

// plainly reports whether a JSON value is a text, a whole number or a word in the form in which
// everybody writes it.
func plainly(value jsontext.Value) bool {
	switch value.Kind() {
	case 'n', 't', 'f':
		return true
	case '"':
		return plainlyEscaped(value) && utf8.Valid(value)
	case '0':
		return len(value) < 16 && value[0] != '-' && len(bytes.Trim(value, "0123456789")) == 0
	}
	return false
}

// plainlyEscaped reports whether everything that is escaped in a JSON string is so as everybody
// escapes it.
func plainlyEscaped(value jsontext.Value) bool {
	for {
		at := bytes.IndexByte(value, '\\')
		if at < 0 {
			return true
		}
		if at+1 == len(value) || bytes.IndexByte([]byte(`"\bfnrt`), value[at+1]) < 0 {
			return false
		}
		value = value[at+2:]
	}
}

// Argument is the first of these arguments of a call that is a text, "" without one.
func Argument(p *session.Part, names ...string) string {
	if p.State == nil {
		return ""
	}
	return strings.TrimSpace(call.Parse(p.State.Input).Text(names...))
}
