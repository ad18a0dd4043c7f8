package display

import "testing"

func TestToolTone_isOneForWhatAToolDoes(t *testing.T) {
	for tool, want := range map[string]string{
		"bash": "t-shell", "Bash": "t-shell", "exec_command": "t-shell", "powershell": "t-shell",
		"read": "t-read", "Read": "t-read", "read_file": "t-read", "mcp__files__read_file": "t-read",
		"edit": "t-edit", "Write": "t-edit", "apply_patch": "t-edit", "str_replace_based_edit_tool": "t-edit", "MultiEdit": "t-edit",
		"grep": "t-search", "Glob": "t-search", "list": "t-search", "webfetch": "t-web", "WebSearch": "t-web",
		"task": "t-agent", "todowrite": "t-other", "skill": "t-other", "mcp__kiln__fire": "t-other", "": "t-other", "read_files": "t-read",
	} {
		if got := ToolTone(tool).Class; got != want {
			t.Errorf("%q is drawn as %s, want %s", tool, got, want)
		}
	}
}

func TestTones_areEachOfTheirOwnClass(t *testing.T) {
	seen := map[string]bool{}
	for _, tone := range Tones() {
		if seen[tone.Class] || len(tone.Light) != 6 || len(tone.Dark) != 6 || tone.Terminal < 16 || tone.Terminal > 231 {
			t.Errorf("%+v", tone)
		}
		seen[tone.Class] = true
	}
}
