package codex

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"slices"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

var _ format.Continued = Format{}

// base is where a rollout begins that goes on from another one. Codex writes such a file for a fork,
// and for a thread that the user took back to an older turn (0.171).
type base struct {
	Thread  string `json:"thread_id"`
	Ordinal int64  `json:"end_ordinal_exclusive"`
	Bytes   int64  `json:"end_byte_offset"`
}

// baseOf reads the head of a rollout.
func baseOf(src []byte) (b base, ok bool) {
	l, head := headOf(src)
	if l.kind != metaLine || decode(span.Get(l.payload.Of(head), "history_base"), &b) != nil {
		return base{}, false
	}
	return b, b.Thread != "" && b.Bytes > 0
}

// headOf is the first line of a rollout.
func headOf(src []byte) (l line, text []byte) {
	text, _, _ = bytes.Cut(src, []byte{'\n'})
	if scanLine(text, &l) != nil {
		return line{}, nil
	}
	return l, text
}

// Base implements format.Continued.
func (Format) Base(path string, src []byte) (pattern string) {
	b, ok := baseOf(src)
	if !ok || filepath.Base(b.Thread) != b.Thread {
		return ""
	}
	days := filepath.Join(filepath.Dir(path), "..", "..", "..")
	return filepath.Join(days, "*", "*", "*", "rollout-*"+b.Thread+"*.jsonl")
}

// Before implements format.Continued. Codex itself goes by the ordinal of the last line: the bytes
// tell which of several rollouts of the thread it is, unless one was pruned since.
func (Format) Before(src, candidate []byte) (part []byte, sure bool) {
	b, is := baseOf(src)
	if !is {
		return nil, false
	}
	if b.Bytes <= int64(len(candidate)) && candidate[b.Bytes-1] == '\n' && endsWith(candidate[:b.Bytes], b.Ordinal-1) {
		return candidate[:b.Bytes], true
	}
	for found := range span.Lines(candidate) {
		if endsWith(candidate[:found.Whole.End], b.Ordinal-1) {
			return candidate[:found.Whole.End], false
		}
	}
	return nil, false
}

// endsWith reports whether the last of some lines has this ordinal.
func endsWith(lines []byte, ordinal int64) bool {
	lines = bytes.TrimRight(lines, "\n")
	var last line
	err := scanLine(lines[bytes.LastIndexByte(lines, '\n')+1:], &last)
	return err == nil && last.hasOrdinal && last.ordinal == ordinal
}

// ReadBehind implements format.Continued.
func (Format) ReadBehind(src, before []byte) (*format.Document, error) {
	return document(src, bytes.Join([][]byte{before, src}, nil), len(before))
}

// Whole implements format.Continued.
func (Format) Whole(doc *format.Document) []byte {
	if n, ok := doc.Native.(*native); ok {
		return n.src
	}
	return doc.Source
}

// Parted implements format.Continued: the file begins at the last head that goes on from the line
// before it.
func (Format) Parted(whole []byte) (before int) {
	key := []byte(`"history_base":`)
	for end := len(whole); ; {
		at := bytes.LastIndex(whole[:end], key)
		if at < 0 {
			return 0
		}
		end = bytes.LastIndexByte(whole[:at], '\n') + 1
		if b, ok := baseOf(whole[end:]); ok && endsWith(whole[:end], b.Ordinal-1) {
			return end
		}
	}
}

// errBase refuses a change that would not stay in the file.
var errBase = errors.New("the rollout goes on from another one, and the change is of that one, " +
	"or it is not where Codex has it")

// behind writes what comes behind the base of a rollout.
func (w *writer) behind(out io.Writer) error {
	var whole bytes.Buffer
	if err := w.pieces(&whole); err != nil {
		return err
	}
	text, ok := bytes.CutPrefix(whole.Bytes(), w.src[:w.from.before])
	if !ok {
		return errBase
	}
	_, err := out.Write(text)
	return err
}

// ownHead reads the head of a rollout before that of its base.
func (r *reader) ownHead(src []byte) {
	if l, text := headOf(src); l.kind == metaLine {
		var m *mark
		if !l.ours.Empty() {
			m = new(mark)
			if decode(l.ours.Of(text), m) != nil {
				m = nil
			}
		}
		_ = r.sessionMeta(l.payload.Of(text), m) // a head that cannot be read is reported with its line
	}
}

// behindBase reports whether a rollout was read together with its base.
func behindBase(from *format.Document) bool {
	n, ok := from.Native.(*native)
	return ok && n.before > 0
}

// others reports whether an elision is about a line of the other rollout, which does not have it.
// Where the session is folded, the part stays whole instead: behind the summary, or in its tail.
func (w *writer) others(at int32, e rule.Elision) bool {
	if w.from.lines[at].json.Start >= w.from.before {
		return false
	}
	m := w.from.marks[at]
	return m == nil || !slices.ContainsFunc(m.Elisions, func(had elided) bool { return had.Key() == e.Key() })
}

// folds reports whether a compaction is to be written.
func (w *writer) folds() bool {
	return slices.ContainsFunc(w.change.Session.Messages, func(m session.Message) bool {
		_, read := w.from.owned[m.ID]
		return m.Marker() != nil && !read && !w.undone(&m)
	})
}
