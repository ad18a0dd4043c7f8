package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestPep(t *testing.T) {
	for version, want := range map[string]string{"1.2.3": "1.2.3", "1.2.3-rc.1": "1.2.3rc1", "1.2.3-beta2": "1.2.3b2",
		"0.0.1-next": "0.0.1.dev0"} {
		if got := pep(version); got != want {
			t.Errorf("%s is %s, want %s", version, got, want)
		}
	}
}

func TestChanges(t *testing.T) {
	const log = "# Changes\n\n## Unreleased\n\n- new\n\n## 1.0.0\n\n- first\n- second\n"
	for version, want := range map[string]string{"Unreleased": "- new\n", "1.0.0": "- first\n- second\n"} {
		if got, err := changes(log, version); err != nil || got != want {
			t.Errorf("%s: %q, %v", version, got, err)
		}
	}
	if _, err := changes(log, "1.0"); err == nil {
		t.Error("a version that is not there has changes")
	}
	text, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	if section, err := changes(string(text), "Unreleased"); err != nil || section == "\n" {
		t.Errorf("CHANGELOG.md: %v", err)
	}
}

// Each platform has a package with its program that can be run, and the package for all names each
// of them at its own version.
func TestBuild(t *testing.T) {
	folder := t.TempDir()
	t.Chdir("../..")
	var artifacts []map[string]any
	for _, platform := range [][2]string{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"},
		{"windows", "amd64"}, {"windows", "arm64"}} {
		path := filepath.Join(folder, platform[0]+platform[1])
		write(t, path, "program of "+platform[0])
		artifacts = append(artifacts, map[string]any{"path": path, "goos": platform[0], "goarch": platform[1],
			"type": "Binary", "extra": map[string]any{"ID": "winnow"}})
	}
	artifacts = append(artifacts, map[string]any{"path": "/nowhere", "type": "Binary", "extra": map[string]any{"ID": "winnowd"}})
	list, err := json.Marshal(artifacts)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "artifacts.json"), string(list))
	write(t, filepath.Join(folder, "metadata.json"), `{"version": "1.2.3-rc.1"}`)
	for _, name := range []string{"winnow", "hooks", "ai-sdk", "mastra", "langchain"} {
		write(t, filepath.Join(folder, name+".js"), "export const winnow = 1;")
		write(t, filepath.Join(folder, name+".d.ts"), "export const winnow: number;")
	}
	out := filepath.Join(folder, "out")
	if err := build(folder, folder, out); err != nil {
		t.Fatal(err)
	}
	files, names := untar(t, filepath.Join(out, "npm", "winnowhq-winnow-win32-arm64-1.2.3-rc.1.tgz"))
	if files["package/bin/winnow.exe"] != "program of windows" || !slices.Contains(names, "package/bin/winnow.exe 755") {
		t.Errorf("of Windows: %q", names)
	}
	files, names = untar(t, filepath.Join(out, "npm", "winnowhq-winnow-1.2.3-rc.1.tgz"))
	var m manifest
	if err := json.Unmarshal([]byte(files["package/package.json"]), &m); err != nil {
		t.Fatal(err)
	}
	if len(m.Optional) != 6 || m.Optional["@winnowhq/winnow-darwin-x64"] != "1.2.3-rc.1" {
		t.Errorf("it wants %v", m.Optional)
	}
	if !slices.Contains(names, "package/bin/winnow.js 755") || files["package/winnow.d.ts"] == "" {
		t.Errorf("it has %q", names)
	}
	for path, entry := range m.Exports {
		for kind, name := range entry.(map[string]any) {
			if files["package/"+strings.TrimPrefix(name.(string), "./")] == "" {
				t.Errorf("%s: there is no %s for %s", path, name, kind)
			}
		}
	}
	if len(m.Exports) != 4 || m.Exports["./ai-sdk"] == nil || files["package/hooks.js"] == "" {
		t.Errorf("it exports %v", m.Exports)
	}
	for framework := range m.Peers {
		if meta, _ := m.PeersMeta[framework].(map[string]any); meta["optional"] != true {
			t.Errorf("%s is wanted", framework)
		}
	}
	if len(m.Peers) != 4 {
		t.Errorf("its frameworks are %v", m.Peers)
	}
	for _, plugin := range []string{"opencode", "pi"} {
		files, _ := untar(t, filepath.Join(out, "npm", "winnowhq-"+plugin+"-1.2.3-rc.1.tgz"))
		text := files["package/winnow.js"] + files["package/winnow.ts"]
		if !strings.HasPrefix(text, "// @winnowhq/"+plugin+" 1.2.3-rc.1.") || !strings.Contains(text, `const program = "winnow"`) {
			t.Errorf("the plugin of %s begins %.100q", plugin, text)
		}
	}
	wheels, err := filepath.Glob(filepath.Join(out, "python", "winnowhq-1.2.3rc1-py3-none-*.whl"))
	if err != nil || len(wheels) != 6 {
		t.Fatalf("wheels: %q, %v", wheels, err)
	}
	z, err := zip.OpenReader(filepath.Join(out, "python", "winnowhq-1.2.3rc1-py3-none-macosx_11_0_arm64.whl"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	record := ""
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/scripts/winnow") && f.Mode() != 0o755 {
			t.Errorf("%s has the mode %v", f.Name, f.Mode())
		}
		if strings.HasSuffix(f.Name, "/RECORD") {
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(r)
			record = string(text)
		}
	}
	names = nil
	for _, f := range z.File {
		names = append(names, f.Name)
		if !strings.Contains(record, f.Name+",") {
			t.Errorf("RECORD lacks %s", f.Name)
		}
	}
	for _, module := range []string{"winnow/__init__.py", "winnow_prune.py", "winnow_pydantic_ai.py",
		"winnow_openai_agents.py", "winnow_langchain.py", "winnow_llama_index.py"} {
		if !slices.Contains(names, module) {
			t.Errorf("the wheel lacks %s", module)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// untar reads a package: the text of each file, and the names with their modes.
func untar(t *testing.T, path string) (files map[string]string, names []string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	r := tar.NewReader(z)
	for h, err := r.Next(); err != io.EOF; h, err = r.Next() {
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = string(text)
		names = append(names, fmt.Sprintf("%s %o", h.Name, h.Mode))
	}
	return files, names
}
