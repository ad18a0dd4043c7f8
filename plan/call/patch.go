package call

import "strings"

// patched understands a patch: the envelope of apply_patch, or a unified diff.
func patched(text, cwd string) []Action {
	text = Bound(text)
	var did []Action
	var old, fresh []string
	last := func() *Action {
		if len(did) == 0 {
			return &Action{}
		}
		return &did[len(did)-1]
	}
	flush := func() {
		a := last()
		a.Removed, a.Added = len(old), len(fresh)
		a.Old, a.New = strings.Join(old, "\n"), strings.Join(fresh, "\n")
		old, fresh = nil, nil
	}
	begin := func(op Op, name string) {
		flush()
		did = append(did, Action{Op: op, Path: Clean(name, cwd), Exact: true})
	}
	unified := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if name, ok := strings.CutPrefix(line, "*** "); ok {
			kind, name, _ := strings.Cut(name, ": ")
			switch kind {
			case "Add File":
				begin(Create, name)
			case "Update File":
				begin(Edit, name)
			case "Delete File":
				begin(Delete, name)
			case "Move to":
				if a := last(); a.Path != "" {
					a.Op, a.To = Move, Clean(name, cwd)
				}
			}
			continue
		}
		switch {
		case strings.HasPrefix(line, "--- "):
			unified = strings.TrimPrefix(side(line[4:]), "a/")
		case strings.HasPrefix(line, "+++ ") && unified != "":
			switch name := strings.TrimPrefix(side(line[4:]), "b/"); {
			case name == "/dev/null":
				begin(Delete, unified)
			case unified == "/dev/null":
				begin(Create, name)
			default:
				begin(Edit, name)
			}
			unified = ""
		case strings.HasPrefix(line, "+"):
			fresh = append(fresh, line[1:])
		case strings.HasPrefix(line, "-"):
			old = append(old, line[1:])
		}
	}
	flush()
	return did
}

// side is the file name in a line of a unified diff, its time stamp taken off.
func side(text string) string {
	name, _, _ := strings.Cut(text, "\t")
	return strings.TrimSpace(name)
}
