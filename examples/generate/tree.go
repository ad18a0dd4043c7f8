package main

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// root is the folder in which the session worked.
const root = "/home/dev/larder"

// tree is the simulated file tree: path from root → content.
type tree struct{ files map[string]string }

func newTree(files map[string]string) *tree { return &tree{files} }

// names are the files below a folder ("" is the root), sorted.
func (t *tree) names(under string) []string {
	var names []string
	for name := range t.files {
		if under == "" || strings.HasPrefix(name, under+"/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// read shows a file with line numbers, all of it when limit is 0.
func (t *tree) read(name string, offset, limit int) (string, bool) {
	content, ok := t.files[name]
	if !ok {
		return "", false
	}
	lines := strings.Split(strings.TrimSuffix(content, "\n"), "\n")
	first, last := max(offset, 1), len(lines)
	if limit > 0 {
		last = min(last, first+limit-1)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<path>%s/%s</path>\n<type>file</type>\n<content>\n", root, name)
	for n := first; n <= last; n++ {
		fmt.Fprintf(&b, "%d: %s\n", n, lines[n-1])
	}
	if last < len(lines) {
		fmt.Fprintf(&b, "\n(%d more lines; go on at line %d)\n</content>", len(lines)-last, last+1)
	} else {
		fmt.Fprintf(&b, "\n(end of file, %d lines)\n</content>", len(lines))
	}
	return b.String(), true
}

// edit replaces the only occurrence of a text and returns a unified diff.
func (t *tree) edit(name, before, after string) (diff string, err error) {
	content, ok := t.files[name]
	if !ok {
		return "", fmt.Errorf("no file %s", name)
	}
	if n := strings.Count(content, before); n != 1 {
		return "", fmt.Errorf("%s: the text occurs %d times:\n%s", name, n, before)
	}
	at := strings.Index(content, before)
	line := strings.Count(content[:at], "\n")
	t.files[name] = content[:at] + after + content[at+len(before):]
	old, fresh := strings.Split(content, "\n"), strings.Split(t.files[name], "\n")
	head := min(line, len(fresh))
	for head < min(len(old), len(fresh)) && old[head] == fresh[head] {
		head++
	}
	tail := 0
	for tail < min(len(old), len(fresh))-head && old[len(old)-1-tail] == fresh[len(fresh)-1-tail] {
		tail++
	}
	from := max(0, head-3)
	to := min(3, tail)
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s/%s\n+++ %s/%s\n@@ -%d,%d +%d,%d @@\n", root, name, root, name,
		from+1, len(old)-tail+to-from, from+1, len(fresh)-tail+to-from)
	for _, l := range old[from:head] {
		b.WriteString(" " + l + "\n")
	}
	for _, l := range old[head : len(old)-tail] {
		b.WriteString("-" + l + "\n")
	}
	for _, l := range fresh[head : len(fresh)-tail] {
		b.WriteString("+" + l + "\n")
	}
	for _, l := range old[len(old)-tail : len(old)-tail+to] {
		b.WriteString(" " + l + "\n")
	}
	return b.String(), nil
}

// grep lists the lines of files below a folder that match a pattern.
func (t *tree) grep(pattern, under string) string {
	re := regexp.MustCompile(pattern)
	var b strings.Builder
	found := 0
	for _, name := range t.names(under) {
		first := true
		for n, line := range strings.Split(t.files[name], "\n") {
			if !re.MatchString(line) {
				continue
			}
			if first {
				fmt.Fprintf(&b, "\n%s/%s:\n", root, name)
				first = false
			}
			fmt.Fprintf(&b, "  Line %d: %s\n", n+1, strings.TrimSpace(line))
			found++
		}
	}
	if found == 0 {
		return "No files found"
	}
	return fmt.Sprintf("Found %d matches\n%s", found, strings.TrimPrefix(b.String(), "\n"))
}

// list draws the tree.
func (t *tree) list() string {
	var b strings.Builder
	b.WriteString(root + "/\n")
	last := ""
	for _, name := range t.names("") {
		dir := path.Dir(name)
		if dir != last && dir != "." {
			fmt.Fprintf(&b, "  %s/\n", dir)
		}
		last = dir
		indent := "  "
		if dir != "." {
			indent = "    "
		}
		b.WriteString(indent + path.Base(name) + "\n")
	}
	return b.String()
}

var testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// testLog is what "go test" prints for the packages below a folder: failing tests with their lines.
func (t *tree) testLog(under string, verbose bool, failing map[string]string) string {
	packages := map[string][]string{}
	var order []string
	for _, name := range t.names(under) {
		if !strings.HasSuffix(name, ".go") {
			continue
		}
		dir := path.Dir(name)
		if _, ok := packages[dir]; !ok {
			order = append(order, dir)
			packages[dir] = nil
		}
		if strings.HasSuffix(name, "_test.go") {
			for _, m := range testFunc.FindAllStringSubmatch(t.files[name], -1) {
				packages[dir] = append(packages[dir], m[1])
			}
		}
	}
	var b strings.Builder
	failed := false
	for i, dir := range order {
		tests := packages[dir]
		if len(tests) == 0 {
			fmt.Fprintf(&b, "?   \tlarder.example/larder/%s\t[no test files]\n", dir)
			continue
		}
		bad := false
		for j, test := range tests {
			lines, isBad := failing[test]
			bad = bad || isBad
			if verbose {
				fmt.Fprintf(&b, "=== RUN   %s\n", test)
				if strings.HasSuffix(dir, "web") {
					for k := range 3 + len(test)%3 {
						fmt.Fprintf(&b, "time=2026-03-02T09:%02d:%02d.%03d+01:00 level=INFO msg=request method=%s path=/%s status=%d bytes=%d duration=%dµs\n",
							(j*3+k)%60, (j*7+k)%60, (j*131+k*37)%1000, []string{"GET", "POST", "PUT", "DELETE"}[k%4],
							strings.ToLower(strings.Split(strings.TrimPrefix(test, "Test"), "_")[0])+"s",
							[]int{200, 201, 404, 204}[k%4], 40+(j*97+k*53)%900, 60+(j*41+k*17)%400)
					}
				}
			}
			switch {
			case isBad:
				fmt.Fprintf(&b, "%s--- FAIL: %s (0.%02ds)\n", lines, test, j%7)
			case verbose:
				fmt.Fprintf(&b, "--- PASS: %s (0.%02ds)\n", test, j%7)
			}
		}
		if bad {
			failed = true
			fmt.Fprintf(&b, "FAIL\nFAIL\tlarder.example/larder/%s\t0.%03ds\n", dir, 12+i*9)
		} else {
			if verbose {
				b.WriteString("PASS\n")
			}
			fmt.Fprintf(&b, "ok  \tlarder.example/larder/%s\t0.%03ds\n", dir, 12+i*9)
		}
	}
	if failed {
		b.WriteString("FAIL\n")
	}
	return b.String()
}
