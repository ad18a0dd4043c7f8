// Package shell reads what a shell would do with a text. It wraps the syntax tree of
// mvdan.cc/sh into what its users need: the simple commands with their words, where their output
// goes, what they are fed, and whether they surely run.
//
// A text that cannot be parsed is unknown: nothing is guessed from its pieces.
package shell

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// Longest is how many bytes a text may have. Linux takes no longer argument, so that no command
// that ran through `sh -c` was longer.
const Longest = 128 << 10

// mostCommands is how many simple commands a text may have. No command that a model writes has as
// many.
const mostCommands = 2000

// ErrUnknown is the error of a text of which it is not known what a shell would do with it: it is
// in no dialect that is understood, too long, or too deeply nested.
var ErrUnknown = errors.New("this is not a shell text that can be understood")

// Script is a text, understood.
type Script struct {
	// Commands are the simple commands of the text in the order in which they are reached. Those
	// that stand in substitutions come before the command that they are put into; those that a
	// command runs (sh -c, xargs, find -exec, ssh) come behind it. Redirections of a group or a
	// loop are a command without words behind it.
	Commands []Command
	// Outer is, for each environment of the script, the one that it was begun in; that of the first
	// is itself. What runs in a subshell, a substitution, or a pipeline has an environment of its
	// own: a "cd" there goes nowhere else.
	Outer []int
	// Complete is false for a text that only a part of was understood: a deny rule may look at
	// that, nobody else should.
	Complete bool
	// Odd is set for a text with signs in it that shells read in their own ways: control
	// characters, a backslash at the end.
	Odd bool

	defined map[string]bool // functions
	cut     bool            // there were more than mostCommands, or a text in it is unknown
}

// Command is a simple command: a program with its arguments.
type Command struct {
	// Words are the program and its arguments, quotes taken off.
	Words []Word
	// Assigns stand before it, or alone.
	Assigns []Assign
	// Redirects in their order.
	Redirects []Redirect
	// After is the separator behind it: "&&", "||", ";" (a line's end too), "|", "&", or "" at the
	// end of the text.
	After string
	// When says whether it runs.
	When When
	// Group is the kind of what it is a part of: a list and a pipeline are not groups.
	Group Group
	// Negated by "!".
	Negated bool
	// Env is the environment that it runs in: an index of Script.Outer.
	Env int
	// Keyword is set for what is written like a program and is a part of the language: "[[", "((",
	// "let", "export" and its like.
	Keyword bool
	// Shown is false where what it prints goes into a substitution.
	Shown bool
	// Depth counts the texts that it stands in: 0 for a command of the text itself, 1 for one of a
	// text that a shell is asked to run there.
	Depth int
	// Opened is set for a command that runs other commands, which come behind it, and does nothing
	// else: sh -c, eval.
	Opened bool
	// Source is the command as it was written, "" for one that is a part of another's words.
	Source string
	// Remote is set for what runs on another computer or in a container.
	Remote bool
}

// When says whether a command runs when the text does.
type When int

const (
	// Surely: it is reached whatever the others do. One that ends the shell, or a signal, may come
	// between.
	Surely When = iota
	// Succeeding: when what stands before its "&&" worked.
	Succeeding
	// Perhaps: behind "||", in a branch, in a loop, in a function that is called.
	Perhaps
)

// Group is a kind of what commands are put into.
type Group int

const (
	Bare     Group = iota // in none
	Braced                // { … }, ( … )
	Branch                // if, case, while, for, time, a function
	Inserted              // $( … ), ` … `, <( … )
)

// Assign is a variable that is set.
type Assign struct {
	Name  string
	Value Word
}

// Redirect is where output goes or input comes from.
type Redirect struct {
	// Op is as it is written: ">", ">>", "<", "<>", ">|", "&>", "&>>", ">&", "<&", "<<", "<<-",
	// "<<<".
	Op string
	// FD is the number before it, "" without one.
	FD string
	// Target is a file or a descriptor. Of a here-document it is the word that ends it, of "<<<"
	// the text.
	Target Word
	// Document is the text of a here-document; what the shell puts into it stands as it was
	// written, unless Verbatim is set.
	Document string
	Verbatim bool
}

// Output reports whether a file is written: made anew, or grown where appends is set. Errors alone
// are no output.
func (r Redirect) Output() (output, appends bool) {
	switch r.Op {
	case ">", ">|", "<>", "&>":
		return r.FD == "" || r.FD == "1", false
	case ">>", "&>>":
		return r.FD == "" || r.FD == "1", true
	case ">&":
		return (r.FD == "" || r.FD == "1") && !descriptor(r.Target.Text), false
	}
	return false, false
}

