package schema

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Checker says what of a value a schema does not allow. It knows what our own schema is made of.
type Checker struct {
	Methods  map[string]exchanged `json:"x-methods"`
	Requests map[string]exchanged `json:"x-requests"`
	Notified map[string]exchanged `json:"x-notifications"`
	Defs     map[string]*allowed  `json:"$defs"`
}

type exchanged struct {
	Params, Result *allowed
}

type allowed struct {
	Ref        string              `json:"$ref"`
	Type       string              `json:"type"`
	AnyOf      []*allowed          `json:"anyOf"`
	Properties map[string]*allowed `json:"properties"`
	Items      *allowed            `json:"items"`
	Required   []string            `json:"required"`
	Additional jsontext.Value      `json:"additionalProperties"`
}

// NewChecker reads a schema.
func NewChecker(schema []byte) (*Checker, error) {
	c := new(Checker)
	return c, json.Unmarshal(schema, c, json.MatchCaseInsensitiveNames(true))
}

// Params is what is wrong with the parameters of a request, in either direction, or of a
// notification.
func (c *Checker) Params(method string, value jsontext.Value) []string {
	for _, all := range []map[string]exchanged{c.Methods, c.Requests, c.Notified} {
		if e, ok := all[method]; ok {
			return c.value(method, e.Params, value)
		}
	}
	return []string{"the schema has no method " + method}
}

// Result is what is wrong with the result of a request, in either direction.
func (c *Checker) Result(method string, value jsontext.Value) []string {
	for _, all := range []map[string]exchanged{c.Methods, c.Requests} {
		if e, ok := all[method]; ok {
			return c.value(method, e.Result, value)
		}
	}
	return []string{"the schema has no method " + method}
}

// Def is what is wrong with a value of a type that has a name.
func (c *Checker) Def(name string, value jsontext.Value) []string {
	return c.value(name, c.Defs[name], value)
}

var kinds = map[jsontext.Kind][]string{'{': {"object"}, '[': {"array"}, '"': {"string"}, '0': {"number", "integer"},
	't': {"boolean"}, 'f': {"boolean"}, 'n': {"null"}}

func (c *Checker) value(at string, a *allowed, value jsontext.Value) (wrong []string) {
	if a == nil {
		return []string{at + " has no schema"}
	}
	if a.Ref != "" {
		return c.value(at, c.Defs[a.Ref[len("#/$defs/"):]], value)
	}
	if len(a.AnyOf) > 0 { // the type, or null
		if value.Kind() == 'n' {
			return nil
		}
		return c.value(at, a.AnyOf[0], value)
	}
	if a.Type != "" && !slices.Contains(kinds[value.Kind()], a.Type) {
		return []string{fmt.Sprintf("%s is %.40s, and should be of the type %s", at, value, a.Type)}
	}
	switch value.Kind() {
	case '[':
		var items []jsontext.Value
		if err := json.Unmarshal(value, &items); err != nil {
			return []string{err.Error()}
		}
		for i := range items {
			if a.Items != nil {
				wrong = append(wrong, c.value(fmt.Sprintf("%s/%d", at, i), a.Items, items[i])...)
			}
		}
	case '{':
		wrong = c.object(at, a, value)
	}
	return wrong
}

func (c *Checker) object(at string, a *allowed, value jsontext.Value) (wrong []string) {
	if a.Type == "" {
		return nil
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(value, &members); err != nil {
		return []string{err.Error()}
	}
	for _, name := range a.Required {
		if members[name] == nil {
			wrong = append(wrong, fmt.Sprintf("%s has no %s", at, name))
		}
	}
	for name, value := range members {
		if p := a.Properties[name]; p != nil {
			wrong = append(wrong, c.value(at+"/"+name, p, value)...)
		} else if a.Additional.Kind() == '{' {
			var each allowed
			if err := json.Unmarshal(a.Additional, &each); err != nil {
				return []string{err.Error()}
			}
			wrong = append(wrong, c.value(at+"/"+name, &each, value)...)
		} else if string(a.Additional) != "true" {
			wrong = append(wrong, fmt.Sprintf("%s has %s, which the schema does not", at, name))
		}
	}
	return wrong
}
