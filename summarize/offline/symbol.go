package offline

import (
	"slices"
	"strings"
)

// symbols returns the names that a piece of code defines, or the headings of a text, in order.
func symbols(name, text string, most int) []string {
	var names []string
	prose := strings.HasSuffix(name, ".md") || strings.HasSuffix(name, ".mdx")
	fenced := false
	if prose {
		most = min(most, 5)
	}
	for row := range strings.Lines(text) {
		trimmed := strings.TrimSpace(row)
		if strings.HasPrefix(trimmed, "```") {
			fenced = !fenced
		}
		if len(trimmed) > 300 || len(trimmed) < 5 {
			continue
		}
		if prose {
			if heading := strings.TrimSpace(strings.TrimLeft(trimmed, "#")); !fenced && strings.HasPrefix(row, "#") &&
				len(heading) < 60 && len(names) < most {
				names = append(names, "\""+line(heading, 60)+"\"")
			}
			continue
		}
		name := ""
		for _, d := range definitions {
			if rest, ok := strings.CutPrefix(trimmed, d+" "); ok {
				if d == "const" && row[0] != 'c' {
					break // inside of a function
				}
				name = defined(d, rest)
				break
			}
		}
		if name != "" && !slices.Contains(names, name) {
			if names = append(names, name); len(names) >= most {
				return names
			}
		}
	}
	return names
}

// defined returns the name after a defining word, or "".
func defined(word, rest string) string {
	if word == "func" && strings.HasPrefix(rest, "(") { // a method: its receiver is not its name
		_, after, ok := strings.Cut(rest, ") ")
		if !ok {
			return ""
		}
		rest = after
	}
	switch word {
	case "public", "public static", "private", "protected", "static":
		// Java and similar languages: the name precedes the parenthesis.
		head, _, ok := strings.Cut(rest, "(")
		if !ok {
			return ""
		}
		fields := strings.Fields(head)
		if len(fields) == 0 || len(fields) > 5 {
			return ""
		}
		rest = fields[len(fields)-1]
	}
	end := 0
	for end < len(rest) && (rest[end] == '_' || rest[end] == '$' || rest[end] >= '0' && rest[end] <= '9' ||
		rest[end] >= 'a' && rest[end] <= 'z' || rest[end] >= 'A' && rest[end] <= 'Z' || rest[end] >= 0x80) {
		end++
	}
	if end < 2 || end > 60 {
		return ""
	}
	return rest[:end]
}
