package seat

import (
	"bytes"
	"embed"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// claude is the seat in Claude Code: a plugin in the folder from which it loads plugins by
// themselves. No setting is changed.
type claude struct{}

//go:embed all:claude
var claudeFiles embed.FS

func (claude) Name() string { return "claude" }

func (claude) Versions() Versions {
	return Versions{Program: "claude", Least: "2.1.287", Tried: []string{"2.1.330"}}
}

func (claude) Plan(p Place) (Plan, error) {
	folder := p.Config("CLAUDE_CONFIG_DIR", ".claude")
	if p.Project != "" {
		folder = filepath.Join(p.Project, ".claude")
	}
	folder = filepath.Join(folder, "skills", "winnow")
	var plan Plan
	err := fs.WalkDir(claudeFiles, "claude", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := claudeFiles.ReadFile(path)
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, "claude/")
		plan.Files = append(plan.Files, File{Path: filepath.Join(folder, filepath.FromSlash(name)), Text: p.fill(name, text)})
		return nil
	})
	return plan, err
}

var semantic = regexp.MustCompile(`^v?(\d+\.\d+\.\d+)`)

// fill puts what depends on the place into a file of the plugin.
func (p Place) fill(name string, text []byte) []byte {
	program := []byte(strconv.Quote(p.Winnow))
	switch name {
	case "hooks/register.js":
		return bytes.Replace(text, []byte(`const winnow = "winnow";`), []byte("const winnow = "+string(program)+";"), 1)
	case ".mcp.json":
		return bytes.Replace(text, []byte(`"command": "winnow"`), []byte(`"command": `+string(program)), 1)
	case ".claude-plugin/plugin.json":
		if found := semantic.FindStringSubmatch(p.Version); found != nil {
			return bytes.Replace(text, []byte(`"0.0.0"`), []byte(strconv.Quote(found[1])), 1)
		}
	}
	return text
}

func (claude) Check(Place) []Finding { return nil }
