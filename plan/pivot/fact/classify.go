package fact

import (
	"slices"
	"strings"
)

// isHash reports whether a word is a digest or an id in hexadecimal, whole or cut to seven digits
// or more.
func isHash(tok string) bool {
	if len(tok) < 7 || len(tok) > 128 {
		return false
	}
	digit, letter := false, false
	for i := range len(tok) {
		switch c := tok[i]; {
		case isDigit(c):
			digit = true
		case c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F':
			letter = true
		case c == '-' && len(tok) >= 30:
		default:
			return false
		}
	}
	return digit && letter
}

// fileExtension reports whether a word that ends in this extension is a file.
func fileExtension(ext string) bool { return extensions[strings.ToLower(ext)] }

// isPath reports whether a token names a file or a folder. In backticks every slash makes a path;
// elsewhere "read/write" is not one.
func isPath(tok string, quoted bool) bool {
	bare := withoutLine(tok)
	if famous[bare] || len(bare) < 2 || len(bare) > 1000 || strings.Contains(bare, "://") ||
		strings.Contains(bare, "//") {
		return false
	}
	if strings.ContainsAny(bare, `<>|"'`+"`;,=()!?^") && !(quoted && strings.Contains(bare, "/(")) {
		return false
	}
	if i := strings.IndexByte(bare, ':'); i >= 0 && i != 1 {
		return false
	}
	last := bare[strings.LastIndexAny(bare, `/\`)+1:]
	ext := ""
	if i := strings.LastIndexByte(last, '.'); i > 0 {
		ext = last[i+1:]
	}
	slash := strings.ContainsAny(bare, `/\`)
	letter := strings.ContainsFunc(bare, func(r rune) bool { return r >= 0x80 || isAlpha(byte(r)) })
	if !letter {
		return false
	}
	if !slash {
		if initial(bare) == '.' {
			return len(bare) > 2 && isAlpha(bare[1]) && !strings.ContainsAny(bare[1:], "()") &&
				(quoted || fileExtension(bare[1:]) || strings.HasPrefix(bare, ".git") ||
					strings.HasPrefix(bare, ".env") || strings.HasSuffix(bare, "rc"))
		}
		return fileExtension(ext) && !strings.HasPrefix(last, "*.") &&
			(ext != "s" && ext != "a" && ext != "m" && ext != "v" && ext != "o" && ext != "r" || quoted) &&
			initial(last) != '-' && !strings.ContainsAny(last, "[]{}@")
	}
	bare = strings.ReplaceAll(bare, `\_`, "_")
	if strings.Contains(bare, `\`) && !strings.Contains(bare, "/") {
		// A backslash escapes, or divides.
		if len(bare) < 4 || bare[1] != ':' && strings.Count(bare, `\`) < 2 && !fileExtension(ext) {
			return false
		}
	}
	if quoted {
		return true
	}
	if strings.HasPrefix(bare, "./") || strings.HasPrefix(bare, "../") || strings.HasPrefix(bare, "~/") ||
		fileExtension(ext) || len(bare) > 2 && bare[1] == ':' {
		return true
	}
	if initial(bare) == '/' {
		return len(bare) > 2
	}
	if initial(bare) == '-' || initial(bare) == '+' || initial(bare) == '$' && strings.HasPrefix(bare, "$(") {
		return false
	}
	if strings.HasSuffix(bare, "/") {
		return true
	}
	segments := strings.FieldsFunc(bare, func(r rune) bool { return r == '/' || r == '\\' })
	if len(segments) >= 3 {
		return true
	}
	return slices.ContainsFunc(segments, func(s string) bool { return strings.ContainsAny(s, "._@") }) ||
		len(segments) == 2 && strings.ContainsAny(bare, "-") && strings.ToLower(bare) == bare
}

// withoutLine removes ":40", ":40:2", ":40-60" and "#L40" from a path.
func withoutLine(tok string) string {
	if i := strings.Index(tok, "#L"); i > 0 {
		return tok[:i]
	}
	for range 2 {
		i := strings.LastIndexByte(tok, ':')
		if i <= 0 || i+1 == len(tok) || !isDigit(tok[i+1]) || strings.Trim(tok[i+1:], "0123456789-,") != "" {
			break
		}
		tok = tok[:i]
	}
	return tok
}

// isIdentifier reports whether a token is written as only names are.
func isIdentifier(tok string) bool {
	name := strings.TrimSuffix(tok, "()")
	called := len(name) < len(tok)
	if name == "" || famous[name] || famous[strings.TrimSuffix(name, "s")] {
		return false
	}
	switch {
	case strings.HasPrefix(name, "--"):
		return len(name) > 3 && isAlpha(name[2])
	case initial(name) == '$':
		rest := strings.Trim(name[1:], "{}")
		return len(rest) > 1 && (isAlpha(initial(rest)) || initial(rest) == '_') && named(rest)
	}
	if isHash(name) {
		return true
	}
	if parts := split(name); len(parts) > 1 {
		long := false
		for _, p := range parts {
			if p == "" || !named(p) || isDigit(initial(p)) {
				return false
			}
			long = long || len(p) > 1 && p != "vX"
		}
		return long
	}
	if !named(name) || isDigit(initial(name)) {
		return codeOfError(name) || modelName(name)
	}
	if called {
		return true
	}
	if strings.Contains(strings.Trim(name, "_"), "_") || initial(name) == '_' && len(name) > 2 {
		return true
	}
	return humps(name) || codeOfError(name)
}

// pinned recognises a package with its version: react@19.1.0, typescript@^5.4.
func pinned(tok string) bool {
	at := strings.LastIndexByte(tok, '@')
	if at < 1 {
		return false
	}
	name, version := tok[:at], strings.TrimLeft(tok[at+1:], "^~v=<>")
	return version != "" && strings.Trim(version, "0123456789.") == "" && isDigit(version[0]) &&
		strings.Contains(version, ".") &&
		!strings.ContainsFunc(name, func(r rune) bool {
			return r >= 0x80 || !isWord(byte(r)) && r != '-' && r != '/' && r != '@' && r != '.'
		})
}

// issue recognises pull/123 and its like.
func issue(tok string) bool {
	kind, number, ok := strings.Cut(tok, "/")
	switch kind {
	case "pull", "pulls", "issue", "issues", "PR", "MR", "merge_requests", "discussions":
		return ok && digits(number)
	}
	return false
}

// spelled recognises a number in words that says how many there are. Twenty-four is mostly hours.
func spelled(tok string) bool {
	value, ok := inWords(tok)
	return ok && value != 24 && value != 32 && value != 64 && tok == strings.ToLower(tok)
}

// split splits a qualified name at dots, "::", "->" and "#".
func split(name string) []string {
	name = strings.NewReplacer("::", "\x00", "->", "\x00", ".", "\x00", "#", "\x00", "?.", "\x00").Replace(name)
	return strings.FieldsFunc(name, func(r rune) bool { return r == 0 })
}

// named reports whether a name has only letters, digits, underscores and dollar signs.
func named(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return r < 0x80 && r != '$' && !isWord(byte(r)) })
}

// humps reports whether a word has capitals inside: camelCase, PascalCase, HTTPServer.
func humps(name string) bool {
	lower, inner := false, 0
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z':
			lower = true
		case c >= 'A' && c <= 'Z' && i > 0:
			if next := i + 1; name[i-1] >= 'a' && name[i-1] <= 'z' || isDigit(name[i-1]) ||
				next < len(name) && name[next] >= 'a' && name[next] <= 'z' &&
					!(next == len(name)-1 && name[next] == 's') {
				inner++
			}
		}
	}
	return lower && inner > 0 && len(name) > 3
}

// codeOfError recognises E0432, TS2305, CVE-2025-21207, ABC-1234.
func codeOfError(name string) bool {
	letters := 0
	for letters < len(name) && name[letters] >= 'A' && name[letters] <= 'Z' {
		letters++
	}
	rest := strings.TrimPrefix(name[letters:], "-")
	return letters >= 1 && letters <= 10 && len(rest) >= 3 && isDigit(initial(rest)) &&
		strings.Trim(rest, "0123456789-") == ""
}

// modelName recognises names such as "gemini-2.5-flash" and "gpt-4o-mini": words of small letters
// and figures with two hyphens or a dot between.
func modelName(name string) bool {
	if !isAlpha(initial(name)) || !strings.ContainsAny(name, "0123456789") ||
		strings.Count(name, "-") < 2 && !strings.Contains(name, ".") {
		return false
	}
	for i := range len(name) {
		if c := name[i]; !(c >= 'a' && c <= 'z' || isDigit(c) || c == '-' || c == '.' || c == ':') {
			return false
		}
	}
	return strings.Contains(name, "-")
}

// isCommand reports whether words can be run: they begin with a program that is known or named by
// its path, or they have flags.
func isCommand(text string) bool {
	words := strings.Fields(text)
	for len(words) > 0 && (assigns(words[0]) || words[0] == "sudo" || words[0] == "time" || words[0] == "env") {
		words = words[1:]
	}
	if len(words) < 2 {
		return false
	}
	first := words[0]
	if knownProgram(first) {
		return !strings.ContainsAny(words[1], "={") || strings.HasPrefix(words[1], "-")
	}
	if strings.HasPrefix(first, "./") && len(first) > 2 ||
		strings.HasPrefix(first, "/") && strings.Count(first, "/") > 1 {
		return true
	}
	for i := range len(first) {
		if c := first[i]; !(c >= 'a' && c <= 'z' || isDigit(c) || c == '-' || c == '_' || c == '.') {
			return false
		}
	}
	if !isAlpha(initial(first)) {
		return false
	}
	return slices.ContainsFunc(words[1:], func(w string) bool {
		return len(w) > 1 && initial(w) == '-' && (isAlpha(w[1]) || w[1] == '-' && len(w) > 3 && isAlpha(w[2]))
	})
}

// assigns recognises NAME=value in front of a command.
func assigns(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && named(name) && strings.ToUpper(name) == name
}

func knownProgram(name string) bool { return programs[strings.TrimSuffix(name, ".exe")] }
