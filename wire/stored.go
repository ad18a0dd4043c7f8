package wire

import (
	"bytes"
	"slices"
	"strings"
)

// references are members by which a request names what its provider keeps: answers, conversations,
// prompts, files, caches, containers. Those with a false value do so only if theirs is an object
// with an id.
var references = map[string]bool{
	"previous_response_id": true, "conversation": true, "file_id": true, "file_ids": true, "vector_store_ids": true,
	"container": true, "skill_id": true, "cachedcontent": true, "cached_content": true, "fileuri": true,
	"file_uri": true, "prompt": false, "audio": false,
}

// itemReference is the type of an item of the Responses API that stands for one that is kept.
const itemReference = "item_reference"

// freeForm are members whose values are a client's own, in all protocols: arguments of calls,
// schemas of tools and answers, what functions returned.
var freeForm = []string{"input_schema", "parameters", "parametersjsonschema", "schema", "args", "arguments", "response",
	"metadata", "structured_output"}

// RefersToFile reports whether a member refers to a file.
func RefersToFile(member string) bool {
	return slices.Contains([]string{"file_id", "file_ids", "fileuri", "file_uri"}, strings.ToLower(member))
}

// StoredReferences are the names of the members of a request by which it refers to something that the
// provider keeps for whoever has the key. text is well-formed JSON.
func StoredReferences(text []byte) (members []string) {
	if mayRefer(text) {
		storedIn(ValueOf(text), true, func(member string) { members = append(members, member) })
	}
	return members
}

// mayRefer reports whether a member of such a name may be anywhere in a text. A name may be written
// with escapes.
func mayRefer(text []byte) bool {
	if bytes.Contains(text, []byte(`\u00`)) {
		return true
	}
	lower := bytes.ToLower(text)
	for name := range references {
		if bytes.Contains(lower, []byte(`"`+name+`"`)) {
			return true
		}
	}
	return bytes.Contains(lower, []byte(`"`+itemReference+`"`))
}

func storedIn(v Value, root bool, tell func(member string)) {
	switch v.Kind() {
	case '[':
		for one := range v.Values() {
			storedIn(one, false, tell)
		}
	case '{':
		called := !root && strings.HasSuffix(v.Get("type").String(), "tool_use") // whose input is the client's own
		for name, value := range v.Members() {
			lower := strings.ToLower(name)
			always, refers := references[lower]
			switch {
			case slices.Contains(freeForm, lower) || called && lower == "input":
				continue
			case lower == "type" && value.String() == itemReference:
				tell(itemReference)
			case refers && value.names(always):
				tell(name)
			}
			storedIn(value, false, tell)
		}
	}
}

// names reports whether a value names something: with bare set also as a string or a list.
func (v Value) names(bare bool) bool {
	switch v.Kind() {
	case '"':
		return bare && v.String() != ""
	case '[':
		for range v.Values() {
			return bare
		}
	case '{':
		id := v.Get("id")
		return id.Kind() == '"'
	}
	return false
}
