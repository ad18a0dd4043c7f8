// Package all lists the formats, for programs that want every one.
package all

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/body"
	"github.com/winnowhq/winnow/format/claudecode"
	"github.com/winnowhq/winnow/format/cline"
	"github.com/winnowhq/winnow/format/codex"
	"github.com/winnowhq/winnow/format/copilot"
	"github.com/winnowhq/winnow/format/geminicli"
	"github.com/winnowhq/winnow/format/miniswe"
	"github.com/winnowhq/winnow/format/opencode"
	"github.com/winnowhq/winnow/format/openhands"
	"github.com/winnowhq/winnow/format/pi"
	"github.com/winnowhq/winnow/format/qwen"
	"github.com/winnowhq/winnow/format/sweagent"
)

// Formats lists them in the order in which they are asked whether a file is theirs: the surest
// signs first.
func Formats() []format.Format {
	return []format.Format{
		claudecode.Format{}, codex.Format{}, pi.Format{}, miniswe.Format{}, opencode.Format{}, sweagent.Format{}, geminicli.Format{},
		qwen.Format{}, copilot.Format{}, cline.Format{}, openhands.Format{},
		body.AnthropicBody{}, body.OpenAIBody{}, body.GeminiBody{},
	}
}

// Names are the words for the formats.
func Names() []string {
	var names []string
	for _, f := range Formats() {
		names = append(names, f.Name())
	}
	return names
}

// Named returns the format with this name.
func Named(name string) (format.Format, error) {
	for _, f := range Formats() {
		if f.Name() == name {
			return f, nil
		}
	}
	return nil, fmt.Errorf("unknown format %q; use one of %s", name, strings.Join(Names(), ", "))
}

// sniff is how much of a file Detect is shown.
const sniff = 64 << 10

// Detect returns the format of a file, by its content, nil if it is of no known format.
func Detect(src []byte) format.Format {
	head := src[:min(len(src), sniff)]
	for _, f := range Formats() {
		if f.Detect(head) {
			return f
		}
	}
	return nil
}

// Read detects and reads a file. gzip and zstd are taken off first. The error is a *format.SyntaxError if the
// file is of no known format.
func Read(src []byte) (*format.Document, error) {
	plain, err := Plain(src)
	if err != nil {
		return nil, err
	}
	plain = bytes.TrimPrefix(plain, []byte("\xef\xbb\xbf")) // no format has a byte order mark
	f := Detect(plain)
	if f == nil {
		return nil, Unknown(plain)
	}
	return f.Read(plain)
}

const (
	// mostPlain is how long a file that was compressed may be. Ten megabytes can say that they are
	// ten gigabytes, and a file is held as a whole.
	mostPlain = 1 << 30
	// mostRatio is how many times its size a file may become. Sessions become 3 to 30 times longer;
	// with gzip it can be a thousand times.
	mostRatio = 200
	// smallPlain is how long any file may become, whatever the ratio.
	smallPlain = 32 << 20
	// zstdWindow is the largest window of a file compressed by zstd; winnow's archive uses it.
	zstdWindow = 8 << 20
)

// Plain takes off compression by gzip or zstd, if there is any. More than a gigabyte is an error, and
// so is more than both 200 times the size of the file and 32 MiB.
func Plain(src []byte) ([]byte, error) {
	return plain(src, min(mostPlain, max(smallPlain, mostRatio*int64(len(src)))))
}

func plain(src []byte, most int64) ([]byte, error) {
	var r io.Reader
	name, tool := "gzip", "gunzip"
	switch {
	case bytes.HasPrefix(src, []byte{0x1f, 0x8b}):
		unzip, err := gzip.NewReader(bytes.NewReader(src))
		if err != nil {
			return nil, &format.SyntaxError{Format: "gzip", Expected: "a gzip header", Err: err}
		}
		r = unzip
	case bytes.HasPrefix(src, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		name, tool = "zstd", "unzstd"
		// Winnow's archive has sessions that were compressed with this window.
		unpack, err := zstd.NewReader(bytes.NewReader(src), zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, &format.SyntaxError{Format: "zstd", Expected: "a zstd header", Err: err}
		}
		defer unpack.Close()
		r = unpack
	default:
		return src, nil
	}
	plain, err := io.ReadAll(io.LimitReader(r, most+1))
	if int64(len(plain)) > most {
		err := fmt.Errorf("more is in it, which is too much for a file of %d bytes (%d times its size, or a gigabyte, "+
			"is the most); if you know that it is a session, unpack it with %s, and give that", len(src), mostRatio, tool)
		return nil, &format.SyntaxError{Format: name, Expected: fmt.Sprintf("no more than %d MB", most>>20), Err: err}
	}
	if err != nil && len(plain) == 0 {
		return nil, &format.SyntaxError{Format: name, Expected: name + " data", Err: err}
	}
	return plain, nil // a cut stream gives what came before the cut; the reader lists the damage
}

// UnknownFormat stands for the name of the format in the error of Unknown.
const UnknownFormat = "unknown format"

// Unknown is the error for a file of no known format: it says what was looked for.
func Unknown(src []byte) error {
	var titles []string
	for _, f := range Formats() {
		titles = append(titles, f.Title())
	}
	e := &format.SyntaxError{Format: UnknownFormat, Line: 1, Expected: "one of: " + strings.Join(titles, "; ")}
	begin := bytes.TrimSpace(src[:min(len(src), sniff)])
	switch {
	case len(src) == 0:
		e.Err = errors.New("the file is empty")
	case len(begin) == 0:
		e.Err = errors.New("there is nothing but white space in it")
	default:
		e.Err = fmt.Errorf("it begins with %q", begin[:min(len(begin), 40)])
	}
	return e
}
