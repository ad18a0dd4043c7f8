package wire

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"hash/maphash"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/span"
)

// An original is the JSON that a request had for a part, or for the result of a call. It is kept in
// the metadata of the part where the part alone does not say all of it: the detail of a picture,
// the citations of a text, the order of texts and pictures in a result. What the part holds itself
// is not kept twice: in its place stands where it is in the part.
//
// Marks for the cache are not part of it: a client sets them anew with every request, and providers
// accept few.
type original struct {
	Form  string         `json:"form"` // Form.Own of the format that understands it
	Of    string         `json:"of"`   // what the part held, see stamp
	Value jsontext.Value `json:"value"`
	// Rest are the positions of the blocks of a result that are neither texts nor media: what the
	// part does not hold, and what stays when its text goes.
	Rest []int `json:"rest,omitzero"`
}

// Names in metadata of the originals of a block and of a result.
const (
	ofBlock  = "block"
	ofResult = "result"
)

// hole begins the strings that stand for what the part holds itself. It is a character for private
// use: not every database keeps a NUL.
const hole = "\uf8ff"

// Original keeps the block of a request from which a part was read, where a body of the same format
// would not have an equal one: written is what it would have, nil for nothing. form is the Own of
// the format.
func Original(p session.Part, form string, block Value, written any) session.Part {
	if !equal(block, written) || strings.HasPrefix(p.Mime, "text/") { // see session.Part.Sent
		p.Metadata = keepOriginal(form, block, p.Text, []session.Part{p}).into(p.Metadata, ofBlock)
	}
	return p
}

// Keep keeps the value that a request had for a result, in the same way. write is what the format
// writes for the result of a call. A list of nothing but texts is kept as the text alone.
func (r *Result) Keep(form string, value Value, write func(*Call) any) {
	plain := true
	for block := range value.Values() {
		var kind string
		var text, mark Value
		plain = plain && block.Read("type", &kind, "text", &text, "cache_control", &mark) == 0 &&
			strings.HasSuffix(kind, "text")
	}
	if plain && value.Kind() != '{' {
		return
	}
	call := Call{Result: r.Text, Failed: r.Failed}
	for i := range r.Attachments {
		call.Media = append(call.Media, MediaOf(&r.Attachments[i]))
	}
	if !equal(value, write(&call)) {
		o, i := keepOriginal(form, value, r.Text, r.Attachments), 0
		for block := range listed(value) {
			if slices.Contains(r.Place.Keep, block.Span) || value.Kind() == '{' && r.Attachments == nil {
				o.Rest = append(o.Rest, i)
			}
			i++
		}
		r.original = &o
	}
}

// JoinResult puts what metadata keeps of a result into the metadata of its call.
func JoinResult(call, result jsontext.Value) jsontext.Value {
	if o, ok := originalOf(result, ofResult); ok {
		return o.into(call, ofResult)
	}
	return call
}

// listed walks the blocks of a result: a list, or the parts of an object, as Gemini has it.
func listed(value Value) iter.Seq[Value] {
	if value.Kind() == '{' {
		value = value.Get("parts")
	}
	return value.Values()
}

// equal reports whether a value says the same as what would be written for it.
func equal(v Value, written any) bool {
	if written == nil {
		return false
	}
	text, err := json.Marshal(written, session.ReadOptions())
	if err != nil {
		return false
	}
	seed := maphash.MakeSeed()
	short := func(v Value) []byte {
		if v.Kind() != '"' || v.Len() < 1024 {
			return nil
		}
		return span.Quote(strconv.FormatUint(maphash.Bytes(seed, v.Bytes()), 36))
	}
	a, b := jsontext.Value(without(v, short)), jsontext.Value(without(ValueOf(text), short))
	return a.Canonicalize(session.ReadOptions()) == nil && b.Canonicalize(session.ReadOptions()) == nil &&
		bytes.Equal(a, b)
}

func keepOriginal(form string, v Value, text string, files []session.Part) original {
	at := 0
	value := without(v, func(v Value) []byte {
		if v.Len() < 48 {
			return nil
		}
		if string(v.Bytes()) == text {
			return span.Quote(hole + "json")
		}
		s := v.String()
		if v.Kind() != '"' || len(s) == 0 {
			return nil
		}
		if i := strings.Index(text[at:], s); i >= 0 {
			at += i + len(s)
			return span.Quote(fmt.Sprintf(hole+"text %d %d", at-len(s), at))
		}
		for i := range files {
			if s == files[i].URL {
				return span.Quote(fmt.Sprintf(hole+"url %d", i))
			}
			if data, ok := dataOf(files[i].URL); ok && s == data {
				return span.Quote(fmt.Sprintf(hole+"data %d", i))
			}
			if text, ok := MediaOf(&files[i]).Plain(); ok && s == text {
				return span.Quote(fmt.Sprintf(hole+"plain %d", i))
			}
		}
		return nil
	})
	return original{Form: form, Of: stamp(text, files), Value: value}
}

// into puts an original into metadata under a name.
func (o original) into(metadata jsontext.Value, name string) jsontext.Value {
	raw, err := json.Marshal(o, session.ReadOptions())
	if err != nil {
		return metadata
	}
	if len(metadata) == 0 {
		return span.Make(name, raw)
	}
	return span.Set(metadata, "", raw, name)
}

// dataOf is what stands behind the comma of a data URL.
func dataOf(url string) (data string, ok bool) {
	rest, ok := strings.CutPrefix(url, "data:")
	_, data, comma := strings.Cut(rest, ",")
	return data, ok && comma && data != ""
}

