package main

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

// A kind is text of one sort, in files or what would be files.
type kind struct {
	name  string
	files []file
	judge bool // measure only
}

type file struct{ name, text string }

// A chunk is what is counted at once.
type chunk struct {
	kind, text string
	tokens     int
}

// chunks cuts the files of a kind, in an order that does not depend on their names, into at most so
// many chunks for learning and a third as many held out.
func (k kind) chunks(most int) (learned, held []chunk) {
	files := slices.Clone(k.files)
	hash := func(name string) uint32 {
		h := fnv.New32a()
		_, _ = h.Write([]byte(k.name + "\x00" + filepath.Base(name) + fmt.Sprint(len(name))))
		return h.Sum32() >> 3
	}
	slices.SortFunc(files, func(a, b file) int {
		return cmp.Or(cmp.Compare(hash(a.name), hash(b.name)), cmp.Compare(a.name, b.name))
	})
	for n, f := range files {
		hold := n%4 == 0 && len(files) > 1
		text := f.text
		random := rand.New(rand.NewPCG(uint64(hash(f.name)), 1))
		for range 12 { // no file speaks for its whole kind
			if len(text) < 1000 {
				break
			}
			size := min(len(text), 2000+random.IntN(2000))
			for size < len(text) && !utf8.RuneStart(text[size]) {
				size++
			}
			c := chunk{kind: k.name, text: text[:size]}
			switch {
			case k.judge || hold:
				if len(held) < max(20, most/3) {
					held = append(held, c)
				}
			case len(learned) < most:
				learned = append(learned, c)
			}
			// Skip on, so that a long file is sampled and not only begun.
			skip := size + random.IntN(1+len(text)/12)
			for skip < len(text) && !utf8.RuneStart(text[skip]) {
				skip++
			}
			text = text[min(skip, len(text)):]
		}
	}
	return learned, held
}

// read reads the files of a pattern. Files that are not text are left out.
func (s source) read() (kind, error) {
	k := kind{name: s.kind}
	names, err := doublestar.FilepathGlob(s.pattern, doublestar.WithFilesOnly(), doublestar.WithNoFollow())
	if err != nil {
		return k, fmt.Errorf("%s: %w", s.pattern, err)
	}
	if len(names) > 800 {
		step := len(names) / 800
		thin := names[:0]
		for i := 0; i < len(names); i += step + 1 {
			thin = append(thin, names[i])
		}
		names = thin
	}
	for _, name := range names {
		if text, ok := readText(name); ok {
			k.files = append(k.files, file{name, text})
		}
	}
	if len(k.files) == 0 {
		return k, fmt.Errorf("%s: no text files match", s.pattern)
	}
	return k, nil
}

func readText(name string) (string, bool) {
	if info, err := os.Stat(name); err != nil || info.Size() < 1000 || info.Size() > 4<<20 {
		return "", false
	}
	data, err := os.ReadFile(name)
	if err != nil || bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) {
		return "", false
	}
	return string(data), true
}

// distribution reads what a Go installation offers: source in several languages, and what tools
// print about it.
func distribution(root string) ([]kind, error) {
	byExt := map[string]string{".go": "go", ".s": "assembly", ".md": "markdown", ".html": "html", ".json": "json",
		".txt": "go-texts", ".c": "c", ".js": "javascript", ".css": "css"}
	kinds := map[string]*kind{}
	add := func(name string, f file) {
		if kinds[name] == nil {
			kinds[name] = &kind{name: name}
		}
		kinds[name].files = append(kinds[name].files, f)
	}
	n := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := byExt[filepath.Ext(path)]
		if name == "go" && strings.HasSuffix(path, "_test.go") {
			name = "go-tests"
		}
		if n++; name == "" || strings.HasPrefix(name, "go") && n%9 != 0 {
			return nil
		}
		text, ok := readText(path)
		if !ok {
			return nil
		}
		add(name, file{path, text})
		switch n % 4 { // as agents' tools show files: with line numbers
		case 0:
			add("numbered", file{path, numbered(text, "%6d\t%s\n")})
		case 1:
			add("numbered", file{path, numbered(text, "%05d| %s\n")})
		case 2:
			add("numbered", file{path, numbered(text, "%d: %s\n")})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the Go distribution: %w", err)
	}
	for _, tool := range tools(root) {
		for i, args := range tool.runs {
			cmd := exec.Command(args[0], args[1:]...)
			cmd.Dir = root
			out, _ := cmd.Output() // diff and grep tell by their exit code what they found
			if text := strings.ToValidUTF8(string(out), "?"); len(text) >= 1000 {
				add(tool.kind, file{fmt.Sprint(tool.kind, i), text[:min(len(text), 400_000)]})
			}
		}
	}
	var out []kind
	for _, k := range kinds {
		if len(k.files) > 1 {
			out = append(out, *k)
		}
	}
	slices.SortFunc(out, func(a, b kind) int { return cmp.Compare(a.name, b.name) })
	return out, nil
}

func numbered(text, format string) string {
	var b strings.Builder
	n := 0
	for line := range strings.Lines(text) {
		n++
		fmt.Fprintf(&b, format, n, strings.TrimRight(line, "\r\n"))
	}
	return b.String()
}

type tool struct {
	kind string
	runs [][]string
}

