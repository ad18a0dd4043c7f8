package fact

import (
	"slices"
	"strings"
)

// famous reports whether a name is that of a product, a language or a term which a summary may use although its source writes it otherwise.
func famous(name string) bool {
	switch name {
	case "JavaScript", "TypeScript", "GitHub", "GitLab", "OpenAI", "ChatGPT", "PostgreSQL", "MySQL", "SQLite", "NoSQL", "MongoDB", "GraphQL", "macOS", "iOS", "iPadOS", "watchOS",
		"OAuth", "OAuth2", "WebSocket", "WebSockets", "YouTube", "LinkedIn", "VSCode", "PowerShell", "CoffeeScript", "WordPress", "FastAPI", "DevOps", "JSONL", "PyTorch", "TensorFlow",
		"NumPy", "DataFrame", "OpenAPI", "LaTeX", "YAML", "IntelliJ", "WebStorm", "PyCharm", "DeepSeek", "OpenCode", "OpenHands", "LangChain", "BitBucket", "BigQuery", "DynamoDB",
		"CloudFlare", "CloudFront", "CircleCI", "TestFlight", "README", "CLI", "TODO", "TODOs", "APIs", "URLs", "IDs", "PRs", "LLMs", "CPUs", "GPUs", "UIs", "URIs", "IPs", "PDFs", "PhD", "DoD",
		"Node.js", "Next.js", "Vue.js", "Nuxt.js", "Three.js", "D3.js", "Express.js", "React.js", "Socket.io", "socket.io", "ASP.NET", "VB.NET", ".NET", "Chart.js", "Deno.js", "Alpine.js",
		"e.g", "i.e", "a.m", "p.m", "vs", "etc", "UTF-8", "UTF-16", "UTF-32", "UTF8", "UTF16", "SHA-1", "SHA-256", "SHA-512", "SHA256", "SHA512", "SHA1", "MD5", "ISO-8601", "ISO8601",
		"RFC3339", "ES2015", "ES2020", "ES2022", "X509", "BASE64", "WIN32", "H264", "x86_64", "amd64", "arm64", "CP1252":
		return true
	}
	return false
}

// isHash reports whether a word is a digest or an id in hexadecimal, whole or cut to seven digits or more.
func isHash(tok string) bool {
	if len(tok) < 7 || len(tok) > 128 {
		return false
	}
	digit, letter := false, false
	for i := range len(tok) {
		switch c := tok[i]; {
		case isDigit(c):
			digit = true
		case c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F':
			letter = true
		case c == '-' && len(tok) >= 30:
		default:
			return false
		}
	}
	return digit && letter
}

// fileExtension reports whether a word can be told to be a file by what follows its last dot.
func fileExtension(ext string) bool {
	if len(ext) == 0 || len(ext) > 10 {
		return false
	}
	switch strings.ToLower(ext) {
	case "go", "mod", "sum", "work", "ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs", "py", "pyi", "pyx", "ipynb", "rb", "rs", "c", "h", "cc", "cpp", "cxx", "hpp", "hh", "m", "mm", "java", "kt", "kts",
		"scala", "clj", "cljs", "ex", "exs", "erl", "hs", "ml", "mli", "swift", "dart", "lua", "pl", "pm", "php", "r", "jl", "zig", "nim", "cs", "fs", "vb", "sh", "bash", "zsh", "fish", "ps1", "psm1", "bat", "cmd",
		"md", "mdx", "rst", "txt", "adoc", "org", "tex", "json", "jsonl", "jsonc", "json5", "ndjson", "yaml", "yml", "toml", "ini", "cfg", "conf", "config", "env", "properties", "xml", "html", "htm", "css", "scss", "sass", "less", "svg", "png",
		"jpg", "jpeg", "gif", "webp", "ico", "pdf", "csv", "tsv", "parquet", "sql", "db", "sqlite", "sqlite3", "proto", "graphql", "gql", "tf", "tfvars", "hcl", "nix", "cmake", "mk", "gradle", "lock", "log", "out", "err", "diff",
		"patch", "bak", "orig", "tmp", "swp", "zip", "tar", "gz", "tgz", "xz", "zst", "bz2", "7z", "rar", "exe", "dll", "so", "dylib", "a", "o", "wasm", "whl", "jar", "war", "class", "pyc", "map", "snap", "golden", "traj",
		"vue", "svelte", "astro", "njk", "ejs", "hbs", "tmpl", "tpl", "j2", "service", "timer", "socket", "plist", "pem", "key", "crt", "cer", "pub", "mp3", "mp4", "wav", "mov", "ttf", "woff", "woff2", "eot", "bin", "iso", "img", "dockerfile", "editorconfig", "gitignore", "npmrc", "nvmrc", "cnf", "dat", "pkl", "pt", "onnx", "gguf", "safetensors", "cast", "asm", "s", "v", "sv", "vhd", "sol", "prisma", "feature", "spec":
		return true
	}
	return false
}

