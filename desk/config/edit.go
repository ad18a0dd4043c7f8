package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/text/plainfile"
)

// put sets a dotted key in a document and makes the objects that lead to it. Everything else stays,
// comments in their places.
func put(doc *hujson.Value, key string, value jsontext.Value) error {
	parsed, err := hujson.Parse(value)
	if err != nil {
		return err
	}
	at, err := place(doc, key)
	if err != nil {
		return err
	}
	at.Value = parsed.Value
	return nil
}

// place finds the value of a dotted key in a document, and makes the objects that lead to it. A new
// value is an empty object.
func place(doc *hujson.Value, key string) (*hujson.Value, error) {
	names := names(key)
	at := doc
	for i, name := range names {
		object, ok := at.Value.(*hujson.Object)
		if !ok {
			return nil, errors.New("its present value is not an object")
		}
		if at = member(object, name); at == nil && i == len(names)-1 && policy.Alias(key) != "" {
			at = member(object, last(policy.Alias(key)))
		}
		if at == nil {
			at = add(object, name)
		}
	}
	return at, nil
}

// remove takes what names lead to out of an object, and the objects that are empty without it.
// alias is another name of the last one. It reports whether there was anything.
func remove(at *hujson.Value, names []string, alias string) bool {
	object, ok := at.Value.(*hujson.Object)
	if !ok {
		return false
	}
	was := false
	for i := len(object.Members) - 1; i >= 0; i-- {
		literal, ok := object.Members[i].Name.Value.(hujson.Literal)
		if !ok {
			continue
		}
		name := literal.String()
		if len(names) == 1 {
			if name != names[0] && (alias == "" || name != last(alias)) {
				continue
			}
		} else {
			inner := &object.Members[i].Value
			if name != names[0] || !remove(inner, names[1:], alias) {
				continue
			}
			if left, ok := inner.Value.(*hujson.Object); ok && len(left.Members) > 0 {
				return true
			}
		}
		behind := &object.AfterExtra
		if i+1 < len(object.Members) {
			behind = &object.Members[i+1].Name.BeforeExtra
		}
		if end := bytes.IndexByte(*behind, '\n'); end > 0 {
			*behind = (*behind)[end:] // a comment on the same line
		}
		object.Members = append(object.Members[:i], object.Members[i+1:]...)
		was = true
	}
	return was
}

// member is the last member with a name: the one that counts.
func member(object *hujson.Object, name string) *hujson.Value {
	for i := len(object.Members) - 1; i >= 0; i-- {
		if literal, ok := object.Members[i].Name.Value.(hujson.Literal); ok && literal.String() == name {
			return &object.Members[i].Value
		}
	}
	return nil
}

// add appends an empty object under a name. A comment behind the last member so far stays behind
// it.
func add(object *hujson.Object, name string) *hujson.Value {
	m := hujson.ObjectMember{Name: hujson.Value{Value: hujson.String(name)},
		Value: hujson.Value{Value: &hujson.Object{}}}
	if n := len(object.Members); n > 0 {
		last := &object.Members[n-1].Value
		m.Name.BeforeExtra = append(last.AfterExtra, object.AfterExtra...)
		last.AfterExtra = nil
		if object.AfterExtra != nil {
			object.AfterExtra = hujson.Extra("\n") // there is a comma behind the last member
		}
	} else {
		m.Name.BeforeExtra, object.AfterExtra = object.AfterExtra, nil
	}
	if !strings.HasSuffix(strings.TrimRight(string(m.Name.BeforeExtra), " \t"), "\n") && len(object.Members) > 0 {
		m.Name.BeforeExtra = append(m.Name.BeforeExtra, '\n')
	}
	object.Members = append(object.Members, m)
	return &object.Members[len(object.Members)-1].Value
}

// Set writes one key into a configuration file and keeps everything else in it, comments too. The
// file is made when it is missing. The value is JSON, or a text.
func Set(file, key, value string) error { return SetAll(file, map[string]string{key: value}) }

// SetAll writes several keys at once: all of them, or none.
func SetAll(file string, values map[string]string) error {
	doc, err := parsed(file)
	if err != nil {
		return err
	}
	for _, given := range slices.Sorted(maps.Keys(values)) {
		key := canonical(given)
		aMember := typeOf(key) == reflect.TypeFor[model.Patch]() &&
			!strings.HasPrefix(strings.TrimSpace(values[given]), "{")
		if wanted(key) == "" || aMember {
			return &Error{File: file, Key: key, Err: errNoKey, Nearest: nearest(key)}
		}
		text, err := setting(key, values[given])
		if err != nil {
			return &Error{File: file, Key: key, Err: err}
		}
		if err := put(&doc, key, text); err != nil {
			return &Error{File: file, Key: key, Err: err}
		}
	}
	doc.Format()
	return Write(file, doc.Pack())
}

// parsed reads a configuration file to change it. One that is missing is an empty object.
func parsed(file string) (doc hujson.Value, err error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = []byte("{\n}\n"), nil // an object of several lines stays one
	}
	if err != nil {
		return doc, &Error{File: file, Err: err}
	}
	if doc, err = hujson.Parse(data); err != nil {
		return doc, syntaxError(file, data, err)
	}
	return doc, nil
}

// Write makes a text the configuration file, if all that it says can be meant.
func Write(file string, text []byte) error {
	var check Loaded
	check.Settings, check.Origins = Default(), map[string]string{}
	if err := check.file(file, renamed(text)); err != nil {
		return err
	}
	if err := check.Settings.Validate(); err != nil {
		return check.Blame(err)
	}
	if err := replace(file, text); err != nil {
		return &Error{File: file, Err: err}
	}
	return nil
}

// Keep makes a change to one of the files, and takes it back if the settings of all files together
// can no longer be loaded: every command would stop.
func (s Sources) Keep(file string, change func() error) error {
	_, broken := Load(s)
	was, err := os.ReadFile(file)
	missing := errors.Is(err, fs.ErrNotExist)
	if err := change(); err != nil || broken != nil {
		return err
	}
	if _, err = Load(s); err == nil {
		return nil
	}
	undo := os.Remove
	if !missing {
		undo = func(file string) error { return replace(file, was) }
	}
	return errors.Join(fmt.Errorf("the change is taken back, as no command could read the configuration with it: %w",
		err), undo(file))
}

// Unset removes one key from a configuration file, with the groups that are empty without it, and
// keeps everything else. was is false if the file does not set it.
func Unset(file, key string) (was bool, err error) {
	if key = canonical(key); wanted(key) == "" {
		return false, &Error{File: file, Key: key, Err: errNoKey, Nearest: nearest(key)}
	}
	doc, err := parsed(file)
	if err != nil {
		return false, err
	}
	if !remove(&doc, names(key), policy.Alias(key)) {
		return false, nil
	}
	doc.Format()
	return true, Write(file, doc.Pack())
}

// replace replaces a file in one go, and keeps its mode and the link that leads to it. It first
// writes a file with a name under which nobody could have put a link.
func replace(file string, text []byte) error {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(file); err == nil {
		mode = info.Mode().Perm() // others may not be allowed to read it
	}
	to := file
	if linked, err := filepath.EvalSymlinks(file); err == nil {
		to = linked // the link stays
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return plainfile.Replace(to, func(f *os.File) error {
		_, err := f.Write(text)
		return errors.Join(err, f.Chmod(mode), f.Sync())
	})
}
