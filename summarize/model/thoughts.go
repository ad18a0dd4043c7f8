package model

import (
	"regexp"
	"strings"
)

var (
	thoughtBegins = regexp.MustCompile(`^<((?:seed:)?think(?:ing)?|thought|reasoning)>`)
	// thoughtEnds matches the end of thoughts that began in the prompt, as the templates of some
	// models do.
	thoughtEnds = regexp.MustCompile(`(?m)^[ \t]*</think>[ \t]*$`)
)

// withoutThoughts removes a model's thoughts from the beginning of a text: servers that do not know
// the model return them as text. Thoughts that do not end are the whole answer.
func withoutThoughts(text string) (said string, thought bool) {
	text = strings.TrimSpace(text)
	if begins := thoughtBegins.FindStringSubmatch(text); begins != nil {
		_, said, _ = strings.Cut(text, "</"+begins[1]+">")
		return strings.TrimSpace(said), true
	}
	if ends := thoughtEnds.FindStringIndex(text); ends != nil && !strings.Contains(text[:ends[0]], "<think>") {
		return strings.TrimSpace(text[ends[1]:]), true
	}
	return text, false
}
