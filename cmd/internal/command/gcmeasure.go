package command

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/discover"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/visible"
)

// collected is the JSON document of gc.
type collected struct {
	Projects []onDisk `json:"projects"` // sums by product and project, the largest first
	Products []onDisk `json:"products"` // sums by product, the largest first
	Total    onDisk   `json:"total"`    // the sum of all; its product is "total"
	// The age of the sessions that "old" counts, in days.
	OldDays   int      `json:"oldDays"`
	Originals keptBy   `json:"originals"` // the originals of files that "--in-place" replaced
	Archive   keptBy   `json:"archive"`   // the compressed files of archived sessions and parts
	Store     keptBy   `json:"store"`     // winnow's own store; without files if it is a database server
	Problems  []string `json:"problems"`  // files that could not be read, a sentence each
}

// onDisk adds up the session files of a project.
type onDisk struct {
	Product   string `json:"product"`   // the product
	Project   string `json:"project"`   // the folder in which its agent works; empty if it is unknown
	Sessions  int    `json:"sessions"`  // how many sessions, without sub-agents
	SubAgents int    `json:"subAgents"` // how many sessions of sub-agents
	Bytes     int64  `json:"bytes"`     // bytes of all of them
	Old       int    `json:"old"`       // how many of them "--archive" would take with the age "oldDays"
	OldBytes  int64  `json:"oldBytes"`  // bytes of these
	discover.Shares
}

// keptBy is a folder of winnow's own, with its size.
type keptBy struct {
	Path  string `json:"path"`  // the folder, or the store
	Files int    `json:"files"` // how many originals, archived sessions, or files of the store
	Bytes int64  `json:"bytes"` // their bytes
}

func (o *onDisk) add(f discover.Found, shares discover.Shares, old bool) {
	if f.Parent == "" {
		o.Sessions++
	} else {
		o.SubAgents++
	}
	o.Bytes += f.Bytes
	if old {
		o.Old, o.OldBytes = o.Old+1, o.OldBytes+f.Bytes
	}
	o.Shares.Add(shares)
}

// measureDisk shows the disk space of sessions, and of winnow's own folders.
func measureDisk(ctx context.Context, a *cli.App, f gcFlags, all, old []discover.Found,
	problems []discover.Problem) error {
	found := slices.DeleteFunc(all, func(s discover.Found) bool { return !gcWants(s.Project, f) })
	shares, more, err := source.Search(a).Shares(ctx, found)
	if err != nil {
		return err
	}
	doc := collected{Total: onDisk{Product: "total"}, OldDays: usualDays, Problems: []string{}}
	isOld := map[string]bool{}
	for _, s := range old {
		isOld[s.Source] = true
	}
	projects, products := map[onDisk]*onDisk{}, map[onDisk]*onDisk{}
	for i, s := range found {
		sumOf(projects, onDisk{Product: s.Product, Project: s.Project}).add(s, shares[i], isOld[s.Source])
		sumOf(products, onDisk{Product: s.Product}).add(s, shares[i], isOld[s.Source])
		doc.Total.add(s, shares[i], isOld[s.Source])
	}
	doc.Projects, doc.Products = largestFirst(projects), largestFirst(products)
	if err := doc.addKept(a); err != nil {
		return err
	}
	partly := cli.Partly{}
	for _, p := range append(problems, more...) {
		doc.Problems = append(doc.Problems, p.Error())
		partly.Failed = append(partly.Failed, p)
	}
	if err := a.Tell(doc, func() { doc.show(a) }); err != nil {
		return err
	}
	switch {
	case len(partly.Failed) > 0:
		return partly
	case len(found) == 0:
		return cli.Nothing("no agent has kept a session on this computer, where winnow looks")
	}
	return nil
}

// sumOf is the sum for a product, or for one of its projects.
func sumOf(sums map[onDisk]*onDisk, of onDisk) *onDisk {
	if sums[of] == nil {
		sums[of] = &of
	}
	return sums[of]
}

func largestFirst(sums map[onDisk]*onDisk) []onDisk {
	list := []onDisk{}
	for _, sum := range sums {
		list = append(list, *sum)
	}
	slices.SortFunc(list, func(x, y onDisk) int {
		return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), strings.Compare(x.Product, y.Product),
			strings.Compare(x.Project, y.Project))
	})
	return list
}

