package tools

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/agent/permission"
)

// aged gives files their times: the first is the oldest.
func (b *bench) aged(names ...string) {
	b.Helper()
	for i, name := range names {
		at := time.Date(2026, 1, 1, 0, i, 0, 0, time.UTC)
		if err := os.Chtimes(b.at(name), at, at); err != nil {
			b.Fatal(err)
		}
	}
}

func TestGlob_findsFilesNewestFirst(t *testing.T) {
	b := newBench(t, "a.go", "", "src/b.go", "", "src/deep/c.go", "", "src/d.ts", "", ".git/e.go", "", "out/f.go", "",
		".gitignore", "out/\n", "[id].go", "", "naïve 日.go", "")
	b.aged("naïve 日.go", "[id].go", "a.go", "src/deep/c.go", "src/b.go", "src/d.ts")
	for _, c := range []struct {
		in   args
		want string
	}{
		{args{"pattern": "*.go"}, "5 files, newest first:\nsrc/b.go\nsrc/deep/c.go\na.go\n[id].go\nnaïve 日.go"},
		{args{"pattern": "src/*.go"}, "1 file, newest first:\nsrc/b.go"},
		{args{"pattern": "src/**/*.go"}, "2 files, newest first:\nsrc/b.go\nsrc/deep/c.go"},
		{args{"pattern": "**/*.{ts,tsx}"}, "1 file, newest first:\nsrc/d.ts"},
		{args{"pattern": "*.go", "path": "src"}, "2 files, newest first:\nsrc/b.go\nsrc/deep/c.go"},
		{args{"pattern": "./src/b.go"}, "1 file, newest first:\nsrc/b.go"},
		{args{"pattern": b.at("src/*.ts")}, "1 file, newest first:\nsrc/d.ts"},
		{args{"pattern": "*.go", "limit": 1}, "5 files, newest first:\nsrc/b.go\n(4 more files not shown: narrow the " +
			"pattern, or raise limit.)"},
		{args{"pattern": "*.rs"}, "No file in . matches *.rs."},
		{args{"pattern": "out/*.go"}, "1 file, newest first:\nout/f.go"}, // asked for by name
	} {
		if got := b.run(Glob{}, c.in).Output; got != c.want {
			t.Errorf("%v: got\n%s\nwant\n%s", c.in, got, c.want)
		}
	}
	b.fails(Glob{}, args{"pattern": "[a"}, "not a pattern")
	b.fails(Glob{}, args{"pattern": "*", "path": "none"}, "no folder none")
}

func TestGlob_asksForTheFolderThatThePatternNames(t *testing.T) {
	b, outside := newBench(t, "a.go", ""), newBench(t, "b.go", "")
	if err := os.Symlink(outside.folder, b.at("link")); err != nil {
		t.Fatal(err)
	}
	for _, in := range []args{{"pattern": outside.at("*.go")}, {"pattern": "link/*.go"},
		{"pattern": "*.go", "path": "link"}, {"pattern": "../**/none-such-*"}} {
		b.asked = nil
		b.refuses = &permission.Refused{}
		if _, err := b.try(t.Context(), Glob{}, in); err == nil || len(b.asked) != 1 || b.asked[0].Inside {
			t.Errorf("%v: asked %+v, %v, want once for outside", in, b.asked, err)
		}
	}
	b.refuses = nil
	if got := b.run(Glob{}, args{"pattern": "**/*.go"}).Output; got != "1 file, newest first:\na.go" {
		t.Errorf("a walk followed the link: %s", got)
	}
}

