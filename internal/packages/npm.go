package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// scope is that of the packages on npm.
const scope = "@winnowhq/"

// hooks are the entry points for frameworks, each with the packages that it imports types of.
var hooks = map[string]map[string]string{
	"ai-sdk":    {"ai": ">=7"},
	"mastra":    {"@mastra/core": ">=1.71"},
	"langchain": {"langchain": ">=1", "@langchain/core": ">=1"},
}

// nodes are platforms as Node names them.
var nodes = map[string]string{"linux": "linux", "darwin": "darwin", "windows": "win32", "amd64": "x64", "arm64": "arm64"}

// manifest is a package.json.
type manifest struct {
	Name        string            `json:"name"`
	Version     string            `json:"version"`
	Description string            `json:"description"`
	License     string            `json:"license"`
	Repository  string            `json:"repository"`
	Type        string            `json:"type,omitempty"`
	Engines     map[string]string `json:"engines,omitempty"`
	OS          []string          `json:"os,omitempty"`
	CPU         []string          `json:"cpu,omitempty"`
	Bin         map[string]string `json:"bin,omitempty"`
	Exports     map[string]any    `json:"exports,omitempty"`
	Optional    map[string]string `json:"optionalDependencies,omitempty"`
	Peers       map[string]string `json:"peerDependencies,omitempty"`
	PeersMeta   map[string]any    `json:"peerDependenciesMeta,omitempty"`
	Keywords    []string          `json:"keywords,omitempty"`
	Pi          map[string]any    `json:"pi,omitempty"`
}

func manifestOf(name, version, description string) manifest {
	return manifest{Name: scope + name, Version: version, Description: description, License: "MIT",
		Repository: "github:winnowhq/winnow"}
}

// npm writes a package with the program for each platform, one that npm installs everywhere, which
// takes the program from the one that fits, and the plugins of agents that take theirs from npm.
func npm(version string, programs []program, typescript, out string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	license, err := source("LICENSE", "LICENSE")
	if err != nil {
		return err
	}
	m := manifestOf("winnow", version, "Keeps a coding agent's session inside its context window, and its bill down.")
	m.Type, m.Engines, m.Bin = "module", map[string]string{"node": ">=20"}, map[string]string{"winnow": "bin/winnow.js"}
	m.Optional = map[string]string{}
	for _, p := range programs {
		platform := nodes[p.OS] + "-" + nodes[p.Arch]
		m.Optional[scope+"winnow-"+platform] = version
		one := manifestOf("winnow-"+platform, version, "The program of "+scope+"winnow for "+platform+".")
		one.OS, one.CPU = []string{nodes[p.OS]}, []string{nodes[p.Arch]}
		if err := tarball(out, one, license, file{"bin/" + p.name(), p.Content, true}); err != nil {
			return err
		}
	}
	paths := map[string]string{"README.md": "README.md", "bin/winnow.js": "internal/packages/winnow.js"}
	m.module(paths, typescript)
	files := []file{license}
	for name, path := range paths {
		f, err := source(name, path)
		if err != nil {
			return err
		}
		f.runs = strings.HasPrefix(name, "bin/")
		files = append(files, f)
	}
	if err := tarball(out, m, files...); err != nil {
		return err
	}
	return plugins(version, license, out)
}

// module adds the client and the hooks for frameworks, which are optional.
func (m *manifest) module(paths map[string]string, typescript string) {
	m.Exports, m.Peers, m.PeersMeta = map[string]any{}, map[string]string{}, map[string]any{}
	entry := func(path, name string) {
		if path != "" {
			m.Exports[path] = map[string]string{"types": "./" + name + ".d.ts", "default": "./" + name + ".js"}
		}
		for _, file := range []string{name + ".js", name + ".d.ts"} {
			paths[file] = filepath.Join(typescript, file)
		}
	}
	entry(".", "winnow")
	entry("", "hooks") // shared by the hooks
	for name, frameworks := range hooks {
		entry("./"+name, name)
		for framework, versions := range frameworks {
			m.Peers[framework], m.PeersMeta[framework] = versions, map[string]bool{"optional": true}
		}
	}
}

// plugins writes those of OpenCode and pi: what winnow install writes, as a package.
func plugins(version string, license file, out string) error {
	opencode := manifestOf("opencode", version, "Winnow's plugin for OpenCode.")
	opencode.Type, opencode.Exports = "module", map[string]any{".": "./winnow.js"}
	f, err := plugin("winnow.js", "desk/seat/opencode/winnow.js", opencode)
	if err != nil {
		return err
	}
	if err := tarball(out, opencode, license, f); err != nil {
		return err
	}
	pi := manifestOf("pi", version, "Winnow's extension for pi.")
	pi.Keywords, pi.Pi = []string{"pi-package"}, map[string]any{"extensions": []string{"./winnow.ts"}}
	if f, err = plugin("winnow.ts", "desk/seat/pi/winnow.ts", pi); err != nil {
		return err
	}
	return tarball(out, pi, license, f)
}

// plugin is a plugin's file. Its first line says where it comes from.
func plugin(name, path string, m manifest) (file, error) {
	f, err := source(name, path)
	_, rest, _ := bytes.Cut(f.content, []byte("\n"))
	f.content = append([]byte("// "+m.Name+" "+m.Version+". It calls the program winnow, which must be in PATH.\n"), rest...)
	return f, err
}

// tarball writes a package as npm takes it.
func tarball(out string, m manifest, files ...file) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, f := range append([]file{{name: "package.json", content: append(text, '\n')}}, files...) {
		mode := int64(0o644)
		if f.runs {
			mode = 0o755
		}
		if err := w.WriteHeader(&tar.Header{Name: "package/" + f.name, Mode: mode, Size: int64(len(f.content))}); err != nil {
			return err
		}
		if _, err := w.Write(f.content); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	name := strings.ReplaceAll(strings.TrimPrefix(m.Name, "@"), "/", "-") + "-" + m.Version + ".tgz"
	return os.WriteFile(filepath.Join(out, name), b.Bytes(), 0o644)
}
