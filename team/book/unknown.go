package book

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// withUnknown is what is written of settings in the place of others: beside what this version writes
// it has the members that a newer version wrote, and this one does not know.
func withUnknown(before, after string) (string, error) {
	var read settings
	if err := json.Unmarshal([]byte(before), &read); err != nil {
		return "", err
	}
	known, err := json.Marshal(read)
	if err != nil {
		return "", err
	}
	text, err := merged(jsontext.Value(before), known, jsontext.Value(after))
	return string(text), err
}

// merged is an object with the members of another one before it that are not known. Members that are
// objects are merged likewise.
func merged(before, known, after jsontext.Value) (jsontext.Value, error) {
	was, err := members(before)
	if err != nil {
		return nil, err
	}
	understood, err := members(known)
	if err != nil {
		return nil, err
	}
	all, err := members(after)
	if err != nil {
		return nil, err
	}
	for name, value := range was {
		if value.Kind() != '{' {
			if understood[name] == nil && all[name] == nil {
				all[name] = value
			}
			continue
		}
		text, err := merged(value, understood[name], all[name])
		if err != nil {
			return nil, err
		}
		if string(text) != `{}` {
			all[name] = text
		}
	}
	return json.Marshal(all, json.Deterministic(true))
}

// members are those of an object. What is no object has none.
func members(text jsontext.Value) (map[string]jsontext.Value, error) {
	all := map[string]jsontext.Value{}
	if text.Kind() != '{' {
		return all, nil
	}
	err := json.Unmarshal(text, &all)
	return all, err
}
