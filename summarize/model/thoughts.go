package model

import (
	"regexp"
	"strings"
)

var (
	thoughtBegins = regexp.MustCompile(`^<((?:seed:)?think(?:ing)?|thought|reasoning)>`)
	// thoughtEnds is the end of thoughts whose beginning stands in the prompt, where the templates
	// of some models put it.
	thoughtEnds = regexp.MustCompile(`(?m)^[ \t]*</think>[ \t]*$`)
)

// withoutThoughts takes from the beginning of a text what a model thought: servers that do not know
// the model hand its thoughts on as text. Thoughts that do not end are all there is.
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
