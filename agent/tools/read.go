package tools

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/plainfile"
	"github.com/winnowhq/winnow/text/quantity"
)

// What one read shows at most.
const (
	readLines   = 2000     // where nobody says how many; never more
	readBytes   = 50 << 10 // of text; then it tells where to go on
	lineLength  = 2000     // characters of one line: a minified file is one of megabytes
	mediaBytes  = 5 << 20  // of an image or a PDF, what providers take
	sniffLength = 8 << 10  // bytes in which a NUL makes a file a binary one
)

// Read shows a file with its lines numbered, or attaches an image.
type Read struct{}

func (Read) Name() string           { return "read" }
func (Read) Description() string    { return told("read").Description }
func (Read) Schema() jsontext.Value { return told("read").Schema }
func (Read) Paged()                 {} // it keeps its answers short itself

func (t Read) Run(ctx context.Context, c agent.Call) (agent.Result, error) {
	a := argumentsOf(t.Name(), c.Input)
	// Under the name "path" a reader that prints bare text takes its file; a result of this one
	// must not be read as one of that.
	name := a.need("filePath", "file_path")
	offset, limit := a.whole("offset", 1, 0), a.whole("limit", readLines, 1)
	switch {
	case a.err != nil:
		return agent.Result{}, a.err
	case a.get("path") != nil:
		return agent.Result{}, errors.New(`read takes the file as "filePath" alone, without "path"`)
	}
	at, err := permitted(ctx, c, t.Name(), "read", name)
	if err != nil {
		return agent.Result{}, err
	}
	info, err := regular(at)
	if err != nil {
		return agent.Result{}, err
	}
	f, _, err := plainfile.Open(at.path)
	if err != nil {
		return agent.Result{}, err
	}
	defer f.Close()
	head := make([]byte, sniffLength)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return agent.Result{}, err
	}
	head = head[:n]
	if mime := mediaType(head); mime != "" {
		return attach(f, at, mime, info.Size())
	}
	if what := binary(head); what != "" {
		return agent.Result{}, fmt.Errorf("%s is %s of %s bytes, not text", at.shown, what,
			quantity.Number(int(info.Size())))
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return agent.Result{}, err
	}
	p := page{from: max(1, offset), most: min(limit, readLines)}
	if err := p.read(ctx, f); err != nil {
		return agent.Result{}, err
	}
	r := agent.Result{Title: at.shown, Metadata: map[string]any{"lines": p.shown, "total": p.total,
		"truncated": p.from+p.shown-1 < p.total}}
	switch {
	case p.total == 0:
		r.Output = "(The file is empty.)"
	case p.shown == 0:
		return agent.Result{}, fmt.Errorf("%s has %s, and offset %d is behind its end", at.shown,
			quantity.Count(p.total, "line"), p.from)
	default:
		r.Output = p.String()
	}
	return r, nil
}

// page is a piece of a file as it is shown.
type page struct {
	from, most int

	text         strings.Builder
	shown, total int
	full         bool // no more lines are taken
	crlf, lf     int
	bom, open    bool // begins with a byte order mark; ends without a newline
	foreign      bool // has invalid UTF-8
}

