package config

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/policy"
)

// Variable is the name of the environment variable for a key: "compaction.userMessages" is
// WINNOW_COMPACTION_USER_MESSAGES.
func Variable(key string) string {
	var b strings.Builder
	b.WriteString("WINNOW_")
	upper := false // the letter before: "clientID" has one underscore
	for _, r := range key {
		switch {
		case r == '.':
			b.WriteByte('_')
		case unicode.IsUpper(r) && !upper:
			b.WriteByte('_')
			b.WriteRune(r)
		default:
			b.WriteRune(unicode.ToUpper(r))
		}
		upper = unicode.IsUpper(r)
	}
	return b.String()
}

// serviceLink is a variable that Kubernetes sets in a pod for a service whose name begins with
// winnow: WINNOW_SERVICE_HOST, WINNOW_PORT=tcp://…, WINNOW_PORT_4141_TCP_ADDR. Name and value must
// fit, so that WINNOW_PORT=4141, which somebody takes for a setting, is still an error.
var serviceLink = regexp.MustCompile(`^WINNOW_(\w+_)?(SERVICE_HOST=[0-9a-f.:]+|SERVICE_PORT(_\w+)?=\d+|` +
	`PORT(_\d+_(TCP|UDP|SCTP))?=(tcp|udp|sctp)://\S+|PORT_\d+_(TCP|UDP|SCTP)_(PROTO=\w+|PORT=\d+|ADDR=[0-9a-f.:]+))$`)

// environment lays variables over what was set. Two of another product are honoured because its
// users have them set: OPENCODE_DISABLE_AUTOCOMPACT and OPENCODE_DISABLE_PRUNE (S001). An empty
// variable counts as not set.
func (l *Loaded) environment(environ []string) error {
	byVariable := map[string]string{}
	for _, key := range Keys() {
		byVariable[Variable(key)] = key
		if other := policy.Alias(key); other != "" {
			byVariable[Variable(other)] = key
		}
	}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		key, known := byVariable[name]
		if value == "" {
			continue // as if it were not set
		}
		switch {
		case name == "OPENCODE_DISABLE_AUTOCOMPACT" && truth(value):
			l.Settings.Compaction.Auto = false
			l.Origins["compaction.auto"] = name
		case name == "OPENCODE_DISABLE_PRUNE" && truth(value):
			l.Settings.Compaction.Prune = false
			l.Origins["compaction.prune"] = name
		case known:
			text, err := valueOf(key, value)
			if err == nil {
				err = decode(nested(key, text), &l.Settings)
			}
			if err != nil {
				return &Error{File: name, Key: key, Err: fmt.Errorf("it must be %s, not %q", wanted(key), value)}
			}
			l.Origins[key] = name
		case name == "WINNOW_HOOK", name == "WINNOW_COMMAND", // set by hooks and by an agent's bash
			name == "WINNOW_STORE",   // where the store is
			name == "WINNOW_PROGRAM": // where a client of the engine finds the program
		case serviceLink.MatchString(pair):
			l.Links = append(l.Links, name)
		case strings.HasPrefix(name, "WINNOW_"):
			e := &Error{File: name, Err: errors.New("there is no such variable")}
			least := len(name) / 3
			for variable := range byVariable {
				if d := distance(name, variable); d < least || d == least && variable < e.Nearest {
					e.Nearest, least = variable, d
				}
			}
			return e
		}
	}
	return nil
}

func truth(value string) bool { return value == "1" || strings.EqualFold(value, "true") }

// nested is the JSON object that holds one value under a dotted key.
func nested(key string, value jsontext.Value) []byte {
	text := string(value)
	for _, name := range slices.Backward(names(key)) {
		text = fmt.Sprintf("{%q:%s}", name, text)
	}
	return []byte(text)
}

// valueOf is the JSON of a value that was given as text: JSON itself, 1 and 0 for true and false, a
// bare text, or texts with commas between them for a list.
func valueOf(key, value string) (jsontext.Value, error) {
	t := typeOf(key)
	if t == nil {
		return nil, errNoKey
	}
	kind := t.Kind()
	if kind == reflect.Pointer && t.Elem().Kind() == reflect.Bool && value != "null" {
		kind = reflect.Bool
	}
	switch kind {
	case reflect.String:
		if v := jsontext.Value(value); v.Kind() == '"' && v.IsValid() {
			return v, nil
		}
		return json.Marshal(value)
	case reflect.Bool:
		switch strings.ToLower(value) {
		case "1", "true":
			return jsontext.Value("true"), nil
		case "0", "false":
			return jsontext.Value("false"), nil
		}
	case reflect.Slice:
		if t == reflect.TypeFor[jsontext.Value]() {
			break
		}
		if v := jsontext.Value(value); v.Kind() != '[' {
			list := []string{}
			for _, item := range strings.Split(value, ",") {
				if item = strings.TrimSpace(item); item != "" {
					list = append(list, item)
				}
			}
			return json.Marshal(list)
		}
	}
	v := jsontext.Value(value)
	if !v.IsValid() && (t == reflect.TypeFor[budget.Thresholds]() || t == reflect.TypeFor[budget.Threshold]()) {
		return json.Marshal(value) // a word
	}
	if !v.IsValid() {
		return nil, fmt.Errorf("it must be %s, not %q", wanted(key), value)
	}
	return v, nil
}
