package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"
)

// syntaxError says where a file is not JSON.
func syntaxError(name string, data []byte, err error) error {
	e := &Error{File: name, Line: 1, Column: 1, Err: err}
	// hujson says "hujson: line 3, column 5: …".
	var line, column int
	if n, _ := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); n == 2 {
		e.Line, e.Column = line, column
		if _, rest, ok := strings.Cut(strings.TrimPrefix(err.Error(), "hujson: "), ": "); ok {
			e.Err = errors.New(rest)
		}
	}
	return e
}

// positioned says where in a file a value of the wrong type or an unknown key is.
func positioned(name string, data []byte, err error) error {
	e := &Error{File: name, Err: err}
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		var syntactic *jsontext.SyntacticError
		if errors.As(err, &syntactic) {
			e.Line, e.Column = position(data, syntactic.ByteOffset)
			e.Err = syntactic.Err
		}
		return e
	}
	key := keyOf(semantic.JSONPointer)
	e.Key = key
	e.Line, e.Column = position(data, semantic.ByteOffset)
	if errors.Is(err, json.ErrUnknownName) {
		e.Err, e.Nearest = errNoKey, nearest(key)
		if at := offsetOf(data, key); at >= 0 {
			e.Line, e.Column = position(data, int64(at))
		}
		return e
	}
	k := semantic.JSONKind
	if k == 0 { // a type that reads itself refused it
		rest := jsontext.Value(bytes.TrimLeft(data[min(int(semantic.ByteOffset), len(data)):], " \t\r\n,:"))
		k = rest.Kind()
	}
	wants := cmp.Or(wanted(key), "an object") // without a key it is the file
	e.Err = fmt.Errorf("it must be %s, not %s", wants, kind(k))
	return e
}

// offsetOf finds where the name of a dotted key is in a file, or that of as much of the key as the
// file has; -1 if it has nothing of it. Names may have dots of their own.
func offsetOf(data []byte, key string) int {
	value, err := hujson.Parse(data)
	at := -1
	for err == nil && key != "" {
		if list, ok := value.Value.(*hujson.Array); ok {
			name, rest, _ := strings.Cut(key, ".")
			n, err := strconv.Atoi(name)
			if err != nil || n < 0 || n >= len(list.Elements) {
				break
			}
			at, key, value = list.Elements[n].StartOffset, rest, list.Elements[n]
			continue
		}
		object, ok := value.Value.(*hujson.Object)
		if !ok {
			break
		}
		longest := -1
		for i := range object.Members {
			literal, ok := object.Members[i].Name.Value.(hujson.Literal)
			name := literal.String()
			if fits := name == key || strings.HasPrefix(key, name+"."); ok && fits && len(name) > longest {
				longest, at, value = len(name), object.Members[i].Name.StartOffset, object.Members[i].Value
			}
		}
		if longest < 0 {
			break
		}
		key = strings.TrimPrefix(key[longest:], ".")
	}
	return at
}

func keyOf(p jsontext.Pointer) string {
	var names []string
	for name := range p.Tokens() {
		names = append(names, name)
	}
	return strings.Join(names, ".")
}

func position(data []byte, offset int64) (line, column int) {
	before := string(data[:min(int(offset), len(data))])
	// The offset may point before the white space that leads to the value.
	for i := len(before); i < len(data) && strings.ContainsRune(" \t\r\n,:", rune(data[i])); i++ {
		before += string(data[i])
	}
	line = strings.Count(before, "\n") + 1
	return line, len(before) - strings.LastIndexByte(before, '\n')
}

func kind(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "true or false"
	case '"':
		return "a text"
	case '0':
		return "this number"
	case '{':
		return "an object"
	case '[':
		return "a list"
	}
	return "this"
}

// find returns the value of a dotted key in a JSON text.
func find(text []byte, key string) (jsontext.Value, bool) {
	for _, name := range names(key) {
		var object map[string]jsontext.Value
		if json.Unmarshal(text, &object) != nil {
			return nil, false
		}
		value, ok := object[name]
		if !ok {
			return nil, false
		}
		text = value
	}
	return jsontext.Value(text), true
}
