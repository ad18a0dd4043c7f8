package seat

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/text/span"
)

// made is a seat that is made up for a test.
type made struct {
	plan Plan
}

func (made) Name() string               { return "made" }
func (made) Versions() Versions         { return Versions{Program: "made", Tried: []string{"1.0.0"}} }
func (m made) Plan(Place) (Plan, error) { return m.plan, nil }
func (made) Check(Place) []Finding      { return nil }

func placeIn(dir string) Place {
	return Place{Home: filepath.Join(dir, "home"), Getenv: func(string) string { return "" },
		Winnow: os.Args[0], Version: "1.2.3", Receipts: filepath.Join(dir, "data", "seats")}
}

// tree is what is in a folder: paths, bytes and modes.
func tree(t interface{ Fatal(...any) }, dir string) map[string]string {
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var text []byte
		if !d.IsDir() {
			text, err = os.ReadFile(path)
		}
		found[path] = fmt.Sprintf("%v %s", info.Mode(), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func put(t interface{ Fatal(...any) }, path, text string) {
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o640)); err != nil {
		t.Fatal(err)
	}
}

// planIn writes two files and sets three members.
func planIn(home string) Plan {
	settings := filepath.Join(home, "settings.json")
	return Plan{
		Files: []File{{Path: filepath.Join(home, "a", "b", "plugin.js"), Text: []byte("one\n")},
			{Path: filepath.Join(home, "run.sh"), Text: []byte("two\n"), Mode: 0o755}},
		Members: []Member{
			{Path: settings, Keys: []string{"mcp", "winnow"}, Value: jsontext.Value(`{"command":"winnow"}`)},
			{Path: settings, Keys: []string{"status"}, Value: jsontext.Value(`"ours"`)},
			{Path: settings, Keys: []string{"hooks", "Stop"}, Value: jsontext.Value(`{"run":1}`), Append: true},
		},
	}
}

// Whatever was there, after installing (once, twice, by two versions) and taking it back the folder
// is as it was, to the byte and the mode.
func TestUninstall_leavesTheBytesAsTheyWere(t *testing.T) {
	settings := []string{"", "\n", "{}", "{}\n", "{\n  \"a\": 1\n}\n", `{"status":"theirs","mcp":{}}`,
		"{\n\t\"mcp\": {\"other\": {\"x\": [1, 2]}},\n\t\"hooks\": {\"Stop\": [ {\"run\": 2} ]}\n}", `{"hooks":{"Stop":[]}}`}
	root := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		dir := filepath.Join(root, fmt.Sprint(n))
		p := placeIn(dir)
		s := made{planIn(p.Home)}
		put(t, filepath.Join(p.Home, "keep"), "kept")
		if rapid.Bool().Draw(t, "settings") {
			put(t, filepath.Join(p.Home, "settings.json"), rapid.SampledFrom(settings).Draw(t, "text"))
		}
		if rapid.Bool().Draw(t, "foreign file") {
			put(t, filepath.Join(p.Home, "run.sh"), "somebody's")
		}
		before := tree(t, dir)
		for range rapid.IntRange(1, 3).Draw(t, "times") {
			if _, _, err := Install(p, s); err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "next version") {
				p.Version += ".1"
				s.plan.Files[0].Text = append(s.plan.Files[0].Text, "more\n"...)
				s.plan.Members[0].Value = jsontext.Value(fmt.Sprintf(`{"command":"winnow","n":%d}`, len(p.Version)))
			}
			if rapid.Bool().Draw(t, "without a file") {
				s.plan.Files = s.plan.Files[:1]
			}
		}
		if found, err := Examine(p, s); err != nil || slices.ContainsFunc(found, func(f Finding) bool { return f.Wrong }) {
			t.Fatalf("%+v, %v", found, err)
		}
		if _, err := Uninstall(p, s); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(filepath.Join(dir, "data")) // the folder of all that winnow keeps
		if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestInstall_twiceChangesNothing(t *testing.T) {
	p := placeIn(t.TempDir())
	s := made{planIn(p.Home)}
	for i := range 2 {
		changes, _, err := Install(p, s)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			if (c.Done == Kept) != (i == 1) {
				t.Errorf("time %d: %s is %s", i+1, c.Path, c.Done)
			}
		}
	}
}

func TestPreview_writesNothing(t *testing.T) {
	p := placeIn(t.TempDir())
	put(t, filepath.Join(p.Home, "settings.json"), "{}")
	before := tree(t, p.Home)
	changes, _, err := Preview(p, made{planIn(p.Home)})
	if err != nil || len(changes) != 3 {
		t.Fatalf("%v, %v", changes, err)
	}
	if diff := cmp.Diff(before, tree(t, p.Home)); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(p.Receipts); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a receipt: %v", err)
	}
}

// What somebody did since stays: a file of ours that they changed, and what they set beside ours.
func TestUninstall_leavesWhatOthersChanged(t *testing.T) {
	p := placeIn(t.TempDir())
	s := made{planIn(p.Home)}
	settings, script := filepath.Join(p.Home, "settings.json"), filepath.Join(p.Home, "run.sh")
	put(t, settings, `{"a": 1, "hooks": {"Stop": [{"run": 2}]}}`)
	if _, _, err := Install(p, s); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(settings)
	if err != nil {
		t.Fatal(err)
	}
	text = span.Set(text, "", []byte(`"their own"`), "status")
	text = span.Set(text, "", []byte(`true`), "new")
	put(t, settings, string(text))
	put(t, script, "two, and more\n")
	if _, _, err := Install(p, s); !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), script) {
		t.Errorf("installing over it: %v", err)
	}
	found, err := Examine(p, s)
	if err != nil || len(found) != 1 || found[0].Code != Changed || found[0].Path != script {
		t.Errorf("found %+v, %v", found, err)
	}
	changes, err := Uninstall(p, s)
	if err != nil {
		t.Fatal(err)
	}
	done := map[string]Done{}
	for _, c := range changes {
		done[filepath.Base(c.Path)] = c.Done
	}
	if diff := cmp.Diff(map[string]Done{"plugin.js": Removed, "run.sh": Left, "settings.json": Stripped}, done); diff != "" {
		t.Error(diff)
	}
	text, _ = os.ReadFile(settings)
	if want := `{"a": 1, "hooks": {"Stop": [{"run": 2}]},"status":"their own","new":true}`; !same(text, []byte(want)) {
		t.Errorf("the settings are %s, want %s", text, want)
	}
	if _, err := Uninstall(p, s); !errors.Is(err, ErrAbsent) {
		t.Errorf("once more: %v", err)
	}
}

