// Package config reads what the user set: winnow.jsonc of the user and of the project's folder and
// the environment, later ones over earlier ones. It says where each value came from.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"

	"github.com/winnowhq/winnow/text/plainfile"
)

// Name of the configuration file.
const Name = "winnow.jsonc"

// Sources says where to look.
type Sources struct {
	File    string   // a file that must exist, instead of the two below
	User    string   // the user's configuration folder ($XDG_CONFIG_HOME), "" for none
	Dir     string   // the project's folder
	Environ []string // "NAME=value"
}

// Loaded is what was set.
type Loaded struct {
	Settings Settings
	// Origins says where a key that is not at its default was set: key → file or variable.
	Origins map[string]string
	// Files are the files that were read, lowest precedence first.
	Files []string
	// Ignored are the values of the project's file that are not accepted, in the order of Keys: a
	// folder that came from elsewhere must not decide who is sent what, or who is paid.
	Ignored []Ignored
	// Links are the variables of Kubernetes' service links, which say nothing about settings.
	Links []string

	texts  map[string][]byte // of Files
	denied []Permission      // by the project's file
}

// Error is a mistake in a configuration: which key, where, and which key may have been meant.
type Error struct {
	File         string // or the name of a variable
	Line, Column int    // 1-based; 0 for a variable
	Key          string
	Err          error
	Nearest      string // the valid key that is nearest to an unknown one, "" for none
}

func (e *Error) Error() string {
	where := e.File
	if e.Line > 0 {
		where = fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Column)
	}
	text := ""
	if where != "" {
		text = where + ": "
	}
	if e.Key != "" {
		text += e.Key + ": "
	}
	text += e.Err.Error()
	if e.Nearest != "" {
		text += fmt.Sprintf("; did you mean %q?", e.Nearest)
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// Load reads the configuration: defaults, the user's file, the project's file as far as it may set
// anything, the environment. A missing file is not an error unless it was named. Any mistake is an
// *Error, or several of them joined, and then nothing counts.
func Load(s Sources) (Loaded, error) {
	l := Loaded{Settings: Default(), Origins: map[string]string{}}
	for _, file := range s.files() {
		data, err := s.read(file)
		if errors.Is(err, fs.ErrNotExist) && s.File == "" {
			continue
		}
		data = renamed(data)
		if err == nil && s.File == "" && file == s.project() {
			err = l.project(file, data, payer(s.Environ))
		} else if err == nil {
			err = l.file(file, data)
		}
		if err == nil {
			err = l.permitted()
		}
		if err != nil {
			return l, err
		}
		l.Files = append(l.Files, file)
	}
	if err := l.environment(s.Environ); err != nil {
		return l, err
	}
	if err := l.Settings.Validate(); err != nil {
		return l, l.Blame(err)
	}
	l = l.Wished("")
	l.Settings.Permissions = append(l.Settings.Permissions, l.denied...)
	return l, nil
}

// mostBytes is how large a configuration that was not named may be. The largest that anybody writes
// has some thousands; one that came with a folder may have any number.
const mostBytes = 1 << 20

// read reads one of the files. A file that was named may be a pipe; any other must be a plain file
// of a sensible size.
func (s Sources) read(file string) (data []byte, err error) {
	if s.File != "" {
		data, err = os.ReadFile(file)
	} else {
		data, _, err = plainfile.Read(file, mostBytes)
	}
	if err == nil {
		return data, nil
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err // the file is named already
	}
	var kind *plainfile.KindError
	if errors.As(err, &kind) {
		err = fmt.Errorf("%w but %s", errNotPlain, plainfile.Kind(kind.Mode))
	}
	if errors.Is(err, plainfile.ErrTooLarge) {
		err = fmt.Errorf("%w: a configuration has at most %d bytes", plainfile.ErrTooLarge, mostBytes)
	}
	return nil, &Error{File: file, Err: err}
}

// errNotPlain is the error of a file that was not named and is a folder, a pipe or a device:
// reading it may never end.
var errNotPlain = errors.New("it is not a plain file")

// permitted checks the rules of one file, before those of another are laid beside them.
func (l *Loaded) permitted() error {
	s := Default()
	s.Permissions = l.Settings.Permissions
	if err := s.Validate(); err != nil {
		return l.Blame(err)
	}
	return nil
}

// Own is the user's own file, "" if there is no folder for it.
func (s Sources) Own() string {
	if s.User == "" {
		return ""
	}
	return filepath.Join(s.User, "winnow", Name)
}

// project is the project's file, "" if it is the user's own.
func (s Sources) project() string {
	if s.Dir == "" {
		return ""
	}
	file := filepath.Join(s.Dir, Name)
	if own, err := os.Stat(s.Own()); err == nil {
		if info, err := os.Stat(file); err == nil && os.SameFile(own, info) {
			return "" // in the folder of the user's own, or linked to it
		}
	}
	return file
}

func (s Sources) files() []string {
	if s.File != "" {
		return []string{s.File}
	}
	return slices.DeleteFunc([]string{s.Own(), s.project()}, func(file string) bool { return file == "" })
}

// Blame says where the value was set that an error is about. The text of the error, or of each of
// several joined errors, begins with the key.
func (l *Loaded) Blame(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, one := range joined.Unwrap() {
			all = append(all, l.Blame(one))
		}
		if len(all) == 1 {
			return all[0]
		}
		return errors.Join(all...)
	}
	e := &Error{File: "configuration", Err: err}
	key, words, _ := strings.Cut(err.Error(), ": ")
	for _, k := range Keys() {
		if k != key && !strings.HasPrefix(k, key+".") && !strings.HasPrefix(key, k+".") || l.Origins[k] == "" {
			continue
		}
		e.File, e.Key, e.Err = l.Origins[k], key, errors.New(words)
		if text := l.texts[e.File]; text != nil {
			e.Line, e.Column = position(text, int64(max(0, offsetOf(text, key))))
		}
		break
	}
	return e
}

