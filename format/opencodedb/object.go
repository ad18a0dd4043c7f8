package opencodedb

import (
	"bytes"
	"math"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/text/span"
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
		*o = append(*o, member{name, span.Quote(name), value})
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
		if m.name == name && span.Kind(m.value) == '"' {
			text = span.String(m.value)
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

// parse returns the members of an object as far as they can be read, and what is wrong with the
// rest.
func parse(data []byte, what string) (o object, damage *format.Damage) {
	wrong := span.Check(data)
	good := 0
	for m := range span.Members(data, span.All(data)) {
		key, value := m.Key.Of(data), m.Value.Of(data)
		if wrong != nil && !(span.Valid(key) && span.Valid(value)) {
			break
		}
		o = append(o, member{string(m.Name), key, value})
		good = m.Value.End
	}
	reason := "it is not a JSON object"
	switch text := trim(data); {
	case len(text) == 0:
		reason = "it is empty"
	case text[0] != '{':
	case wrong != nil:
		reason = "it is not JSON: " + wrong.Error()
	default:
		return o, nil
	}
	return o, &format.Damage{Offset: int64(good), Bytes: len(data) - good, Reason: what + ": " + reason}
}

// trim removes what is white space in JSON.
func trim(data []byte) []byte { return bytes.Trim(data, " \t\r\n") }

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

// infoOf writes a row of the table of sessions as the export's info, its members in the product's
// order. A column that is NULL has no member.
func infoOf(r record, damage func(format.Damage)) object {
	var o object
	texts := func(pairs ...string) {
		for i := 0; i < len(pairs); i += 2 {
			if r[pairs[i+1]] != nil {
				o.add(pairs[i], span.Quote(r.text(pairs[i+1])))
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
			value := trim([]byte(text))
			switch {
			case text == "" || span.Kind(value) == 'n':
			case span.Valid(value):
				into.add(name, value)
			default:
				damage(format.Damage{Bytes: len(text), Reason: "session: the column " + prefix + name + " is not JSON"})
			}
		}
	}
	var summary, tokens, cache, share, time object
	texts("id", "id", "slug", "slug", "projectID", "project_id", "workspaceID", "workspace_id", "directory",
		"directory", "path", "path", "parentID", "parent_id", "title", "title", "agent", "agent")
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
		share.add("url", span.Quote(r.text("share_url")))
		o.add("share", share.value())
	}
	values(&o, "", "metadata", "revert", "permission")
	numbers(&time, "time_", "created", "updated", "compacting", "archived")
	o.add("time", time.value())
	return o
}
