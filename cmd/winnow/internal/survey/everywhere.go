// Package survey lists many sessions at once: those below a folder, and those on this computer.
package survey

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/winnowhq/winnow/cmd/winnow/internal/cli"
	"github.com/winnowhq/winnow/cmd/winnow/internal/source"
	"github.com/winnowhq/winnow/discover"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/visible"
)

// Computer is the JSON document of list --everywhere.
type Computer struct {
	Sessions []onComputer `json:"sessions"`
	Products []sumOf      `json:"products"` // the costliest first
	Projects []sumOf      `json:"projects"`
	Total    sumOf        `json:"total"`
	Problems []unread     `json:"problems"`
}

// onComputer is one session where its product keeps it.
type onComputer struct {
	discover.Found
	Updated session.Millis `json:"updated"`
}

// sumOf is what some sessions come to.
type sumOf struct {
	Name      string `json:"name"`
	Sessions  int    `json:"sessions"`  // sub-agents not among them
	SubAgents int    `json:"subAgents"` // sessions that work for another
	Bytes     int64  `json:"bytes"`
	Tokens    int    `json:"tokens"`
	// Cost of those requests whose cost is known, nil where there were some and none is.
	Cost *float64 `json:"cost"`
	// Whether one of them is an estimate.
	TokensEstimated bool `json:"tokensEstimated"`
	CostEstimated   bool `json:"costEstimated"`
	// Uncosted is how many of them have requests that the cost is without: of a model without a price, or without a report.
	Uncosted int `json:"uncosted"`
}

// unread is a file or folder that could not be read.
type unread struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

type Flags struct {
	On    bool
	Sort  string
	Quick bool
	All   bool
}

func Everywhere(ctx context.Context, a *cli.App, f Flags) error {
	if _, err := a.Settings(); err != nil {
		return err
	}
	search := source.Search(a)
	models, err := source.Models(a)
	if err != nil {
		return err
	}
	search.Models = models
	done := a.Progress("looking for sessions")
	found, problems, err := search.Find(ctx)
	done()
	if err != nil {
		return err
	}
	if !f.Quick {
		more, err := search.Measure(ctx, found)
		if search.Progress != nil {
			a.Say("")
		}
		if err != nil {
			return err
		}
		problems = append(problems, more...)
		if cache := source.CachePath(a); cache != "" {
			_ = search.Cache.Save(cache) // without it, the next time takes longer
		}
	}
	doc := everywhere(a, found, problems)
	order(doc.Sessions, f.Sort)
	if a.JSON {
		if err := a.Print(doc); err != nil {
			return err
		}
	} else {
		showEverywhere(a, doc, f)
	}
	switch {
	case len(found) == 0 && len(problems) == 0:
		return cli.Hint(cli.Nothing("no agent has kept a session on this computer, where winnow looks"), "`winnow inspect FOLDER` looks in any other folder")
	case len(problems) > 0:
		p := cli.Partly{}
		for _, problem := range problems {
			p.Failed = append(p.Failed, problem)
		}
		return p
	}
	return nil
}

// everywhere sums up what was found.
func everywhere(a *cli.App, found []discover.Found, problems []discover.Problem) Computer {
	doc := Computer{Sessions: []onComputer{}, Problems: []unread{}, Total: sumOf{Name: "total"}}
	products, projects := map[string]*sumOf{}, map[string]*sumOf{}
	parents := map[string]bool{}
	for _, f := range found {
		parents[f.Product+" "+f.Parent] = true
	}
	for _, f := range found {
		doc.Sessions = append(doc.Sessions, onComputer{f, session.Millis(f.Updated.UnixMilli())})
		if f.Cost != nil && f.ID != "" && parents[f.Product+" "+f.ID] {
			own := *f.Cost - f.Agents // what its sub-agents took stands in their own files too
			f.Cost = &own
		}
		doc.Total.add(f)
		for name, sums := range map[string]map[string]*sumOf{f.Product: products, f.Project: projects} {
			if sums[name] == nil {
				sums[name] = &sumOf{Name: name}
			}
			sums[name].add(f)
		}
	}
	doc.Products, doc.Projects = sorted(products), sorted(projects)
	for _, p := range problems {
		doc.Problems = append(doc.Problems, unread{p.Path, p.Error()})
	}
	return doc
}

