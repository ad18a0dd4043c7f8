package schema

import (
	_ "embed"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

// template is docs/json.md with a line {{package.Type}} in the place of each table of members.
//
//go:embed json.md.tmpl
var template string

// page makes docs/json.md.
type page struct {
	*maker
	types  map[string]reflect.Type // all that documents are made of, by name
	tables map[string]string       // the heading that has the table of a type, by name
}

// Members makes docs/json.md from the types of the documents, and from the comments of their fields
// in the source below root. A type has a table where the template names it, and other tables link
// there; the members of other types stand in the table of the type that has them.
func Members(root string, documents ...any) (string, error) {
	p := &page{newMaker(root, ""), map[string]reflect.Type{}, map[string]string{}}
	for _, d := range documents {
		p.meet(reflect.TypeOf(d))
	}
	p.headings()
	for _, d := range documents {
		if name := reflect.TypeOf(d).String(); p.tables[name] == "" {
			p.wrong = append(p.wrong, "the template has no place for "+name)
		}
	}
	var b strings.Builder
	for line := range strings.Lines(template) {
		name, ok := placed(line)
		switch t := p.types[name]; {
		case !ok:
			b.WriteString(line)
		case t == nil:
			p.wrong = append(p.wrong, "no document has a "+name)
		default:
			b.WriteString("| member | type | meaning |\n|---|---|---|\n")
			p.rows(&b, t, "", nil)
		}
	}
	if len(p.wrong) > 0 {
		return "", fmt.Errorf("%s", strings.Join(p.wrong, "\n"))
	}
	return b.String(), nil
}

// meet takes note of a type and of those of its members.
func (p *page) meet(t reflect.Type) {
	t = innermost(t)
	if before := p.types[t.String()]; !expandable(t) || before == t {
		return
	} else if before != nil {
		p.wrong = append(p.wrong, fmt.Sprintf("two types are called %s: %s, %s", t, before.PkgPath(), t.PkgPath()))
	}
	p.types[t.String()] = t
	for _, f := range fields(t) {
		p.meet(f.Type)
	}
}

// headings finds the heading above each place, and that no two have the same anchor.
func (p *page) headings() {
	heading, seen := "", map[string]bool{}
	for line := range strings.Lines(template) {
		if name, ok := placed(line); ok {
			p.tables[name] = heading
		} else if text := strings.TrimLeft(line, "#"); text != line {
			heading = strings.TrimSpace(text)
			if seen[anchor(heading)] {
				p.wrong = append(p.wrong, "two headings are "+heading)
			}
			seen[anchor(heading)] = true
		}
	}
}

// placed is the type whose table belongs in the place of a line.
func placed(line string) (string, bool) {
	name, ok := strings.CutPrefix(strings.TrimSpace(line), "{{")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(name, "}}")
}

// anchor is the end of a link to a heading.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case strings.ContainsRune(",.()`", r):
			return -1
		}
		return r
	}, strings.ToLower(heading))
}

// rows writes a row for each member of a type that stands within others.
func (p *page) rows(b *strings.Builder, t reflect.Type, prefix string, within []reflect.Type) {
	if slices.Contains(within, t) {
		p.wrong = append(p.wrong, t.String()+" has itself as a member: it needs a table of its own")
		return
	}
	within = append(slices.Clip(within), t)
	docs := p.comments(t)
	for _, f := range fields(t) {
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := innermost(f.Type)
		expanded := expandable(inner) && p.tables[inner.String()] == ""
		if tag == "" {
			if expanded {
				p.rows(b, inner, prefix, within)
			} else {
				fmt.Fprintf(b, "| `%s*` | %s | all its members |\n", prefix, p.word(inner))
			}
			continue
		}
		always := !strings.Contains(options, "omit")
		if must, known := required[t]; known {
			always = slices.Contains(must, tag)
		}
		said := docs.fields[t.Name()+"."+f.Name]
		if said == "" {
			p.wrong = append(p.wrong, fmt.Sprintf("%s.%s has no comment", t, f.Name))
		}
		said, kind := meaning(said), p.word(f.Type)
		if f.Type.Kind() == reflect.Pointer && always || unknown[t.String()+"."+f.Name] {
			kind += " or null"
		}
		if !always {
			said = "*optional*; " + said
		}
		fmt.Fprintf(b, "| `%s%s` | %s | %s |\n", prefix, tag, kind, said)
		if expanded {
			p.rows(b, inner, prefix+tag+".", within)
		}
	}
}

// word names the JSON type of a member.
func (p *page) word(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return p.word(t.Elem())
	case reflect.Map:
		return "map of " + p.word(t.Elem())
	case reflect.Array:
		return "list of " + p.word(t.Elem())
	case reflect.Slice:
		if t != reflect.TypeFor[jsontext.Value]() {
			return "list of " + p.word(t.Elem())
		}
		return "any"
	case reflect.Struct:
		if heading := p.tables[t.String()]; heading != "" {
			return "[" + heading + "](#" + anchor(heading) + ")"
		} else if t != reflect.TypeFor[time.Time]() {
			return "object"
		}
		return "time"
	}
	return p.of(t).Type
}

// innermost is the type of the elements of a pointer, a list or a map.
func innermost(t reflect.Type) reflect.Type {
	for slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, t.Kind()) {
		t = t.Elem()
	}
	return t
}

// expandable reports whether the members of a type are described. Those of the log are not: it
// follows the format of another program.
func expandable(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t != reflect.TypeFor[time.Time]() &&
		t.PkgPath() != reflect.TypeFor[session.Session]().PkgPath()
}

// fields are those of a type that its JSON has; an embedded one has no name there.
func fields(t reflect.Type) (all []reflect.StructField) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag != "-" && (tag != "" && f.IsExported() || f.Anonymous) {
			all = append(all, f)
		}
	}
	return all
}

// quoted are values, members and commands in a comment.
var quoted = regexp.MustCompile(`"([^"]+)"`)

// meaning is a comment as it stands in a table: it does not begin or end as a sentence.
func meaning(comment string) string {
	said := strings.ReplaceAll(strings.TrimSuffix(comment, "."), "|", `\|`)
	if first, _, _ := strings.Cut(said, " "); first != "" && first[1:] == strings.ToLower(first[1:]) {
		said = strings.ToLower(first[:1]) + said[1:]
	}
	return quoted.ReplaceAllString(said, "`$1`")
}