func TestInstall_refusesSettingsThatItCannotRead(t *testing.T) {
	for _, text := range []string{"[]", "{", "{\"a\": 1,}", "{} {}", "// words\n{}"} {
		p := placeIn(t.TempDir())
		settings := filepath.Join(p.Home, "settings.json")
		put(t, settings, text)
		before := tree(t, p.Home)
		if _, _, err := Install(p, made{planIn(p.Home)}); err == nil || !strings.Contains(err.Error(), settings) {
			t.Errorf("%q: %v", text, err)
		}
		if diff := cmp.Diff(before, tree(t, p.Home)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestExamine_saysWhatIsWrong(t *testing.T) {
	p := placeIn(t.TempDir())
	s := made{planIn(p.Home)}
	if found, err := Examine(p, s); found != nil || err != nil {
		t.Errorf("not installed: %v, %v", found, err)
	}
	p.Winnow = filepath.Join(p.Home, "nothing")
	if _, _, err := Install(p, s); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(p.Home, "run.sh")); err != nil {
		t.Fatal(err)
	}
	p.Version = "2"
	found, err := Examine(p, s)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, f := range found {
		codes = append(codes, f.Code)
	}
	if diff := cmp.Diff([]string{Missing, Outdated, NoBinary}, codes); diff != "" {
		t.Error(diff)
	}
}

// Settings that others wrote: what is set is there, and what was there before is back to the byte.
func FuzzSettings(f *testing.F) {
	for _, text := range []string{"{}", "{\n  \"a\": 1\n}\n", `{"mcp":{"winnow":1},"hooks":{"Stop":[{"run":1}]}}`, `{"hooks":{"Stop":{}}}`, "", "[]",
		`{"a":1,"a":2}`, `{"mcp":null}`} {
		f.Add([]byte(text))
	}
	members := planIn("/home/ann").Members
	f.Fuzz(func(t *testing.T, text []byte) {
		set, err := with("settings.json", text, members)
		if err != nil {
			return
		}
		for _, m := range members {
			value := span.Get(set, m.Keys...)
			_, in := removed(value, m.Value)
			if m.Append && !in || !m.Append && !same(value, m.Value) {
				t.Fatalf("%s is %s, want %s in %s", m.Keys, value, m.Value, set)
			}
		}
		if left := without(set, text, members); span.Check([]byte(strings.TrimSpace(string(left)))) != nil {
			t.Fatalf("taken out of %s: %s", set, left)
		}
	})
}

func TestClaude_checkSaysWhatIsInTheWay(t *testing.T) {
	for _, c := range []struct {
		name, path, text, code string
	}{
		{"nothing", ".claude/settings.json", `{"model": "opus"}`, ""},
		{"hooks are off", ".claude/settings.json", "{\n  // for now\n  \"disableAllHooks\": true,\n}", ModOff},
		{"disabled", ".claude/settings.json", `{"enabledPlugins":{"winnow@skills-dir":false}}`, ModOff},
		{"another hook", ".claude/settings.json", `{"hooks":{"PreCompact":[{"hooks":[]}]}}`, OtherMod},
		{"another plugin", ".claude/skills/other/hooks/register.js", `on("session.compact", async () => {})`, OtherMod},
		{"another plugin that does something else", ".claude/skills/other/hooks/register.js", `on("turn.complete", async () => {})`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := placeIn(t.TempDir())
			put(t, filepath.Join(p.Home, filepath.FromSlash(c.path)), c.text)
			if _, _, err := Install(p, claude{}); err != nil {
				t.Fatal(err)
			}
			found, err := Examine(p, claude{})
			if err != nil {
				t.Fatal(err)
			}
			var codes []string
			for _, f := range found {
				codes = append(codes, f.Code)
			}
			if got := strings.Join(codes, " "); got != c.code {
				t.Errorf("found %q, want %q: %+v", got, c.code, found)
			}
		})
	}
}

// The plugin calls the program by its whole path, says which version it is, and is small.
func TestClaude_planIsFilledIn(t *testing.T) {
	p := placeIn(t.TempDir())
	p.Winnow, p.Version = `/opt/a "b"/winnow`, "v1.4.2-dirty"
	plan, err := claude{}.Plan(p)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"register.js": `const winnow = "/opt/a \"b\"/winnow";`, ".mcp.json": `"command": "/opt/a \"b\"/winnow"`, "plugin.json": `"version": "1.4.2"`,
	}
	lines := 0
	for _, f := range plan.Files {
		name := filepath.Base(f.Path)
		if !strings.Contains(string(f.Text), want[name]) {
			t.Errorf("%s has no %s:\n%s", name, want[name], f.Text)
		}
		delete(want, name)
		if filepath.Ext(name) == ".js" {
			lines += strings.Count(string(f.Text), "\n")
		}
	}
	if len(want) > 0 || lines >= 400 {
		t.Errorf("missing: %v; %d lines of JavaScript", want, lines)
	}
}
