package opencodedb

import (
	"bytes"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/session"
)

// object is a JSON object that is written member by member.
type object struct{ text []byte }

// add adds a member; no value is no member.
func (o *object) add(name string, value []byte) {
	if len(value) == 0 {
		return
	}
	quoted, err := jsontext.AppendQuote(nil, name)
	if err != nil {
		return // the name is no valid UTF-8, and stands in no format
	}
	o.splice(append(append(quoted, ':'), value...))
}

// splice adds members that are JSON already.
func (o *object) splice(members []byte) {
	if len(members) == 0 {
		return
	}
	if len(o.text) > 0 {
		o.text = append(o.text, ',')
	}
	o.text = append(o.text, members...)
}

func (o *object) value() []byte {
	return append(append([]byte{'{'}, o.text...), '}')
}

// quoted is a text as JSON.
func quoted(text string) []byte {
	q, err := jsontext.AppendQuote(nil, text)
	if err != nil { // what is no UTF-8 was replaced
		return q
	}
	return q
}

// numeral is a number as JSON, in the way in which the product writes them.
func numeral(n float64) []byte {
	if n == float64(int64(n)) && n < 1e15 && n > -1e15 {
		return strconv.AppendInt(nil, int64(n), 10)
	}
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return []byte("0")
	}
	return jsontext.AppendFloat(nil, n, 64)
}

// members returns the members of an object, without its braces, as far as they can be read, and what is wrong with the rest.
func members(data []byte, what string) (inner []byte, damage *format.Damage) {
	text := bytes.Trim(data, " \t\r\n") // what is white space elsewhere is none in JSON
	if len(text) > 0 && text[0] == '{' && jsontext.Value(text).IsValid(session.ReadOptions()) {
		return bytes.Trim(text[1:len(text)-1], " \t\r\n"), nil
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(data), session.ReadOptions())
	good, err := int64(0), error(nil)
	var found object
	if k := dec.PeekKind(); k != '{' && k > 0 {
		return nil, &format.Damage{Bytes: len(data), Reason: what + ": it is no JSON object"}
	}
	if _, err = dec.ReadToken(); err == nil {
		good = dec.InputOffset()
	}
	for err == nil && dec.PeekKind() == '"' {
		var name, value jsontext.Value
		if name, err = dec.ReadValue(); err != nil {
			break
		}
		member := append(bytes.Clone(name), ':')
		if value, err = dec.ReadValue(); err != nil {
			break
		}
		found.splice(append(member, value...))
		good = dec.InputOffset()
	}
	if err == nil {
		_, err = dec.ReadToken()
	}
	reason := "it goes on after its end"
	if err != nil {
		reason = "it is no JSON: " + err.Error()
		if len(text) == 0 {
			reason = "it is empty"
		}
	}
	return found.text, &format.Damage{Offset: good, Bytes: len(data) - int(good), Reason: what + ": " + reason}
}

// kind is the text of a member at the top of an object without its braces, "" when there is none.
func kind(inner []byte, name string) (kind string) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(append(append([]byte{'{'}, inner...), '}')), session.ReadOptions())
	if _, err := dec.ReadToken(); err != nil {
		return ""
	}
	for dec.PeekKind() == '"' {
		key, err := dec.ReadToken()
		if err != nil {
			break
		}
		if key.String() != name {
			if dec.SkipValue() != nil {
				break
			}
			continue
		}
		value, err := dec.ReadToken()
		if err != nil {
			break
		}
		if value.Kind() == '"' {
			kind = value.String()
		}
	}
	return kind
}

// plain returns JSON from a column, nothing when it is none. Some columns hold JSON in text.
func plain(text string) []byte {
	v := jsontext.Value(bytes.Trim([]byte(text), " \t\r\n"))
	if len(v) == 0 || v.Kind() == 'n' || !v.IsValid(session.ReadOptions()) {
		return nil
	}
	return v
}
