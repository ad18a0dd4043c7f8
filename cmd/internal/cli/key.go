package cli

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/term"

	"github.com/winnowhq/winnow/text/visible"
)

// Keys that have no letter, as a terminal sends them.
const (
	keyInterrupt = "\x03"
	keyEnd       = "\x04"
	keyEscape    = "\x1b"
)

// keyboard reads keys from a terminal, without waiting for a line.
type keyboard struct {
	terminal *os.File
	typed    []byte // that nobody asked for yet
}

// key waits for a key. When the context ends the terminal is as it was.
func (k *keyboard) key(ctx context.Context) (string, error) {
	if len(k.typed) == 0 {
		before, err := term.MakeRaw(int(k.terminal.Fd()))
		if err != nil {
			return "", err
		}
		restore := func() { _ = term.Restore(int(k.terminal.Fd()), before) } // there is nothing else to try
		defer restore()
		defer context.AfterFunc(ctx, restore)()
		piece := make([]byte, 64)
		n, err := k.terminal.Read(piece)
		if err != nil {
			return "", err
		}
		k.typed = piece[:n]
	}
	size := 1
	if k.typed[0] == keyEscape[0] { // a key without a letter comes as several bytes at once
		size = len(k.typed)
	}
	key := string(k.typed[:size])
	k.typed = k.typed[size:]
	return key, ctx.Err()
}

// Asks reports whether there is a person who can be asked for a key, and sees the question.
func (a *App) Asks() bool { return a.Env.Key != nil && a.Env.StderrTerminal && !a.JSON }

// Key waits for a key; "" is one that ends the question: escape, q, the end of input.
func (a *App) Key(ctx context.Context) (string, error) {
	_ = a.Err.Flush() // a question that cannot be shown is answered with q
	a.Show()
	key, err := a.Env.Key(ctx)
	switch {
	case err != nil:
		return "", err
	case key == keyInterrupt:
		return "", ErrInterrupted
	case key == keyEscape, key == keyEnd, key == "q", key == "Q":
		return "", nil
	}
	return key, nil
}

// Choose asks which of up to nine things is meant; more is a line below them, or "". asked is false
// if there is nobody to ask.
func (a *App) Choose(ctx context.Context, what string, rows []string, more string) (at int, asked bool, err error) {
	if !a.Asks() {
		return 0, false, nil
	}
	fmt.Fprintf(a.Err, "%s:\n", visible.Line(what))
	for i, row := range rows {
		fmt.Fprintf(a.Err, "  %d  %s\n", i+1, a.Cut(row, 5))
	}
	if more != "" {
		fmt.Fprintf(a.Err, "     %s\n", more)
	}
	fmt.Fprintf(a.Err, "Press the number of the one that you mean, or q.\n")
	for {
		key, err := a.Key(ctx)
		switch {
		case err != nil:
			return 0, true, err
		case key == "":
			return 0, true, Nothing("no session was chosen")
		case len(key) == 1 && key[0] >= '1' && int(key[0]-'0') <= len(rows):
			return int(key[0] - '1'), true, nil
		}
	}
}
