package visible

import (
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

// Writer writes to a terminal, or to what may be shown on one later. Whatever is written to it is
// text and goes through [Text]: no byte of it is obeyed by a terminal. What is ours to do beside
// text, colour and the one line of progress, has methods of its own; there is no other way to an
// escape sequence.
type Writer struct {
	mu   sync.Mutex
	to   io.Writer
	held []byte // the beginning of a character, or a carriage return, that the next Write may complete
	busy bool   // the line of progress stands where the cursor is
}

// To is the Writer to w: w itself where it is one.
func To(w io.Writer) *Writer {
	if it, ok := w.(*Writer); ok {
		return it
	}
	return &Writer{to: w}
}

// Write writes a text. A character may be written in pieces.
func (w *Writer) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := data
	if len(w.held) > 0 {
		text = append(w.held, data...)
		w.held = nil
	}
	if n := unfinished(text); n > 0 {
		w.held = append([]byte(nil), text[len(text)-n:]...)
		text = text[:len(text)-n]
	}
	if err := w.put(string(text)); err != nil {
		return 0, err
	}
	return len(data), nil
}

// Flush writes what was held back because its end was missing.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.flush()
}

func (w *Writer) flush() error {
	text := string(w.held)
	w.held = nil
	return w.put(text)
}

func (w *Writer) put(text string) error {
	if text == "" {
		return nil
	}
	_, err := io.WriteString(w.to, w.wipe()+Text(text))
	return err
}

// wipe is what removes the line of progress before something else is written.
func (w *Writer) wipe() string {
	if !w.busy {
		return ""
	}
	w.busy = false
	return "\r\x1b[K"
}

// unfinished is how many bytes at the end may be the beginning of something longer.
func unfinished(text []byte) int {
	for n := 1; n <= min(utf8.UTFMax-1, len(text)); n++ {
		if at := text[len(text)-n:]; utf8.RuneStart(at[0]) {
			if n == 1 && at[0] == '\r' || !utf8.FullRune(at) {
				return n
			}
			return 0
		}
	}
	return 0
}

// Span is a piece of a line with its colour.
type Span struct {
	// Style is the parameters of an SGR sequence such as "1;38;5;167", "" for none. Anything but
	// digits and semicolons counts as "".
	Style string
	Text  string
}

// Spans writes coloured text.
func (w *Writer) Spans(spans ...Span) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.flush(); err != nil {
		return err
	}
	var b strings.Builder
	for _, s := range spans {
		if strings.Trim(s.Style, "0123456789;") != "" || s.Style == "" {
			b.WriteString(Text(s.Text))
			continue
		}
		b.WriteString("\x1b[" + s.Style + "m" + Text(s.Text) + "\x1b[0m")
	}
	_, err := io.WriteString(w.to, w.wipe()+b.String())
	return err
}

// Progress puts a text in the place of the line that the cursor is in, "" to wipe it. What is
// written next takes its place. It is for terminals.
func (w *Writer) Progress(text string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.flush(); err != nil {
		return err
	}
	w.busy = text != ""
	_, err := io.WriteString(w.to, "\r\x1b[K"+Line(text))
	return err
}
