package archive

import (
	"cmp"
	"path/filepath"
	"slices"
	"time"

	"github.com/winnowhq/winnow/desk/discover"
)

// Least is the least age of a session that is archived: a file that was written to in the last hour
// may be in use.
const Least = time.Hour

// WholeFiles are the products that keep each session in one file, which can be archived. The others
// keep several in a database, or one in a folder of files.
func WholeFiles() []string {
	return []string{"claude-code", "codex", "pi", "gemini-cli", "qwen-code"}
}

// Choose returns the sessions that are old enough to be archived. A session and those of its
// sub-agents and forks go together, once all are that old, and the newest session of a project
// stays.
func Choose(found []discover.Found, now time.Time, older time.Duration) (old []discover.Found) {
	older = max(older, Least)
	parents := map[string]string{} // of a session: the one it belongs to
	for _, f := range found {
		if f.Parent != "" {
			parents[f.Product+" "+f.ID] = f.Product + " " + f.Parent
		}
	}
	family := func(f discover.Found) string {
		name := f.Product + " " + f.ID
		if f.ID == "" {
			name += f.Source
		}
		for range 100 { // damaged files may name one another
			if parents[name] == "" {
				break
			}
			name = parents[name]
		}
		return name
	}
	written, newest := map[string]time.Time{}, map[string]discover.Found{}
	for _, f := range found {
		if of := family(f); f.Updated.After(written[of]) {
			written[of] = f.Updated
		}
		project := f.Product + " " + cmp.Or(f.Project, filepath.Dir(f.Source))
		if there, ok := newest[project]; f.Parent == "" && (!ok || f.Updated.After(there.Updated)) {
			newest[project] = f
		}
	}
	stays := map[string]bool{}
	for _, f := range newest {
		stays[family(f)] = true
	}
	products := WholeFiles()
	for _, f := range found {
		of := family(f)
		if slices.Contains(products, f.Product) && f.OneFile() && !stays[of] && now.Sub(written[of]) > older {
			old = append(old, f)
		}
	}
	return old
}
