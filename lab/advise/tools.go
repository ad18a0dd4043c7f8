package advise

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/span"
)

// findTools finds tools that requests declared and no session of the client ever called: one
// finding for each MCP server of a client that [report.UncalledTools] says is worth dropping, and
// one for the client's own tools. Only sessions that went through the gateway tell what was
// declared.
//
// Cost: of carrying the declarations, in every request, by its reported usage. Gain: that of those
// that are dropped. Error: over sessions; and the tokens of the declarations are estimated.
func findTools(u report.Uncalled, dropped []string) []Finding {
	var found []Finding
	for i := range u.Sets {
		s := &u.Sets[i]
		drop := dropOf(s, u.Drop)
		drop = slices.DeleteFunc(drop, func(name string) bool { return slices.Contains(dropped, name) })
		if len(drop) == 0 {
			continue
		}
		share, families := shareOf(s, drop), map[string]float64{}
		for k, cost := range s.Costs {
			families[fmt.Sprint(k)] = share * cost
		}
		var names []string
		for _, tool := range s.Uncalled[:min(3, len(s.Uncalled))] {
			names = append(names, fmt.Sprintf("%s (%s)", tool.Name, quantity.Short(tool.Tokens)))
		}
		of := "of the MCP server " + s.Server
		if s.Server == "" {
			of = "of its own"
		}
		found = append(found, Finding{Kind: Tools, Cost: s.Cost, Gain: share * s.Cost,
			Error: within(families, len(families)) + Estimate*share*s.Cost,
			Title: fmt.Sprintf("%s declares %s %s that no session called", cmp.Or(s.Client, "A client"),
				quantity.Count(len(s.Uncalled), "tool"), of),
			Evidence: []string{
				fmt.Sprintf("%s in %s carried their %s tokens.", quantity.Count(s.Requests, "request"),
					quantity.Count(s.Sessions, "session"), quantity.Number(s.Tokens)),
				"The largest: " + strings.Join(names, ", ") + "."},
			Change:   "leave them out of new conversations through the gateway, whose models then do not know them",
			Line:     "winnow config add gateway.tools.drop '" + strings.Join(drop, "' '") + "'",
			Settings: map[string]string{"gateway.tools.drop": listed(dropped, drop)}})
	}
	return found
}

// shareOf is the share of a set's tokens that goes with some names and patterns.
func shareOf(s *report.Toolset, drop []string) float64 {
	tokens := 0
	for _, tool := range s.Uncalled {
		if slices.ContainsFunc(drop, func(name string) bool { return matches(name, tool.Name) }) {
			tokens += tool.Tokens
		}
	}
	return float64(tokens) / float64(max(1, s.Tokens))
}

// matches reports whether a name, or a pattern that ends in *, is about a tool.
func matches(name, tool string) bool {
	of, pattern := strings.CutSuffix(name, "*")
	return name == tool || pattern && strings.HasPrefix(tool, of)
}

// dropOf are the names and patterns among those worth dropping that are of a set of tools.
func dropOf(s *report.Toolset, all []string) (drop []string) {
	for _, name := range all {
		if slices.ContainsFunc(s.Uncalled, func(t report.UncalledTool) bool { return matches(name, t.Name) }) {
			drop = append(drop, name)
		}
	}
	return drop
}

// listed is a list of names as JSON: those that are there, and more.
func listed(there, more []string) string {
	var list [][]byte
	for _, name := range slices.Concat(there, more) {
		list = append(list, span.Quote(name))
	}
	return string(span.Array(list))
}
