package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// distribution is the name under which pip installs the package; Python imports winnow.
const distribution = "winnowhq"

// wheelTags are platforms as Python names them. The program is static: the oldest C library will do.
var wheelTags = map[string]string{
	"linux/amd64":   "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
	"linux/arm64":   "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
	"darwin/amd64":  "macosx_11_0_x86_64",
	"darwin/arm64":  "macosx_11_0_arm64",
	"windows/amd64": "win_amd64",
	"windows/arm64": "win_arm64",
}

// wheels writes the Python package for each platform, with the program in it.
func wheels(version string, programs []program, out string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	client, err := source("winnow/__init__.py", "rpc/bindings/python/winnow.py")
	if err != nil {
		return err
	}
	hooks, err := filepath.Glob("rpc/bindings/python/winnow_*.py")
	if err != nil {
		return err
	}
	files := []file{client, {name: "winnow/py.typed"}}
	for _, path := range hooks {
		hook, err := source(filepath.Base(path), path)
		if err != nil {
			return err
		}
		files = append(files, hook)
	}
	for _, p := range programs {
		if err := wheel(pep(version), p, slices.Clone(files), out); err != nil {
			return err
		}
	}
	return nil
}

func wheel(version string, p program, files []file, out string) error {
	tag := wheelTags[p.OS+"/"+p.Arch]
	if tag == "" {
		return fmt.Errorf("no wheel is known for %s/%s", p.OS, p.Arch)
	}
	about := distribution + "-" + version
	readme, err := os.ReadFile("rpc/bindings/python/README.md")
	if err != nil {
		return err
	}
	license, err := source(about+".dist-info/licenses/LICENSE", "LICENSE")
	if err != nil {
		return err
	}
	metadata := "Metadata-Version: 2.4\nName: " + distribution + "\nVersion: " + version +
		"\nSummary: Keeps an LLM agent's session inside its context window, and its bill down." +
		"\nProject-URL: Source, https://github.com/winnowhq/winnow\nLicense-Expression: MIT\nLicense-File: LICENSE" +
		"\nRequires-Python: >=3.9\nDescription-Content-Type: text/markdown\n\n" + string(readme)
	kinds := ""
	for one := range strings.SplitSeq(tag, ".") {
		kinds += "Tag: py3-none-" + one + "\n"
	}
	files = append(files, license,
		file{about + ".data/scripts/" + p.name(), p.Content, true},
		file{about + ".dist-info/METADATA", []byte(metadata), false},
		file{about + ".dist-info/WHEEL", []byte("Wheel-Version: 1.0\nGenerator: winnow\nRoot-Is-Purelib: false\n" + kinds), false})
	sort.Slice(files, func(i, j int) bool { return files[i].name < files[j].name })
	record := about + ".dist-info/RECORD"
	var lines strings.Builder
	for _, f := range files {
		sum := sha256.Sum256(f.content)
		fmt.Fprintf(&lines, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.content))
	}
	fmt.Fprintf(&lines, "%s,,\n", record)
	files = append(files, file{record, []byte(lines.String()), false})
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate}
		h.SetMode(0o644)
		if f.runs {
			h.SetMode(0o755)
		}
		w, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := w.Write(f.content); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, about+"-py3-none-"+tag+".whl"), b.Bytes(), 0o644)
}