// isPath reports whether a token names a file or a folder. In backticks every slash makes a path; elsewhere "read/write" is none.
func isPath(tok string, quoted bool) bool {
	bare := withoutLine(tok)
	if famous(bare) || len(bare) < 2 || len(bare) > 1000 || strings.Contains(bare, "://") || strings.Contains(bare, "//") {
		return false
	}
	if strings.ContainsAny(bare, `<>|"'`+"`;,=()!?^") && !(quoted && strings.Contains(bare, "/(")) {
		return false
	}
	if i := strings.IndexByte(bare, ':'); i >= 0 && i != 1 {
		return false
	}
	last := bare[strings.LastIndexAny(bare, `/\`)+1:]
	ext := ""
	if i := strings.LastIndexByte(last, '.'); i > 0 {
		ext = last[i+1:]
	}
	slash := strings.ContainsAny(bare, `/\`)
	letter := strings.ContainsFunc(bare, func(r rune) bool { return r >= 0x80 || isLetter(byte(r)) })
	if !letter {
		return false
	}
	if !slash {
		if initial(bare) == '.' {
			return len(bare) > 2 && isLetter(bare[1]) && !strings.ContainsAny(bare[1:], "()") && (quoted || fileExtension(bare[1:]) || strings.HasPrefix(bare, ".git") || strings.HasPrefix(bare, ".env") || strings.HasSuffix(bare, "rc"))
		}
		return fileExtension(ext) && !strings.HasPrefix(last, "*.") && (ext != "s" && ext != "a" && ext != "m" && ext != "v" && ext != "o" && ext != "r" || quoted) && initial(last) != '-' && !strings.ContainsAny(last, "[]{}@")
	}
	bare = strings.ReplaceAll(bare, `\_`, "_")
	if strings.Contains(bare, `\`) && !strings.Contains(bare, "/") {
		// A backslash escapes, or divides.
		if len(bare) < 4 || bare[1] != ':' && strings.Count(bare, `\`) < 2 && !fileExtension(ext) {
			return false
		}
	}
	if quoted {
		return true
	}
	if strings.HasPrefix(bare, "./") || strings.HasPrefix(bare, "../") || strings.HasPrefix(bare, "~/") || fileExtension(ext) || len(bare) > 2 && bare[1] == ':' {
		return true
	}
	if initial(bare) == '/' {
		return len(bare) > 2
	}
	if initial(bare) == '-' || initial(bare) == '+' || initial(bare) == '$' && strings.HasPrefix(bare, "$(") {
		return false
	}
	if strings.HasSuffix(bare, "/") {
		return true
	}
	segments := strings.FieldsFunc(bare, func(r rune) bool { return r == '/' || r == '\\' })
	if len(segments) >= 3 {
		return true
	}
	return slices.ContainsFunc(segments, func(s string) bool { return strings.ContainsAny(s, "._@") }) ||
		len(segments) == 2 && strings.ContainsAny(bare, "-") && strings.ToLower(bare) == bare
}

// withoutLine takes ":40", ":40:2", ":40-60" and "#L40" off a path.
func withoutLine(tok string) string {
	if i := strings.Index(tok, "#L"); i > 0 {
		return tok[:i]
	}
	for range 2 {
		i := strings.LastIndexByte(tok, ':')
		if i <= 0 || i+1 == len(tok) || !isDigit(tok[i+1]) || strings.Trim(tok[i+1:], "0123456789-,") != "" {
			break
		}
		tok = tok[:i]
	}
	return tok
}

// isIdentifier reports whether a token is written as only names are.
func isIdentifier(tok string) bool {
	name := strings.TrimSuffix(tok, "()")
	called := len(name) < len(tok)
	if name == "" || famous(name) || famous(strings.TrimSuffix(name, "s")) {
		return false
	}
	switch {
	case strings.HasPrefix(name, "--"):
		return len(name) > 3 && isLetter(name[2])
	case initial(name) == '$':
		rest := strings.Trim(name[1:], "{}")
		return len(rest) > 1 && (isLetter(initial(rest)) || initial(rest) == '_') && named(rest)
	}
	if isHash(name) {
		return true
	}
	if parts := split(name); len(parts) > 1 {
		long := false
		for _, p := range parts {
			if p == "" || !named(p) || isDigit(initial(p)) {
				return false
			}
			long = long || len(p) > 1 && p != "vX"
		}
		return long
	}
	if !named(name) || isDigit(initial(name)) {
		return codeOfError(name) || modelName(name)
	}
	if called {
		return true
	}
	if strings.Contains(strings.Trim(name, "_"), "_") || initial(name) == '_' && len(name) > 2 {
		return true
	}
	return humps(name) || codeOfError(name)
}

// pinned recognises a package with its version: react@19.1.0, typescript@^5.4.
func pinned(tok string) bool {
	at := strings.LastIndexByte(tok, '@')
	if at < 1 {
		return false
	}
	name, version := tok[:at], strings.TrimLeft(tok[at+1:], "^~v=<>")
	return version != "" && strings.Trim(version, "0123456789.") == "" && isDigit(version[0]) && strings.Contains(version, ".") &&
		!strings.ContainsFunc(name, func(r rune) bool {
			return r >= 0x80 || !isWord(byte(r)) && r != '-' && r != '/' && r != '@' && r != '.'
		})
}

// issue recognises pull/123 and its like.
func issue(tok string) bool {
	kind, number, ok := strings.Cut(tok, "/")
	switch kind {
	case "pull", "pulls", "issue", "issues", "PR", "MR", "merge_requests", "discussions":
		return ok && digits(number)
	}
	return false
}

// spelled recognises a number in words that says how many there are. Twenty-four is mostly hours.
func spelled(tok string) bool {
	value, ok := inWords(tok)
	return ok && value != 24 && value != 32 && value != 64 && tok == strings.ToLower(tok)
}

// split takes a qualified name apart: at dots, "::", "->" and "#".
func split(name string) []string {
	return strings.FieldsFunc(strings.NewReplacer("::", "\x00", "->", "\x00", ".", "\x00", "#", "\x00", "?.", "\x00").Replace(name), func(r rune) bool { return r == 0 })
}

// named reports whether a name has nothing but the letters, digits and underscores of one.
func named(name string) bool {
	for i := range len(name) {
		if !isWord(name[i]) && name[i] != '$' && name[i] < 0x80 {
			return false
		}
	}
	return true
}

// humps reports whether capitals stand inside a word: camelCase, PascalCase, HTTPServer.
func humps(name string) bool {
	lower, inner := false, 0
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z':
			lower = true
		case c >= 'A' && c <= 'Z' && i > 0:
			if next := i + 1; name[i-1] >= 'a' && name[i-1] <= 'z' || isDigit(name[i-1]) || next < len(name) && name[next] >= 'a' && name[next] <= 'z' && !(next == len(name)-1 && name[next] == 's') {
				inner++
			}
		}
	}
	return lower && inner > 0 && len(name) > 3
}

// codeOfError recognises E0432, TS2305, CVE-2025-21207, ABC-1234.
func codeOfError(name string) bool {
	letters := 0
	for letters < len(name) && name[letters] >= 'A' && name[letters] <= 'Z' {
		letters++
	}
	rest := strings.TrimPrefix(name[letters:], "-")
	return letters >= 1 && letters <= 10 && len(rest) >= 3 && isDigit(initial(rest)) && strings.Trim(rest, "0123456789-") == ""
}

// modelName recognises names such as "gemini-2.5-flash" and "gpt-4o-mini": words of small letters and figures with two hyphens or a dot between.
func modelName(name string) bool {
	if !isLetter(initial(name)) || !strings.ContainsAny(name, "0123456789") || strings.Count(name, "-") < 2 && !strings.Contains(name, ".") {
		return false
	}
	for i := range len(name) {
		if c := name[i]; !(c >= 'a' && c <= 'z' || isDigit(c) || c == '-' || c == '.' || c == ':') {
			return false
		}
	}
	return strings.Contains(name, "-")
}

// isCommand reports whether words can be run: they begin with a program that is known or named by its path, or they have flags.
func isCommand(text string) bool {
	words := strings.Fields(text)
	for len(words) > 0 && (assigns(words[0]) || words[0] == "sudo" || words[0] == "time" || words[0] == "env") {
		words = words[1:]
	}
	if len(words) < 2 {
		return false
	}
	first := words[0]
	if knownProgram(first) {
		return !strings.ContainsAny(words[1], "={") || strings.HasPrefix(words[1], "-")
	}
	if strings.HasPrefix(first, "./") && len(first) > 2 || strings.HasPrefix(first, "/") && strings.Count(first, "/") > 1 {
		return true
	}
	for i := range len(first) {
		if c := first[i]; !(c >= 'a' && c <= 'z' || isDigit(c) || c == '-' || c == '_' || c == '.') {
			return false
		}
	}
	if !isLetter(initial(first)) {
		return false
	}
	return slices.ContainsFunc(words[1:], func(w string) bool {
		return len(w) > 1 && initial(w) == '-' && (isLetter(w[1]) || w[1] == '-' && len(w) > 3 && isLetter(w[2]))
	})
}

// assigns recognises NAME=value in front of a command.
func assigns(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && named(name) && strings.ToUpper(name) == name
}

func knownProgram(name string) bool {
	name = strings.TrimSuffix(name, ".exe")
	switch name {
	case "go", "gofmt", "git", "gh", "npm", "npx", "yarn", "pnpm", "bun", "bunx", "deno", "node", "tsx", "tsc", "vitest", "jest", "eslint", "prettier", "biome", "python", "python3", "pip", "pip3", "uv", "pipx", "poetry", "pytest", "tox",
		"ruff", "mypy", "black", "flake8", "cargo", "rustc", "rustup", "make", "cmake", "ninja", "gcc", "clang", "mvn", "gradle", "java", "javac", "docker", "docker-compose", "podman", "kubectl", "helm", "terraform", "ansible", "curl", "wget",
		"ls", "cd", "cat", "grep", "rg", "sed", "awk", "find", "head", "tail", "mkdir", "rm", "cp", "mv", "touch", "chmod", "chown", "echo", "printf", "tar", "unzip", "ssh", "scp", "rsync", "systemctl", "journalctl", "apt", "apt-get", "brew",
		"dnf", "pacman", "ps", "kill", "lsof", "netstat", "ip", "ping", "psql", "mysql", "sqlite3", "redis-cli", "bash", "sh", "zsh", "source", "export", "ruby", "bundle", "gem", "rake", "php", "composer", "dotnet", "swift", "xcodebuild",
		"flutter", "dart", "mix", "stack", "cabal", "just", "task", "code", "claude", "codex", "opencode", "gemini", "winget", "powershell", "pwsh", "reg", "netsh", "wc", "sort", "diff", "tree", "jq", "yq", "openssl", "tailscale", "golangci-lint", "staticcheck",
		"dig", "pkill", "killall", "nslookup", "traceroute", "tracert", "ifconfig", "arp", "whois", "which", "xargs", "df", "du", "ollama", "pre-commit", "tmux", "launchctl", "diskutil":
		return true
	}
	return false
}
