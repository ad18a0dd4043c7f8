// Package config answers: what did the user set? It reads winnow.jsonc of the user and of the project's folder and
// the environment, later ones over earlier ones, and says where each value came from.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"

	"github.com/winnowhq/winnow"
)

// Name of the configuration file.
const Name = "winnow.jsonc"

// Sources says where to look.
type Sources struct {
	File    string   // a file that must be there, instead of the two below
	User    string   // the user's configuration folder ($XDG_CONFIG_HOME), "" for none
	Dir     string   // the project's folder
	Environ []string // "NAME=value"
}

// Loaded is what was set.
type Loaded struct {
	Settings winnow.Settings
	// Origins says where a key that is not at its default was set: key → file or variable.
	Origins map[string]string
	// Files are the files that were read, lowest precedence first.
	Files []string

	texts  map[string][]byte   // of Files
	denied []winnow.Permission // by the project's file
}

// Error is a mistake in a configuration: which key, where, and what it could have been meant to be.
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
	text := where + ": "
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

// Load reads the configuration: defaults, the user's file, the project's file, the environment. A missing file is no error unless it
// was named. Any mistake is an *Error, or several of them joined, and then nothing counts.
func Load(s Sources) (Loaded, error) {
	l := Loaded{Settings: winnow.DefaultSettings(), Origins: map[string]string{}}
	for _, file := range s.files() {
		var err error
		if info, failed := os.Stat(file); s.File == "" && failed == nil && !info.Mode().IsRegular() {
			err = errNotPlain
		}
		var data []byte
		if err == nil {
			data, err = os.ReadFile(file)
		}
		if errors.Is(err, fs.ErrNotExist) && s.File == "" {
			continue
		}
		if err != nil {
			var path *fs.PathError
			if errors.As(err, &path) {
				err = path.Err // the file is named already
			}
			return l, &Error{File: file, Err: err}
		}
		own := slices.Clone(l.Settings.Permissions) // reading writes over them
		if err := l.file(file, data); err != nil {
			return l, err
		}
		if err := l.permitted(); err != nil {
			return l, err
		}
		if s.File == "" && file == filepath.Join(s.Dir, Name) && l.Origins[permissions] == file {
			if err := l.denials(file, data, own); err != nil {
				return l, err
			}
		}
		if s.File == "" && file == filepath.Join(s.Dir, Name) && l.Origins[providers] == file {
			return l, &Error{File: file, Key: providers, Err: errNotHere}
		}
		l.Files = append(l.Files, file)
	}
	if err := l.environment(s.Environ); err != nil {
		return l, err
	}
	if err := l.Settings.Validate(); err != nil {
		return l, l.Blame(err)
	}
	l.Settings.Permissions = append(l.Settings.Permissions, l.denied...)
	return l, nil
}

// errNotPlain is the error of a file that was not named and is a folder, a pipe or a device: to read it may never end.
var errNotPlain = errors.New("it is no plain file")

// providers says where keys and sessions are sent. That is the user's to say: a project's file may be anybody's.
const providers = "providers"

var errNotHere = errors.New("it says where your keys are sent, so it is not taken from a project's file; write it into your own, or name this one with --config")

// permissions say what an agent may do on this computer. That is the user's to say too: a project's file may only take away. Its rules come behind the
// user's, of which the last one counts.
const permissions = "permissions"

var errOnlyDeny = errors.New("a project's file may deny, not allow or ask: what is allowed on your computer is for your own file, or one named with --config, to say")

func (l *Loaded) denials(file string, data []byte, own []winnow.Permission) error {
	for i, p := range l.Settings.Permissions {
		if p.Verdict != "deny" {
			e := &Error{File: file, Key: fmt.Sprintf("%s.%d.verdict", permissions, i), Err: errOnlyDeny}
			e.Line, e.Column = position(data, int64(max(0, offsetOf(data, e.Key))))
			return e
		}
	}
	l.denied, l.Settings.Permissions = l.Settings.Permissions, own
	return nil
}

// permitted checks the rules of one file, for those of another are laid beside them.
func (l *Loaded) permitted() error {
	s := winnow.DefaultSettings()
	s.Permissions = l.Settings.Permissions
	if err := s.Validate(); err != nil {
		return l.Blame(err)
	}
	return nil
}

func (s Sources) files() []string {
	if s.File != "" {
		return []string{s.File}
	}
	var files []string
	if s.User != "" {
		files = append(files, filepath.Join(s.User, "winnow", Name))
	}
	if s.Dir != "" {
		files = append(files, filepath.Join(s.Dir, Name))
	}
	return files
}

// Blame says of an error whose words begin with a key, or of several of them joined, where the value was set that it speaks of.
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
	if l.texts == nil {
		l.texts = map[string][]byte{}
	}
	l.texts[name] = data
	return nil
}

func decode(plain []byte, settings *winnow.Settings) error {
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

// Set writes one key into a configuration file and keeps everything else in it, comments too. The file is made when it is
// missing. The value is JSON, or a text.
func Set(file, key, value string) error {
	if wanted(key) == "" {
		return &Error{File: file, Key: key, Err: errors.New("there is no such key"), Nearest: nearest(key)}
	}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = []byte("{}\n"), nil
	}
	if err != nil {
		return &Error{File: file, Err: err}
	}
	doc, err := hujson.Parse(data)
	if err != nil {
		return syntaxError(file, data, err)
	}
	text, err := valueOf(key, value)
	if err != nil {
		return &Error{File: file, Key: key, Err: err}
	}
	if err := put(&doc, key, text); err != nil {
		return &Error{File: file, Key: key, Err: err}
	}
	doc.Format()
	packed := doc.Pack()
	var check Loaded
	check.Settings, check.Origins = winnow.DefaultSettings(), map[string]string{}
	if err := check.file(file, packed); err != nil {
		return err
	}
	if err := check.Settings.Validate(); err != nil {
		return check.Blame(err)
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(file); err == nil {
		mode = info.Mode().Perm() // it may hold what is nobody else's to read
	}
	to := file
	if linked, err := filepath.EvalSymlinks(file); err == nil {
		to = linked // the link stays
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return &Error{File: file, Err: err}
	}
	temporary := to + ".tmp"
	if err := os.WriteFile(temporary, packed, mode); err != nil {
		return &Error{File: file, Err: err}
	}
	return os.Rename(temporary, to)
}

// Origin lists what was set where, for people.
func (l Loaded) Origin(key string) string {
	if origin := l.Origins[key]; origin != "" {
		return origin
	}
	return "default"
}

func sorted(names map[string]bool) []string {
	list := make([]string, 0, len(names))
	for name := range names {
		list = append(list, name)
	}
	sort.Strings(list)
	return list
}
