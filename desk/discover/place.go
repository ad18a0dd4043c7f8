package discover

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/format/cline"
	"github.com/winnowhq/winnow/format/opencodedb"
	"github.com/winnowhq/winnow/format/openhands"
)

// Place is a folder in which a product keeps sessions.
type Place struct {
	Product string
	Path    string
	store   bool                   // one of OpenCode's or Kilo's, which have stores of many sessions
	match   func(name string) bool // whether a file, named from Path on with slashes, may hold a session
	gemini  geminiFolders
}

// Places are the folders that are there. The products use the same folders on every system, below
// the home folder:
//
//   - claude-code: .claude/projects and .config/claude/projects; CLAUDE_CONFIG_DIR names another
//     .claude
//   - codex: .codex/sessions and .codex/archived_sessions; CODEX_HOME names another .codex
//   - opencode: .local/share/opencode, where XDG_DATA_HOME names another .local/share and
//     OPENCODE_DB a database, by its path or in that folder; on macOS and Windows too, and of early
//     versions on macOS Library/Application Support/opencode, on Windows in LOCALAPPDATA
//   - kilo: .local/share/kilo/kilo.db, a database like OpenCode's; XDG_DATA_HOME names another
//     .local/share
//   - pi: .pi/agent/sessions; PI_CODING_AGENT_DIR names another .pi/agent
//   - gemini: .gemini/tmp/*/chats; GEMINI_CLI_HOME names another home folder
//   - qwen-code: .qwen/projects/*/chats, where archived sessions are too; QWEN_RUNTIME_DIR names
//     another .qwen, else QWEN_HOME
//   - copilot: .copilot/session-state; COPILOT_HOME names another .copilot
//   - cline: .cline/data/sessions; CLINE_DIR names another .cline, CLINE_DATA_DIR another data,
//     CLINE_SESSION_DATA_DIR another sessions
//   - openhands: .openhands and .openhands-state, the folders of conversations and trajectories in
//     them; OPENHANDS_PERSISTENCE_DIR names another .openhands, OPENHANDS_CONVERSATIONS_DIR a
//     folder of conversations
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
		places = append(places, Place{Product: product, Path: path, store: store, match: match})
	}
	instead := env.instead
	lines := ending(".jsonl", ".jsonl.gz")
	add("claude-code", below(instead("CLAUDE_CONFIG_DIR", ".claude"), "projects"), false, lines)
	if env.get("CLAUDE_CONFIG_DIR") == "" {
		add("claude-code", below(env.Home, ".config", "claude", "projects"), false, lines)
	}
	codex := instead("CODEX_HOME", ".codex")
	add("codex", below(codex, "sessions"), false, lines)
	add("codex", below(codex, "archived_sessions"), false, lines)
	data := openCodeData(env)
	database := env.get("OPENCODE_DB") // below the folder, unless it is a whole path
	if database != "" && !filepath.IsAbs(database) {
		database = below(append(data, "")[0], database) // in the first folder, if there is one
	}
	add("opencode", database, true, nil)
	for _, folder := range data {
		add("opencode", folder, true, nil)
	}
	add("kilo", below(dataHome(env), "kilo", "kilo.db"), true, nil)
	add("pi", below(instead("PI_CODING_AGENT_DIR", ".pi", "agent"), "sessions"), false, lines)
	add("gemini-cli", below(instead("GEMINI_CLI_HOME"), ".gemini", "tmp"), false, func(name string) bool {
		return strings.Contains(name, "/chats/") && ending(".json", ".jsonl")(name)
	})
	qwen := env.get("QWEN_RUNTIME_DIR")
	if qwen == "" {
		qwen = instead("QWEN_HOME", ".qwen")
	}
	add("qwen-code", below(qwen, "projects"), false, func(name string) bool {
		return strings.Contains(name, "/chats/") && lines(name)
	})
	add("copilot", below(instead("COPILOT_HOME", ".copilot"), "session-state"), false, func(name string) bool {
		depth := strings.Count(name, "/") // a folder of a session has other files too
		return depth == 1 && ending(".jsonl")(name) || depth == 2 && ending("/events.jsonl")(name)
	})
	clineData := cmp.Or(env.get("CLINE_DATA_DIR"), below(instead("CLINE_DIR", ".cline"), "data"))
	add(cline.Name, cmp.Or(env.get("CLINE_SESSION_DATA_DIR"), below(clineData, "sessions")), false,
		ending(cline.Ending))
	trajectory := func(name string) bool {
		// One event a file is a part of a session.
		part := strings.Contains(name, "/events/") || strings.Contains(name, "/event_cache/")
		return !part && ending(".json", ".jsonl")(name)
	}
	kept := instead("OPENHANDS_PERSISTENCE_DIR", ".openhands")
	add("openhands", kept, false, trajectory)
	if dir := env.get("OPENHANDS_CONVERSATIONS_DIR"); kept == "" || !within(kept, dir) {
		add("openhands", dir, false, trajectory)
	}
	add("openhands", below(env.Home, ".openhands-state"), false, trajectory)
	return places
}

// openCodeData are the folders in which OpenCode may keep its data.
func openCodeData(env Env) []string {
	folders := []string{
		below(dataHome(env), "opencode"), below(env.Home, "Library", "Application Support", "opencode"),
		below(env.get("LOCALAPPDATA"), "opencode"),
	}
	return slices.DeleteFunc(folders, func(path string) bool { return path == "" })
}

// dataHome is the folder in which programs keep their data.
func dataHome(env Env) string {
	if dir := env.get("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return below(env.Home, ".local", "share")
}

// below is a path in a folder, "" if the folder is unknown.
func below(folder string, more ...string) string {
	if folder == "" {
		return ""
	}
	return filepath.Join(append([]string{folder}, more...)...)
}

func ending(suffixes ...string) func(string) bool {
	return func(name string) bool {
		return slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(name, s) })
	}
}

// list lists the files and folders of a place that may be sessions, or its stores, and what could
// not be listed.
func (p Place) list() (files []string, problems []Problem) {
	if p.store {
		if info, err := os.Stat(p.Path); err == nil && !info.IsDir() {
			return []string{p.Path}, nil
		}
		stores, err := opencodedb.Stores(p.Path)
		if err != nil {
			problems = append(problems, Problem{p.Path, err})
		}
		return stores, problems
	}
	unread := func(path string, err error) { problems = append(problems, Problem{path, err}) }
	// Folders of OpenHands: what is in them is the session, except for the ones of its sub-agents.
	conversations := map[string]bool{}
	err := Walk(p.Path, func(path string, d fs.DirEntry) error {
		above := filepath.Dir(path)
		if d.IsDir() {
			if name := d.Name(); name == "node_modules" || name == ".git" {
				return fs.SkipDir
			}
			if conversations[above] && d.Name() != openhands.SubAgents {
				return fs.SkipDir
			}
			if p.Product != openhands.Name {
				return nil
			}
			if f, ok := openhands.Conversation(path); ok {
				conversations[path] = true
				if !f.Empty() {
					files = append(files, path)
				}
			}
			return nil
		}
		if conversations[above] {
			return nil
		}
		rel, err := filepath.Rel(p.Path, path)
		if err == nil && d.Type().IsRegular() && p.match("/"+filepath.ToSlash(rel)) {
			files = append(files, path)
		}
		return nil
	}, unread)
	if err != nil {
		unread(p.Path, err)
	}
	return files, problems
}
