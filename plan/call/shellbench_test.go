package call

import (
	"testing"
)

// BenchmarkCommands understands commands as agents write them: short and long ones, with here-documents and lists, one call each.
func BenchmarkCommands(b *testing.B) {
	commands := []string{
		"go test ./... 2>&1 | tail -20", "ls -la src", "git status --short && git diff --stat", "cd /repo && sed -n '1,80p' internal/parse/lexer.go",
		"grep -rn \"func Parse\" --include='*.go' . | head -50", "cat > notes.md <<'EOF'\n# Notes\n\nThe parser reads (a), {b} and [c].\nIt's $not expanded.\nEOF",
		"for f in a b c; do echo \"== $f\"; head -5 \"$f\"; done", "FOO=1 timeout 60 npm run build && npm test -- --grep 'one two' || true",
		"bash -lc 'cd sub && sed -i \"s/a/b/\" x.go && go build ./...'", "git add -A && git commit -m \"$(cat <<'EOF'\nfix: the parser\n\nIt makes (much) sense.\nEOF\n)\"",
		"python3 - <<'PY'\nimport re\nfor i in range(10):\n    print(re.sub('a', 'b', str(i)))\nPY", "find . -name '*.py' -not -path './venv/*' | xargs wc -l | sort -n | tail -5",
	}
	l := &logOf{}
	bytes := 0
	for _, c := range commands {
		l.run(c, "ok", 0)
		bytes += len(c)
	}
	b.SetBytes(int64(bytes))
	b.ReportAllocs()
	for b.Loop() {
		for i := range l.messages {
			Of(&l.messages[i].Parts[0], "/repo")
		}
	}
}
