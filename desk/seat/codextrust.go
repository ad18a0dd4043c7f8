package seat

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// codexHooks is what Codex reads in hooks.json of the hooks that run behind a tool.
type codexHooks struct {
	Hooks struct {
		PostToolUse []struct {
			Matcher *string        `json:"matcher"`
			Hooks   []codexHandler `json:"hooks"`
		}
	} `json:"hooks"`
}

type codexHandler struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout *int   `json:"timeout"`
	Async   bool   `json:"async"`
	Status  string `json:"statusMessage"`
}

// trustOf reports whether Codex's settings know winnow's hook in a file of hooks, by its place, and
// whether they trust it: the hash there is that of the hook as it is now, and it is not switched
// off. Found so in the settings of Codex 0.169.0.
func trustOf(config []byte, path string, hooks []byte) (known, trusted bool) {
	var had codexHooks
	if json.Unmarshal(hooks, &had) != nil {
		return false, false
	}
	for i, group := range had.Hooks.PostToolUse {
		for j, h := range group.Hooks {
			if !strings.Contains(h.Command, "shape --product codex") {
				continue
			}
			place := fmt.Sprintf("%s:post_tool_use:%d:%d", path, i, j)
			state := tableOf(config, "[hooks.state."+strconv.Quote(place)+"]")
			if state == nil {
				continue
			}
			known = true
			on := !bytes.Contains(bytes.ReplaceAll(state, []byte(" "), nil), []byte("enabled=false"))
			if on && bytes.Contains(state, []byte(`"`+trustHash(group.Matcher, h)+`"`)) {
				return true, true
			}
		}
	}
	return known, false
}

// tableOf are the lines of a TOML table up to the next one, nil if there is no such table.
func tableOf(text []byte, header string) (found []byte) {
	inside := false
	for line := range bytes.Lines(text) {
		trimmed := bytes.TrimSpace(line)
		switch {
		case string(trimmed) == header:
			inside, found = true, []byte{}
		case bytes.HasPrefix(trimmed, []byte("[")):
			inside = false
		case inside:
			found = append(found, line...)
		}
	}
	return found
}

// trustHash is Codex's hash of a hook: of its event, matcher and handler as JSON with sorted
// members and without spaces.
func trustHash(matcher *string, h codexHandler) string {
	const unless = 600 // seconds, where a hook does not say
	timeout := unless
	if h.Timeout != nil {
		timeout = *h.Timeout
	}
	handler := map[string]any{"type": h.Type, "command": h.Command, "timeout": timeout, "async": h.Async}
	if h.Status != "" {
		handler["statusMessage"] = h.Status
	}
	identity := map[string]any{"event_name": "post_tool_use", "hooks": []any{handler}}
	if matcher != nil {
		identity["matcher"] = *matcher
	}
	text, err := json.Marshal(identity, json.Deterministic(true), jsontext.EscapeForHTML(false),
		jsontext.EscapeForJS(false))
	if err != nil {
		return ""
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(text))
}
