package secret

import (
	"slices"
	"strings"
)

const (
	longestName  = 64
	longestValue = 4 << 10 // a longer value is a document, not a key
)

// bearers are tokens behind the word that HTTP puts before them.
func bearers(text string, found []span) []span {
	for _, scheme := range []string{"earer ", "EARER "} {
		each(text, scheme, func(at int) {
			from := at + len(scheme)
			to := (word | dash | dot | plus | slash).run(text, from)
			if to-from >= 20 && mixed(text[from:to], 2) {
				found = append(found, span{from, to})
			}
		})
	}
	return found
}

// addresses are passwords in them: scheme://user:password@host.
func addresses(text string, found []span) []span {
	each(text, "://", func(at int) {
		from := at + len("://")
		end := from
		for end < len(text) && end-from < 512 && strings.IndexByte(" \t\r\n/?#\"'`<>\\|,;", text[end]) < 0 {
			end++
		}
		user := text[from : from+max(0, strings.LastIndexByte(text[from:end], '@'))]
		name, password, _ := strings.Cut(user, ":")
		if password != "" && !placeholder(password) {
			found = append(found, span{from + len(name) + 1, from + len(user)})
		}
	})
	return found
}

// assignments are values beside a name that says what they are: NAME=value, "name": "value",
// ?name=value, Name: value, also within a JSON string.
func assignments(text string, found []span) []span {
	for at := 0; at < len(text); at++ {
		next := strings.IndexAny(text[at:], "=:")
		if next < 0 {
			break
		}
		at += next
		kind := kindOf(nameBefore(text, at), text[at])
		if kind == ordinary {
			continue
		}
		from, quoted := valueAfter(text, at, kind)
		to := valueEnd(text, from, quoted)
		if to-from > longestValue {
			continue
		}
		if !quoted && to < len(text) && (text[to] == '(' || text[to] == '[') { // a call, or an element of a list
			continue
		}
		if value := text[from:to]; kind.takes(value, quoted) {
			found = append(found, span{from, to})
			at = to - 1
		}
	}
	return found
}

// nameBefore is the name before a sign, within quotation marks or without.
func nameBefore(text string, at int) string {
	for n := 0; n < 8 && at > 0 && strings.IndexByte(" \"'`\\", text[at-1]) >= 0; n++ {
		at--
	}
	from := at
	for from > 0 && at-from < longestName && (word | dash).has(text[from-1]) {
		from--
	}
	return text[from:at]
}

// valueAfter is where the value behind a sign begins, and whether it is within quotation marks.
func valueAfter(text string, at int, k kind) (from int, quoted bool) {
	from = at + 1
	skip := func(set string, most int) {
		for n := 0; n < most && from < len(text) && strings.IndexByte(set, text[from]) >= 0; n++ {
			from++
		}
	}
	skip("=>", 1)
	skip(" \t", 4)
	begun := from
	skip(`\`, 8)
	if from < len(text) && strings.IndexByte("\"'`", text[from]) >= 0 {
		from, quoted = from+1, true
	} else {
		from = begun
	}
	if k == header {
		for _, scheme := range []string{"Bearer ", "bearer ", "Basic ", "basic ", "Token ", "token ", "ApiKey "} {
			if strings.HasPrefix(text[from:], scheme) {
				from += len(scheme)
				break
			}
		}
	}
	return from, quoted
}

// valueEnd is where a value ends. Of the escapes of JSON it takes those of a letter or
// a sign, so that none is torn.
func valueEnd(text string, from int, quoted bool) int {
	ends := " \t\r\n\"'`,;&<>(){}[]|#=:"
	if quoted {
		ends = " \t\r\n\"'`"
	}
	to := from
	for to < len(text) && to-from <= longestValue {
		c := text[to]
		if c == '\\' {
			switch {
			case to+1 < len(text) && text[to+1] == '/':
				to += 2
				continue
			case to+5 < len(text) && text[to+1:to+4] == "u00" && hexadecimal(text[to+4:to+6]) && text[to+4] > '1':
				to += 6
				continue
			}
			break
		}
		if strings.IndexByte(ends, c) >= 0 {
			break
		}
		to++
	}
	for !quoted && to > from && text[to-1] == '.' { // the end of a sentence
		to--
	}
	for !quoted && to < len(text) && text[to] == '=' && to-from <= longestValue { // the end of base64
		to++
	}
	return to
}

