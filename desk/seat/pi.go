package seat

import (
	_ "embed"
	"path/filepath"
)

//go:embed pi/winnow.ts
var piExtension []byte

// pi is the seat in pi: an extension.
type pi struct{}

func (pi) Name() string { return "pi" }

func (pi) Versions() Versions {
	return Versions{Program: "pi", Tried: []string{"0.87.1"}}
}

func (pi) file(p Place) string {
	if p.Project != "" {
		return filepath.Join(p.Project, ".pi", "extensions", "winnow.ts")
	}
	return filepath.Join(p.Config("PI_CODING_AGENT_DIR", ".pi", "agent"), "extensions", "winnow.ts")
}

func (s pi) Plan(p Place) (Plan, error) {
	plan := Plan{Files: []File{{Path: s.file(p), Text: shim(piExtension, p)}},
		Notes: []string{"Running sessions of pi load it at /reload, or when they are started again."}}
	if p.Project != "" {
		plan.Notes = append(plan.Notes, "pi loads extensions of a project only if you trust the project.")
	}
	return plan, nil
}

func (s pi) Check(p Place) []Finding {
	return rivals(filepath.Dir(s.file(p)), "winnow.ts", "session_before_compact",
		"pi asks every extension, and takes the last answer")
}
