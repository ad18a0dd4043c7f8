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
func Files() rule.Rule { return supersede("files", files) }

func files(w rule.Window) []*rule.Finding { return w.Once("files", touchedAgain) }

func touchedAgain(w rule.Window) (found []*rule.Finding) {
	type operation struct {
		item  *rule.Item
		paths []string // that nothing touched again yet
		by    []*rule.Item
	}
	open := make(map[string][]*operation, len(w.Items())/8) // by path; that nothing superseded yet
	var paths []string                                      // of all operations
	all := make([]operation, 0, len(w.Items()))
	for _, x := range w.Items() {
		if x.Call == nil || !x.Ended() || x.Call.Command() != "" {
			continue
		}
		before := len(paths)
		if paths = appendTouched(paths, x.Call); len(paths) == before {
			continue
		}
		all = append(all, operation{item: x, paths: paths[before:len(paths):len(paths)]})
		now := &all[len(all)-1]
		for _, path := range now.paths {
			rest := open[path][:0]
			for _, old := range open[path] {
				if rule.SameStep(old.item, x) {
					rest = append(rest, old)
					continue
				}
				old.paths = slices.DeleteFunc(old.paths, func(p string) bool { return p == path })
				if !slices.Contains(old.by, x) {
					old.by = append(old.by, x)
				}
				if len(old.paths) == 0 {
					found = append(found, superseded(old.item, "the same file was touched again later", old.by...))
				}
			}
			open[path] = append(rest, now)
		}
	}
	return found
}

// appendTouched appends the files that a call read or changed, each once.
func appendTouched(paths []string, c *rule.Call) []string {
	before := len(paths)
	for i := range c.Actions {
		a := &c.Actions[i]
		if a.Op != call.Read && !a.Op.Changes() {
			continue
		}
		for _, path := range []string{a.Path, a.To} {
			if path != "" && !slices.Contains(paths[before:], path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// Writes is what S002 10 calls legacy, and has in place of Files where that is switched off: a read
// of a file supersedes the writes of the whole file before it.
func Writes() rule.Rule { return supersede("writes", writes) }

func writes(w rule.Window) (found []*rule.Finding) {
	open := map[string][]*rule.Item{} // by path; that nothing has read yet
	for _, x := range w.Items() {
		if x.Call == nil || !x.Ended() || len(x.Call.Actions) != 1 {
			continue
		}
		switch a := &x.Call.Actions[0]; a.Op {
		case call.Create:
			open[a.Path] = append(open[a.Path], x)
		case call.Read:
			open[a.Path] = slices.DeleteFunc(open[a.Path], func(old *rule.Item) bool {
				if rule.SameStep(old, x) {
					return false
				}
				found = append(found, superseded(old, "the file was read after it was written", x))
				return true
			})
		}
	}
	return found
}

// URLs is S002 3: a newer fetch of an address supersedes the older ones, whatever else was asked,
// and a newer search those for the same words. It knows two tools, by these names in any case:
// webfetch and websearch.
func URLs() rule.Rule { return supersede("urls", urls) }

func urls(w rule.Window) []*rule.Finding {
	return latest(w, "it was fetched again later", func(x *rule.Item) string {
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
}

// Queries is S002 4: of commands that ask for the state of things only the newest of each kind
// stays.
func Queries() rule.Rule { return supersede("queries", queries) }

func queries(w rule.Window) []*rule.Finding {
	return latest(w, "it was asked again later", func(x *rule.Item) string {
		if !x.Ended() {
			return ""
		}
		return kindOfQuery(x.Call.Command())
	})
}

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
func Snapshots() rule.Rule {
	return supersede("snapshots", func(w rule.Window) []*rule.Finding {
		found := snapshots(w)
		for _, f := range found {
			if s := f.Item.Part.State; len(s.Attachments) > 0 && len(s.Output) <= len(Superseded) {
				f.Field = rule.Attachments // the little text that comes with pictures stays
			}
		}
		return found
	})
}

func snapshots(w rule.Window) []*rule.Finding {
	return latest(w, "a newer snapshot was taken later", func(x *rule.Item) string {
		if x.Ended() && rule.TakesSnapshots(x.Part.Tool) {
			return "snapshot"
		}
		return ""
	})
}

// Retries is S002 6: a call that succeeds supersedes the failures of the same call before it.
func Retries() rule.Rule { return supersede("retries", retries) }

func retries(w rule.Window) []*rule.Finding { return w.Once("retries", workedLater) }

func workedLater(w rule.Window) (found []*rule.Finding) {
	pending := map[rule.Identity][]*rule.Item{}
	for _, x := range w.Items() {
		if x.Call == nil {
			continue
		}
		key := x.Call.Same
		if x.Failed() {
			pending[key] = append(pending[key], x)
			continue
		}
		if len(pending[key]) == 0 {
			continue
		}
		pending[key] = slices.DeleteFunc(pending[key], func(old *rule.Item) bool {
			if rule.SameStep(old, x) {
				return false
			}
			found = append(found, superseded(old, "it worked later", x))
			return true
		})
	}
	return found
}
