package opencodedb

import (
	"bytes"
	"math"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/session"
)

// object is a JSON object, member by member. Names may be there twice.
type object []member

type member struct {
	name       string
	key, value []byte // JSON
}

// add adds a member; no value is no member.
func (o *object) add(name string, value []byte) {
	if len(value) > 0 {
		*o = append(*o, member{name, quoted(name), value})
	}
}

func (o object) has(name string) bool {
	return slices.ContainsFunc(o, func(m member) bool { return m.name == name })
}

// without returns the object without members of these names.
func (o object) without(names ...string) object {
	return slices.DeleteFunc(slices.Clone(o), func(m member) bool { return slices.Contains(names, m.name) })
}

// text is what the last member of a name says, "" if it says no text.
func (o object) text(name string) (text string) {
	for _, m := range o {
		if unquoted, err := jsontext.AppendUnquote(nil, m.value); m.name == name && (err == nil || len(unquoted) > 0) {
			text = string(unquoted)
		}
	}
	return text
}

func (o object) value() []byte {
	text := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(append(text, m.key...), ':'), m.value...)
	}
	return append(text, '}')
}

// parse returns the members of an object as far as they can be read, and what is wrong with the rest.
func parse(data []byte, what string) (o object, damage *format.Damage) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(data), session.ReadOptions())
	bad := func(good int64, reason string) (object, *format.Damage) {
		return o, &format.Damage{Offset: good, Bytes: len(data) - int(good), Reason: what + ": " + reason}
	}
	if k := dec.PeekKind(); k != '{' && k > 0 {
		return bad(0, "it is not a JSON object")
	}
	read := func() (value []byte, err error) {
		text, err := dec.ReadValue()
		end := dec.InputOffset()
		return data[end-int64(len(text)) : end : end], err
	}
	good, err := int64(0), error(nil)
	if _, err = dec.ReadToken(); err == nil {
		good = dec.InputOffset()
	}
	for err == nil && dec.PeekKind() == '"' {
		var m member
		if m.key, err = read(); err != nil {
			break
		}
		if m.value, err = read(); err != nil {
			break
		}
		name, _ := jsontext.AppendUnquote(nil, m.key) // what is not UTF-8 is replaced
		m.name = string(name)
		o = append(o, m)
		good = dec.InputOffset()
	}
	if err == nil {
		_, err = dec.ReadToken()
	}
	switch {
	case err != nil && len(trim(data)) == 0:
		return bad(good, "it is empty")
	case err != nil:
		return bad(good, "it is not JSON: "+err.Error())
	case len(trim(data[dec.InputOffset():])) > 0:
		return bad(good, "it goes on after its end")
	}
	return o, nil
}

// trim removes what is white space in JSON.
func trim(data []byte) []byte { return bytes.Trim(data, " \t\r\n") }

// quoted is a text as JSON. What is not UTF-8 is replaced.
func quoted(text string) []byte {
	q, _ := jsontext.AppendQuote(nil, text)
	return q
}

// numeral is a number as JSON, written as the product writes it.
func numeral(n float64) []byte {
	if n == float64(int64(n)) && n < 1e15 && n > -1e15 {
		return strconv.AppendInt(nil, int64(n), 10)
	}
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return []byte("0")
	}
	return jsontext.AppendFloat(nil, n, 64)
}

// infoOf writes a row of the table of sessions as the export's info, its members in the product's order. A column that
// is NULL has no member.
func infoOf(r record, damage func(format.Damage)) object {
	var o object
	texts := func(pairs ...string) {
		for i := 0; i < len(pairs); i += 2 {
			if r[pairs[i+1]] != nil {
				o.add(pairs[i], quoted(r.text(pairs[i+1])))
			}
		}
	}
	numbers := func(into *object, prefix string, names ...string) {
		for _, name := range names {
			if n, ok := number(r[prefix+name]); ok {
				into.add(name, numeral(n))
			}
		}
	}
	values := func(into *object, prefix string, names ...string) {
		for _, name := range names {
			text := r.text(prefix + name)
			value := jsontext.Value(trim([]byte(text)))
			switch {
			case text == "" || value.Kind() == 'n':
			case value.IsValid(session.ReadOptions()):
				into.add(name, value)
			default:
				damage(format.Damage{Bytes: len(text), Reason: "session: the column " + prefix + name + " is not JSON"})
			}
		}
	}
	var summary, tokens, cache, share, time object
	texts("id", "id", "slug", "slug", "projectID", "project_id", "workspaceID", "workspace_id", "directory", "directory",
		"path", "path", "parentID", "parent_id", "title", "title", "agent", "agent")
	values(&o, "", "model")
	texts("version", "version")
	if r["summary_additions"] != nil || r["summary_deletions"] != nil || r["summary_files"] != nil {
		for _, name := range []string{"additions", "deletions", "files"} {
			summary.add(name, numeral(r.number("summary_"+name)))
		}
		values(&summary, "summary_", "diffs")
		o.add("summary", summary.value())
	}
	numbers(&o, "", "cost")
	if r["tokens_input"] != nil {
		numbers(&tokens, "tokens_", "input", "output", "reasoning")
		numbers(&cache, "tokens_cache_", "read", "write")
		tokens.add("cache", cache.value())
		o.add("tokens", tokens.value())
	}
	if r["share_url"] != nil {
		share.add("url", quoted(r.text("share_url")))
		o.add("share", share.value())
	}
	values(&o, "", "metadata", "revert", "permission")
	numbers(&time, "time_", "created", "updated", "compacting", "archived")
	o.add("time", time.value())
	return o
}