func (s *sumOf) add(f discover.Found) {
	if f.Parent == "" {
		s.Sessions++
	} else {
		s.SubAgents++
	}
	s.Bytes += f.Bytes
	s.Tokens += f.Tokens
	s.TokensEstimated = s.TokensEstimated || f.TokensEstimated
	s.CostEstimated = s.CostEstimated || f.CostEstimated
	if f.Measured && (f.Cost == nil || f.Uncosted > 0) {
		s.Uncosted++
	}
	if f.Cost != nil {
		sum := *f.Cost
		if s.Cost != nil {
			sum += *s.Cost
		}
		s.Cost = &sum
	}
}

func sorted(sums map[string]*sumOf) []sumOf {
	list := []sumOf{}
	for _, s := range sums {
		list = append(list, *s)
	}
	slices.SortFunc(list, func(x, y sumOf) int {
		return cmp.Or(cmp.Compare(cli.Known(y.Cost), cli.Known(x.Cost)), cmp.Compare(y.Bytes, x.Bytes), strings.Compare(x.Name, y.Name))
	})
	return list
}

// order sorts sessions, which come newest first.
func order(sessions []onComputer, by string) {
	slices.SortStableFunc(sessions, func(x, y onComputer) int {
		switch by {
		case "size":
			return cmp.Compare(y.Bytes, x.Bytes)
		case "tokens":
			return cmp.Compare(y.Tokens, x.Tokens)
		case "cost":
			return cmp.Compare(cli.Known(y.Cost), cli.Known(x.Cost))
		}
		return 0
	})
}

// shownProjects is how many projects are summed up for people; --json has all of them.
const shownProjects = 10

