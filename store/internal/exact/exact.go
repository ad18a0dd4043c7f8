// Package exact encodes values of the log so that they come back to the byte: as JSON, which people
// and SQL can read, if that loses nothing, and otherwise in a form of its own.
package exact

import (
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

// jsonOptions keep unknown members as they were read.
var jsonOptions = json.JoinOptions(session.ReadOptions(), jsontext.PreserveRawStrings(true))

// Encode returns a value as a column stores it: JSON as a string, or the exact form as bytes if
// JSON would change the value (text that is not UTF-8, white space in raw JSON, an absent member
// that the format requires, a number that JSON cannot express). This is checked by reading the JSON
// back.
func Encode[T any](v T) (any, error) {
	text, err := json.Marshal(&v, jsonOptions)
	if err == nil {
		var back T
		if json.Unmarshal(text, &back, jsonOptions) == nil && reflect.DeepEqual(v, back) {
			return string(text), nil
		}
	}
	return form(v)
}

// Decode reads either form that Encode writes. It does not retain data.
func Decode[T any](data []byte) (v T, err error) {
	if len(data) > 0 && data[0] == formMark {
		err = fromForm(data, &v)
	} else {
		err = json.Unmarshal(data, &v, jsonOptions)
	}
	if err != nil {
		return v, fmt.Errorf("a stored value cannot be read: %w", err)
	}
	return v, nil
}
