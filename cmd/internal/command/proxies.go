package command

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/gateway"
	"github.com/winnowhq/winnow/text/plainfile"
)

// examineAddresses looks for variables that send the requests of agents elsewhere.
func examineAddresses(ctx context.Context, a *cli.App, doc *diagnosis) {
	seen := map[string]bool{}
	for _, c := range gateway.Clients() {
		for _, name := range c.Elsewhere {
			if value := a.Env.Getenv(name); value != "" && value != "0" && value != "false" {
				doc.note(outOfReach, "",
					fmt.Sprintf("%s is set: %s asks where winnow cannot stand in between", name, c.Name),
					"unset it to use winnow wrap "+c.Name+"; files of sessions can be compacted all the same")
			}
		}
		for _, api := range c.APIs {
			for _, name := range api.Variables {
				if !seen[name] {
					seen[name] = true
					doc.address(ctx, name, "", a.Env.Getenv(name))
				}
			}
		}
	}
	file, bases := gateway.CodexAddresses(a.Env.Getenv, a.Env.Home())
	for _, key := range slices.Sorted(maps.Keys(bases)) {
		doc.address(ctx, key, file, bases[key])
	}
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"} {
		if value := a.Env.Getenv(name); value != "" || a.Env.Getenv(strings.ToLower(name)) != "" {
			doc.note(redirected, "", name+" is set: requests to providers go through that proxy, those of winnow too",
				"fine if intended; 127.0.0.1 should be in NO_PROXY")
		}
	}
}

// address judges one base URL, said by a variable, of the environment or of a file.
func (d *diagnosis) address(ctx context.Context, name, file, value string) {
	u, err := url.Parse(value)
	if value == "" || err != nil || u.Host == "" {
		return
	}
	where := ""
	if file != "" {
		where = " in " + file
	}
	at := u.Scheme + "://" + u.Host // without what may be a password
	if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		if !strings.HasSuffix(u.Hostname(), "anthropic.com") && !strings.HasSuffix(u.Hostname(), "openai.com") &&
			!strings.HasSuffix(u.Hostname(), "googleapis.com") {
			d.note(redirected, file,
				fmt.Sprintf("%s%s is %s: requests go there instead of to the provider", name, where, at),
				"fine if intended: winnow wrap relays to it")
		}
		return
	}
	if answers(ctx, u) {
		d.note(redirected, file,
			fmt.Sprintf("%s%s is %s: requests go through a program on this computer", name, where, at),
			"if that is winnow serve, wrap is not needed; two that change prompts spoil each other's caches")
		return
	}
	d.find(silentProxy, file, fmt.Sprintf("%s%s is %s, where nothing answers: agents cannot reach their provider",
		name, where, at), "start what listens there (winnow serve, if it is its address), or unset it")
}

// answers reports whether something listens at an address of this computer.
func answers(ctx context.Context, u *url.URL) bool {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	dialer := net.Dialer{Timeout: time.Second}
	c, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return false
	}
	c.Close()
	return true
}

// examineClaude looks into the settings of Claude Code: addresses, hooks, plugins.
func examineClaude(ctx context.Context, a *cli.App, doc *diagnosis) {
	home := a.Env.Getenv("CLAUDE_CONFIG_DIR")
	if home == "" {
		home = filepath.Join(a.Env.Home(), ".claude")
	}
	for _, file := range []string{filepath.Join(home, "settings.json"), a.Path(".claude/settings.json"),
		a.Path(".claude/settings.local.json")} {
		text, _, err := plainfile.Read(file, 4<<20)
		if err != nil {
			continue // without one, nothing is set
		}
		var set struct {
			Env     map[string]string         `json:"env"`
			Hooks   map[string]jsontext.Value `json:"hooks"`
			Plugins map[string]bool           `json:"enabledPlugins"`
			Off     bool                      `json:"disableAllHooks"`
		}
		plain, err := hujson.Standardize(text)
		if err == nil {
			err = json.Unmarshal(plain, &set)
		}
		if err != nil {
			doc.note(foreignHooks, file, "these settings of Claude Code cannot be read: "+err.Error(), "repair them")
			continue
		}
		for _, name := range []string{"ANTHROPIC_BASE_URL", "ANTHROPIC_BEDROCK_BASE_URL", "ANTHROPIC_VERTEX_BASE_URL"} {
			doc.address(ctx, name, file, set.Env[name])
		}
		if set.Off {
			doc.note(foreignHooks, file, "disableAllHooks is on: no hook and no mod of Claude Code runs",
				"nothing has to be done; winnow needs none of them")
			continue
		}
		doc.claudeSeats(file, set.Hooks, set.Plugins)
	}
}

// claudeSeats notes the hooks and plugins that may change what a session has in its context.
func (d *diagnosis) claudeSeats(file string, hooks map[string]jsontext.Value, plugins map[string]bool) {
	var at []string
	for _, name := range []string{"PostToolUse", "PreCompact", "SessionStart"} {
		if value := hooks[name]; len(value) > 2 {
			at = append(at, name)
		}
	}
	if len(at) > 0 {
		d.note(foreignHooks, file, "hooks of Claude Code may change what is in the context: "+strings.Join(at, ", "),
			"if something in a session is not as the tool gave it, look there")
	}
	var on []string
	for name, enabled := range plugins {
		if enabled {
			on = append(on, name)
		}
	}
	slices.Sort(on)
	if len(on) > 0 {
		d.note(foreignHooks, file,
			"plugins of Claude Code, whose mods may fold sessions themselves: "+strings.Join(on, ", "),
			"after a compaction by one of them, winnow doctor SRC says whether it outlasts a resume")
	}
}
