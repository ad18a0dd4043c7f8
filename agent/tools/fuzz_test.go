package tools

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/session"
)

// Whatever a model writes as arguments, a tool answers soon: with a result that can be stored, or
// with an error that says something and has changed nothing. What lies outside of the working
// folder stays as it is. Commands are not run here, and nothing is fetched.
func FuzzRun_leavesTheRestAlone(f *testing.F) {
	for _, seed := range [][2]string{
		{"read", `{"filePath":"a.go","offset":"2","limit":1e300}`}, {"read", `{"filePath":"../outside"}`},
		{"read", `{"file_path":"a.go","offset":9223372036854775807,"limit":9223372036854775807}`},
		{"write", `{"filePath":"b/c.go","content":"\u0000"}`},
		{"edit", `{"filePath":"a.go","oldString":"one","newString":"two"}`},
		{"edit", `{"filePath":"a.go","oldString":"","newString":"x","replaceAll":"true"}`},
		{"glob", `{"pattern":"**/{a,b}*.{go,txt}"}`}, {"glob", `{"pattern":"/etc/*","limit":1}`},
		{"grep", `{"pattern":"(a|b)+$","include":"*.{go,txt}","path":"."}`},
		{"grep", `{"pattern":"o","context":5,"limit":2}`},
		{"list", `{"path":"sub"}`}, {"todowrite", `{"todos":[{"content":"x","status":"done"}]}`},
		{"todowrite", `{"todos":"[]"}`}, {"todoread", `{}`}, {"skill", `{"name":"sail"}`},
		{"task", `{"prompt":"x"}`},
		{"read", "{\"filePath\":\"\xff\\u0000\"}"}, {"list", `[]`}, {"list", `{"path":null}`},
		{"read", `{"filePath":"~/x"}`}, {"edit", `{"filePath":"a.go","oldString":"one","newString":"two`},
		{"write", `{"filePath":"","content":""}`},
		{"write", `{"filePath":"out/x","content":"through a link"}`},
		{"edit", `{"filePath":"out","oldString":"nobody's","newString":"mine"}`},
	} {
		f.Add(seed[0], []byte(seed[1]), true)
		f.Add(seed[0], []byte(seed[1]), false)
	}
	root, err := filepath.EvalSymlinks(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	const others = "nobody's"
	files := map[string]string{
		"outside": others, "work/a.go": "one\n\ttwo\r\nthree", "work/sub/b.txt": "\x00\x01binary",
		"work/sub/deep/c.go": strings.Repeat("long line ", 300),
		"work/.gitignore":    "*.log\n", "work/x.log": "no",
		"work/.winnow/skills/sail/SKILL.md": "---\nname: sail\n---\nHoist it.\n",
	}
	f.Fuzz(func(t *testing.T, name string, input []byte, allowed bool) {
		above, err := os.MkdirTemp(root, "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(above)
		folder := filepath.Join(above, "work")
		for n, text := range files {
			at := filepath.Join(above, filepath.FromSlash(n))
			if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755),
				os.WriteFile(at, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("../outside", filepath.Join(folder, "out")); err != nil {
			t.Skip(err)
		}
		before := contentsOf(t, above)
		var tool agent.Tool
		for _, one := range Standard(Options{Directory: folder, Without: []string{"bash", "webfetch"}}) {
			if one.Name() == name {
				tool = one
			}
		}
		if tool == nil {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		r, err := tool.Run(ctx, agent.Call{SessionID: "ses_1", ID: "call_1", Input: jsontext.Value(input),
			Directory: folder, Ask: func(_ context.Context, p agent.Permission) error {
				if !allowed || !p.Inside {
					return errors.New("no")
				}
				return nil
			}})
		after := contentsOf(t, above)
		switch {
		case ctx.Err() != nil:
			t.Fatalf("%s %q took longer than any such call may", name, input)
		case err != nil && err.Error() == "":
			t.Errorf("%s %q: an error without words", name, input)
		case err == nil:
			if _, err := json.Marshal(r.Metadata, session.ReadOptions()); err != nil {
				t.Errorf("%s %q: the metadata %v cannot be stored: %v", name, input, r.Metadata, err)
			}
			if !utf8.ValidString(r.Output) {
				t.Errorf("%s %q: no UTF-8 for the model: %q", name, input, r.Output)
			}
		}
		if (!allowed || err != nil) && !maps.Equal(before, after) {
			t.Errorf("%s %q (%v) changed\n%q\nto\n%q", name, input, err, before, after)
		}
		if after["outside"] != others {
			t.Errorf("%s %q changed what lies outside: %q", name, input, after["outside"])
		}
	})
}

// contentsOf are all files below a folder, and where its links lead.
func contentsOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(folder, func(at string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(folder, at)
		switch {
		case err != nil:
			return err
		case e.IsDir():
			all[rel] = "folder"
		case e.Type()&fs.ModeSymlink != 0:
			all[rel], err = os.Readlink(at)
		default:
			var text []byte
			text, err = os.ReadFile(at)
			all[rel] = string(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A skill is told of in one line of text, whatever its file says, and its instructions are a piece
// of the file.
func FuzzFrontMatter(f *testing.F) {
	for _, seed := range []string{"", "---\nname: x\ndescription: >\n  two\n  lines\n---\nDo it.\n", "---\n",
		"---\n---", "---\nname: \"a\": b\n---\n", "---\n:\n: x\n#a: b\nname:\n\tx\n---x\ny", "# Sail\n\x1b[2J",
		"---\nname: \xff\n\n---\n", "------"} {
		f.Add(seed)
	}
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		head, body := frontMatter(text)
		if !strings.HasSuffix(text, body) {
			t.Errorf("the body %q is no end of %q", body, text)
		}
		for name, value := range head {
			if name == "" || strings.Contains(name, "\n") || strings.Contains(value, "\n") {
				t.Errorf("%q has a member %q: %q", text, name, value)
			}
		}
		if again, rest := frontMatter(body); len(head) == 0 && len(again) > 0 && rest == body {
			t.Errorf("%q has a head that is not taken off", text)
		}
		at := filepath.Join(root, "skills", "one", "SKILL.md")
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
		told := Skill{FindSkills(root, filepath.Join(root, "skills"))}.Description()
		if lines := strings.Count(told, "\n"); lines != 1 || len(told) > 2000 || !utf8.ValidString(told) {
			t.Errorf("%q is told in %d lines: %q", text, lines, told)
		}
	})
}

// What a file of ignored names says holds for names alone, and its last word counts.
func FuzzIgnored(f *testing.F) {
	for _, seed := range []string{"*.log\n", "!a\n", "/a/**\n", "**/x/**/y", "a\\ ", "[", "{a,b}", "\\", "/", "!",
		"a/**/", "*****************************b\n", "[a-", "\xff*"} {
		f.Add(seed, "a/b/c.log")
	}
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, lines, name string) {
		if err := os.WriteFile(filepath.Join(root, ".gitignore"), []byte(lines), 0o644); err != nil {
			t.Fatal(err)
		}
		g := ignored(nil).with(root, "")
		out := g.leavesOut(name, false)
		if out && len(g) == 0 {
			t.Errorf("%q is left out by no line of %q", name, lines)
		}
		if out && !g.leavesOut(name, true) {
			t.Errorf("%q is left out of %q as a file and not as a folder", name, lines)
		}
		// One more line has the last word on all names that it is about.
		if strings.HasSuffix(name, "z") || strings.ContainsAny(name, "/\n\\") || name == "" {
			return
		}
		for _, last := range []bool{true, false} {
			more := append(g[:len(g):len(g)], ignoreLine{pattern: "**", not: !last})
			if more.leavesOut(name, false) != last {
				t.Errorf("%q behind a last line %v of %q", name, last, lines)
			}
		}
	})
}
