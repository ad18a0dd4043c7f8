package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/mattn/go-runewidth"

	"github.com/winnowhq/winnow/look/tui"
	"github.com/winnowhq/winnow/text/visible"
)

// Tell prints the result of a command: its document with --json, otherwise what show prints for
// people.
func (a *App) Tell(document any, show func()) error {
	if a.JSON {
		return a.Print(document)
	}
	show()
	return nil
}

// Print writes the JSON document of a command.
func (a *App) Print(document any) error {
	return a.printJSON(document, jsontext.WithIndent("  "))
}

// Line writes a JSON document on one line, and lets a reader have it at once.
func (a *App) Line(document any) error {
	defer a.Show()
	return a.printJSON(document)
}

func (a *App) printJSON(document any, o ...json.Options) error {
	o = append(o, json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	text, err := json.Marshal(document, o...)
	if err != nil {
		return fmt.Errorf("the result cannot be written as JSON: %w", err)
	}
	_, err = a.Out.Write(append(visible.JSON(text), '\n'))
	return err
}

// Data is standard output for what is not text for people: a session, a page, a view. It is byte
// for byte what was asked for, except on a terminal, which would obey some of it.
func (a *App) Data() io.Writer {
	if a.Env.StdoutTerminal {
		return a.Out
	}
	return a.raw
}

// Printf writes to standard output, for people.
func (a *App) Printf(format string, args ...any) { fmt.Fprintf(a.Out, format, args...) }

// Warn writes a line to standard error.
func (a *App) Warn(format string, args ...any) {
	fmt.Fprintln(a.Err, visible.Text("winnow: "+fmt.Sprintf(format, args...)))
}

// Paint draws for people on standard output.
func (a *App) Paint() tui.Painter {
	color := a.Env.StdoutTerminal && !a.NoColor && a.Env.Getenv("NO_COLOR") == "" && a.Env.Getenv("TERM") != "dumb"
	return tui.Painter{W: a.Out, Color: color, Width: a.Env.Width}
}

// Table prints rows in columns. A width is the least that a column has; a column with a negative
// one is aligned to the left, one with a positive one to the right. Cells beyond the widths end the
// line as they are, and a row of one cell is a line of its own.
func (a *App) Table(widths []int, rows [][]string) {
	least := make([]int, len(widths))
	for i, width := range widths {
		least[i] = max(width, -width)
		for _, row := range rows {
			if len(row) == 1 && len(widths) > 1 {
				continue
			}
			least[i] = max(least[i], runewidth.StringWidth(row[i]))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			switch {
			case i >= len(widths), len(row) == 1 && len(widths) > 1:
				b.WriteString(cell)
			case widths[i] < 0:
				b.WriteString(runewidth.FillRight(cell, least[i]) + "  ")
			default:
				b.WriteString(runewidth.FillLeft(cell, least[i]) + "  ")
			}
		}
		a.Printf("%s\n", strings.TrimRight(b.String(), " "))
	}
}

// Cut is a line as far as the terminal is wide, behind an indent; whole if its width is unknown.
func (a *App) Cut(text string, indent int) string {
	if a.Env.Width <= 0 {
		return text
	}
	return tui.Cut(tui.Clean(text), max(10, a.Env.Width-indent))
}

// Show lets a reader have what was printed so far.
func (a *App) Show() { a.raw.note(a.raw.buffer.Flush()) }

// outlet is standard output. It remembers that a write failed, so that commands need not check each
// line.
type outlet struct {
	buffer *bufio.Writer
	err    error
}

func newOutlet(w io.Writer) *outlet {
	return &outlet{buffer: bufio.NewWriterSize(listener{w}, 64<<10)}
}

func (o *outlet) note(err error) {
	if err != nil {
		o.err = err
	}
}

func (o *outlet) Write(data []byte) (int, error) {
	n, err := o.buffer.Write(data)
	o.note(err)
	return n, err
}

// finish writes what is left.
func (o *outlet) finish() error {
	o.note(o.buffer.Flush())
	if o.err == nil {
		return nil
	}
	return Hint(fmt.Errorf("standard output: %w", o.err), "what was printed is incomplete; all changes were made")
}

// listener reads standard output. One that went away had enough: that is not a failure, and the
// command finishes its other work.
type listener struct{ w io.Writer }

func (l listener) Write(data []byte) (int, error) {
	n, err := l.w.Write(data)
	if errors.Is(err, syscall.EPIPE) {
		return len(data), nil
	}
	return n, err
}
