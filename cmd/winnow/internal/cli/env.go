package cli

import (
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/model"
)

// Env is the world that the command runs in: everything that it reads or writes beside files.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Terminal tells whether Stdout and Stderr are terminals; without one there is no colour and no progress.
	StdoutTerminal, StderrTerminal bool
	StdinTerminal                  bool // somebody sits there: nothing is to be read from it unasked
	Width                          int  // columns of the terminal, 0 when unknown
	Dir                            string
	Getenv                         func(string) string
	Environ                        []string
	Now                            func() time.Time
	// Client makes the client that asks a model, in the place of the provider's own. nil takes that.
	Client func(m model.Model) (llm.Client, error)
	// TooLarge is the size in bytes from which a file is read a stretch at a time; 0 is the default.
	TooLarge int64
	// Faults is asked before each step of writing a file (create, write, chmod, sync, close, rename), and makes it fail with the
	// error that it returns. It is for tests, nil otherwise.
	Faults func(step string) error
}

// System is the world as it is.
func System() Env {
	dir, err := os.Getwd()
	if err != nil {
		dir = "."
	}
	return Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		StdinTerminal: isTerminal(os.Stdin), StdoutTerminal: isTerminal(os.Stdout), StderrTerminal: isTerminal(os.Stderr), Width: columns(os.Stdout),
		Dir: dir, Getenv: os.Getenv, Environ: os.Environ(), Now: time.Now,
	}
}

// Home is the user's home folder, "" when there is none.
func (e Env) Home() string { return e.Getenv("HOME") }

// XDG is a base folder of the XDG specification.
func (e Env) XDG(variable, fallback string) string {
	if dir := e.Getenv(variable); filepath.IsAbs(dir) {
		return dir
	}
	if e.Home() == "" {
		return ""
	}
	return filepath.Join(e.Home(), fallback)
}

// StorePath is where sessions are kept.
func (e Env) StorePath() string {
	if dir := e.XDG("XDG_DATA_HOME", ".local/share"); dir != "" {
		return filepath.Join(dir, "winnow", "winnow.db")
	}
	return ""
}

func IsFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
