package schema

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/team/api"
)

// OpenAPI is the description of the admin API.
type OpenAPI struct {
	Version    string                      `json:"openapi"`
	Info       info                        `json:"info"`
	Servers    []server                    `json:"servers"`
	Security   []members[[]string]         `json:"security"` // any of these
	Paths      members[members[operation]] `json:"paths"`
	Components components                  `json:"components"`
}

type info struct {
	Title       string `json:"title"`
	Version     string `json:"version"`
	Description string `json:"description"`
}

type server struct {
	URL string `json:"url"`
}

type operation struct {
	ID         string             `json:"operationId"`
	Summary    string             `json:"summary"`
	Parameters []parameter        `json:"parameters,omitempty"`
	Body       *content           `json:"requestBody,omitempty"`
	Responses  members[*response] `json:"responses"`
}

type parameter struct {
	Name        string `json:"name"`
	In          string `json:"in"`
	Required    bool   `json:"required,omitzero"`
	Description string `json:"description,omitzero"`
	Schema      Type   `json:"schema"`
}

type content struct {
	Required bool           `json:"required,omitzero"`
	Content  members[media] `json:"content"`
}

type media struct {
	Schema Type `json:"schema"`
}

type response struct {
	Description string         `json:"description"`
	Content     members[media] `json:"content"`
}

type components struct {
	Schemas  members[*Type]    `json:"schemas"`
	Security members[security] `json:"securitySchemes"`
}

type security struct {
	Type   string `json:"type"`
	In     string `json:"in,omitzero"`
	Name   string `json:"name,omitzero"`
	Scheme string `json:"scheme,omitzero"`
}

// schemas is the path of the types within an OpenAPI document.
const schemas = "#/components/schemas/"

// MakeOpenAPI makes the description of the admin API from its routes, with the comments of the source
// below root.
func MakeOpenAPI(root string) (d OpenAPI, err error) {
	m := newMaker(root, schemas)
	d = OpenAPI{
		Version: "3.1.0",
		Info: info{"winnowd admin API", "1", "Tenants of a gateway and their tokens: what `winnowd tenant` does. A " +
			"request shows a token with the scope admin; cookies do not count. Members that a body does not have stay " +
			"as they are; unknown ones are refused. Members may be added to answers without a new version."},
		Servers:  []server{{api.Prefix}},
		Security: []members[[]string]{{{"token", []string{}}}, {{"bearer", []string{}}}},
		Components: components{Security: members[security]{{"token", security{Type: "apiKey", In: "header",
			Name: "X-Winnow-Token"}}, {"bearer", security{Type: "http", Scheme: "bearer"}}}},
	}
	for _, r := range api.Routes() {
		at := slices.IndexFunc(d.Paths, func(p member[members[operation]]) bool { return p.Name == r.Path })
		if at < 0 {
			d.Paths, at = append(d.Paths, member[members[operation]]{Name: r.Path}), len(d.Paths)
		}
		d.Paths[at].Value = append(d.Paths[at].Value, member[operation]{strings.ToLower(r.Method), m.operation(r)})
	}
	d.Components.Schemas, err = m.all()
	return d, err
}

var inPath = regexp.MustCompile(`\{(\w+)\}`)

// operation describes a route.
func (m *maker) operation(r api.Route) operation {
	o := operation{ID: r.Name, Summary: r.Summary}
	for _, found := range inPath.FindAllStringSubmatch(r.Path, -1) {
		o.Parameters = append(o.Parameters, parameter{Name: found[1], In: "path", Required: true,
			Schema: Type{Type: "string"}})
	}
	if r.Limited {
		o.Parameters = append(o.Parameters, parameter{Name: "limit", In: "query",
			Description: "how many of the newest entries",
			Schema:      Type{Type: "integer", Minimum: 1, Maximum: api.MostEntries, Default: api.Entries}})
	}
	if r.Body != nil {
		o.Body = &content{len(r.Body.Required) > 0, asJSON(m.said(r.Body))}
	}
	o.Responses = members[*response]{
		{strconv.Itoa(r.Status), &response{"Done", asJSON(m.of(r.Answer))}},
		{"default", &response{"Not done; the message says why", asJSON(m.of(reflect.TypeFor[api.Failure]()))}}}
	return o
}

func asJSON(t Type) members[media] { return members[media]{{"application/json", media{t}}} }

// said is the schema of a body: any of the members of its type, and of their members.
func (m *maker) said(b *api.Body) Type {
	whole := m.of(b.Type)
	if b.Fixed == nil {
		m.close(b.Type)
		return whole
	}
	t := m.partial(whole)
	delete(m.defs, nameOf(b.Type)) // nothing refers to it
	t.Properties = slices.DeleteFunc(t.Properties, func(p member[*Type]) bool {
		return slices.Contains(b.Fixed, p.Name)
	})
	t.Required = b.Required
	return t
}

// partial is a type of which nothing must be said, without the names of types.
func (m *maker) partial(t Type) Type {
	about := t.Description
	if t.Ref != "" {
		t = *m.defs[strings.TrimPrefix(t.Ref, schemas)]
		t.Additional = false
	}
	if about != "" {
		t.Description = about
	}
	t.Required = nil
	t.Properties = slices.Clone(t.Properties)
	for i, p := range t.Properties {
		of := m.partial(*p.Value)
		t.Properties[i].Value = &of
	}
	return t
}

// JSON is the document as it stands in the repository.
func (d OpenAPI) JSON() ([]byte, error) {
	text, err := json.Marshal(d, jsontext.WithIndent("  "), json.Deterministic(true))
	return append(text, '\n'), err
}

// Answers checks values against the types of an OpenAPI document: see Checker.Def.
func Answers(document []byte) (*Checker, error) {
	var d struct {
		Components struct {
			Schemas jsontext.Value `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(document, &d); err != nil {
		return nil, err
	}
	types := strings.ReplaceAll(string(d.Components.Schemas), schemas, "#/$defs/")
	return NewChecker(fmt.Appendf(nil, `{"$defs": %s}`, types))
}