// file lays the values of a file over what is there.
func (l *Loaded) file(name string, data []byte) error {
	plain, err := hujson.Standardize(bytes.Clone(data)) // comments become spaces, in place: positions stay
	if err != nil {
		return syntaxError(name, data, err)
	}
	if err := decode(plain, &l.Settings); err != nil {
		return positioned(name, data, err)
	}
	for _, key := range Keys() {
		if _, ok := find(plain, key); ok {
			l.Origins[key] = name
		}
	}
	l.keep(name, data)
	return l.located(name)
}

// keep remembers the text of a file, to say where something is in it.
func (l *Loaded) keep(name string, data []byte) {
	if l.texts == nil {
		l.texts = map[string][]byte{}
	}
	l.texts[name] = data
}

func decode(plain []byte, settings *Settings) error {
	return json.Unmarshal(plain, settings, json.RejectUnknownMembers(true))
}

// Values are the settings by key, as JSON, in the order of Keys.
func (l Loaded) Values() ([]string, map[string]jsontext.Value, error) {
	text, err := json.Marshal(l.Settings, json.Deterministic(true))
	if err != nil {
		return nil, nil, err
	}
	values := map[string]jsontext.Value{}
	for _, key := range Keys() {
		values[key], _ = find(text, key)
	}
	return Keys(), values, nil
}

// Value is the value of one key as JSON, also of one below a map: providers.house.baseURL.
func (l Loaded) Value(key string) (jsontext.Value, error) {
	if key = canonical(key); wanted(key) == "" && !isGroup(key) {
		return nil, &Error{Key: key, Err: errNoKey, Nearest: nearest(key)}
	}
	text, err := json.Marshal(l.Settings, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	if value, ok := find(text, key); ok {
		return value, nil
	}
	return jsontext.Value("null"), nil
}
