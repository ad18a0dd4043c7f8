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

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/discover"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/visible"
)

// Flags are those of list.
type Flags struct {
	On    bool
	Sort  string
	Quick bool
	All   bool
	Page  output.Page
	Days  int // that the page is about
	// Since is how many calendar days sessions are listed of, today the last; 0 is all.
	Since   int
	Project string // only sessions that worked in this folder or below it; "" is all
	Most    int    // how many sessions are listed for people; 0 is all
	// Advise adds what the page advises. It may be nil.
	Advise func(context.Context, *report.Days) error
}

// find finds the sessions on this computer.
func find(ctx context.Context, a *cli.App, quick bool) ([]discover.Found, []discover.Problem, *model.Catalogue, error) {
	settings, err := a.Settings()
	if err != nil {
		return nil, nil, nil, err
	}
	search := source.Search(a)
	search.Models = settings.Catalogue(model.Default())
	done := a.Progress("looking for sessions")
	found, problems, err := search.Find(ctx)
	done()
	if err != nil || quick {
		return found, problems, search.Models, err
	}
	more, err := search.Measure(ctx, found)
	if err != nil {
		return nil, nil, nil, err
	}
	if cache := source.CachePath(a); cache != "" {
		_ = search.Cache.Save(cache) // without it, the next time takes longer
	}
	return found, append(problems, more...), search.Models, nil
}

// within keeps the sessions of the project and the days, each with its cost on these days. cut are
// the places of those that also have requests on other days.
func within(a *cli.App, found []discover.Found, f Flags) (kept []discover.Found, cut map[int]bool) {
	cut = map[int]bool{}
	span := report.LastDays(f.Since, a.Env.Now())
	parents := parentsOf(found)
	for _, s := range found {
		if f.Project != "" && !source.Below(s.Project, f.Project) {
			continue
		}
		switch {
		case f.Since == 0:
		case len(s.Spent) == 0: // its log does not say when
			if !span.Has(s.Updated) {
				continue
			}
		default:
			one := span.Of(workedOf(&s, "", parents), nil)
			if one.Requests == 0 {
				continue
			}
			if s.Tokens, s.Agents = one.Tokens, 0; s.Cost != nil {
				s.Cost = &one.Cost
			}
			cut[len(kept)] = one.Cut
		}
		kept = append(kept, s)
	}
	return kept, cut
}

// Everywhere lists the sessions on this computer.
func Everywhere(ctx context.Context, a *cli.App, f Flags) error {
	found, problems, models, err := find(ctx, a, f.Quick)
	if err != nil {
		return err
	}
	found, cut := within(a, found, f)
	doc := sumUp(found, cut, problems)
	for _, s := range output.Archived(a) {
		if s.Parent == "" && (f.Project == "" || source.Below(s.Project, f.Project)) {
			doc.Archived++
		}
	}
	order(doc.Sessions, f.Sort)
	if f.Page.To != "" && len(found) > 0 {
		if doc.Page, err = writeDays(ctx, a, found, f, models); err != nil {
			return err
		}
	}
	if doc.Page != "-" {
		if err := a.Tell(doc, func() { doc.show(a, f); doc.sayArchived(a); output.SayPage(a, doc.Page) }); err != nil {
			return err
		}
	}
	switch {
	case len(found) == 0 && len(problems) == 0:
		return cli.Hint(cli.Nothing("no agent has kept a session on this computer, where winnow looks"),
			"`winnow inspect FOLDER` looks in any other folder")
	case len(problems) > 0:
		p := cli.Partly{}
		for _, problem := range problems {
			p.Failed = append(p.Failed, problem)
		}
		return p
	}
	return nil
}