// kind is what a name says of its value.
type kind int

const (
	ordinary kind = iota
	password
	key      // api_key, token, secret
	variable // ANY_KEY of an environment
	header   // Authorization
)

// kindOf tells from a name, and the sign behind it.
func kindOf(name string, sign byte) kind {
	if len(name) < 3 {
		return ordinary
	}
	flat := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
	ends := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.HasSuffix(flat, w) })
	}
	switch {
	case ends("pagetoken", "nexttoken", "continuationtoken"):
		return ordinary
	case ends("password", "passwd", "passphrase", "pwd", "dbpass", "userpass"):
		return password
	case flat == "pass" && sign == '=': // "PASS: TestLamp1" is not one
		return password
	case ends("authorization"):
		return header
	case ends("apikey", "accesskey", "secretkey", "privatekey", "signingkey", "encryptionkey", "authkey",
		"accountkey", "secret", "token", "credential"):
		return key
	case flat == "sig" && sign == '=': // of a shared access signature
		return key
	case sign == '=' && strings.HasSuffix(name, "_KEY") && name == strings.ToUpper(name):
		return variable
	}
	return ordinary
}

// takes reports whether a value is one that a name of the kind has: no variable, no path, no name
// of something else.
func (k kind) takes(value string, quoted bool) bool {
	path := strings.HasPrefix(value, "/") || strings.HasPrefix(value, "~") || strings.HasPrefix(value, "./")
	if path || placeholder(value) {
		return false
	}
	if !quoted && strings.Contains(value, ".") && named(value) {
		return false // a member of something in a program
	}
	if k == password {
		signs := strings.ContainsAny(value, "!@#%^&*+?~") && strings.ContainsFunc(value, letter)
		return len(value) >= 6 && (signs || mixed(value, 1))
	}
	if len(value) < 16 || !mixed(value, 2) || uuid(value) || digest(value) {
		return false
	}
	if strings.Contains(value, "/") && strings.ToLower(value) == value {
		return false // a path
	}
	return k != variable || !hexadecimal(value)
}

func letter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// placeholder reports whether a value hides a secret already: a variable, a template, asterisks,
// what was masked.
func placeholder(value string) bool {
	if value == "" || strings.IndexByte("$<{%*@[", value[0]) >= 0 {
		return true
	}
	value = strings.ToLower(value)
	hides := func(sign string) bool { return strings.Contains(value, sign) }
	return slices.ContainsFunc([]string{Masked, "***", "...", "xxxx"}, hides)
}

// named is a chain of names in a program: config.Auth2.Token.
func named(value string) bool {
	for piece := range strings.SplitSeq(value, ".") {
		digits := 0
		for i := range len(piece) {
			c := piece[i]
			switch {
			case c >= '0' && c <= '9' && i > 0:
				digits++
			case !(alnum | underscore).has(c), c >= '0' && c <= '9':
				return false
			}
		}
		if piece == "" || digits > 2 {
			return false
		}
	}
	return true
}

// uuid reports whether a value is an id in the usual form.
func uuid(value string) bool {
	pieces := strings.Split(value, "-")
	if len(pieces) != 5 {
		return false
	}
	for i, n := range []int{8, 4, 4, 4, 12} {
		if len(pieces[i]) != n || !hexadecimal(pieces[i]) {
			return false
		}
	}
	return true
}

// digest reports whether a value is a hash that says so: sha256:…, sha512-….
func digest(value string) bool {
	return strings.HasPrefix(value, "sha") || strings.HasPrefix(value, "md5")
}
