package schema

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// What follows from the schema in a client stands behind a line that says so.
const made = " Made from ../schema.json by go test ./internal/schema -update; do not edit below this line."

// TypeScript is what follows from the schema in winnow.ts: the types, and a method for each
// request.
func (d Document) TypeScript() string {
	var b strings.Builder
	fmt.Fprintf(&b, "//%s\n\n/** The version of the protocol that this client speaks. */\n", made)
	fmt.Fprintf(&b, "export const PROTOCOL = %d;\n", d.Protocol)
	b.WriteString("\nexport class Winnow extends Connection {")
	for _, m := range d.Methods {
		params := name(m.Value.Params)
		result := tsType(*m.Value.Result)
		fmt.Fprintf(&b, "\n%s  %s(params: %s%s, signal?: AbortSignal): Promise<%s> {\n",
			jsdoc("  ", m.Value.Description), m.Name, params, optional(d, params), result)
		fmt.Fprintf(&b, "    return this.request(%q, params, signal) as Promise<%s>;\n  }\n", m.Name, result)
	}
	b.WriteString("}\n")
	for _, def := range d.Defs {
		fmt.Fprintf(&b, "\n%sexport interface %s {\n", jsdoc("", def.Value.Description), def.Name)
		for _, p := range def.Value.Properties {
			fmt.Fprintf(&b, "%s  %s%s: %s;\n", jsdoc("  ", p.Value.Description), p.Name, mark(def.Value, p.Name),
				tsType(*p.Value))
		}
		if def.Value.Additional == true {
			b.WriteString("  [further: string]: unknown;\n")
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// optional lets the parameters be left out where none is required.
func optional(d Document, params string) string {
	if def, _ := d.Defs.get(params); len(def.Required) == 0 {
		return " = {}"
	}
	return ""
}

func mark(def *Type, property string) string {
	for _, r := range def.Required {
		if r == property {
			return ""
		}
	}
	return "?"
}

func name(t Type) string { return strings.TrimPrefix(t.Ref, "#/$defs/") }

func tsType(t Type) string {
	switch {
	case t.Ref != "":
		return name(t)
	case len(t.AnyOf) > 0:
		return tsType(t.AnyOf[0]) + " | null"
	case t.Type == "array":
		return tsType(*t.Items) + "[]"
	case t.Type == "object":
		return "Record<string, " + tsType(*t.Additional.(*Type)) + ">"
	case t.Type == "integer":
		return "number"
	case t.Type == "":
		return "unknown"
	}
	return t.Type
}

func jsdoc(lead, text string) string {
	if text == "" {
		return ""
	}
	lines := wrap(text, 96-len(lead))
	if len(lines) == 1 {
		return lead + "/** " + lines[0] + " */\n"
	}
	return lead + "/**\n" + lead + " * " + strings.Join(lines, "\n"+lead+" * ") + "\n" + lead + " */\n"
}

// Python is what follows from the schema in winnow.py: a method for each request.
func (d Document) Python() string {
	var b strings.Builder
	fmt.Fprintf(&b, "#%s\n\n#: The version of the protocol that this client speaks.\nPROTOCOL = %d\n", made, d.Protocol)
	b.WriteString("\n\nclass Winnow(Connection):\n    \"\"\"A method for each request of the protocol.\"\"\"\n")
	for _, m := range d.Methods {
		def, _ := d.Defs.get(name(m.Value.Params))
		var must, may, passed, about []string
		for _, p := range def.Properties {
			arg := snake(p.Name)
			if kind := pyType(*p.Value); mark(def, p.Name) == "" {
				must = append(must, arg+": "+kind)
			} else {
				may = append(may, arg+": Optional["+kind+"] = None")
			}
			passed = append(passed, fmt.Sprintf("%s=%s", arg, arg))
			if p.Value.Description != "" {
				about = append(about, wrap(arg+": "+named.ReplaceAllString(p.Value.Description, ""), 92)...)
			}
		}
		args := strings.Join(slices.Concat([]string{"self"}, must, may), ", ")
		fmt.Fprintf(&b, "\n    def %s(%s) -> dict:\n        \"\"\"%s\n", snake(m.Name), args,
			strings.Join(wrap(m.Value.Description, 88), "\n        "))
		if len(about) > 0 {
			b.WriteString("\n        " + strings.Join(about, "\n        ") + "\n")
		}
		fmt.Fprintf(&b, "\n        %s\n        \"\"\"\n",
			strings.Join(wrap(d.returns(*m.Value.Result), 92), "\n        "))
		fmt.Fprintf(&b, "        return self.request(%q, _given(%s))\n", m.Name, strings.Join(passed, ", "))
	}
	return b.String()
}

// named is how a comment names its field.
var named = regexp.MustCompile(`^[A-Z]\w* (is|are) `)

// returns says what a result has.
func (d Document) returns(t Type) string {
	def, ok := d.Defs.get(name(t))
	switch {
	case !ok:
		return "Returns the schema."
	case len(def.Properties) == 0:
		return "Returns {}."
	}
	var names []string
	for _, p := range def.Properties {
		names = append(names, p.Name+mark(def, p.Name))
	}
	return "Returns " + name(t) + ": " + strings.Join(names, ", ") + "."
}

func pyType(t Type) string {
	switch {
	case t.Type == "string":
		return "str"
	case t.Type == "integer":
		return "int"
	case t.Type == "boolean":
		return "bool"
	case t.Type == "array":
		return "Sequence"
	case t.Ref != "":
		return "dict"
	}
	return "Any"
}

// snake is a name as Python has it; words of the language get an underscore.
func snake(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	switch b.String() {
	case "as", "from":
		b.WriteByte('_')
	}
	return b.String()
}

// wrap breaks a text into lines of at most width bytes.
func wrap(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// with is a client's text with what follows from the schema behind its own part.
func with(text, follows string) (string, error) {
	head, _, ok := strings.Cut(text, follows[:strings.IndexByte(follows, '\n')])
	if !ok {
		return "", fmt.Errorf("the line %q is missing", strings.SplitN(follows, "\n", 2)[0])
	}
	return head + follows, nil
}