func TestIgnored_readsWhatGitReads(t *testing.T) {
	b := newBench(t, ".git/HEAD", "", ".gitignore",
		"# comment\n\n*.log\n!keep.log\n/build\nnode_modules/\ndocs/*.tmp\nspace \\ \n**/gen/**\n\\#x\n",
		"a.log", "", "keep.log", "", "sub/b.log", "", "build/x", "", "sub/build/y", "", "node_modules/z", "",
		"sub/node_modules/z", "", "docs/a.tmp", "", "docs/deep/a.tmp", "",
		"gen/a/b", "", "#x", "", "sub/.gitignore", "*.txt\n!/b.log\n", "sub/c.txt", "", "c.txt", "", "sub/deep/d.txt",
		"")
	var got []string
	if err := walk(t.Context(), b.folder, func(e entry) error {
		if !e.folder && !strings.HasSuffix(e.name, ".gitignore") {
			got = append(got, e.name)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	want := "c.txt docs/deep/a.tmp keep.log sub/b.log sub/build/y"
	if strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	got = nil
	if err := walk(t.Context(), b.at("sub"), func(e entry) error {
		got = append(got,
			e.name)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := ".gitignore b.log build build/y deep"; strings.Join(got, " ") != want {
		t.Errorf("from a folder below: got %q, want %q", got, want)
	}
}

// Git itself says which files it would not ignore.
func TestIgnored_isWhatGitLeavesOut(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	random := rand.New(rand.NewPCG(3, 4))
	names := []string{"a", "b", "ab", "a.b", ".x", "c d"}
	patterns := []string{"a", "b", "*", "a*", "/a", "/a/", "a/", "!a", "!b", "a/b", "**/b", "a/**", "!a/b", "*.b", "?",
		"[ab]", "[!a]", "/*", "!/b", "a/*/b", "**", "{a,b}", "!*/", `\a`, "c d", "!/ab/", "a/**/b", ".*",
		"**/a/b", "# a", "", "a/** "}
	for range 60 {
		b := newBench(t)
		if out, err := exec.Command("git", "init", "-q", b.folder).CombinedOutput(); err != nil {
			t.Fatalf("git init: %v\n%s", err, out)
		}
		for range 14 {
			var words []string
			for range 1 + random.IntN(3) {
				words = append(words, names[random.IntN(len(names))])
			}
			name := strings.Join(words, "/")
			if os.MkdirAll(filepath.Dir(b.at(name)), 0o755) == nil {
				os.WriteFile(b.at(name), nil, 0o644) // where a folder has that name already, there is none
			}
		}
		for _, folder := range []string{".", "a"} {
			if info, err := os.Stat(b.at(folder)); err == nil && info.IsDir() {
				text := ""
				for range 1 + random.IntN(4) {
					text += patterns[random.IntN(len(patterns))] + "\n"
				}
				b.put(folder+"/.gitignore", text)
			}
		}
		out, err := exec.Command("git", "-C", b.folder, "ls-files", "-z", "--others", "--exclude-standard").Output()
		if err != nil {
			t.Fatal(err)
		}
		want := strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
		var got []string
		if err := walk(t.Context(), b.folder, func(e entry) error {
			if !e.folder {
				got = append(got, e.name)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			inner, _ := os.ReadFile(b.at("a/.gitignore"))
			t.Errorf("%q, in a %q: got %q, want %q", b.text(".gitignore"), inner, got, want)
		}
	}
}

func TestGrep_looksForAWordBeforeItMatches(t *testing.T) {
	for expression, want := range map[string]string{"foo": "foo", "fo+bar": "bar", "(?i)foo": "", "a|b": "",
		"(foo)+x*": "foo", "^func (One|Two)": "func ", "foo?": "fo", "(foo)?bar": "bar", "x{2,3}": "", "\uFFFD": "",
		".*": ""} {
		tree, err := syntax.Parse(expression, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		if got := needed(tree); got != want {
			t.Errorf("%s: got %q, want %q", expression, got, want)
		}
	}
}

func TestGrep_findsLines(t *testing.T) {
	b := newBench(t, "a.go", "package a\n\nfunc One() {}\r\n", "src/b.go", "func one() {}\nfunc two() {}", "src/c.ts",
		"function One()\n", "bin", "One\x00One", ".gitignore", "out\n", "out/x.go", "One\n", "日.txt", "ünï One\n")
	for _, c := range []struct {
		in   args
		want string
	}{
		{args{"pattern": "One"}, "3 lines in 3 files:\na.go\n  3: func One() {}\nsrc/c.ts\n  1: function " +
			"One()\n日.txt\n  1: ünï One"},
		{args{"pattern": "^func"}, "4 lines in 3 files:\na.go\n  3: func One() {}\nsrc/b.go\n  1: func one() {}\n  " +
			"2: func two() {}\nsrc/c.ts\n  1: function One()"},
		{args{"pattern": "}$", "include": "*.go", "path": "src"},
			"2 lines in 1 file:\nsrc/b.go\n  1: func one() {}\n  2: func two() {}"},
		{args{"pattern": "one", "ignoreCase": true, "include": "src/*"},
			"2 lines in 2 files:\nsrc/b.go\n  1: func one() {}\nsrc/c.ts\n  1: function One()"},
		{args{"pattern": "func", "limit": 1}, "4 lines in 3 files:\na.go\n  3: func One() {}\n(3 more lines not " +
			"shown: narrow the pattern or the folder, or raise limit.)"},
		{args{"pattern": "two", "path": "src/b.go"}, "1 line in 1 file:\nsrc/b.go\n  2: func two() {}"},
		{args{"pattern": "nowhere"}, "No line in . matches."},
	} {
		if got := b.run(Grep{}, c.in).Output; got != c.want {
			t.Errorf("%v: got\n%s\nwant\n%s", c.in, got, c.want)
		}
	}
	b.fails(Grep{}, args{"pattern": "(a"}, "not a regular expression", "missing closing")
	b.fails(Grep{}, args{"pattern": "a", "path": "none"}, "no folder none")
	b.fails(Grep{}, args{"pattern": "a", "include": "[a"}, "not a pattern")
}

func TestGrep_doesNotFollowLinks(t *testing.T) {
	b, outside := newBench(t, "a.txt", "x\n"), newBench(t, "secret.txt", "key\n")
	for _, name := range []string{"link", "folder"} {
		target := outside.at("secret.txt")
		if name == "folder" {
			target = outside.folder
		}
		if err := os.Symlink(target, b.at(name)); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.run(Grep{}, args{"pattern": "key"}).Output; got != "No line in . matches." {
		t.Errorf("got %s", got)
	}
}

func TestGrep_passesOverWhatTheRulesKeep(t *testing.T) {
	b := newBench(t, "a.txt", "key\n", ".env", "key\n", "secret/b.txt", "key\n", "ask/c.txt", "key\n")
	outside := newBench(t, "d.txt", "key\n", ".env", "key\n")
	p := permission.Policy{Directory: b.folder, Rules: []permission.Rule{{Target: "**/.env", Verdict: permission.Deny},
		{Target: "/**/.env", Verdict: permission.Deny}, {Action: "read", Target: "secret", Verdict: permission.Deny},
		{Tool: "grep", Target: "ask", Verdict: permission.Ask}}}
	if got, want := b.run(Grep{p}, args{"pattern": "key"}).Output,
		"1 line in 1 file:\na.txt\n  1: key\n(3 files passed over by the rules of this session.)"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// A folder that a person has just agreed to.
	if got, want := b.run(Grep{p}, args{"pattern": "key", "path": "ask"}).Output,
		"1 line in 1 file:\nask/c.txt\n  1: key"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := b.run(Grep{p}, args{"pattern": "key", "path": outside.folder}).Output,
		"1 line in 1 file:\n"+outside.at("d.txt")+"\n  1: key\n(1 file passed over by the rules of this "+
			"session.)"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestGrep_isShortWhateverItFinds(t *testing.T) {
	b := newBench(t, "long.js", strings.Repeat("é", 100_000)+"needle"+strings.Repeat("é", 100_000)+"\n", "many.txt",
		strings.Repeat(strings.Repeat("y", 250)+"\n", 1000))
	r := b.run(Grep{}, args{"pattern": "needle"})
	if len(r.Output) > 1000 || !strings.Contains(r.Output, "needle") || !strings.Contains(r.Output, "… é") {
		t.Errorf("got %d bytes", len(r.Output))
	}
	r = b.run(Grep{}, args{"pattern": "y", "limit": 1000})
	if len(r.Output) > readBytes || r.Metadata["matches"] != 1000 || r.Metadata["truncated"] != true {
		t.Errorf("got %d bytes, %v", len(r.Output), r.Metadata)
	}
}

func TestList_showsATree(t *testing.T) {
	b := newBench(t, "a.go", "", "src/b.go", "", "src/deep/c.go", "", "z.txt", "", ".git/x", "", "odd\nname", "")
	if err := os.Symlink("a.go", b.at("link")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		in   args
		want string
	}{
		{args{}, "./\n  a.go\n  link@\n  \"odd\\nname\"\n  src/\n    b.go\n    deep/\n      c.go\n  z.txt"},
		{args{"depth": 1}, "./\n  a.go\n  link@\n  \"odd\\nname\"\n  src/\n  z.txt"},
		{args{"path": "src"}, "src/\n  b.go\n  deep/\n    c.go"},
		{args{"limit": 6}, "./\n  a.go\n  link@\n  \"odd\\nname\"\n  src/\n    b.go\n  z.txt\n(2 more entries not " +
			"shown: list a folder below, or raise limit.)"},
	} {
		if got := b.run(List{}, c.in).Output; got != c.want {
			t.Errorf("%v: got\n%s\nwant\n%s", c.in, got, c.want)
		}
	}
	b.fails(List{}, args{"path": "a.go"}, "use read")
	b.fails(List{}, args{"path": "none"}, "no folder")
	if got := newBench(t).run(List{}, args{}).Output; got != "./ holds nothing." {
		t.Errorf("an empty folder: got %q", got)
	}
}

func TestList_aLargeTreeShowsItsUpperLevels(t *testing.T) {
	b := newBench(t)
	for i := range 30 {
		for j := range 20 {
			b.put(fmt.Sprintf("d%02d/f%02d", i, j), "")
		}
	}
	got := b.run(List{}, args{"limit": 50}).Output
	if strings.Count(got, "\n") != 51 || !strings.Contains(got, "  d29/\n") ||
		!strings.Contains(got, "(580 more entries not shown") {
		t.Errorf("got %d lines:\n%s", strings.Count(got, "\n"), got)
	}
}

// A link may lead to what never ends; git takes none for a .gitignore either.
func TestIgnored_takesNoLink(t *testing.T) {
	b := newBench(t, "a.txt", "", "rules", "a.txt\n")
	for _, target := range []string{"rules", "/dev/zero"} {
		os.Remove(b.at(".gitignore"))
		if err := os.Symlink(target, b.at(".gitignore")); err != nil {
			t.Skip(err)
		}
		if got, want := b.run(Glob{}, args{"pattern": "a*"}).Output, "1 file, newest first:\na.txt"; got != want {
			t.Errorf("with a link to %s: got %q, want %q", target, got, want)
		}
	}
}

// Each of its 2⁶⁰ ways would be tried with the name.
func TestGlob_aPatternOfTooManyWaysIsRefused(t *testing.T) {
	b := newBench(t, strings.Repeat("a", 60)+"b", "x", "one.go", "x", "two.txt", "x")
	many := strings.Repeat("{a,a}", 60) + "c"
	b.fails(Glob{}, args{"pattern": many}, "alternatives")
	b.fails(Grep{}, args{"pattern": "x", "include": many}, "alternatives")
	if r := b.run(Glob{}, args{"pattern": "{one,two,three}*.{go,txt,{md,rst}}"}); r.Metadata["matches"] != 2 {
		t.Errorf("%v", r.Metadata)
	}
}
