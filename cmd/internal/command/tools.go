package command

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/visible"
)

// toolNotes say in one line what tools cost that nobody called.
func toolNotes(u report.Uncalled) []string {
	tools, cost := 0, 0.0
	for i := range u.Sets {
		tools, cost = tools+len(u.Sets[i].Uncalled), cost+u.Sets[i].Cost
	}
	if tools == 0 {
		return nil
	}
	return []string{fmt.Sprintf("tools: %s never called cost %s; more: winnow status --by tool",
		quantity.Count(tools, "declaration"), quantity.Dollars(cost))}
}

// showTools prints what was declared and never called, by client and MCP server, and what can be
// done about it.
func showTools(a *cli.App, u report.Uncalled) {
	if len(u.Sets) == 0 {
		a.Printf("Every tool that a request declared was called, or no declaration was seen.\n")
		return
	}
	rows := [][]string{{"client", "MCP server", "sessions", "declared", "never called", "tokens", "cost", "of billed"}}
	for i := range u.Sets {
		s := &u.Sets[i]
		rows = append(rows, []string{visible.Line(cmp.Or(s.Client, quantity.Unknown)),
			visible.Line(cmp.Or(s.Server, "(its own)")), quantity.Number(s.Sessions), quantity.Number(s.Tools),
			quantity.Number(len(s.Uncalled)), quantity.Number(s.Tokens), quantity.Dollars(s.Cost),
			quantity.Share(s.Share)})
	}
	a.Table([]int{-2, -2, 2, 2, 2, 2, 2, 2}, rows)
	a.Printf("tokens: of the declarations that were never called, estimated; each request carries them\n\n")
	for i := range u.Sets {
		s := &u.Sets[i]
		var names []string
		for _, tool := range s.Uncalled {
			names = append(names, fmt.Sprintf("%s %s", tool.Name, quantity.Short(tool.Tokens)))
		}
		a.Printf("%s\n", visible.Line(cmp.Or(s.Client, quantity.Unknown)+", "+cmp.Or(s.Server, "its own")+": "+
			strings.Join(names, ", ")))
	}
	settings, err := a.Settings()
	if err != nil || len(u.Drop) == 0 {
		return
	}
	command, more := "winnow config add gateway.tools.drop", false
	for _, name := range u.Drop {
		if !slices.Contains(settings.Gateway.Tools.Drop, name) {
			command += " " + cli.ShellWord(name)
			more = true
		}
	}
	if !more {
		return
	}
	a.Printf("\nTo leave them out of new conversations, whose models then do not know that they exist:\n  %s\n",
		visible.Line(command))
}
