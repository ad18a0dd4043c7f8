package tools

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/winnowhq/winnow/text/plainfile"
)

// ignored are the lines of .gitignore files from the outermost folder to the innermost; the last
// one that matches counts. A file below an ignored folder stays ignored. What git reads elsewhere,
// .git/info/exclude and its user's own file, is not looked at.
type ignored []ignoreLine

type ignoreLine struct {
	folder  string // of its file, slash-separated and relative to the folder of the outermost; "" for that
	pattern string
	name    bool // the pattern is for a name in any folder below; most are
	plain   bool // and it is that name itself
	not     bool // "!": not ignored after all
	folders bool // "x/": folders alone
}

// with adds the lines of the .gitignore in a folder. at is the folder as lines name it.
func (g ignored) with(folder, at string) ignored {
	name := filepath.Join(folder, ".gitignore")
	info, err := os.Lstat(name)
	// git takes no link for one either: it may lead to what never ends
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return g
	}
	text, _, err := plainfile.Read(name, 1<<20)
	if err != nil {
		return g
	}
	g = g[:len(g):len(g)] // siblings share what came before
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		if !strings.HasSuffix(line, `\ `) {
			line = strings.TrimRight(line, " \t")
		}
		if line == "" || line[0] == '#' {
			continue
		}
		l := ignoreLine{folder: at}
		line, l.not = strings.CutPrefix(line, "!")
		line, l.folders = strings.CutSuffix(line, "/")
		anchored := strings.Contains(line, "/")
		line = strings.TrimPrefix(line, "/")
		l.name = !anchored
		l.plain = l.name && !strings.ContainsAny(line, `*?[\`)
		if strings.HasSuffix(line, "/**") { // what is in the folder, not the folder
			line += "/*"
		}
		if l.pattern = line; !l.plain {
			l.pattern = braces.Replace(line)
		}
		if line != "" && (l.plain || doublestar.ValidatePattern(l.pattern)) {
			g = append(g, l)
		}
	}
	return g
}

// braces mean nothing to git.
var braces = strings.NewReplacer("{", `\{`, "}", `\}`)

// leavesOut reports whether a file or folder is ignored. name is slash-separated and relative to
// the outermost folder.
func (g ignored) leavesOut(name string, folder bool) bool {
	for i := len(g) - 1; i >= 0; i-- {
		l := &g[i]
		if l.folders && !folder {
			continue
		}
		below := name
		if l.folder != "" {
			rest, ok := strings.CutPrefix(name, l.folder+"/")
			if !ok {
				continue
			}
			below = rest
		}
		if l.name {
			below = path.Base(below)
		}
		matches := below == l.pattern
		if !l.plain {
			matches, _ = doublestar.Match(l.pattern, below)
		}
		if matches {
			return !l.not
		}
	}
	return false
}

// repository is the nearest folder above one, itself included, with a .git in it; the folder itself
// where there is none.
func repository(folder string) string {
	for at := folder; ; {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		up := filepath.Dir(at)
		if up == at {
			return folder
		}
		at = up
	}
}

// ignoredIn are the lines that hold in a folder from those above it in its repository, its own not
// yet among them; prefix is how lines name the folder.
func ignoredIn(folder string) (g ignored, prefix string) {
	root := repository(folder)
	rel, err := filepath.Rel(root, folder)
	if err != nil || rel == "." {
		return nil, ""
	}
	at, name := root, ""
	for word := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		g = g.with(at, name)
		at, name = filepath.Join(at, word), path.Join(name, word)
	}
	return g, name
}
