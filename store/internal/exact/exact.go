// Package exact answers: how is a value of the log written down so that it comes back to the byte? As JSON wherever JSON does
// that, which people and SQL can read, and in a form of its own where it does not.
package exact

import (
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

// jsonOptions keep what is foreign as it was read.
var jsonOptions = json.JoinOptions(session.ReadOptions(), jsontext.PreserveRawStrings(true))

// Encode returns what a column keeps of a value: JSON as a string. Where JSON would change it (text that is not UTF-8,
// white space in raw JSON, an absent member that its format wants, a number that JSON does not have), its exact form as
// bytes. That is not guessed: the JSON is read back and compared.
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

// Decode reads what Encode wrote, from either. It keeps nothing of data.
func Decode[T any](data []byte) (v T, err error) {
	if len(data) > 0 && data[0] == formMark {
		err = fromForm(data, &v)
	} else {
		err = json.Unmarshal(data, &v, jsonOptions)
	}
	if err != nil {
		return v, fmt.Errorf("a value of it cannot be read: %w", err)
	}
	return v, nil
}
