// Package schema makes rpc/schema.json from the types of package rpc and their comments, what
// follows from it in the clients of bindings, team/api/openapi.json from the routes of the admin
// API, and docs/json.md from the documents of the command. Tests hold the repository to that.
package schema

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/rpc"
	"github.com/winnowhq/winnow/session"
)

const module = "github.com/winnowhq/winnow"

// Document is the schema.
type Document struct {
	Schema      string `json:"$schema"`
	ID          string `json:"$id"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Protocol    int    `json:"x-protocol"`
	// Lines are what a client can send, as a schema of each.
	Lines         []Type            `json:"anyOf"`
	Methods       members[Exchange] `json:"x-methods"`       // client to server
	Requests      members[Exchange] `json:"x-requests"`      // server to client
	Notifications members[Exchange] `json:"x-notifications"` // server to client
	Errors        members[string]   `json:"x-errors"`
	Defs          members[*Type]    `json:"$defs"`
}

// Exchange is a method with what is sent and what comes back.
type Exchange struct {
	Description string `json:"description,omitzero"`
	Params      Type   `json:"params"`
	Result      *Type  `json:"result,omitempty"`
}

// Type is the schema of a value.
type Type struct {
	Ref         string         `json:"$ref,omitzero"`
	Description string         `json:"description,omitzero"`
	Type        string         `json:"type,omitzero"`
	Format      string         `json:"format,omitzero"`
	Minimum     int            `json:"minimum,omitzero"`
	Maximum     int            `json:"maximum,omitzero"`
	Default     int            `json:"default,omitzero"`
	AnyOf       []Type         `json:"anyOf,omitempty"`
	Const       string         `json:"const,omitzero"`
	Properties  members[*Type] `json:"properties,omitzero"`
	Items       *Type          `json:"items,omitempty"`
	Required    []string       `json:"required,omitempty"`
	// Additional is false, true, or the schema of further members; nil where they may be added.
	Additional any `json:"additionalProperties,omitempty"`
}

// members are the members of an object in an order of their own.
type members[T any] []member[T]

type member[T any] struct {
	Name  string
	Value T
}

func (m members[T]) IsZero() bool { return m == nil }

func (m members[T]) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, e := range m {
		if err := enc.WriteToken(jsontext.String(e.Name)); err != nil {
			return err
		}
		if err := json.MarshalEncode(enc, e.Value); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}

func (m members[T]) get(name string) (v T, ok bool) {
	for _, e := range m {
		if e.Name == name {
			return e.Value, true
		}
	}
	return v, false
}

// required are the members that a client must send of types that the engine completes. What it
// writes itself has all that is always there.
var required = map[reflect.Type][]string{
	reflect.TypeFor[session.Part]():       {"type"},
	reflect.TypeFor[session.ToolState]():  {"status"},
	reflect.TypeFor[session.Usage]():      nil,
	reflect.TypeFor[session.CacheUsage](): nil,
	reflect.TypeFor[bill.Bill]():          {"requests", "usage", "cost"}, // as it writes itself
}

// unknown are fields that are null where they are not known, beside those that are pointers.
var unknown = map[string]bool{"bill.Bill.Cost": true}

// written are the types that write themselves, and have the members of their fields all the same.
var written = []reflect.Type{reflect.TypeFor[session.Part](), reflect.TypeFor[session.ToolState](),
	reflect.TypeFor[bill.Bill]()}

// maker collects the types that are met.
type maker struct {
	root  string
	refs  string // where the document has its types
	defs  map[string]*Type
	docs  map[string]*comments // by import path
	wrong []string
}

// Make makes the schema, with the comments of the source below root.
func Make(root string) (_ Document, err error) {
	m := newMaker(root, "#/$defs/")
	d := Document{
		Schema: "https://json-schema.org/draft/2020-12/schema", ID: fmt.Sprintf("urn:winnow:engine:%d", rpc.Protocol),
		Title: "winnow engine --stdio", Protocol: rpc.Protocol,
		Description: "JSON-RPC 2.0, one object a line, in UTF-8. The schema itself is of the lines that a client " +
			"sends; x-methods has what comes back. Members may be added to results without a new protocol.",
	}
	for _, method := range rpc.Methods() {
		e := m.exchange(method.Params, method.Result)
		m.close(method.Params)
		d.Methods = append(d.Methods, member[Exchange]{method.Name, e})
		d.Lines = append(d.Lines, Type{Type: "object", Properties: members[*Type]{
			{"jsonrpc", &Type{Const: "2.0"}}, {"id", &Type{}},
			{"method", &Type{Const: method.Name}}, {"params", &e.Params},
		}, Required: []string{"jsonrpc", "id", "method"}})
	}
	d.Requests = members[Exchange]{{"summarize",
		m.exchange(reflect.TypeFor[rpc.Summarize](), reflect.TypeFor[rpc.Summary]())}}
	d.Notifications = members[Exchange]{{"event", m.exchange(reflect.TypeFor[rpc.Notified](), nil)}}
	m.of(reflect.TypeFor[rpc.Failure]())
	m.of(reflect.TypeFor[rpc.Message]()) // of append, where other formats stand beside it
	m.close(reflect.TypeFor[rpc.Message]())
	m.close(reflect.TypeFor[rpc.Result]())
	m.close(reflect.TypeFor[rpc.Rejection]())
	d.Errors = m.comments(reflect.TypeFor[rpc.Failure]()).numbers
	d.Defs, err = m.all()
	return d, err
}

func newMaker(root, refs string) *maker {
	return &maker{root: root, refs: refs, defs: map[string]*Type{}, docs: map[string]*comments{}}
}

// all are the types that were met, by name.
func (m *maker) all() (all members[*Type], err error) {
	for _, name := range slices.Sorted(maps.Keys(m.defs)) {
		all = append(all, member[*Type]{name, m.defs[name]})
	}
	if len(m.wrong) > 0 {
		err = fmt.Errorf("%s", strings.Join(m.wrong, "\n"))
	}
	return all, err
}

func (m *maker) exchange(params, result reflect.Type) Exchange {
	e := Exchange{Description: m.comments(params).types[params.Name()], Params: m.of(params)}
	if result != nil {
		r := m.of(result)
		e.Result = &r
	}
	return e
}

// close makes a type that the engine reads one without further members: it refuses them.
func (m *maker) close(t reflect.Type) {
	if d := m.defs[nameOf(t)]; d.Additional == nil {
		d.Additional = false
	}
}

// of is the schema of a type; that of a struct is a reference.
func (m *maker) of(t reflect.Type) Type {
	switch t.Kind() {
	case reflect.Pointer:
		return m.of(t.Elem())
	case reflect.String:
		return Type{Type: "string"}
	case reflect.Bool:
		return Type{Type: "boolean"}
	case reflect.Int, reflect.Int64:
		return Type{Type: "integer"}
	case reflect.Float64:
		return Type{Type: "number"}
	case reflect.Map:
		value := m.of(t.Elem())
		return Type{Type: "object", Additional: &value}
	case reflect.Slice:
		if t == reflect.TypeFor[jsontext.Value]() {
			return Type{}
		}
		item := m.of(t.Elem())
		return Type{Type: "array", Items: &item}
	case reflect.Struct:
		if t == reflect.TypeFor[time.Time]() {
			return Type{Type: "string", Format: "date-time"}
		}
		name := nameOf(t)
		if m.defs[name] == nil {
			m.defs[name] = &Type{Type: "object"} // it may refer to itself
			m.structure(t, m.defs[name])
		}
		return Type{Ref: m.refs + name}
	}
	m.wrong = append(m.wrong, "there is no schema for "+t.String())
	return Type{}
}

// nameOf is the name of a type in the schema: those of rpc and of the admin API have theirs, others
// their package before it.
func nameOf(t reflect.Type) string {
	pkg := t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:]
	if pkg == "rpc" || pkg == "api" || pkg == "admin" {
		return t.Name()
	}
	return strings.ToUpper(pkg[:1]) + pkg[1:] + strings.TrimPrefix(t.Name(), strings.ToUpper(pkg[:1])+pkg[1:])
}

func (m *maker) structure(t reflect.Type, s *Type) {
	_, to := t.MethodByName("MarshalJSONTo")
	_, whole := t.MethodByName("MarshalJSON")
	if (to || whole) && !slices.Contains(written, t) {
		m.wrong = append(m.wrong, t.String()+" writes its own JSON")
	}
	docs := m.comments(t)
	s.Description = docs.types[t.Name()]
	for i := range t.NumField() {
		f := t.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.IsExported() || tag == "-":
		case strings.Contains(options, "embed"):
			s.Additional = true
		case f.Anonymous && tag == "":
			inner := &Type{}
			m.structure(f.Type, inner)
			s.Properties, s.Required = append(s.Properties, inner.Properties...), append(s.Required, inner.Required...)
		case tag == "":
			m.wrong = append(m.wrong, fmt.Sprintf("%s.%s has no name in JSON", t, f.Name))
		default:
			p := m.of(f.Type)
			always := !strings.Contains(options, "omit")
			if f.Type.Kind() == reflect.Pointer && always || unknown[t.String()+"."+f.Name] {
				p = Type{AnyOf: []Type{p, {Type: "null"}}}
			}
			p.Description = docs.fields[t.Name()+"."+f.Name]
			s.Properties = append(s.Properties, member[*Type]{tag, &p})
			if always {
				s.Required = append(s.Required, tag)
			}
		}
	}
	if must, known := required[t]; known {
		s.Required = must
	}
}

// comments are those of a package.
type comments struct {
	types, fields map[string]string
	numbers       members[string] // of constants below 0
}

func (m *maker) comments(t reflect.Type) *comments {
	path := t.PkgPath()
	if c := m.docs[path]; c != nil || !strings.HasPrefix(path, module) {
		if c == nil {
			return &comments{}
		}
		return c
	}
	c := &comments{types: map[string]string{}, fields: map[string]string{}}
	m.docs[path] = c
	files, err := filepath.Glob(filepath.Join(m.root, filepath.FromSlash(strings.TrimPrefix(path, module)), "*.go"))
	if err != nil {
		m.wrong = append(m.wrong, err.Error())
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			m.wrong = append(m.wrong, err.Error())
			continue
		}
		for _, d := range parsed.Decls {
			if g, ok := d.(*ast.GenDecl); ok {
				c.take(g)
			}
		}
	}
	return c
}

func (c *comments) take(g *ast.GenDecl) {
	for _, spec := range g.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			c.types[s.Name.Name] = text(s.Doc, g.Doc)
			if fields, ok := s.Type.(*ast.StructType); ok {
				for _, f := range fields.Fields.List {
					for _, name := range f.Names {
						c.fields[s.Name.Name+"."+name.Name] = text(f.Doc, f.Comment)
					}
				}
			}
		case *ast.ValueSpec:
			for i, name := range s.Names {
				if u, ok := value(s, i).(*ast.UnaryExpr); ok && g.Tok == token.CONST && u.Op == token.SUB {
					meaning := name.Name
					if said := text(s.Comment); said != "" {
						meaning += ": " + said
					}
					c.numbers = append(c.numbers, member[string]{"-" + u.X.(*ast.BasicLit).Value, meaning})
				}
			}
		}
	}
}

func value(s *ast.ValueSpec, i int) ast.Expr {
	if i < len(s.Values) {
		return s.Values[i]
	}
	return nil
}

// text is the first comment that there is, on one line.
func text(groups ...*ast.CommentGroup) string {
	for _, g := range groups {
		if g != nil {
			return strings.Join(strings.Fields(g.Text()), " ")
		}
	}
	return ""
}

// JSON is the schema as it stands in the repository.
func (d Document) JSON() ([]byte, error) {
	text, err := json.Marshal(d, jsontext.WithIndent("  "), json.Deterministic(true))
	return append(text, '\n'), err
}