// sumUp sums up the findings.
func sumUp(found []discover.Found, cut map[int]bool, problems []discover.Problem) Computer {
	doc := Computer{Sessions: []onComputer{}, Problems: []unread{}, Total: sumOf{Name: "total"}}
	products, projects := map[string]*sumOf{}, map[string]*sumOf{}
	parents := parentsOf(found)
	for i, f := range found {
		doc.Sessions = append(doc.Sessions, onComputer{f, session.Millis(f.Updated.UnixMilli()), cut[i]})
		if f.Cost != nil && f.ID != "" && parents[f.Product+" "+f.ID] {
			own := *f.Cost - f.Agents // what its sub-agents took is in their own files too
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
		return cmp.Or(cmp.Compare(cli.Known(y.Cost), cli.Known(x.Cost)), cmp.Compare(y.Bytes, x.Bytes),
			strings.Compare(x.Name, y.Name))
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

func (doc Computer) show(a *cli.App, f Flags) {
	if len(doc.Sessions) == 0 {
		return
	}
	column := doc.list(a, f)
	projects, title := doc.Projects, "project"
	if len(projects) > shownProjects {
		projects = projects[:shownProjects]
		title = fmt.Sprintf("project (%d of %d)", shownProjects, len(doc.Projects))
	}
	if len(doc.Projects) > 1 {
		showSums(a, f, column, title, projects, func(name string) string { return project(a, name) })
	}
	showSums(a, f, column, "product", append(slices.Clone(doc.Products), doc.Total),
		func(name string) string { return name })
	if f.Quick {
		return
	}
	a.Printf("\ntokens are what models read, from caches too, and wrote over all steps;\n" +
		"  cost is that by the list prices of the model of each step.\n")
	if slices.ContainsFunc(doc.Sessions, func(s onComputer) bool { return s.Cut }) {
		a.Printf("⁺ began before these days: tokens and cost are of these days alone.\n")
	}
	if n := doc.Total.Uncosted; n > 0 {
		a.Printf("%s requests of unknown cost, which the sums of cost leave out:\n"+
			"  the log does not report them, or their model has no price\n  (`models` in winnow.jsonc sets prices).\n",
			quantity.Plural(n, "session has", "sessions have"))
	}
	if doc.Total.TokensEstimated {
		a.Printf("~ is an estimate: tokens of the log itself if it reports none.\n")
	}
}

// sayArchived says how many sessions are not listed because they are archived.
func (doc Computer) sayArchived(a *cli.App) {
	if doc.Archived > 0 {
		a.Printf("%s; winnow gc --archived lists them\n",
			quantity.Plural(doc.Archived, "more session is archived", "more sessions are archived"))
	}
}

// list prints a line for each session, and returns how wide the first column is.
func (doc Computer) list(a *cli.App, f Flags) (column int) {
	names := doc.words()
	rows, hidden := [][]string{{"session", "age", "size", "tokens", "cost", "project: title"}}, 0
	more := 0
	now := a.Env.Now()
	for i, s := range doc.Sessions {
		if s.Parent != "" && !f.All {
			hidden++
			continue
		}
		if f.Most > 0 && len(rows) > f.Most {
			more++
			continue
		}
		used, price := "", ""
		if s.Measured {
			used, price = tokensOf(s.Tokens, s.TokensEstimated), cli.CostOf(s.Cost, s.Uncosted)
			if s.Cut {
				price += "⁺"
			}
		}
		what := strings.Join(strings.Fields(s.Title), " ")
		if project := FolderName(s.Project); project != "" && what != "" {
			what = runewidth.Truncate(project, mostProject, "…") + ": " + what
		} else if what == "" {
			what = project
		}
		rows = append(rows, []string{visible.Line(names[i]), quantity.Age(now.Sub(s.Found.Updated)),
			quantity.Bytes(int(s.Bytes)), used, price, visible.Line(what)})
	}
	widths, taken := []int{0, 0, 0, 0, 0}, 0
	for i := range widths {
		for _, row := range rows {
			widths[i] = max(widths[i], runewidth.StringWidth(row[i]))
		}
		taken += widths[i] + 2
	}
	for _, row := range rows {
		row[5] = runewidth.Truncate(row[5], max(10, cmp.Or(a.Env.Width, 100)-taken), "…")
	}
	column, widths[0] = widths[0], -widths[0]
	a.Table(widths, rows)
	if more > 0 {
		a.Printf("%s; --limit 0 lists them, --since 7d, --project and --sort choose\n",
			quantity.Plural(more, "more session", "more sessions"))
	}
	if hidden > 0 {
		a.Printf("%s in the sums; --all lists them\n",
			quantity.Plural(hidden, "session of a sub-agent is", "sessions of sub-agents are"))
	}
	return column
}

// mostProject is how many columns the name of a project has before a title.
const mostProject = 16

// words are those that winnow takes for the sessions.
func (doc Computer) words() []string {
	found := make([]discover.Found, len(doc.Sessions))
	for i, s := range doc.Sessions {
		found[i] = s.Found
	}
	return source.Words(found, found)
}

// tokensOf is a number of tokens for people, "" for 0.
func tokensOf(n int, estimated bool) string {
	if n == 0 {
		return ""
	}
	return cli.Marked(quantity.Short(n), estimated)
}

// showSums prints a line for each sum.
func showSums(a *cli.App, f Flags, column int, title string, list []sumOf, name func(string) string) {
	column = max(column, 24)
	rows := [][]string{{fmt.Sprintf("%-*s", column, title), "sessions", "size", "tokens", "cost"}}
	if f.Quick {
		rows[0] = rows[0][:3] // tokens and cost of the sessions that are known already would not be sums
	}
	for _, s := range list {
		row := []string{runewidth.Truncate(visible.Line(name(s.Name)), column, "…"), quantity.Number(s.Sessions),
			quantity.Bytes(int(s.Bytes))}
		if !f.Quick {
			row = append(row, tokensOf(s.Tokens, s.TokensEstimated), cli.CostOf(s.Cost, s.Uncosted))
		}
		rows = append(rows, row)
	}
	a.Printf("\n")
	a.Table([]int{-column, 8, 7, 7, 9}[:len(rows[0])], rows)
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

// FolderName is the last element of a path of any system.
func FolderName(path string) string {
	trimmed := strings.TrimRight(path, `/\`)
	return trimmed[strings.LastIndexAny(trimmed, `/\`)+1:]
}

// Sortings are the orders of list --everywhere.
func Sortings() []string { return []string{"updated", "size", "tokens", "cost"} }
