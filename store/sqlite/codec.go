package sqlite

import (
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

// head is what is known about a message but for its parts.
type head struct {
	session.MessageInfo `json:"info"`

	Unknown jsontext.Value `json:",embed"`
}

// jsonOptions keep what is foreign as it was read.
var jsonOptions = json.JoinOptions(session.ReadOptions(), jsontext.PreserveRawStrings(true))

// encode returns what a column keeps of a value: JSON as a string, which people and SQL can read. Where JSON would change
// it (text that is not UTF-8, white space in raw JSON, an absent member that its format wants), the bytes of exact.go.
// That is not guessed: the JSON is read back and compared.
func encode[T any](v T) (any, error) {
	text, err := json.Marshal(&v, jsonOptions)
	if err == nil {
		var back T
		if json.Unmarshal(text, &back, jsonOptions) == nil && reflect.DeepEqual(v, back) {
			return string(text), nil
		}
	}
	return exact(v)
}

// decode reads what encode wrote.
func decode[T any](data []byte) (v T, err error) {
	if len(data) > 0 && data[0] == exactForm {
		err = fromExact(data, &v)
	} else {
		err = json.Unmarshal(data, &v, jsonOptions)
	}
	if err != nil {
		return v, fmt.Errorf("a row of it cannot be read: %w", err)
	}
	return v, nil
}
