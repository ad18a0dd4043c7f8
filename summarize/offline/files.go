package offline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/recall"
	"github.com/winnowhq/winnow/text/quantity"
)

// relevant lists the files to open first: changed often or lately, or named in a failure.
func (f *facts) relevant() section {
	s := section{heading: headFiles}
	named := ""
	for i := range f.Failures {
		named += strings.Join(f.Failures[i].Lines, "\n") + "\n"
	}
	type ranked struct {
		text  string
		score int
	}
	var all []ranked
	seen := map[string]bool{}
	for i := range f.Files {
		file := &f.Files[i]
		maybe := file.Perhaps != "" && file.Perhaps != call.Delete
		if file.Gone() && !maybe || file.Reads+file.Creates+file.Edits == 0 && !maybe || passing(file.Path) {
			continue
		}
		name := f.short(file.Path)
		score := 4*min(10, file.Edits+file.Creates) + min(8, file.Reads) + f.recentCall(file.At, 30) + f.focused(name)
		base := name[strings.LastIndexByte(name, '/')+1:]
		failing := len(base) > 3 && strings.Contains(named, base)
		if failing {
			score += 20
		}
		var how []string
		switch {
		case file.Creates+file.Edits+file.Deletes > 0 || file.From != "":
			how = append(how, "changed")
		case file.Perhaps != "":
			how = append(how, "perhaps "+recall.Past(file.Perhaps))
		}
		if file.Reads > 0 {
			how = append(how, "read "+quantity.Times(file.Reads))
		}
		if failing {
			how = append(how, "named by what fails")
		}
		all = append(all, ranked{code(name, 200) + ": " + strings.Join(how, ", "), score})
		seen[first(code(name, 200))] = true
	}
	for i, it := range f.before.items(headFiles) {
		if !seen[first(it.text)] {
			all = append(all, ranked{it.text, 8 - min(8, i)})
		}
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return b.score - a.score })
	for i, r := range all {
		s.add(max(4, 58-2*i), r.text)
	}
	s.items = f.heaviest(headFiles, s.items, 16)
	if n := len(all) - len(s.items); n > 0 {
		s.add(5, fmt.Sprintf("(%d more left out)", n))
	}
	return s
}

// passing reports whether a path is in a folder for temporary files.
func passing(name string) bool {
	return strings.HasPrefix(name, "/tmp/") || strings.HasPrefix(name, "/private/tmp/") ||
		strings.HasPrefix(name, "/var/folders/") || strings.Contains(name, `\Temp\`) ||
		strings.Contains(name, "/Temp/") || strings.Contains(name, "/tool-results/")
}
