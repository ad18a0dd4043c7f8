package gateway

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// piProviders are the providers that pi knows, with the base URLs that it asks.
var piProviders = map[string]string{
	"anthropic":    "https://api.anthropic.com",
	"google":       "https://generativelanguage.googleapis.com/v1beta",
	"groq":         "https://api.groq.com/openai/v1",
	"mistral":      "https://api.mistral.ai",
	"openai":       "https://api.openai.com/v1",
	"openai-codex": "https://chatgpt.com/backend-api",
	"openrouter":   "https://openrouter.ai/api/v1",
	"xai":          "https://api.x.ai/v1",
}

// pi loads an extension that changes the base URLs of its providers, and leaves their models.
func pi(p *Plan) error {
	at := p.sources.Getenv("PI_CODING_AGENT_DIR")
	if at == "" {
		at = p.home(".pi/agent")
	}
	var own struct {
		Providers map[string]struct {
			BaseURL string `json:"baseUrl"`
		} `json:"providers"`
	}
	bases := maps.Clone(piProviders)
	if p.read(at+"/models.json", &own) {
		for name, provider := range own.Providers {
			if provider.BaseURL != "" {
				bases[name] = provider.BaseURL
			}
		}
	}
	extension := "export default function (pi) {\n"
	for _, name := range slices.Sorted(maps.Keys(bases)) {
		if err := p.relay(name, bases[name]); err != nil {
			continue // it is written in a way that only pi reads
		}
		extension += fmt.Sprintf("\tpi.registerProvider(%s, { baseUrl: %s });\n", quoted(name), quoted(p.at(name)))
	}
	file, err := p.file("winnow.js", []byte(extension+"}\n"))
	p.before = []string{"--extension", file}
	return err
}

// clineProviders are base URLs that Cline asks if its settings name none, by the provider.
var clineProviders = map[string]string{
	"anthropic":     "https://api.anthropic.com",
	"openai-native": "https://api.openai.com/v1",
}

// cline reads a copy of its settings of providers, with other base URLs.
func cline(p *Plan) error {
	const variable = "CLINE_PROVIDER_SETTINGS_PATH"
	at := p.sources.Getenv(variable)
	if at == "" {
		at = p.home(".cline/data/settings/providers.json")
	}
	var settings map[string]jsontext.Value
	var providers map[string]map[string]jsontext.Value
	if !p.read(at, &settings) || json.Unmarshal(settings["providers"], &providers) != nil {
		return fmt.Errorf("%s has no providers: tell Cline whom to ask, with `cline auth`, then start it again", at)
	}
	for name, provider := range providers {
		var inner map[string]jsontext.Value
		if json.Unmarshal(provider["settings"], &inner) != nil {
			continue
		}
		base := ""
		if json.Unmarshal(inner["baseUrl"], &base) != nil || base == "" {
			base = clineProviders[name]
		}
		if base == "" || p.relay(name, base) != nil {
			continue
		}
		inner["baseUrl"] = jsontext.Value(quoted(p.at(name)))
		data, err := json.Marshal(inner)
		if err != nil {
			return err
		}
		provider["settings"] = data
	}
	if len(p.Upstreams) == 0 {
		return fmt.Errorf("winnow cannot stand between Cline and its providers (%s): use one with a base URL",
			strings.Join(slices.Sorted(maps.Keys(providers)), ", "))
	}
	data, err := json.Marshal(providers)
	if err != nil {
		return err
	}
	settings["providers"] = data
	if data, err = json.Marshal(settings, json.Deterministic(true)); err != nil {
		return err
	}
	file, err := p.file("providers.json", data)
	p.Set[variable] = file
	// Else a background process of Cline's would live on with these settings, and serve its next
	// start, too.
	p.set("CLINE_SESSION_BACKEND_MODE", "local")
	return err
}