// read takes the lines of the piece and counts all others.
func (p *page) read(ctx context.Context, from io.Reader) error {
	in := bufio.NewReaderSize(from, 64<<10)
	var line []byte // as far as it may be shown
	length, last := 0, byte(0)
	before := byte(0) // the one before last
	for n := 0; ; n++ {
		if n%64 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		piece, err := in.ReadSlice('\n')
		if err != nil && err != bufio.ErrBufferFull && err != io.EOF {
			return err
		}
		if p.total == 0 && length == 0 && strings.HasPrefix(string(piece), bom) {
			p.bom, piece = true, piece[len(bom):]
			if len(piece) == 0 {
				continue
			}
		}
		length += len(piece)
		if room := (lineLength+1)*utf8.UTFMax - len(line); room > 0 {
			line = append(line, piece[:min(room, len(piece))]...)
		}
		if len(piece) > 1 {
			before = piece[len(piece)-2]
		} else if len(piece) == 1 {
			before = last
		}
		if len(piece) > 0 {
			last = piece[len(piece)-1]
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if length > 0 {
			ending := 0
			switch {
			case last == '\n' && before == '\r' && length > 1:
				ending = 2
				p.crlf++
			case last == '\n':
				ending = 1
				p.lf++
			default:
				p.open = true
			}
			p.total++
			p.take(line[:min(len(line), length-ending)], length-ending)
		}
		if err == io.EOF {
			return nil
		}
		line, length, last, before = line[:0], 0, 0, 0
	}
}

// take shows a line if it is one of the piece. length is how many bytes the whole of it has.
func (p *page) take(line []byte, length int) {
	if p.full || p.total < p.from || p.shown >= p.most {
		return
	}
	text := string(line)
	if end := runes(text, lineLength); end < len(text) {
		text = text[:end]
	}
	left := length - len(text)
	if !utf8.ValidString(text) {
		p.foreign, text = true, strings.ToValidUTF8(text, "\uFFFD")
	}
	text = strconv.Itoa(p.total) + ": " + text
	if left > 0 {
		text += " … [" + quantity.Number(left) + " more bytes of this line, truncated]"
	}
	if p.shown > 0 && p.text.Len()+len(text)+1 > readBytes {
		p.full = true
		return
	}
	p.text.WriteString(text)
	p.text.WriteByte('\n')
	p.shown++
}

// String is the piece and, behind it, what is to be known of the file. The words of that line are
// those that tell package coverage whether the file ended.
func (p *page) String() string {
	var notes []string
	last := p.from + p.shown - 1
	if last < p.total {
		notes = append(notes, fmt.Sprintf("Showing lines %s-%s of %s", quantity.Number(p.from), quantity.Number(last),
			quantity.Number(p.total)))
	} else {
		notes = append(notes, "End of file, "+quantity.Count(p.total, "line"))
	}
	switch {
	case p.crlf > 0 && p.lf == 0:
		notes = append(notes, "CRLF line ends")
	case p.crlf > 0:
		notes = append(notes, "line ends mixed, "+quantity.Number(p.crlf)+" of them CRLF")
	}
	if p.bom {
		notes = append(notes, "begins with a byte order mark")
	}
	if p.foreign {
		notes = append(notes, "not UTF-8 throughout")
	}
	if p.open && last == p.total {
		notes = append(notes, "no newline at its end")
	}
	note := strings.Join(notes, "; ")
	if last < p.total {
		note += ". Go on with offset " + strconv.Itoa(last+1) + "."
	}
	return p.text.String() + "\n(" + note + ")"
}

const bom = "\xEF\xBB\xBF"

// runes is where the first n characters of a text end, in bytes. An invalid byte counts as
// one.
func runes(text string, n int) int {
	if len(text) <= n {
		return len(text)
	}
	for i := range text {
		if n == 0 {
			return i
		}
		n--
	}
	return len(text)
}

// mediaType knows, by their first bytes, the files that models take as they are.
func mediaType(head []byte) string {
	s := string(head)
	switch {
	case strings.HasPrefix(s, "\x89PNG\r\n\x1a\n"):
		return "image/png"
	case strings.HasPrefix(s, "\xff\xd8\xff"):
		return "image/jpeg"
	case strings.HasPrefix(s, "GIF87a"), strings.HasPrefix(s, "GIF89a"):
		return "image/gif"
	case strings.HasPrefix(s, "RIFF") && len(s) >= 12 && s[8:12] == "WEBP":
		return "image/webp"
	case strings.HasPrefix(s, "%PDF-"):
		return "application/pdf"
	}
	return ""
}

// binary says what a file is that is not text, "" for text.
func binary(head []byte) string {
	s := string(head)
	switch {
	case strings.HasPrefix(s, "\xff\xfe"), strings.HasPrefix(s, "\xfe\xff"):
		return "a UTF-16 file"
	case strings.ContainsRune(s, 0):
		return "a binary file"
	}
	return ""
}

// Media reads an image or a PDF document as a file part; path is absolute. ok is false, without an
// error, for a file of another kind.
func Media(path string) (p session.Part, ok bool, err error) {
	f, info, err := plainfile.Open(path)
	if err != nil {
		return p, false, err
	}
	defer f.Close()
	head := make([]byte, sniffLength)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return p, false, err
	}
	mime := mediaType(head[:n])
	if mime == "" {
		return p, false, nil
	}
	r, err := attach(f, place{path: path, shown: path}, mime, info.Size())
	if err != nil {
		return p, false, err
	}
	return r.Attachments[0], true, nil
}

// attach gives an image or a document as a file part.
func attach(f *os.File, at place, mime string, size int64) (agent.Result, error) {
	if size > mediaBytes {
		return agent.Result{}, fmt.Errorf("%s is %s of %s bytes; at most %s can be attached", at.shown, mime,
			quantity.Number(int(size)), quantity.Number(mediaBytes))
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return agent.Result{}, err
	}
	data, err := io.ReadAll(io.LimitReader(f, mediaBytes))
	if err != nil {
		return agent.Result{}, err
	}
	return agent.Result{
		Title:    at.shown,
		Output:   fmt.Sprintf("Attached: %s, %s, %s bytes.", at.shown, mime, quantity.Number(len(data))),
		Metadata: map[string]any{"mime": mime, "bytes": len(data)},
		Attachments: []session.Part{{Type: session.FilePart, Mime: mime, Filename: filepath.Base(at.path),
			URL: "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString(data)}},
	}, nil
}
