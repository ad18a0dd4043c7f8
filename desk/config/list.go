package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"

	"github.com/winnowhq/winnow/plan/settings"
)

// layered reports whether each place that sets a key adds to the list of those before it, defaults
// included: see settings.Protected.
func layered(key string) bool { return typeOf(key) == reflect.TypeFor[settings.Protected]() }

// Layered reports whether each place that sets a key adds to the list of those before it.
func Layered(key string) bool { return layered(canonical(key)) }

// defaultsOf are the defaults of a list.
func defaultsOf(key string) (entries []string, err error) {
	value, err := Loaded{Settings: Default()}.Value(key)
	if err == nil {
		err = json.Unmarshal(value, &entries)
	}
	return entries, err
}

// setting is the value of a key as a file has it. The empty list of a key whose places add to each
// other takes the defaults away.
func setting(key, value string) (jsontext.Value, error) {
	text, err := valueOf(key, value)
	if err != nil || !layered(key) {
		return text, err
	}
	var entries []string
	if err := json.Unmarshal(text, &entries); err != nil || len(entries) > 0 {
		return text, nil // the check reports its errors
	}
	if entries, err = defaultsOf(key); err != nil {
		return nil, err
	}
	for i := range entries {
		entries[i] = "!" + entries[i]
	}
	return json.Marshal(entries)
}

// written is what a configuration says of a key, as it says it.
func written(data []byte, key string) jsontext.Value {
	plain, err := hujson.Standardize(slices.Clone(data))
	if err != nil {
		return nil
	}
	value, _ := find(plain, key)
	return value
}

// Add puts values into the list of a key in a configuration file, and keeps everything else. It
// returns those that the list did not have. A value of permissions is a JSON object. "!VALUE" takes
// a default away, as Remove does.
func Add(file, key string, values ...string) (added []string, err error) {
	return editList(file, key, values, func(l *list, value string) bool {
		if gone, ok := strings.CutPrefix(value, "!"); ok && l.layered {
			return l.remove(gone)
		}
		return l.add(value)
	})
}

// Remove takes values out of the list of a key in a configuration file, and keeps everything else.
// With defaults it writes "!VALUE" for a default that would stay. It returns the values that the
// list had.
func Remove(file, key string, defaults bool, values ...string) (removed []string, err error) {
	return editList(file, key, values, func(l *list, value string) bool {
		if !defaults {
			return l.cut(value)
		}
		return l.remove(value)
	})
}

// list is one that is edited.
type list struct {
	array    *hujson.Array
	layered  bool
	defaults []string
}

func (l *list) add(value string) bool {
	back := l.cut("!" + value)
	if slices.Contains(l.defaults, value) || slices.Contains(l.entries(), value) {
		return l.layered && back
	}
	l.put(value)
	return true
}

func (l *list) remove(value string) bool {
	had := l.cut(value)
	if l.layered && slices.Contains(l.defaults, value) && !slices.Contains(l.entries(), "!"+value) {
		l.put("!" + value)
		had = true
	}
	return had
}

// put appends an entry: a text, or an object.
func (l *list) put(value string) {
	element := hujson.Value{Value: hujson.String(value)}
	if strings.HasPrefix(value, "{") {
		if parsed, err := hujson.Parse([]byte(value)); err == nil {
			element = parsed
		}
	}
	l.array.Elements = append(l.array.Elements, element)
}

// cut takes an entry out, and reports whether it was there.
func (l *list) cut(value string) bool {
	before := len(l.array.Elements)
	l.array.Elements = slices.DeleteFunc(l.array.Elements, func(e hujson.Value) bool { return entryOf(e) == value })
	return len(l.array.Elements) < before
}

func (l *list) entries() []string {
	var all []string
	for _, e := range l.array.Elements {
		all = append(all, entryOf(e))
	}
	return all
}

// entryOf is an entry of a list as values are compared: a text, or the JSON of an object in one
// spelling.
func entryOf(element hujson.Value) string {
	if text, ok := element.Value.(hujson.Literal); ok {
		return text.String()
	}
	plain := element.Clone()
	plain.Standardize()
	value, _ := entryText(reflect.TypeFor[Permission](), string(plain.Pack()))
	return value
}

// entryText is a value that was given for a list of a type, as entries are compared.
func entryText(of reflect.Type, value string) (string, error) {
	if of.Kind() == reflect.String {
		if v := jsontext.Value(value); v.Kind() == '"' && v.IsValid() {
			err := json.Unmarshal(v, &value)
			return value, err
		}
		return value, nil
	}
	entry := reflect.New(of)
	if err := json.Unmarshal([]byte(value), entry.Interface(), json.RejectUnknownMembers(true)); err != nil {
		return "", fmt.Errorf("%s is no entry of this list: give a JSON object as in `winnow config --help`", value)
	}
	text, err := json.Marshal(entry.Interface())
	return string(text), err
}

// listed is the type of the entries of a key that has a list, nil for any other key. A hook is a
// command, of which no part can be added or removed.
func listed(key string) reflect.Type {
	t := typeOf(key)
	if t == nil || t.Kind() != reflect.Slice || t == reflect.TypeFor[jsontext.Value]() || strings.HasPrefix(key, hooks) {
		return nil
	}
	return t.Elem()
}

// editList changes the list of a key, value by value, and returns the values that change reported.
// The file is written if there was one.
func editList(file, key string, values []string, change func(*list, string) bool) (done []string, err error) {
	key = canonical(key)
	of := listed(key)
	switch {
	case wanted(key) == "":
		return nil, &Error{File: file, Key: key, Err: errNoKey, Nearest: nearest(key)}
	case of == nil:
		return nil, &Error{File: file, Key: key, Err: errors.New("it is not a list: winnow config set " + key + " VALUE")}
	}
	doc, err := parsed(file)
	if err != nil {
		return nil, err
	}
	l, err := listIn(&doc, key)
	if err != nil {
		return nil, &Error{File: file, Key: key, Err: err}
	}
	for _, given := range values {
		value, err := entryText(of, given)
		if err != nil {
			return nil, &Error{File: file, Key: key, Err: err}
		}
		if change(l, value) {
			done = append(done, given)
		}
	}
	if len(done) == 0 {
		return nil, nil
	}
	doc.Format()
	return done, Write(file, doc.Pack())
}

// listIn is the list of a key in a document, made if it is missing.
func listIn(doc *hujson.Value, key string) (*list, error) {
	l := &list{layered: layered(key)}
	if l.layered {
		var err error
		if l.defaults, err = defaultsOf(key); err != nil {
			return nil, err
		}
	}
	at, err := place(doc, key)
	if err != nil {
		return nil, err
	}
	if object, ok := at.Value.(*hujson.Object); ok && len(object.Members) == 0 {
		at.Value = &hujson.Array{}
	}
	array, ok := at.Value.(*hujson.Array)
	if !ok {
		return nil, errors.New("its present value is not a list")
	}
	l.array = array
	return l, nil
}
