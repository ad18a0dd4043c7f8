package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/term"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/model"
)

// Env is the world that the command runs in: everything that it reads or writes, except files.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Whether they are terminals. Without one there is no colour and no progress, and standard
	// input may be read unasked.
	StdinTerminal, StdoutTerminal, StderrTerminal bool

	// Key waits for a key that is pressed; nil if standard input is no terminal.
	Key func(context.Context) (string, error)

	// Columns and rows of the terminal of standard output, and columns of that of standard error;
	// 0 if unknown.
	Width, Height, ErrWidth int

	Dir     string
	Getenv  func(string) string
	Environ []string
	Now     func() time.Time
	// Client makes the client that asks a model, instead of the provider's own. nil is the
	// provider's.
	Client func(m model.Model) (llm.Client, error)
	// OpenCode is where an OpenCode server is looked for; "" is where it listens by default.
	OpenCode string
	// TooLarge is the size in bytes from which a file is read a stretch at a time; 0 is the
	// default.
	TooLarge int64
	// Faults is called before each step of writing a file (create, write, chmod, sync, close,
	// rename), and makes it fail with the error that it returns. It is for tests, nil otherwise.
	Faults func(step string) error
}

// System is the world as it is.
func System() Env {
	dir, err := os.Getwd()
	if err != nil {
		dir = "."
	}
	terminal := func(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
	width, height, _ := term.GetSize(int(os.Stdout.Fd())) // 0 if it is not a terminal
	errWidth, _, _ := term.GetSize(int(os.Stderr.Fd()))
	var key func(context.Context) (string, error)
	if terminal(os.Stdin) {
		key = (&keyboard{terminal: os.Stdin}).key
	}
	return Env{
		Key: key, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Width: width, Height: height, ErrWidth: errWidth,
		StdinTerminal: terminal(os.Stdin), StdoutTerminal: terminal(os.Stdout), StderrTerminal: terminal(os.Stderr),
		Dir: dir, Getenv: os.Getenv, Environ: os.Environ(), Now: time.Now,
	}
}

// Home is the user's home folder, or "".
func (e Env) Home() string { return e.Getenv("HOME") }

// below is a path below a base folder of the XDG specification, "" if there is no home folder.
func (e Env) below(variable, fallback string, below ...string) string {
	dir := e.Getenv(variable)
	if !filepath.IsAbs(dir) {
		if e.Home() == "" {
			return ""
		}
		dir = filepath.Join(e.Home(), fallback)
	}
	return filepath.Join(append([]string{dir}, below...)...)
}

// Config is a path below the user's configuration folder, "" if there is no home folder.
func (e Env) Config(below ...string) string { return e.below("XDG_CONFIG_HOME", ".config", below...) }

// Kept is a path below winnow's own data folder, "" if there is no home folder.
func (e Env) Kept(below ...string) string {
	return e.below("XDG_DATA_HOME", ".local/share", append([]string{"winnow"}, below...)...)
}

// Cache is a path below winnow's cache folder, "" if there is no home folder.
func (e Env) Cache(below ...string) string {
	return e.below("XDG_CACHE_HOME", ".cache", append([]string{"winnow"}, below...)...)
}

// IsFolder reports whether a path is a folder.
func IsFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