// tools are commands whose output agents read all day.
func tools(root string) []tool {
	packages := []string{"bufio", "bytes", "context", "crypto", "encoding", "errors", "fmt", "go", "html", "io", "log",
		"math", "net", "os", "reflect", "regexp", "runtime", "sort", "strconv", "strings", "sync", "testing", "text",
		"time", "unicode"}
	ls, grep, find, diff, list, doc, sums, tests := tool{kind: "ls"}, tool{kind: "grep"}, tool{kind: "find"},
		tool{kind: "diff"}, tool{kind: "json-list"}, tool{kind: "go-doc"}, tool{kind: "sums"}, tool{kind: "go-test"}
	words := []string{"func", "return", "error", "range", "const", "TODO", "package", "string"}
	for i, p := range packages {
		src := filepath.Join("src", p)
		ls.runs = append(ls.runs, []string{"ls", "-laR", src})
		grep.runs = append(grep.runs, []string{"grep", "-rn", words[i%len(words)], src})
		find.runs = append(find.runs, []string{"find", filepath.Join(root, src), "-type", "f"})
		diff.runs = append(diff.runs, []string{"diff", "-ru", src, filepath.Join("src", packages[(i+1)%len(packages)])})
		list.runs = append(list.runs, []string{"go", "list", "-json", "./" + src + "/..."})
		doc.runs = append(doc.runs, []string{"go", "doc", "-all", p})
		sums.runs = append(sums.runs, []string{"sh", "-c", "sha256sum " + src + "/*.go; md5sum " + src + "/*.go"})
	}
	for _, p := range []string{"sort", "strconv", "path", "unicode/utf8", "container/list", "text/tabwriter", "errors",
		"bufio"} {
		tests.runs = append(tests.runs, []string{"go", "test", "-v", p})
	}
	return []tool{ls, grep, find, diff, list, doc, sums, tests}
}

// synthetic makes what programs print and no distribution holds: logs, identifiers, tables of
// numbers.
func synthetic() []kind {
	random := rand.New(rand.NewPCG(20, 26))
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	bytesOf := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		return b
	}
	makers := []struct {
		kind string
		line func() string
	}{
		{"log", func() string {
			return fmt.Sprintf("2026-%02d-%02dT%02d:%02d:%02d.%03dZ %s [%s-%d] %s request_id=%x user=%d duration=%dms status=%d path=/api/v%d/%s/%d\n",
				1+random.IntN(12), 1+random.IntN(28), random.IntN(24), random.IntN(60), random.IntN(60),
				random.IntN(1000),
				pick("INFO", "WARN", "ERROR", "DEBUG"), pick("worker", "http", "db", "scheduler"), random.IntN(64),
				pick("request completed", "connection reset by peer", "retrying after error", "cache miss for key",
					"query took too long"),
				bytesOf(8), random.IntN(100000), random.IntN(5000), 200+random.IntN(300), 1+random.IntN(3),
				pick("users", "orders", "items", "sessions", "invoices"), random.IntN(1000000))
		}},
		{"log-plain", func() string {
			return fmt.Sprintf("%s %2d %02d:%02d:%02d %s %s[%d]: %s %s (%d) at 0x%012x\n",
				pick("Jan", "Mar", "Jun", "Oct"), 1+random.IntN(28),
				random.IntN(24), random.IntN(60), random.IntN(60), pick("web01", "db-3", "localhost"),
				pick("kernel", "sshd", "systemd", "nginx"),
				random.IntN(60000), pick("Started", "Failed to start", "Accepted publickey for", "segfault in"),
				pick("session 42 of user root", "nginx.service", "daily cleanup", "unit docker.socket"),
				random.IntN(4000), random.Uint64()>>16)
		}},
		{"uuids", func() string {
			b := bytesOf(16)
			return fmt.Sprintf("%x-%x-%x-%x-%x\n", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
		}},
		{"base64", func() string { return base64Line(bytesOf(57)) }},
		{"hexdump", func() string {
			b := bytesOf(16)
			return fmt.Sprintf("%08x  % x  % x\n", random.Uint32(), b[:8], b[8:])
		}},
		{"table", func() string {
			return fmt.Sprintf("| %-12s | %8.2f | %6d | %5.1f%% | %s |\n",
				pick("alpha", "beta", "requests", "latency p99", "memory"),
				random.Float64()*10000, random.IntN(100000), random.Float64()*100, pick("yes", "no", "n/a"))
		}},
		{"csv", func() string {
			return fmt.Sprintf("%d,%s,%q,%.4f,%d,2025-%02d-%02d,%s\n", random.IntN(100000),
				pick("DE", "US", "FR", "JP"), pick("Widget, large", "Gadget", "Spare part"),
				random.Float64()*1000, random.IntN(50), 1+random.IntN(12), 1+random.IntN(28), pick("true", "false"))
		}},
		{"json-minified", func() string {
			return fmt.Sprintf(`{"id":"%x","name":"%s","count":%d,"ratio":%.3f,"tags":["%s","%s"],"nested":{"ok":%s,"at":"2026-01-%02dT10:00:00Z"}},`,
				bytesOf(6), pick("example item", "second thing", "user_profile"), random.IntN(10000), random.Float64(),
				pick("a", "new", "beta"), pick("x", "internal"),
				pick("true", "false", "null"), 1+random.IntN(28))
		}},
		{"json-indented", func() string {
			return fmt.Sprintf("    {\n      \"id\": %d,\n      \"name\": \"%s\",\n      \"enabled\": %s,\n      \"values\": [\n        %d,\n        %.2f\n      ]\n    },\n",
				random.IntN(10000), pick("example item", "second thing", "userProfile"), pick("true", "false", "null"),
				random.IntN(300), random.Float64()*50)
		}},
	}
	var kinds []kind
	for _, m := range makers {
		k := kind{name: m.kind}
		for i := range 8 {
			var b strings.Builder
			for b.Len() < 30_000 {
				b.WriteString(m.line())
			}
			k.files = append(k.files, file{fmt.Sprint(m.kind, i), b.String()})
		}
		kinds = append(kinds, k)
	}
	return kinds
}
