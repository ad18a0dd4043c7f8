package letter

import (
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/rule"
)

// Files is S002 10, one file, one view: any completed operation on a file supersedes all operations
// before it on the same file. A call that touched several files goes once all of them were touched
// again: S002 knows only calls of one file.
func Files() rule.Rule { return supersede("files", newFiles) }

// files follows operations on files.
type files struct {
	findings
	open map[string][]*operation // by path; that nothing superseded yet
}

type operation struct {
	item  *rule.Item
	paths []string // that nothing touched again yet
	by    []*rule.Item
}

func newFiles() rule.Follower { return &files{open: map[string][]*operation{}} }

func (f *files) Read(x *rule.Item) {
	if x.Call == nil || !x.Ended() || x.Call.Command() != "" {
		return
	}
	now := &operation{item: x, paths: touched(x.Call)}
	for _, path := range slices.Clone(now.paths) {
		rest := f.open[path][:0]
		for _, old := range f.open[path] {
			if rule.SameStep(old.item, x) {
				rest = append(rest, old)
				continue
			}
			old.paths = slices.DeleteFunc(old.paths, func(p string) bool { return p == path })
			if !slices.Contains(old.by, x) {
				old.by = append(old.by, x)
			}
			if len(old.paths) == 0 {
				f.add(superseded(old.item, "the same file was touched again later", old.by...))
			}
		}
		f.open[path] = append(rest, now)
	}
}

// touched are the files that a call read or changed, each once.
func touched(c *rule.Call) (paths []string) {
	for i := range c.Actions {
		a := &c.Actions[i]
		if a.Op != call.Read && !a.Op.Changes() {
			continue
		}
		for _, path := range []string{a.Path, a.To} {
			if path != "" && !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// Writes is what S002 10 calls legacy, and has in place of Files where that is switched off: a read
// of a file supersedes the writes of the whole file before it.
func Writes() rule.Rule { return supersede("writes", newWrites) }

type writes struct {
	findings
	open map[string][]*rule.Item // by path; that nothing has read yet
}

func newWrites() rule.Follower { return &writes{open: map[string][]*rule.Item{}} }

func (w *writes) Read(x *rule.Item) {
	if x.Call == nil || !x.Ended() || len(x.Call.Actions) != 1 {
		return
	}
	switch a := &x.Call.Actions[0]; a.Op {
	case call.Create:
		w.open[a.Path] = append(w.open[a.Path], x)
	case call.Read:
		w.open[a.Path] = slices.DeleteFunc(w.open[a.Path], func(old *rule.Item) bool {
			if rule.SameStep(old, x) {
				return false
			}
			w.add(superseded(old, "the file was read after it was written", x))
			return true
		})
	}
}

// URLs is S002 3: a newer fetch of an address supersedes the older ones, whatever else was asked,
// and a newer search those for the same words. It knows two tools, by these names in any case:
// webfetch and websearch.
func URLs() rule.Rule { return supersede("urls", newURLs) }

var newURLs = newLatest("it was fetched again later", func(x *rule.Item) string {
	if !x.Ended() {
		return ""
	}
	switch strings.ToLower(x.Part.Tool) {
	case "webfetch":
		return rule.Argument(x.Part, "url")
	case "websearch":
		if query := rule.Argument(x.Part, "query"); query != "" {
			return "search:" + query
		}
	}
	return ""
})

// Queries is S002 4: of commands that ask for the state of things only the newest of each kind
// stays.
func Queries() rule.Rule { return supersede("queries", newQueries) }

var newQueries = newLatest("it was asked again later", func(x *rule.Item) string {
	if !x.Ended() {
		return ""
	}
	return kindOfQuery(x.Call.Command())
})

// kindOfQuery is what S002 takes for one question: the first word of a command, of git with the
// second; "" for anything else.
func kindOfQuery(command string) string {
	first, rest, more := command, "", false
	if at := strings.IndexAny(command, " \t\r\n\v\f"); at >= 0 {
		first, rest, more = command[:at], strings.TrimSpace(command[at:]), true
	}
	switch first {
	case "ls", "tree":
		return first
	case "find":
		if more {
			return first
		}
	case "pwd":
		if !more {
			return first
		}
	case "git":
		for _, sub := range []string{"status", "branch", "log"} {
			if strings.HasPrefix(rest, sub) {
				return "git " + strings.Fields(rest)[0]
			}
		}
	}
	return ""
}

// Snapshots is S002 5: the newest snapshot supersedes all before it.
func Snapshots() rule.Rule { return supersede("snapshots", newSnapshots) }

type snapshots struct{ *latest }

func newSnapshots() rule.Follower {
	return snapshots{newLatest("a newer snapshot was taken later", func(x *rule.Item) string {
		if x.Ended() && rule.TakesSnapshots(x.Part.Tool) {
			return "snapshot"
		}
		return ""
	})().(*latest)}
}

// Read leaves the little text that comes with pictures.
func (s snapshots) Read(x *rule.Item) {
	before := len(s.findings)
	s.latest.Read(x)
	for _, f := range s.findings[before:] {
		if s := f.Item.Part.State; len(s.Attachments) > 0 && len(s.Output) <= len(Superseded) {
			f.Field = rule.Attachments
		}
	}
}

// Retries is S002 6: a call that succeeds supersedes the failures of the same call before it.
func Retries() rule.Rule { return supersede("retries", newRetries) }

type retries struct {
	findings
	pending map[rule.Identity][]*rule.Item
}

func newRetries() rule.Follower { return &retries{pending: map[rule.Identity][]*rule.Item{}} }

func (r *retries) Read(x *rule.Item) {
	if x.Call == nil {
		return
	}
	key := x.Call.Same
	if x.Failed() {
		r.pending[key] = append(r.pending[key], x)
		return
	}
	if len(r.pending[key]) == 0 {
		return
	}
	r.pending[key] = slices.DeleteFunc(r.pending[key], func(old *rule.Item) bool {
		if rule.SameStep(old, x) {
			return false
		}
		r.add(superseded(old, "it worked later", x))
		return true
	})
}
