package discover

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/winnowhq/winnow/format/claudecode"
	"github.com/winnowhq/winnow/format/codex"
	"github.com/winnowhq/winnow/format/pi"
	"github.com/winnowhq/winnow/session"
)

// Own is the file in which a product keeps a session of its own that works in the session's folder,
// "" for products that keep sessions in other ways, and where no home folder is known. The product
// finds the session there by its id.
func Own(env Env, product string, info *session.Info) string {
	switch product {
	case claudecode.Name:
		folder := strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
				return r
			}
			return '-'
		}, info.Directory)
		return below(env.instead("CLAUDE_CONFIG_DIR", ".claude"), "projects", folder, info.ID+".jsonl")
	case "codex":
		return below(env.instead("CODEX_HOME", ".codex"), "sessions", filepath.FromSlash(codex.Path(info)))
	case pi.Name:
		folder := strings.NewReplacer("/", "-", `\`, "-", ":", "-").Replace(strings.TrimLeft(info.Directory, `/\`))
		at := time.UnixMilli(int64(info.Time.Created)).UTC().Format("2006-01-02T15-04-05.000Z")
		return below(env.instead("PI_CODING_AGENT_DIR", ".pi", "agent"), "sessions", "--"+folder+"--",
			strings.ReplaceAll(at, ".", "-")+"_"+info.ID+".jsonl")
	}
	return ""
}

// instead is the folder that a variable names, else the one at home.
func (e Env) instead(variable string, home ...string) string {
	if dir := e.get(variable); dir != "" {
		return dir
	}
	return below(e.Home, home...)
}
