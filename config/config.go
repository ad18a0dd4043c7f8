// Package config answers: what did the user set? It reads winnow.jsonc of the user and of the project's folder and
// the environment, later ones over earlier ones, and says where each value came from.
package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
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

// positioned says where in a file a value of the wrong type or an unknown key stands.
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
		e.Err, e.Nearest = errors.New("there is no such key"), nearest(key)
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
	e.Err = fmt.Errorf("it must be %s, not %s", cmp.Or(wanted(key), "an object"), kind(k)) // without a key it is the file
	return e
}

// offsetOf finds where the name of a dotted key stands in a file, or of as much of the key as is there; -1 for nothing of it. Names may have
// dots of their own.
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
			if name := literal.String(); ok && len(name) > longest && (name == key || strings.HasPrefix(key, name+".")) {
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
	for _, name := range strings.Split(key, ".") {
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
