package discover

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/format/geminicli"
	"github.com/winnowhq/winnow/text/plainfile"
)

// geminiFolders says to which projects the folders below ~/.gemini/tmp belong. A chat does not say
// it itself. The folder of a project has a file with the project's path since it bears a name;
// ~/.gemini/projects.json has the names, by path. Before that its name was the SHA-256 of the path.
type geminiFolders struct {
	tmp   string
	known map[string]string // the project's path by the folder's name
}

func newGeminiFolders(tmp string) geminiFolders {
	g := geminiFolders{tmp, map[string]string{}}
	var registry struct {
		Projects map[string]string `json:"projects"`
	}
	text, _, err := plainfile.Read(filepath.Join(filepath.Dir(tmp), "projects.json"), 0)
	if err == nil && json.Unmarshal(text, &registry) == nil {
		for path, name := range registry.Projects {
			sum := sha256.Sum256([]byte(path))
			g.known[hex.EncodeToString(sum[:])] = path
			g.known[name] = path
		}
	}
	return g
}

// place returns the project of a chat, "" when nothing says it, and the session that it works for:
// the chat of a sub-agent is chats/<session>/<id>.jsonl.
func (g geminiFolders) place(path string) (project, parent string) {
	rel, err := filepath.Rel(g.tmp, path)
	if err != nil {
		return "", ""
	}
	names := strings.Split(filepath.ToSlash(rel), "/")
	if len(names) == 4 && names[1] == "chats" {
		parent = names[2]
	}
	if text, _, err := plainfile.Read(filepath.Join(g.tmp, names[0], ".project_root"), 64<<10); err == nil {
		if project = strings.TrimSpace(string(text)); project != "" {
			return project, parent
		}
	}
	return g.known[names[0]], parent
}

// once leaves one of each chat. The product copies a project's folder when it gives it a name, and
// leaves the old one where it was; a chat in one object that is gone on with is copied into one of
// lines beside it. The copies have the file's name, and the one that goes on was written last.
func once(found []Found) []Found {
	type chat struct{ id, name string }
	of := func(f *Found) chat {
		name := filepath.Base(f.Source)
		return chat{f.ID, strings.TrimSuffix(name, filepath.Ext(name))}
	}
	better := func(a, b *Found) int {
		lines := func(f *Found) int {
			if filepath.Ext(f.Source) == ".jsonl" {
				return 1
			}
			return 0
		}
		return cmp.Or(a.Updated.Compare(b.Updated), cmp.Compare(lines(a), lines(b)), cmp.Compare(a.Bytes, b.Bytes),
			strings.Compare(a.Project, b.Project))
	}
	best := map[chat]*Found{}
	for i := range found {
		f := &found[i]
		if there := best[of(f)]; f.Product == geminicli.Name && f.ID != "" && (there == nil || better(f, there) > 0) {
			best[of(f)] = f
		}
	}
	return slices.DeleteFunc(slices.Clone(found), func(f Found) bool {
		one := best[of(&f)]
		return one != nil && f.Product == geminicli.Name && one.Source != f.Source
	})
}
