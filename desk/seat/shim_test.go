package seat

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// What is put into OpenCode and pi runs as it is meant to, with products that are made up: no
// answer, a wrong one and a program that fails change nothing.
func TestShims_doWhatTheProgramAnswers(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	if out, err := exec.Command(node, "-p", `+process.versions.node.split(".")[0] >= 23`).Output(); err != nil ||
		strings.TrimSpace(string(out)) != "true" {
		t.Skip("node is older than 23, which runs TypeScript")
	}
	for _, s := range []Seat{openCode{}, pi{}} {
		t.Run(s.Name(), func(t *testing.T) {
			p := placeIn(t.TempDir())
			p.Winnow = filepath.Join(t.TempDir(), "the winnow")
			script := "#!/bin/sh\ncat >/dev/null\n[ -n \"$WINNOW_ANSWER\" ] || exit 1\nprintf %s \"$WINNOW_ANSWER\"\n"
			if err := os.WriteFile(p.Winnow, []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			changes, _, err := Install(p, s)
			if err != nil || len(changes) != 1 {
				t.Fatalf("%+v, %v", changes, err)
			}
			path := changes[0].Path
			if filepath.Ext(path) == ".js" { // OpenCode reads it as a module
				module := filepath.Join(filepath.Dir(path), "package.json")
				if err := os.WriteFile(module, []byte(`{"type":"module"}`), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			out, err := exec.Command(node, filepath.Join("testdata", s.Name()+".mjs"), path).CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// The adapters are small enough to be read before they are trusted, and say what they were tried
// with.
func TestShims_areSmall(t *testing.T) {
	for name, text := range map[string][]byte{"1.18.33": openCodePlugin, "0.87.1": piExtension} {
		if n := strings.Count(string(text), "\n"); n >= 400 {
			t.Errorf("it has %d lines", n)
		}
		head, _, _ := strings.Cut(string(text), "import")
		if !strings.Contains(head, name) || !strings.Contains(head, "winnow VERSION.") {
			t.Errorf("the head does not name the version %s: %s", name, head)
		}
	}
}

func TestCodex_keepsWhatIsThere(t *testing.T) {
	p := placeIn(t.TempDir())
	config := filepath.Join(p.Home, ".codex", "config.toml")
	for name, before := range map[string]string{
		"nothing": "", "settings": "model = \"m\"\n[analytics]\nenabled = false", "commented": "# [mcp_servers.winnow]\n",
	} {
		if err := os.MkdirAll(filepath.Dir(config), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(config, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, _, err := Install(p, codex{}); err != nil {
				t.Fatal(name, err)
			}
		}
		text, _ := os.ReadFile(config)
		if strings.Count(string(text), "\n[mcp_servers.winnow]") != 1 || !strings.HasPrefix(string(text), before) {
			t.Errorf("%s: %s", name, text)
		}
		after, theirs := before, "\n[projects.\"/p\"]\ntrust_level = \"trusted\"\n"
		if name == "settings" { // Codex writes to its file as well: that stays, and only the table goes
			text, after = append(text, theirs...), before+"\n"+theirs
		}
		if err := os.WriteFile(config, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Uninstall(p, codex{}); err != nil {
			t.Fatal(name, err)
		}
		if is, _ := os.ReadFile(config); string(is) != after {
			t.Errorf("%s: after uninstalling %q, want %q", name, is, after)
		}
	}
}

func TestCodex_aTableOfSomebodyElseIsRefused(t *testing.T) {
	p := placeIn(t.TempDir())
	config := filepath.Join(p.Home, ".codex", "config.toml")
	if err := os.MkdirAll(filepath.Dir(config), 0o755); err != nil {
		t.Fatal(err)
	}
	own := "[mcp_servers.winnow] # mine\ncommand = \"other\"\n"
	if err := os.WriteFile(config, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Install(p, codex{}); err == nil || !strings.Contains(err.Error(), "did not write") {
		t.Errorf("installed over it: %v", err)
	}
	if is, _ := os.ReadFile(config); string(is) != own {
		t.Errorf("it is %q now", is)
	}
}

// A hook that Codex does not trust is not run, and codex exec does not say so: doctor has to.
func TestCodexResults_saysWhatIsNotTrusted(t *testing.T) {
	p := placeIn(t.TempDir())
	p.Winnow = "/opt/it's winnow/bin"
	if _, plan, err := Install(p, codexResults{}); err != nil || len(plan.Notes) == 0 {
		t.Fatal(plan.Notes, err)
	}
	hooks := filepath.Join(p.Home, ".codex", "hooks.json")
	if text, _ := os.ReadFile(hooks); !strings.Contains(string(text), `'/opt/it'\\''s winnow/bin' shape --product codex`) {
		t.Errorf("the command is %s", text)
	}
	if found := (codexResults{}).Check(p); len(found) != 1 || found[0].Code != "seat-untrusted" {
		t.Errorf("%+v", found)
	}
	write := func(state string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(p.Home, ".codex", "config.toml"), []byte(state), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	key := "[hooks.state.\"" + hooks + ":post_tool_use:0:0\"]\n"
	write(key + "trusted_hash = \"sha256:00\"\n")
	if found := (codexResults{}).Check(p); len(found) != 1 || !strings.Contains(found[0].What, "as it is now") {
		t.Errorf("%+v", found)
	}
	var had codexHooks
	if text, _ := os.ReadFile(hooks); json.Unmarshal(text, &had) != nil {
		t.Fatalf("%s", text)
	}
	hash := "trusted_hash = \"" + trustHash(nil, had.Hooks.PostToolUse[0].Hooks[0]) + "\"\n"
	write(key + hash + "enabled = false\n")
	if found := (codexResults{}).Check(p); len(found) != 1 {
		t.Errorf("switched off: %+v", found)
	}
	write("model = \"m\"\n[hooks.state]\n" + key + hash + "[tui]\nenabled = false\n")
	if found := (codexResults{}).Check(p); len(found) != 0 {
		t.Errorf("%+v", found)
	}
}

// The hash is made as Codex 0.169.0 makes it: TestCodex_seatIsTrusted of interop has it made there.
func TestTrustHash_isCodexs(t *testing.T) {
	seconds := 10
	h := codexHandler{Type: "command", Command: "/opt/winnow shape --product codex --quiet", Timeout: &seconds}
	if got := trustHash(nil, h); got != "sha256:dbd43ffb68b0e3c38abdb9e6e9b318065317a5a47e07e34ef42de7dc76b6c291" {
		t.Errorf("%s", got)
	}
}

func TestRivals_areNamed(t *testing.T) {
	p := placeIn(t.TempDir())
	path := (openCode{}).file(p)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"pruner.js": `export const P = () => ({"experimental.chat.messages.transform": f})`, "notes.js": "export const N = () => ({})",
	} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if found := (openCode{}).Check(p); len(found) != 1 || filepath.Base(found[0].Path) != "pruner.js" {
		t.Errorf("%+v", found)
	}
}

// Whatever is in Codex's settings is there again after uninstalling, and its own lines stay whatever
// Codex wrote in between.
func FuzzCodex_anyConfigComesBack(f *testing.F) {
	f.Add("", "")
	f.Add("model = \"m\"", "[projects.\"/p\"]\n")
	f.Add("[mcp_servers.winnow]", "")
	f.Fuzz(func(t *testing.T, before, later string) {
		p := placeIn(t.TempDir())
		config := filepath.Join(p.Home, ".codex", "config.toml")
		if err := os.MkdirAll(filepath.Dir(config), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(config, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := Install(p, codex{})
		if err != nil {
			if is, _ := os.ReadFile(config); string(is) != before {
				t.Errorf("refused (%v), and it is %q", err, is)
			}
			return
		}
		text, _ := os.ReadFile(config)
		if err := os.WriteFile(config, append(text, later...), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Uninstall(p, codex{}); err != nil {
			t.Fatal(err)
		}
		is, _ := os.ReadFile(config)
		whole := before
		if before != "" && !strings.HasSuffix(before, "\n") && later != "" {
			whole += "\n"
		}
		if string(is) != whole+later {
			t.Errorf("it is %q, was %q and %q", is, before, later)
		}
	})
}