func showEverywhere(a *cli.App, doc Computer, f Flags) {
	if len(doc.Sessions) == 0 {
		return
	}
	width := a.Env.Width
	if width == 0 {
		width = 100
	}
	names := shortNames(doc.Sessions)
	rows, hidden := [][]string{{"session", "age", "size", "tokens", "cost", "project: title"}}, 0
	now := a.Env.Now()
	for i, s := range doc.Sessions {
		if s.Parent != "" && !f.All {
			hidden++
			continue
		}
		used, price := "", ""
		if s.Measured {
			used, price = cli.Marked(cli.Short(s.Tokens), s.TokensEstimated), cli.CostOf(s.Cost, s.Uncosted)
		}
		what := strings.Join(strings.Fields(s.Title), " ")
		if project := lastOf(s.Project); project != "" && what != "" {
			what = project + ": " + what
		} else if what == "" {
			what = project
		}
		rows = append(rows, []string{visible.Line(names[i]), cli.Age(now.Sub(s.Found.Updated)), cli.BytesOf(s.Bytes), used, price, visible.Line(what)})
	}
	columns := make([]int, 5)
	for _, row := range rows {
		for i := range columns {
			columns[i] = max(columns[i], runewidth.StringWidth(row[i]))
		}
	}
	for _, row := range rows {
		text := fmt.Sprintf("%s  %*s  %*s  %*s  %*s  ", runewidth.FillRight(row[0], columns[0]), columns[1], row[1], columns[2], row[2], columns[3], row[3], columns[4], row[4])
		a.Printf("%s\n", strings.TrimRight(text+runewidth.Truncate(row[5], max(10, width-runewidth.StringWidth(text)), "…"), " "))
	}
	column := columns[0]
	if hidden > 0 {
		a.Printf("%s in the sums; --all lists them\n", cli.Plural(hidden, "session of a sub-agent is", "sessions of sub-agents are"))
	}
	tokens, cost := "tokens", "cost"
	if f.Quick {
		tokens, cost = "", "" // of those alone that are known already they would be no sums
	}
	sums := func(title string, list []sumOf, name func(string) string) {
		a.Printf("\n")
		head := fmt.Sprintf("%-*s  %8s  %7s  %7s  %9s", max(column, 24), title, "sessions", "size", tokens, cost)
		a.Printf("%s\n", strings.TrimRight(head, " "))
		for _, s := range list {
			used, price := "", ""
			if !f.Quick {
				used, price = cli.Marked(cli.Short(s.Tokens), s.TokensEstimated), cli.CostOf(s.Cost, s.Uncosted)
			}
			text := runewidth.Truncate(visible.Line(name(s.Name)), max(column, 24), "…")
			text = fmt.Sprintf("%s  %8s  %7s  %7s  %9s", runewidth.FillRight(text, max(column, 24)), token.Grouped(s.Sessions), cli.BytesOf(s.Bytes), used, price)
			a.Printf("%s\n", strings.TrimRight(text, " "))
		}
	}
	projects := doc.Projects
	if len(projects) > shownProjects {
		projects = projects[:shownProjects]
	}
	if len(doc.Projects) > 1 {
		title := "project"
		if len(projects) < len(doc.Projects) {
			title = fmt.Sprintf("project (%d of %d)", len(projects), len(doc.Projects))
		}
		sums(title, projects, func(name string) string { return project(a, name) })
	}
	sums("product", append(slices.Clone(doc.Products), doc.Total), func(name string) string { return name })
	if f.Quick {
		return
	}
	a.Printf("\ntokens are what models read, from caches too, and wrote over all steps;\n  cost is that by the list prices of the model of each step.\n")
	if n := doc.Total.Uncosted; n > 0 {
		a.Printf("%s requests of unknown cost, which the sums of cost are without:\n  the log has no report of them, or their model no price\n  (`models` in winnow.jsonc sets prices).\n", cli.Plural(n, "session has", "sessions have"))
	}
	if doc.Total.TokensEstimated {
		a.Printf("~ is an estimate: tokens of the log itself where it reports none.\n")
	}
}

// project names a folder for people.
func project(a *cli.App, path string) string {
	if path == "" {
		return "(not said)"
	}
	if home := a.Env.Home(); home != "" && strings.HasPrefix(path, home+string(os.PathSeparator)) {
		path = "~" + path[len(home):]
	}
	runes := []rune(path)
	if len(runes) <= 24 {
		return path
	}
	end := runes[len(runes)-23:] // the end tells more
	if at := slices.IndexFunc(end, func(r rune) bool { return r == '/' || r == '\\' }); at >= 0 && at < len(end)-1 {
		end = end[at:] // whole names
	}
	return "…" + string(end)
}

// lastOf is the last element of a path of any system.
func lastOf(path string) string {
	trimmed := strings.TrimRight(path, `/\`)
	return trimmed[strings.LastIndexAny(trimmed, `/\`)+1:]
}

// shortNames are words for sessions that winnow takes back: PRODUCT:ID, of the id as much as tells it apart.
func shortNames(sessions []onComputer) []string {
	const least = 8
	ids := map[string][]string{}
	for _, s := range sessions {
		ids[s.Product] = append(ids[s.Product], s.ID)
	}
	for _, list := range ids {
		slices.Sort(list)
	}
	names := make([]string, len(sessions))
	for i, s := range sessions {
		list := ids[s.Product]
		at, _ := slices.BinarySearch(list, s.ID)
		n := least
		for _, beside := range []int{at - 1, at + 1} {
			if beside >= 0 && beside < len(list) {
				n = max(n, common(list[beside], s.ID)+1)
			}
		}
		names[i] = s.Product + ":" + s.ID[:min(n, len(s.ID))]
	}
	return names
}

func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// Sortings are the orders of list --everywhere.
func Sortings() []string { return []string{"updated", "size", "tokens", "cost"} }
