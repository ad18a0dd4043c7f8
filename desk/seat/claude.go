package seat

import (
	"bytes"
	"embed"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/winnowhq/winnow/text/span"
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
		plan.Files = append(plan.Files, File{Path: filepath.Join(folder, filepath.FromSlash(name)), Text: p.fill(name,
			text)})
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

// Check looks for what switches plugins off, and for others that compact.
func (s claude) Check(p Place) (found []Finding) {
	home := p.Config("CLAUDE_CONFIG_DIR", ".claude")
	files := []string{"/etc/claude-code/managed-settings.json",
		"/Library/Application Support/ClaudeCode/managed-settings.json", filepath.Join(home, "settings.json")}
	if p.Project != "" {
		files = append(files, filepath.Join(p.Project, ".claude", "settings.json"),
			filepath.Join(p.Project, ".claude", "settings.local.json"))
	}
	note := func(code, path, what, do string, wrong bool) {
		found = append(found, Finding{Code: code, What: what, Do: do, Path: path, Wrong: wrong})
	}
	for _, path := range files {
		text, err := read(path)
		if err != nil || text == nil {
			continue // without one, nothing is set
		}
		if plain, err := hujson.Standardize(text); err == nil {
			text = plain
		}
		is := func(value string, keys ...string) bool { return string(span.Get(text, keys...)) == value }
		if is("true", "disableAllHooks") {
			note(ModOff, path, "disableAllHooks is on in Claude Code: winnow's plugin does not run",
				"take it out, or set it to false", true)
		}
		if is("true", "allowManagedModsOnly") {
			note(ModOff, path, "allowManagedModsOnly is on in Claude Code: winnow's plugin does not run",
				"ask the administrator of this computer, or use the gateway: winnow wrap claude", true)
		}
		if is("false", "enabledPlugins", "winnow@skills-dir") {
			note(ModOff, path, "winnow's plugin is disabled in Claude Code", "claude plugin enable winnow@skills-dir",
				true)
		}
		for _, hook := range []string{"PreCompact", "PostToolUse"} {
			if value := span.Get(text, "hooks", hook); len(value) > len("[]") {
				note(OtherMod, path, "a hook of Claude Code runs at "+hook+" and may stop a compaction or change "+
					"results", "if something is missing in a session, look there", false)
			}
		}
	}
	for _, folder := range []string{home, filepath.Join(p.Project, ".claude")} {
		others, _ := filepath.Glob(filepath.Join(folder, "skills", "*", "hooks", "*.[jt]s"))
		for _, path := range others {
			text, err := read(path)
			if filepath.Base(filepath.Dir(filepath.Dir(path))) == "winnow" || err != nil {
				continue
			}
			if bytes.Contains(text, []byte("session.compact")) {
				note(OtherMod, path, "another plugin of Claude Code compacts too", "keep one of them", true)
			}
		}
	}
	return found
}

// Codes of what Check finds.
const (
	ModOff   = "seat-off"   // the product does not run what is installed
	OtherMod = "seat-other" // something else does the same
)
