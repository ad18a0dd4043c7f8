package call

import "github.com/winnowhq/winnow/plan/shell"

// Simple gives the words of a command that is one program with its arguments and nothing else,
// quotes taken off; patterns stand in them as they were written. It is not ok where more than one
// program may run or the shell puts something in: separators, pipes, redirections, substitutions,
// variables, groups. Only that errors are dropped, or shown with the rest, changes nothing:
// "2>/dev/null" and "2>&1" are left out.
func Simple(command string) (words []string, ok bool) {
	script, err := shell.Parse(command)
	if err != nil || len(script.Commands) != 1 || script.Odd || script.Functions() {
		return nil, false
	}
	if c := &script.Commands[0]; alone(c) && c.After == "" {
		return c.Texts(), true
	}
	return nil, false
}

// alone reports whether a command is a program with its arguments and nothing else.
func alone(c *shell.Command) bool {
	if len(c.Words) == 0 || c.Keyword || c.Negated || c.Group != shell.Bare || len(c.Assigns) > 0 || c.Depth > 0 {
		return false
	}
	for _, w := range c.Words {
		if w.Expands() || !w.Common() {
			return false
		}
	}
	for _, r := range c.Redirects {
		if r.FD != "2" || !(r.Op == ">" && r.Target.Text == "/dev/null" || r.Op == ">&" && r.Target.Text == "1") {
			return false
		}
	}
	return true
}
