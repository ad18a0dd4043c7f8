package seat

import (
	_ "embed"
	"path/filepath"
)

//go:embed opencode/winnow.js
var openCodePlugin []byte

// openCode is the seat in OpenCode: a plugin.
type openCode struct{}

func (openCode) Name() string { return "opencode" }

func (openCode) Versions() Versions {
	return Versions{Program: "opencode", Below: "2.0.0", Tried: []string{"1.18.33"}}
}

func (openCode) file(p Place) string {
	if p.Project != "" {
		return filepath.Join(p.Project, ".opencode", "plugin", "winnow.js")
	}
	if dir := p.Getenv("OPENCODE_CONFIG_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "plugin", "winnow.js")
	}
	config := p.Config("XDG_CONFIG_HOME", ".config")
	return filepath.Join(config, "opencode", "plugin", "winnow.js")
}

func (s openCode) Plan(p Place) (Plan, error) {
	return Plan{Files: []File{{Path: s.file(p), Text: shim(openCodePlugin, p)}},
		Notes: []string{"Running OpenCode loads it when it is started again."}}, nil
}

func (s openCode) Check(p Place) []Finding {
	return rivals(filepath.Dir(s.file(p)), "winnow.js", "experimental.chat.messages.transform",
		"OpenCode runs all of them, one upon what the other left")
}
