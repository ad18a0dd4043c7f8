// Manual writes what is handed out with the program: its man pages and completions, made from what
// it says of itself, and an archive of all of it.
//
//	go run ./internal/manual PROGRAM FOLDER
package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: manual PROGRAM FOLDER")
		os.Exit(2)
	}
	archive, err := dist(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(1)
	}
	fmt.Println(archive)
}

// dist fills a folder, and returns the archive in it.
func dist(program, folder string) (archive string, err error) {
	if program, err = filepath.Abs(program); err != nil {
		return "", err
	}
	text, err := exec.Command(program, "--version").Output()
	if err != nil {
		return "", err
	}
	version := strings.TrimSpace(strings.TrimPrefix(string(text), "winnow "))
	name := strings.Join([]string{"winnow", tame(version), runtime.GOOS, runtime.GOARCH}, "-")
	root := filepath.Join(folder, name)
	if err := os.RemoveAll(root); err != nil {
		return "", err
	}
	m := manual{program: program, version: version, pages: filepath.Join(root, "man", "man1")}
	if err := errors.Join(os.MkdirAll(m.pages, 0o755), m.page(nil)); err != nil {
		return "", err
	}
	if err := completions(program, filepath.Join(root, "completions")); err != nil {
		return "", err
	}
	called := "winnow"
	if runtime.GOOS == "windows" {
		called += ".exe"
	}
	for from, to := range map[string]string{program: called, "LICENSE": "LICENSE", "README.md": "README.md"} {
		if err := copied(from, filepath.Join(root, to)); err != nil {
			return "", err
		}
	}
	archive = root + ".tar.gz"
	return archive, pack(folder, name, archive)
}

// tame makes a version a part of a file's name.
func tame(version string) string {
	return strings.Trim(regexp.MustCompile(`[^0-9A-Za-z.+_-]+`).ReplaceAllString(version, "-"), "-")
}

// completions writes those of every shell under the name that it looks for.
func completions(program, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for shell, name := range map[string]string{"bash": "winnow.bash", "zsh": "_winnow", "fish": "winnow.fish",
		"powershell": "winnow.ps1"} {
		text, err := exec.Command(program, "completion", shell).Output()
		if err != nil {
			return fmt.Errorf("completion %s: %w", shell, err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func copied(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, info.Mode().Perm())
}

// pack puts what is in a folder of a folder into an archive.
func pack(folder, name, archive string) (err error) {
	out, err := os.Create(archive)
	if err != nil {
		return err
	}
	zipped := gzip.NewWriter(out)
	packed := tar.NewWriter(zipped)
	err = filepath.WalkDir(filepath.Join(folder, name), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		header := &tar.Header{Name: filepath.ToSlash(rel), Mode: int64(info.Mode().Perm()), Size: int64(len(text)),
			ModTime: info.ModTime()}
		if err := packed.WriteHeader(header); err != nil {
			return err
		}
		_, err = packed.Write(text)
		return err
	})
	return errors.Join(err, packed.Close(), zipped.Close(), out.Close())
}