// Writes reports whether any file is written, by errors too.
func (r Redirect) Writes() bool {
	switch r.Op {
	case ">", ">|", "<>", "&>", ">>", "&>>":
		return true
	case ">&":
		return !descriptor(r.Target.Text)
	}
	return false
}

// descriptor reports whether the target of ">&" is an open file: "1", "2-", "-".
func descriptor(word string) bool {
	return strings.Trim(strings.TrimSuffix(word, "-"), "0123456789") == ""
}

// Texts are the words of the command.
func (c *Command) Texts() []string {
	if len(c.Words) == 0 {
		return nil
	}
	words := make([]string, len(c.Words))
	for i := range c.Words {
		words[i] = c.Words[i].Text
	}
	return words
}

// Document is the here-document or the text that the command is fed, nil without one.
func (c *Command) Document() *Redirect {
	for i := len(c.Redirects) - 1; i >= 0; i-- {
		if r := &c.Redirects[i]; strings.HasPrefix(r.Op, "<<") && (r.FD == "" || r.FD == "0") {
			return r
		}
	}
	return nil
}

// dialects in the order in which they are tried.
var dialects = []syntax.LangVariant{syntax.LangBash, syntax.LangMirBSDKorn, syntax.LangPOSIX}

// Parse understands a text as bash does, else as mksh, else as POSIX. Its error is ErrUnknown.
func Parse(text string) (*Script, error) {
	if len(text) > Longest {
		return nil, fmt.Errorf("%w: %d bytes, and %d is the most", ErrUnknown, len(text), Longest)
	}
	if strings.IndexByte(text, 0) >= 0 {
		return nil, fmt.Errorf("%w: it has NUL in it", ErrUnknown)
	}
	var first error
	for _, lang := range dialects {
		file, err := parse(text, lang)
		if err == nil {
			s := read(text, file.Stmts)
			if s.cut {
				return nil, fmt.Errorf("%w: more than %d commands, or too many texts in texts", ErrUnknown,
					mostCommands)
			}
			s.Complete, s.Odd = true, odd(text)
			return s, nil
		}
		if first == nil {
			first = err
		}
		if errors.Is(err, errDeep) {
			break
		}
	}
	return nil, fmt.Errorf("%w: %w", ErrUnknown, first)
}

func odd(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' && c != '\n' && c != '\t' || c == 0x7F {
			return true
		}
	}
	return strings.HasSuffix(text, `\`)
}

// Beginning understands what stands before the place where a text cannot be parsed: some shells run
// that. Never nil.
func Beginning(text string) *Script {
	text = text[:min(len(text), Longest)]
	var all []*syntax.Stmt
	func() {
		defer func() { _ = recover() }() // the parser is a library, and the text may be hostile
		for stmt, err := range syntax.NewParser(syntax.Variant(syntax.LangBash)).StmtsSeq(&shallow{text: text}) {
			if err != nil {
				return
			}
			all = append(all, stmt)
		}
	}()
	return read(text, all)
}

func parse(text string, lang syntax.LangVariant) (file *syntax.File, err error) {
	defer func() {
		if trouble := recover(); trouble != nil { // the parser is a library, and the text may be hostile
			err = fmt.Errorf("%v", trouble)
		}
	}()
	p := parsers.Get().(*syntax.Parser)
	syntax.Variant(lang)(p)
	file, err = p.Parse(&shallow{text: text}, "")
	parsers.Put(p) // not one that panicked
	return file, err
}

// parsers are used again: to make one takes as long as to parse a short text.
var parsers = sync.Pool{New: func() any { return syntax.NewParser() }}

// The parser calls itself for what is nested, and a stack that is full ends the program. It is
// bounded where the parser asks for more text: by how many functions are waiting there. 2,000 are
// more than 200 levels; a chunk that is all opening parentheses adds 256 levels to that.
const (
	deepest = 2000
	chunk   = 256
)

var errDeep = errors.New("it is nested too deeply")

// shallow gives a text piece by piece as long as its reader is not nested too deeply.
type shallow struct {
	text  string
	begun bool
	depth []uintptr
}

func (r *shallow) Read(b []byte) (int, error) {
	if len(r.text) == 0 {
		return 0, io.EOF
	}
	if r.begun {
		if r.depth == nil {
			r.depth = make([]uintptr, deepest)
		}
		if runtime.Callers(0, r.depth) == deepest {
			return 0, errDeep
		}
	}
	r.begun = true
	n := copy(b[:min(len(b), chunk)], r.text)
	r.text = r.text[n:]
	return n, nil
}
