package providers

import (
	"github.com/winnowhq/winnow/llm/anthropic"
	"github.com/winnowhq/winnow/llm/gemini"
	"github.com/winnowhq/winnow/llm/openai"
	"github.com/winnowhq/winnow/wire"
)

// wellKnown is a provider of which everything is known but the key.
type wellKnown struct {
	Provider
	baseEnv  string   // the variable that moves it
	keyEnvs  []string // further variables that hold its key, looked at in order
	tokenEnv string   // the variable of a token that is sent as "Authorization: Bearer"
}

// known are the well-known providers, under the names that the catalogue of models has for them.
var known = map[string]wellKnown{
	"anthropic": {
		Provider: Provider{Protocol: wire.Anthropic, BaseURL: anthropic.BaseURL, KeyEnv: "ANTHROPIC_API_KEY"},
		baseEnv:  "ANTHROPIC_BASE_URL", tokenEnv: "ANTHROPIC_AUTH_TOKEN",
	},
	"openai": {
		Provider: Provider{Protocol: wire.Responses, BaseURL: openai.BaseURL, KeyEnv: "OPENAI_API_KEY"},
		baseEnv:  "OPENAI_BASE_URL",
	},
	"google": {
		Provider: Provider{Protocol: wire.Gemini, BaseURL: gemini.BaseURL, KeyEnv: "GEMINI_API_KEY"},
		baseEnv:  "GOOGLE_GEMINI_BASE_URL", keyEnvs: []string{"GOOGLE_API_KEY"},
	},
	"cerebras":   chat("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
	"deepseek":   chat("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
	"fireworks":  chat("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
	"groq":       chat("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
	"mistral":    chat("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
	"moonshotai": chat("https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
	"openrouter": chat("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
	"together":   chat("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
	"xai":        chat("https://api.x.ai/v1", "XAI_API_KEY"),
	"zai":        chat("https://api.z.ai/api/paas/v4", "ZAI_API_KEY"),
	// Servers on this computer want no key.
	"lmstudio": chat("http://localhost:1234/v1", ""),
	"llamacpp": chat("http://localhost:8080/v1", ""),
	"ollama":   chat("http://localhost:11434/v1", ""),
	"vllm":     chat("http://localhost:8000/v1", ""),
}

func chat(base, key string) wellKnown {
	return wellKnown{Provider: Provider{Protocol: wire.Chat, BaseURL: base, KeyEnv: key}}
}

// aliases are other names that people use.
var aliases = map[string]string{"gemini": "google", "moonshot": "moonshotai", "z.ai": "zai", "x.ai": "xai",
	"lm-studio": "lmstudio"}
