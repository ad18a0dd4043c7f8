package offline

import (
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/coverage"
)

// symbols returns the names that a piece of code defines, or the headings of a text, in order.
func symbols(name, text string, most int) []string {
	var names []string
	prose := strings.HasSuffix(name, ".md") || strings.HasSuffix(name, ".mdx")
	switch {
	case prose:
		most = min(most, 5)
	case strings.HasSuffix(name, ".json"):
		return nil // its keys say little of what a change was about
	}
	for e := range coverage.Outline(name, text) {
		if len(names) >= most {
			break
		}
		if prose {
			names = append(names, "\""+line(e.Name, 60)+"\"")
		} else if !slices.Contains(names, e.Name) {
			names = append(names, e.Name)
		}
	}
	return names
}
