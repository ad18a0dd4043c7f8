package permission

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Secret reports whether a path is by its name one that holds keys or passwords: .env, private
// keys, credentials. Templates of them do not count.
func Secret(name string) bool {
	all := strings.Split(strings.ToLower(filepath.ToSlash(name)), "/")
	base := all[len(all)-1]
	for _, folder := range all[:len(all)-1] {
		if slices.Contains([]string{".ssh", ".gnupg", ".aws", ".azure", ".kube", ".gcloud"}, folder) {
			return true
		}
	}
	if base == ".env" || base == ".envrc" || strings.HasPrefix(base, ".env.") || strings.HasSuffix(base, ".env") {
		return !slices.Contains([]string{".example", ".sample", ".template", ".dist", ".defaults"}, filepath.Ext(base))
	}
	if slices.Contains([]string{".netrc", "_netrc", ".pgpass", ".npmrc", ".pypirc", ".git-credentials", ".htpasswd",
		".my.cnf", "credentials", "credentials.json", "secrets.json", "secrets.yml", "secrets.yaml", "secrets.toml",
		"kubeconfig", ".dockercfg"}, base) {
		return true
	}
	if slices.Contains([]string{".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".tfstate"},
		filepath.Ext(base)) {
		return true
	}
	return strings.HasPrefix(base, "id_") && filepath.Ext(base) == "" ||
		base == "config.json" && len(all) > 1 && all[len(all)-2] == ".docker"
}

// Runs reports whether what is written to a path may make git, an editor or another tool run it, or
// something that it names. part is the piece of the path that says so.
func Runs(name string) (part string, runs bool) {
	all := strings.Split(filepath.ToSlash(name), "/")
	for i, word := range all {
		lower := strings.ToLower(word)
		switch lower {
		case ".git", "git~1", ".husky", ".githooks", ".hg", ".vscode", ".idea", ".direnv", ".cargo", ".claude",
			".cursor", ".codex", ".gemini", ".opencode", ".winnow":
			// What agents keep there for people to read is harmless, what they run is not.
			if lower == ".claude" || lower == ".cursor" || lower == ".codex" || lower == ".gemini" ||
				lower == ".opencode" || lower == ".winnow" || lower == ".vscode" {
				if ext := strings.ToLower(filepath.Ext(all[len(all)-1])); ext == ".md" || ext == ".mdc" ||
					ext == ".txt" {
					continue
				}
			}
			return word, true
		}
		if i < len(all)-1 {
			continue
		}
		switch lower {
		case ".gitmodules", ".gitconfig", ".envrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".bazelrc",
			".mcp.json", ".pre-commit-config.yaml", "lefthook.yml", ".lefthook.yml", ".mise.toml", "mise.toml",
			".bashrc", ".bash_profile", ".profile", ".zshrc", ".zshenv", ".vimrc", ".exrc", ".gdbinit", ".lldbinit",
			".inputrc", ".curlrc", ".wgetrc", ".ripgreprc", ".screenrc", ".tmux.conf",
			"winnow.jsonc": // its hooks, where --config names it
			return word, true
		}
	}
	return "", false
}

// Within reports whether a path is a folder or below it. Both are clean, absolute and without
// links.
func Within(folder, name string) bool {
	rel, err := filepath.Rel(folder, name)
	return err == nil && filepath.IsLocal(rel)
}

// mostLinks is how many links one path may go through, as in Linux.
const mostLinks = 40

// Resolve gives the path at which the system would find, or make, what an absolute path names:
// detours taken out, every link followed, one that leads to nothing too. What does not exist yet
// stays as it is named. It fails where links go in a circle and where a folder cannot be looked
// into.
func Resolve(name string) (string, error) {
	name = filepath.Clean(name)
	volume := filepath.VolumeName(name)
	at := volume + string(filepath.Separator)
	rest := strings.Split(strings.TrimPrefix(name[len(volume):], string(filepath.Separator)),
		string(filepath.Separator))
	for links := 0; len(rest) > 0; {
		word := rest[0]
		rest = rest[1:]
		switch word {
		case "", ".":
			continue
		case "..": // of a link's target
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, word)
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
			at = next
			continue
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink == 0:
			at = next
			continue
		}
		if links++; links > mostLinks {
			return "", fmt.Errorf("%s: more than %d links", name, mostLinks)
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(target) {
			at = filepath.VolumeName(target) + string(filepath.Separator)
			target = target[len(filepath.VolumeName(target)):]
		}
		rest = append(strings.Split(filepath.ToSlash(target), "/"), rest...)
	}
	return at, nil
}
