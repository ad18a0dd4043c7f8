package call

import "strings"

// windowed understands the line editor of SWE-agent's older interfaces, whose commands look like a
// shell's: "open file line", "create file", and "edit from:to" with the new lines below it, which
// changes the file that was opened last. It returns that file.
func windowed(c *Call, opened, cwd string) string {
	text := strings.TrimSpace(c.Command())
	verb, rest, _ := strings.Cut(text, " ")
	switch verb {
	case "open", "create":
		name, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
		name = strings.Trim(name, "\"'")
		if !PlainFile(name) || strings.Contains(text, "\n") {
			return opened
		}
		op := Read
		if verb == "create" {
			op = Create
		}
		a := Action{Op: op, Path: Clean(name, cwd)}
		c.Actions = append(c.Actions, a)
		return a.Path
	case "edit":
		span, body, ok := strings.Cut(rest, "\n")
		from, to, colon := strings.Cut(strings.TrimSpace(span), ":")
		if !ok || !colon || opened == "" || from == "" || strings.Trim(from+to, "0123456789") != "" {
			return opened
		}
		body, _, _ = strings.Cut(body, "end_of_edit")
		c.Actions = append(c.Actions, Action{Op: Edit, Path: opened, New: Bound(body), Added: LineCount(body),
			Exact: true})
	}
	return opened
}
