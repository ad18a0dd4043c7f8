// Packages makes what npm and pip install from the programs of a release, and reads the changelog.
//
//	go run ./internal/packages build RELEASE TYPESCRIPT OUT
//	go run ./internal/packages changes VERSION
//
// RELEASE is the folder that goreleaser wrote, TYPESCRIPT that of the compiled client.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "packages:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 4 && args[0] == "build":
		return build(args[1], args[2], args[3])
	case len(args) == 2 && args[0] == "changes":
		text, err := os.ReadFile("CHANGELOG.md")
		if err != nil {
			return err
		}
		section, err := changes(string(text), args[1])
		fmt.Print(section)
		return err
	}
	return errors.New("usage: packages build RELEASE TYPESCRIPT OUT, or packages changes VERSION")
}

// changes returns the section of a version in a changelog.
func changes(log, version string) (string, error) {
	_, section, ok := strings.Cut("\n"+log, "\n## "+version+"\n")
	if !ok {
		return "", fmt.Errorf("CHANGELOG.md has no section %q", version)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	return strings.TrimSpace(section) + "\n", nil
}

// program is winnow as it was built for one platform.
type program struct {
	OS, Arch string // as Go names them
	Content  []byte
}

// name is that of the program's file.
func (p program) name() string {
	if p.OS == "windows" {
		return "winnow.exe"
	}
	return "winnow"
}

// release reads the programs that goreleaser built, and their version.
func release(folder string) (version string, programs []program, err error) {
	var metadata struct{ Version string }
	if err := read(filepath.Join(folder, "metadata.json"), &metadata); err != nil {
		return "", nil, err
	}
	var artifacts []struct {
		Path, Goos, Goarch, Type string
		Extra                    struct{ ID string }
	}
	if err := read(filepath.Join(folder, "artifacts.json"), &artifacts); err != nil {
		return "", nil, err
	}
	for _, a := range artifacts {
		if a.Type != "Binary" || a.Extra.ID != "winnow" {
			continue
		}
		content, err := os.ReadFile(a.Path) // relative to the folder in which goreleaser ran
		if err != nil {
			return "", nil, err
		}
		programs = append(programs, program{a.Goos, a.Goarch, content})
	}
	if len(programs) == 0 {
		return "", nil, fmt.Errorf("%s has no program", folder)
	}
	return metadata.Version, programs, nil
}

func read(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// build writes the packages of a release into OUT/npm and OUT/python.
func build(folder, typescript, out string) error {
	version, programs, err := release(folder)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := npm(version, programs, typescript, filepath.Join(out, "npm")); err != nil {
		return err
	}
	return wheels(version, programs, filepath.Join(out, "python"))
}

// pep is a version as Python writes it: 1.2.3, 1.2.3rc1 for 1.2.3-rc.1, 1.2.3.dev0 for what comes
// before it.
func pep(version string) string {
	number, before, ok := strings.Cut(version, "-")
	switch m := regexp.MustCompile(`^(alpha|beta|rc)\.?([0-9]+)$`).FindStringSubmatch(before); {
	case !ok:
		return number
	case m != nil:
		return number + map[string]string{"alpha": "a", "beta": "b", "rc": "rc"}[m[1]] + m[2]
	}
	return number + ".dev0"
}

// file is one file of a package.
type file struct {
	name    string
	content []byte
	runs    bool
}

// source is a file of this repository.
func source(name, path string) (file, error) {
	content, err := os.ReadFile(path)
	return file{name: name, content: content}, err
}
