package schema

import (
	"cmp"
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

// Python makes the generated part of winnow.py: the types, and a method for each request, for threads
// and for asyncio.
func (d Document) Python() string {
	var b strings.Builder
	fmt.Fprintf(&b, "#%s\n\n#: The version of the protocol that this client speaks.\nPROTOCOL = %d\n", made, d.Protocol)
	d.pyMethods(&b, "Winnow", "Connection", "A method for each request of the protocol.", "def", "")
	d.pyMethods(&b, "AsyncWinnow", "AsyncConnection", "A coroutine for each request of the protocol.", "async def", "await ")
	params := map[string]bool{}
	for _, m := range d.Methods {
		params[name(m.Value.Params)] = true
	}
	for _, def := range d.Defs {
		if !params[def.Name] {
			b.WriteString(pyDict(def.Name, def.Value))
		}
	}
	return b.String()
}

// pyMethods writes a class with a method for each request.
func (d Document) pyMethods(b *strings.Builder, class, of, about, keyword, wait string) {
	fmt.Fprintf(b, "\n\nclass %s(%s):\n    \"\"\"%s\"\"\"\n", class, of, about)
	for _, m := range d.Methods {
		def, _ := d.Defs.get(name(m.Value.Params))
		var must, may, passed, about []string
		for _, p := range def.Properties {
			arg := snake(p.Name)
			if kind := pyType(*p.Value, "Sequence"); mark(def, p.Name) == "" {
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
		fmt.Fprintf(b, "\n    %s %s(%s) -> %s:\n", keyword, snake(m.Name), args, pyType(*m.Value.Result, ""))
		if wait == "" {
			b.WriteString("        \"\"\"" + strings.Join(wrap(m.Value.Description, 88), "\n        ") + "\n")
			if len(about) > 0 {
				b.WriteString("\n        " + strings.Join(about, "\n        ") + "\n")
			}
			b.WriteString("        \"\"\"\n")
		}
		fmt.Fprintf(b, "        return %sself.request(%q, _given(%s))\n", wait, m.Name, strings.Join(passed, ", "))
	}
}

// named is how a comment names its field.
var named = regexp.MustCompile(`^[A-Z]\w* (is|are) `)

// keyword are words of the language that name members of documents.
var keyword = []string{"as", "from", "in", "is", "class", "global", "def", "not", "or", "and", "if"}

// pyDict writes an object as a TypedDict. Python 3.9 has one kind of class for members that are
// there and one for members that may be.
func pyDict(name string, def *Type) string {
	var must, may members[*Type]
	for _, p := range def.Properties {
		if mark(def, p.Name) == "" {
			must = append(must, p)
		} else {
			may = append(may, p)
		}
	}
	about := pydoc(cmp.Or(def.Description, name))
	if len(may) == 0 {
		return pyClass(name, "TypedDict", about, must)
	}
	if len(must) == 0 {
		return pyClass(name, "TypedDict, total=False", about, may)
	}
	return pyClass("_"+name, "TypedDict", "", must) + pyClass(name, "_"+name+", total=False", about, may)
}

func pyClass(name, of, about string, properties members[*Type]) string {
	var b strings.Builder
	if slices.ContainsFunc(properties, func(p member[*Type]) bool { return slices.Contains(keyword, p.Name) }) {
		// as a call, because the names of its members cannot be written in a class
		base, total, _ := strings.Cut(of, ", ")
		call := name
		if base != "TypedDict" {
			call = name + "_"
		}
		fmt.Fprintf(&b, "\n\n%s = TypedDict(\n    %q,\n    {\n", call, call)
		for _, p := range properties {
			fmt.Fprintf(&b, "        %q: %q,\n", p.Name, pyType(*p.Value, "list"))
		}
		b.WriteString("    },\n")
		if total != "" {
			b.WriteString("    total=False,\n")
		}
		b.WriteString(")\n")
		if base != "TypedDict" {
			fmt.Fprintf(&b, "\n\nclass %s(%s, %s):\n%s", name, base, call, about)
		}
		return b.String()
	}
	fmt.Fprintf(&b, "\n\nclass %s(%s):\n%s", name, of, about)
	for _, p := range properties {
		fmt.Fprintf(&b, "    %s: %s\n", p.Name, pyType(*p.Value, "list"))
		if p.Value.Description != "" {
			b.WriteString(pydoc(p.Value.Description))
		}
	}
	if len(properties) == 0 && about == "" {
		b.WriteString("    pass\n")
	}
	return b.String()
}

// pydoc writes a text as a docstring.
func pydoc(text string) string {
	text = strings.ReplaceAll(text, "\\", "\\\\")
	if strings.HasSuffix(text, "\"") {
		text += "."
	}
	return "    \"\"\"" + strings.Join(wrap(text, 92), "\n    ") + "\"\"\"\n"
}

// pyType is a type as Python writes it; sequence is its word for an array.
func pyType(t Type, sequence string) string {
	switch {
	case t.Ref != "":
		return name(t)
	case len(t.AnyOf) > 0:
		return "Optional[" + pyType(t.AnyOf[0], sequence) + "]"
	case t.Type == "array" && t.Items == nil:
		return sequence + "[Any]"
	case t.Type == "array":
		return sequence + "[" + pyType(*t.Items, sequence) + "]"
	case t.Type == "object":
		if of, ok := t.Additional.(*Type); ok {
			return "dict[str, " + pyType(*of, sequence) + "]"
		}
		return "dict[str, Any]"
	}
	return cmp.Or(map[string]string{"string": "str", "integer": "int", "number": "float", "boolean": "bool"}[t.Type], "Any")
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