// stamp changes when the text of a part, or how many files it has, changes: then less of it is
// shown than its original says.
func stamp(text string, files []session.Part) string {
	hash := fnv.New64a()
	hash.Write([]byte(text))
	return fmt.Sprintf("%x %d", hash.Sum64(), len(files))
}

// WithoutOriginals is metadata without what is kept of a block and of a result: how a client wrote
// what it said is no part of what it said, and may differ from request to request.
func WithoutOriginals(metadata jsontext.Value) jsontext.Value {
	for _, name := range []string{ofBlock, ofResult} {
		if _, ok := originalOf(metadata, name); ok {
			metadata = span.Remove(metadata, false, name)
		}
	}
	return metadata
}

// originalOf is what metadata keeps under a name, ok false without it.
func originalOf(metadata jsontext.Value, name string) (o original, ok bool) {
	if !bytes.Contains(metadata, []byte(`"value"`)) || !metadata.IsValid(session.ReadOptions()) {
		return o, false
	}
	v := ValueOf(metadata).Get(name)
	var value Value
	var rest Value
	v.Read("form", &o.Form, "of", &o.Of, "value", &value, "rest", &rest)
	for at := range rest.Values() {
		o.Rest = append(o.Rest, at.Int())
	}
	o.Value = value.Bytes()
	return o, o.Form != "" && len(o.Value) > 0
}

// whole is the original with what the part holds in its place; nil where the part holds something
// else by now.
func (o *original) whole(text string, files []session.Part) jsontext.Value {
	if o.Of != stamp(text, files) {
		return nil
	}
	return without(ValueOf(o.Value), func(v Value) []byte {
		s, ok := strings.CutPrefix(v.String(), hole)
		if v.Kind() != '"' || !ok {
			return nil
		}
		var kind string
		var from, to int
		_, _ = fmt.Sscan(s, &kind, &from, &to)
		switch {
		case kind == "json":
			return []byte(text)
		case kind == "text" && 0 <= from && from <= to && to <= len(text):
			return span.Quote(text[from:to])
		case kind == "url" && 0 <= from && from < len(files):
			return span.Quote(files[from].URL)
		case kind == "data" && 0 <= from && from < len(files):
			data, _ := dataOf(files[from].URL)
			return span.Quote(data)
		case kind == "plain" && 0 <= from && from < len(files):
			text, _ := MediaOf(&files[from]).Plain()
			return span.Quote(text)
		}
		return nil
	})
}

// rest are the blocks at the positions Rest.
func (o *original) rest() (blocks []Value) {
	i := 0
	for block := range listed(ValueOf(o.Value)) {
		if slices.Contains(o.Rest, i) {
			blocks = append(blocks, block)
		}
		i++
	}
	return blocks
}

// without writes a value without marks for the cache, and with what instead has for values of it;
// nil leaves a value as it is.
func without(v Value, instead func(Value) []byte) []byte {
	if instead != nil {
		if with := instead(v); with != nil {
			return with
		}
	}
	switch v.Kind() {
	case '{':
		var o span.Object
		for name, member := range v.Members() {
			if name != "cache_control" {
				o.Raw(name, without(member, instead))
			}
		}
		return o.Bytes()
	case '[':
		values := []jsontext.Value{}
		for value := range v.Values() {
			values = append(values, without(value, instead))
		}
		return span.Array(values)
	}
	return v.Raw()
}

// contentOf begins the kind of blocks within a message, of formats in which most are items of their
// own.
const contentOf = "content."

// telling are the members of a block that say something to a reader who does not know it.
var telling = []string{"title", "name", "source", "url", "uri", "image_url", "query", "queries", "context", "text",
	"content", "code", "command", "arguments", "output", "stdout", "stderr", "logs", "file_id", "filename", "fileUri",
	"document_title", "id", "mimeType", "media_type"}

// foreignBytes is how much of a block in another format is told.
const foreignBytes = 4000

// Foreign tells of a block that only its owner's format understands: what it is, how large, and
// what it says.
func Foreign(owner, kind string, block Value) string {
	for _, prefix := range []string{"chat.", "responses.", contentOf} {
		kind = strings.TrimPrefix(kind, prefix)
	}
	head := "[" + kind + " of " + strings.TrimSuffix(owner, "/") + ", " + quantity.Bytes(block.Len())
	told := strings.Join(readableTexts(block, "", nil), "\n")
	if told == "" {
		return head + "]"
	}
	if len(told) > foreignBytes {
		told = strings.ToValidUTF8(told[:foreignBytes], "") + "…"
	}
	return head + ":]\n" + told
}

// readableTexts are the texts of a value that a reader can use.
func readableTexts(v Value, name string, lines []string) []string {
	switch v.Kind() {
	case '"':
		s := strings.TrimSpace(v.String())
		switch {
		case strings.HasPrefix(s, "data:text/"):
			s, _ = MediaOf(&session.Part{Mime: "text/plain", URL: s}).Plain()
		case !slices.Contains(telling, name), strings.HasPrefix(s, "data:"), strings.HasPrefix(s, hole):
			return lines
		}
		if s != "" && !slices.Contains(lines, s) {
			lines = append(lines, s)
		}
	case '[':
		for value := range v.Values() {
			lines = readableTexts(value, name, lines)
		}
	case '{':
		for name, member := range v.Members() {
			if name == "data" && strings.HasPrefix(v.Get("media_type").String(), "text/") {
				name = "text"
			}
			lines = readableTexts(member, name, lines)
		}
	}
	return lines
}
