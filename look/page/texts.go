package page

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// chunkSize is how many bytes of texts are compressed together: enough to compress well, and little
// enough to be unpacked while somebody waits for one of them.
const chunkSize = 256 << 10

// texts are those that the page keeps as data and unpacks when a part is opened. Only references
// into the log are held until they are written.
type texts struct {
	chunks [][]kept
	room   int // in the last chunk
	bytes  int
}

// kept is one text. The arguments of a call are set one below the other when they are written.
type kept struct {
	text string
	json bool
}

// add keeps a text and returns where the page finds it: "chunk.index".
func (t *texts) add(text string, isJSON bool) string {
	if len(t.chunks) == 0 || t.room < len(text) {
		t.chunks = append(t.chunks, nil)
		t.room = chunkSize
	}
	t.room -= len(text)
	t.bytes += len(text)
	last := len(t.chunks) - 1
	t.chunks[last] = append(t.chunks[last], kept{text, isJSON})
	return strconv.Itoa(last) + "." + strconv.Itoa(len(t.chunks[last])-1)
}

// write writes each chunk as base64 of the deflated JSON list of its texts: letters, digits and
// three signs, whatever a session says.
func (t *texts) write(w io.Writer) error {
	var packed bytes.Buffer
	// Somebody waits for the page: harder compression takes more than twice as long for 3 % less.
	deflate, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err != nil {
		return err
	}
	var list []byte
	for _, chunk := range t.chunks {
		list = append(list[:0], '[')
		for i, k := range chunk {
			if i > 0 {
				list = append(list, ',')
			}
			if list, err = jsontext.AppendQuote(list, k.shown()); err != nil {
				return err
			}
		}
		list = append(list, ']')
		packed.Reset()
		deflate.Reset(&packed)
		if _, err := deflate.Write(list); err != nil {
			return err
		}
		if err := deflate.Close(); err != nil {
			return err
		}
		if _, err := io.WriteString(w, `<script type="text/plain" class="kept">`); err != nil {
			return err
		}
		encode := base64.NewEncoder(base64.StdEncoding, w)
		if _, err := encode.Write(packed.Bytes()); err != nil {
			return err
		}
		if err := encode.Close(); err != nil {
			return err
		}
		if _, err := io.WriteString(w, "</script>\n"); err != nil {
			return err
		}
	}
	return nil
}

func (k kept) shown() string {
	if !k.json {
		return visible(k.text)
	}
	return visible(arguments(k.text))
}

// arguments are those of a call, one below the other: texts as they are, with their line breaks,
// other values as JSON. Anything else is left as it is.
func arguments(text string) string {
	var b strings.Builder
	dec := jsontext.NewDecoder(strings.NewReader(text), jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true))
	if first, err := dec.ReadToken(); err != nil || first.Kind() != '{' {
		return text
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return text
		}
		b.WriteString(name.String() + ":")
		value, err := dec.ReadValue()
		if err != nil {
			return text
		}
		shown := string(value)
		if value.Kind() == '"' {
			if plain, err := jsontext.AppendUnquote(nil, value); err == nil {
				shown = string(plain)
			}
		}
		if strings.Contains(shown, "\n") {
			b.WriteString("\n" + strings.TrimSuffix(shown, "\n") + "\n")
		} else {
			b.WriteString(" " + shown + "\n")
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return text
	}
	return strings.TrimSuffix(b.String(), "\n")
}
