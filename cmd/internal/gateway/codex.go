package gateway

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/text/plainfile"
)

// codex points the built-in provider of Codex and those of its configuration that have an address
// of their own, with overrides on the command line.
func codex(p *Plan) error {
	at := p.sources.Getenv("CODEX_HOME")
	if at == "" {
		at = p.home(".codex")
	}
	text, _, _ := plainfile.Read(at+"/config.toml", mostBytes) // without one, nothing is set
	set := tomlTexts(string(text))
	for _, key := range slices.Sorted(maps.Keys(set)) {
		name, ok := strings.CutPrefix(key, "model_providers.")
		name, base := strings.CutSuffix(name, ".base_url")
		if ok && base && p.relay(name, set[key]) == nil {
			p.before = append(p.before, "-c", key+"="+quoted(p.at(name)))
		}
	}
	base := set["openai_base_url"]
	if base == "" {
		base = p.codexLogin(at)
	}
	if base == "" && p.sources.Upstreams["openai"] == "" {
		if chosen := set["model_provider"]; chosen != "" && chosen != "openai" {
			return nil
		}
		return errors.New("winnow does not know whether Codex asks ChatGPT or the API: give " +
			"--upstream openai=https://chatgpt.com/backend-api/codex or --upstream openai=https://api.openai.com/v1")
	}
	if err := p.relay("openai", base); err != nil {
		return err
	}
	p.before = append(p.before, "-c", "openai_base_url="+quoted(p.at("openai")))
	return nil
}

// CodexAddresses are the base URLs that the configuration of Codex names, by key, and its file.
func CodexAddresses(getenv func(string) string, home string) (file string, bases map[string]string) {
	at := getenv("CODEX_HOME")
	if at == "" {
		at = filepath.Join(home, ".codex")
	}
	file, bases = filepath.Join(at, "config.toml"), map[string]string{}
	text, _, _ := plainfile.Read(file, mostBytes) // without one, nothing is set
	for key, value := range tomlTexts(string(text)) {
		if key == "openai_base_url" || strings.HasPrefix(key, "model_providers.") && strings.HasSuffix(key,
			".base_url") {
			bases[key] = value
		}
	}
	return file, bases
}

// codexLogin is the base URL of the built-in provider, by the way in which the user is logged in;
// "" if that is not known. Of the file with the login nothing is read but which kinds it has.
func (p *Plan) codexLogin(at string) string {
	const api, chat = "https://api.openai.com/v1", "https://chatgpt.com/backend-api/codex"
	var login struct {
		Mode   string         `json:"auth_mode"`
		Key    jsontext.Value `json:"OPENAI_API_KEY"`
		Tokens jsontext.Value `json:"tokens"`
	}
	read := p.read(at+"/auth.json", &login)
	switch {
	case p.sources.Getenv("CODEX_API_KEY") != "":
		return api
	case read && login.Mode == "apikey":
		return api
	case read && (login.Mode == "chatgpt" || login.Tokens.Kind() == '{'):
		return chat
	case read && login.Key.Kind() == '"', p.sources.Getenv("OPENAI_API_KEY") != "":
		return api
	}
	return ""
}

// tomlTexts are the texts of a TOML document by their dotted keys: what stands on one line as
// key = "text", at the top or in a table. Other values are not needed here.
func tomlTexts(document string) map[string]string {
	texts, table, until := map[string]string{}, "", ""
	for line := range strings.Lines(document) {
		line = strings.TrimSpace(line)
		if until != "" { // inside a text of several lines
			if strings.Contains(line, until) {
				until = ""
			}
			continue
		}
		if name, ok := strings.CutPrefix(line, "["); ok && !strings.Contains(line, "=") {
			name, _, _ = strings.Cut(name, "]")
			table = tomlKey(name) + "."
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		value = strings.TrimSpace(value)
		for _, quotes := range []string{`"""`, `'''`} {
			if rest, ok := strings.CutPrefix(value, quotes); ok && !strings.Contains(rest, quotes) {
				until = quotes
			}
		}
		if until != "" {
			continue
		}
		if text, ok := tomlText(value); ok {
			texts[table+tomlKey(key)] = text
		}
	}
	return texts
}

// tomlKey is a key without the blanks and quotes around its names.
func tomlKey(key string) string {
	names := strings.Split(key, ".")
	for i, name := range names {
		names[i] = strings.Trim(strings.TrimSpace(name), `"'`)
	}
	return strings.Join(names, ".")
}

// tomlText is a text on one line, and whether it is one.
func tomlText(value string) (string, bool) {
	if rest, ok := strings.CutPrefix(value, "'"); ok {
		text, _, ok := strings.Cut(rest, "'")
		return text, ok
	}
	literal, err := strconv.QuotedPrefix(value)
	if err != nil || !strings.HasPrefix(literal, `"`) {
		return "", false
	}
	text, err := strconv.Unquote(literal)
	return text, err == nil
}
