package discover

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/format/opencodedb"
	"github.com/winnowhq/winnow/format/openhands"
)

// Place is a folder in which a product keeps sessions.
type Place struct {
	Product string
	Path    string
	store   bool                   // one of OpenCode's, which has stores of many sessions
	match   func(name string) bool // whether a file, named from Path on with slashes, may hold a session
}

// Places are the folders that are there. The products use the same folders on every system, below the home folder:
//
//   - claude-code: .claude/projects and .config/claude/projects; CLAUDE_CONFIG_DIR names another .claude
//   - codex: .codex/sessions and .codex/archived_sessions; CODEX_HOME names another .codex
//   - opencode: .local/share/opencode, where XDG_DATA_HOME names another .local/share and OPENCODE_DB a database; on macOS and
//     Windows too, and of early versions on macOS Library/Application Support/opencode, on Windows in LOCALAPPDATA
//   - pi: .pi/agent/sessions; PI_CODING_AGENT_DIR names another .pi/agent
//   - gemini: .gemini/tmp/*/chats; GEMINI_CLI_HOME names another home folder
//   - openhands: .openhands and .openhands-state, the folders of conversations and trajectories in them; OPENHANDS_PERSISTENCE_DIR names another
//     .openhands, OPENHANDS_CONVERSATIONS_DIR a folder of conversations
func Places(env Env) []Place {
	var places []Place
	seen := map[string]bool{}
	add := func(product, path string, store bool, match func(string) bool) {
		if path == "" || seen[path] {
			return
		}
		seen[path] = true
		if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() && !store {
			return
		}
		places = append(places, Place{product, path, store, match})
	}
	below := func(folder string, more ...string) string {
		if folder == "" {
			return ""
		}
		return filepath.Join(append([]string{folder}, more...)...)
	}
	// instead is the folder that a variable names, else the one at home.
	instead := func(variable string, home ...string) string {
		if dir := env.get(variable); dir != "" {
			return dir
		}
		return below(env.Home, home...)
	}
	lines := ending(".jsonl", ".jsonl.gz")
	add("claude-code", below(instead("CLAUDE_CONFIG_DIR", ".claude"), "projects"), false, lines)
	if env.get("CLAUDE_CONFIG_DIR") == "" {
		add("claude-code", below(env.Home, ".config", "claude", "projects"), false, lines)
	}
	codex := instead("CODEX_HOME", ".codex")
	add("codex", below(codex, "sessions"), false, lines)
	add("codex", below(codex, "archived_sessions"), false, lines)
	add("opencode", env.get("OPENCODE_DB"), true, nil)
	for _, data := range openCodeData(env) {
		add("opencode", data, true, nil)
	}
	add("pi", below(instead("PI_CODING_AGENT_DIR", ".pi", "agent"), "sessions"), false, lines)
	add("gemini-cli", below(instead("GEMINI_CLI_HOME"), ".gemini", "tmp"), false, func(name string) bool {
		return strings.Contains(name, "/chats/") && ending(".json", ".jsonl")(name)
	})
	trajectory := func(name string) bool {
		// One event a file is a part of a session.
		return !strings.Contains(name, "/events/") && !strings.Contains(name, "/event_cache/") && ending(".json", ".jsonl")(name)
	}
	kept := instead("OPENHANDS_PERSISTENCE_DIR", ".openhands")
	add("openhands", kept, false, trajectory)
	if dir := env.get("OPENHANDS_CONVERSATIONS_DIR"); kept == "" || !strings.HasPrefix(filepath.Clean(dir), filepath.Clean(kept)+string(filepath.Separator)) {
		add("openhands", dir, false, trajectory)
	}
	add("openhands", below(env.Home, ".openhands-state"), false, trajectory)
	return places
}

// openCodeData are the folders in which OpenCode may keep its data.
func openCodeData(env Env) []string {
	var folders []string
	add := func(dir string, more ...string) {
		if dir == "" {
			return
		}
		if path := filepath.Join(append([]string{dir}, more...)...); !slices.Contains(folders, path) {
			folders = append(folders, path)
		}
	}
	if dir := env.get("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		add(dir, "opencode")
	} else {
		add(env.Home, ".local", "share", "opencode")
	}
	add(env.Home, "Library", "Application Support", "opencode")
	add(env.get("LOCALAPPDATA"), "opencode")
	return folders
}

func ending(suffixes ...string) func(string) bool {
	return func(name string) bool {
		return slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(name, s) })
	}
}

// list lists the files and folders of a place that may be sessions, or its stores. What cannot be listed hides nothing else; the first such error is
// returned beside the rest.
func (p Place) list() (files []string, problem error) {
	if p.store {
		if info, err := os.Stat(p.Path); err == nil && !info.IsDir() {
			return []string{p.Path}, nil
		}
		return opencodedb.Stores(p.Path)
	}
	root, err := filepath.EvalSymlinks(p.Path) // a walk does not follow a link, not even where it begins
	if err != nil {
		return nil, err
	}
	conversations := map[string]bool{} // folders of OpenHands: what is in them is the session, but for those of its sub-agents
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if problem == nil {
				problem = err
			}
			return nil
		}
		if d.IsDir() {
			if name := d.Name(); name == "node_modules" || name == ".git" {
				return fs.SkipDir
			}
			if conversations[filepath.Dir(path)] && d.Name() != openhands.SubAgents {
				return fs.SkipDir
			}
			if p.Product != openhands.Name {
				return nil
			}
			if f, ok := openhands.Conversation(path); ok {
				conversations[path] = true
				if rel, err := filepath.Rel(root, path); err == nil && !f.Empty() {
					files = append(files, filepath.Join(p.Path, rel))
				}
			}
			return nil
		}
		if conversations[filepath.Dir(path)] {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err == nil && d.Type().IsRegular() && p.match("/"+filepath.ToSlash(rel)) {
			files = append(files, filepath.Join(p.Path, rel))
		}
		return nil
	})
	if problem == nil {
		problem = err
	}
	return files, problem
}