// addKept adds up winnow's own folders.
func (doc *collected) addKept(a *cli.App) error {
	room, err := output.Room(a)
	if err != nil {
		return err
	}
	originals, err := room.Originals()
	if err != nil {
		doc.Problems = append(doc.Problems, err.Error())
	}
	doc.Originals.Path = room.Folder()
	for _, o := range originals {
		doc.Originals.Files, doc.Originals.Bytes = doc.Originals.Files+1, doc.Originals.Bytes+o.Bytes
	}
	kept, err := output.Archive(a)
	if err != nil {
		return err
	}
	archived, err := kept.Everything()
	if err != nil {
		doc.Problems = append(doc.Problems, err.Error())
	}
	doc.Archive.Path = kept.Folder()
	for _, s := range archived {
		doc.Archive.Files, doc.Archive.Bytes = doc.Archive.Files+1, doc.Archive.Bytes+s.Bytes
	}
	doc.Store.Path = source.StoreAt(a)
	for _, ending := range []string{"", "-wal", "-shm"} {
		if info, err := os.Stat(doc.Store.Path + ending); err == nil && info.Mode().IsRegular() {
			doc.Store.Files, doc.Store.Bytes = doc.Store.Files+1, doc.Store.Bytes+info.Size()
		}
	}
	return nil
}

// shownOnDisk is how many projects are listed for people; --json has all of them.
const shownOnDisk = 20

func (doc collected) show(a *cli.App) {
	if len(doc.Projects) > 0 {
		doc.showSums(a)
	}
	rows := [][]string{{"winnow keeps", "files", "size", ""}}
	for _, k := range []struct {
		name string
		keptBy
		command string
	}{
		{"originals", doc.Originals, "winnow doctor originals"},
		{"archived sessions", doc.Archive, "winnow gc --archived"},
		{"store", doc.Store, "winnow ls --store"},
	} {
		rows = append(rows, []string{k.name, quantity.Number(k.Files), quantity.Bytes(int(k.Bytes)), k.command})
	}
	a.Table([]int{-17, 5, 7}, rows)
	if doc.Total.Old > 0 {
		a.Printf("\n%s in %s can be archived compressed; first look:\n  winnow gc --archive %s --dry-run\n",
			quantity.Bytes(int(doc.Total.OldBytes)), quantity.Plural(doc.Total.Old, "session", "sessions"), usualAge)
	}
}

// showSums prints a line for each project, product, and the total.
func (doc collected) showSums(a *cli.App) {
	old := fmt.Sprintf("over %d d", doc.OldDays)
	rows := [][]string{{"product", "project", "sessions", "size", old, "progress", "snapshots", "pictures", "copied"}}
	add := func(o onDisk, project string) {
		rows = append(rows, []string{visible.Line(o.Product), project, quantity.Number(o.Sessions),
			quantity.Bytes(int(o.Bytes)), bytesOf(o.OldBytes), bytesOf(o.Progress), bytesOf(o.Snapshots),
			bytesOf(o.Pictures), bytesOf(o.Copied)})
	}
	list := doc.Projects[:min(len(doc.Projects), shownOnDisk)]
	for _, o := range list {
		project := visible.Line(homely(a, o.Project))
		if o.Project == "" {
			project = "(not said)"
		}
		if wide := runewidth.StringWidth(project); wide > widestProject {
			project = runewidth.TruncateLeft(project, wide-widestProject+1, "…")
		}
		add(o, project)
	}
	if len(doc.Projects) > 1 {
		for _, o := range doc.Products {
			add(o, "(all)")
		}
	}
	if len(doc.Products) > 1 {
		add(doc.Total, "")
	}
	a.Table([]int{-11, -12, 8, 7, 9, 8, 9, 8, 7}, rows)
	if more := len(doc.Projects) - len(list); more > 0 {
		a.Printf("%s in the sums; --json lists all\n",
			quantity.Plural(more, "smaller project is", "smaller projects are"))
	}
	if n := doc.Total.SubAgents; n > 0 {
		a.Printf("%s in the sizes\n", quantity.Plural(n, "session of a sub-agent is", "sessions of sub-agents are"))
	}
	a.Printf("\n")
}

// widestProject is how many columns the folder of a project has.
const widestProject = 28

// homely is a path with ~ for the home folder.
func homely(a *cli.App, path string) string {
	home := a.Env.Home()
	if rest, ok := strings.CutPrefix(path, home+string(filepath.Separator)); ok && home != "" {
		return "~" + string(filepath.Separator) + rest
	}
	return path
}
