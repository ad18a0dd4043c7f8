package call

import "strings"

// Simple gives the words of a command that is one program with its arguments and nothing else, quotes taken off; patterns stand in them as they were
// written. It is not ok where more than one program may run or the shell puts something in: separators, pipes, redirections, substitutions, variables,
// groups, comments. Only that errors are dropped, or shown with the rest, changes nothing: "2>/dev/null" and "2>&1" are left out.
func Simple(command string) (words []string, ok bool) {
	command = strings.TrimSpace(command)
	if command == "" || len(command) > Examined {
		return nil, false
	}
	word := shellWord{text: command}
	end := func() {
		if word.begun {
			if words == nil {
				words = make([]string, 0, 6)
			}
			words = append(words, word.take())
		}
	}
	for i := 0; i < len(command); i++ {
		c := command[i]
		switch {
		case c == ' ' || c == '\t':
			end()
		case c == '\'':
			length := strings.IndexByte(command[i+1:], '\'')
			if length < 0 {
				return nil, false
			}
			word.add(i+1, i+1+length)
			i += length + 1
		case c == '"':
			length := strings.IndexByte(command[i+1:], '"')
			if length < 0 || strings.ContainsAny(command[i+1:i+1+length], "$`\\") {
				return nil, false
			}
			word.add(i+1, i+1+length)
			i += length + 1
		case c == '\\':
			if i++; i == len(command) || command[i] == '\n' || command[i] == '\r' {
				return nil, false
			}
			word.add(i, i+1)
		case !word.begun && c == '2' && i+1 < len(command) && command[i+1] == '>':
			rest, found := strings.CutPrefix(command[i:], "2>/dev/null")
			if !found {
				rest, found = strings.CutPrefix(command[i:], "2>&1")
			}
			if !found || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
				return nil, false
			}
			i = len(command) - len(rest) - 1
		case !word.begun && (c == '#' || c == '{' || c == '!'), strings.IndexByte("\n\r;&|<>()$`", c) >= 0:
			return nil, false
		default:
			word.add(i, i+1)
		}
	}
	end()
	return words, len(words) > 0
}
