package tools

import (
	"path/filepath"
	"slices"
	"strings"
)

// Secret reports whether a path is by its name one that holds keys or passwords: .env, private keys, credentials. Templates of such are none.
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
	if slices.Contains([]string{".netrc", "_netrc", ".pgpass", ".npmrc", ".pypirc", ".git-credentials", ".htpasswd", ".my.cnf", "credentials", "credentials.json", "secrets.json", "secrets.yml", "secrets.yaml", "secrets.toml", "kubeconfig", ".dockercfg"}, base) {
		return true
	}
	if slices.Contains([]string{".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".tfstate"}, filepath.Ext(base)) {
		return true
	}
	return strings.HasPrefix(base, "id_") && filepath.Ext(base) == "" || base == "config.json" && len(all) > 1 && all[len(all)-2] == ".docker"
}

// Runs reports whether what is written to a path may make git, an editor or another tool run it, or something that it names. part is the piece of the path that
// says so.
func Runs(name string) (part string, runs bool) {
	all := strings.Split(filepath.ToSlash(name), "/")
	for i, word := range all {
		lower := strings.ToLower(word)
		switch lower {
		case ".git", "git~1", ".husky", ".githooks", ".hg", ".vscode", ".idea", ".direnv", ".cargo", ".claude", ".cursor", ".codex", ".gemini", ".opencode", ".winnow":
			// What agents keep there for people to read is no danger, what they run is.
			if lower == ".claude" || lower == ".cursor" || lower == ".codex" || lower == ".gemini" || lower == ".opencode" || lower == ".winnow" || lower == ".vscode" {
				if ext := strings.ToLower(filepath.Ext(all[len(all)-1])); ext == ".md" || ext == ".mdc" || ext == ".txt" {
					continue
				}
			}
			return word, true
		}
		if i < len(all)-1 {
			continue
		}
		switch lower {
		case ".gitmodules", ".gitconfig", ".envrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".bazelrc", ".mcp.json", ".pre-commit-config.yaml", "lefthook.yml", ".lefthook.yml", ".mise.toml", "mise.toml",
			".bashrc", ".bash_profile", ".profile", ".zshrc", ".zshenv", ".vimrc", ".exrc", ".gdbinit", ".lldbinit", ".inputrc", ".curlrc", ".wgetrc", ".ripgreprc", ".screenrc", ".tmux.conf":
			return word, true
		}
	}
	return "", false
}
