package providers

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/wire"
)

// recorder answers every request with nothing, and keeps the last one.
type recorder struct {
	request *http.Request
	body    []byte
}

func (r *recorder) RoundTrip(q *http.Request) (*http.Response, error) {
	r.request = q
	r.body, _ = io.ReadAll(q.Body)
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(nil)), Request: q},
		nil
}

func env(pairs ...string) func(string) string {
	values := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		values[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return values[name] }
}

func TestOpen_findsTheProviderByTheNameOfTheModel(t *testing.T) {
	keys := env("ANTHROPIC_API_KEY", "k-anthropic", "OPENAI_API_KEY", "k-openai", "GOOGLE_API_KEY", "k-google",
		"OPENROUTER_API_KEY", "k-router",
		"GROQ_API_KEY", "k-groq", "MOONSHOT_API_KEY", "k-moon", "HOUSE_KEY", "k-house", "EXTRA", "secret")
	defined := map[string]Provider{
		"house": {BaseURL: "https://house.test/v1", KeyEnv: "HOUSE_KEY",
			Headers: map[string]string{"X-Extra": "$EXTRA", "X-Team": "a"}},
		"local":     {Protocol: wire.Responses, BaseURL: "http://127.0.0.1:9000/v1"},
		"messages":  {Protocol: wire.Anthropic, BaseURL: "https://messages.test/anthropic"},
		"groq":      {Protocol: wire.Responses},
		"anthropic": {Idle: 300},
	}
	for _, c := range []struct {
		name, url, header, value, model string
	}{
		{"anthropic/claude-sonnet-4-5", "https://api.anthropic.com/v1/messages", "X-Api-Key", "k-anthropic",
			"anthropic/claude-sonnet-4-5"},
		{"claude-sonnet-4-5", "https://api.anthropic.com/v1/messages", "X-Api-Key", "k-anthropic",
			"anthropic/claude-sonnet-4-5"},
		{"openai/gpt-5.1", "https://api.openai.com/v1/responses", "Authorization", "Bearer k-openai", "openai/gpt-5.1"},
		{"google/gemini-2.5-pro", "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", "X-Goog-Api-Key", "k-google", "google/gemini-2.5-pro"},
		{"gemini/gemini-2.5-pro", "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", "X-Goog-Api-Key", "k-google", "google/gemini-2.5-pro"},
		{"openrouter/anthropic/claude-sonnet-4.5", "https://openrouter.ai/api/v1/chat/completions", "Authorization",
			"Bearer k-router", "openrouter/anthropic/claude-sonnet-4.5"},
		{"moonshot/kimi-k2", "https://api.moonshot.ai/v1/chat/completions", "Authorization", "Bearer k-moon",
			"moonshotai/kimi-k2"},
		{"ollama/qwen3:8b", "http://localhost:11434/v1/chat/completions", "Authorization", "", "ollama/qwen3:8b"},
		{"lmstudio/openai/gpt-oss-20b", "http://localhost:1234/v1/chat/completions", "Authorization", "",
			"lmstudio/openai/gpt-oss-20b"},
		{"house/any/thing", "https://house.test/v1/chat/completions", "X-Extra", "secret", "house/any/thing"},
		{"house/any", "https://house.test/v1/chat/completions", "Authorization", "Bearer k-house", "house/any"},
		{"local/m", "http://127.0.0.1:9000/v1/responses", "Authorization", "", "local/m"},
		{"messages/m", "https://messages.test/anthropic/v1/messages", "X-Api-Key", "", "messages/m"},
		{"groq/openai/gpt-oss-20b", "https://api.groq.com/openai/v1/responses", "Authorization", "Bearer k-groq",
			"groq/openai/gpt-oss-20b"},
	} {
		s, err := New(keys, defined)
		if err != nil {
			t.Fatal(err)
		}
		seen := &recorder{}
		s.Transport = seen
		client, m, err := s.Open(model.Default(), c.name)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		r := question()
		r.Model = m
		client.Ask(t.Context(), r)
		if seen.request == nil {
			t.Errorf("%s: nothing was sent", c.name)
			continue
		}
		if got := seen.request.URL.String(); got != c.url || seen.request.Header.Get(c.header) != c.value ||
			m.String() != c.model {
			t.Errorf("%s: %s, %s %q, %s; want %+v", c.name, got, c.header, seen.request.Header.Get(c.header), m, c)
		}
		for name, values := range seen.request.Header {
			for _, v := range values {
				if strings.Contains(v, "k-") && name != c.header && name != "Authorization" {
					t.Errorf("%s: the key stands in the header %s, too", c.name, name)
				}
			}
		}
	}
}

func TestOpen_ofALocalModelTakesNoPricesFromOthers(t *testing.T) {
	s, _ := New(env(), nil)
	patch, err := model.Overrides(map[string]model.Patch{"lmstudio/**": {Context: new(12345)}})
	if err != nil {
		t.Fatal(err)
	}
	_, m, err := s.Open(model.Default().With(patch...), "lmstudio/openai/gpt-oss-20b")
	if err != nil || m.Price.Known() || m.Limits.Context != 12345 || len(m.Assumed) == 0 {
		t.Errorf("got %+v, %v", m, err)
	}
}

func TestOpen_saysWhatToDo(t *testing.T) {
	defined := map[string]Provider{"house": {BaseURL: "https://house.test", KeyEnv: "HOUSE_KEY"},
		"headed": {BaseURL: "https://h.test", Headers: map[string]string{"X-Key": "$MISSING"}}}
	for name, want := range map[string][]string{
		"anthropic/claude-sonnet-4-5": {"set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN)",
			"providers.anthropic.keyEnv"},
		"openai/gpt-5":          {"set OPENAI_API_KEY"},
		"google/gemini-2.5-pro": {"set GEMINI_API_KEY or GOOGLE_API_KEY"},
		"house/m":               {"set HOUSE_KEY"},
		"headed/m":              {"the header X-Key wants the environment variable MISSING"},
		"nowhere/m":             {`"nowhere" is not known`, "anthropic", "house", `"providers"`},
		"m":                     {"Write provider/model"},
		"house/":                {"names no model"},
	} {
		s, err := New(env(), defined)
		if err != nil {
			t.Fatal(err)
		}
		client, _, err := s.Open(model.Default(), name)
		if err == nil || client != nil {
			t.Errorf("%s: client %v, no error", name, client)
			continue
		}
		for _, words := range want {
			if !strings.Contains(err.Error(), words) {
				t.Errorf("%s: %v; want it to say %q", name, err, words)
			}
		}
	}
}

func TestClient_theEnvironmentMovesAProvider(t *testing.T) {
	for _, c := range []struct {
		provider, variable, base, url string
	}{
		{"anthropic", "ANTHROPIC_BASE_URL", "http://localhost:4000/", "http://localhost:4000/v1/messages"},
		{"openai", "OPENAI_BASE_URL", "http://[::1]:4000/v1", "http://[::1]:4000/v1/responses"},
		{"google", "GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:4000",
			"http://127.0.0.1:4000/v1beta/models/model-a:streamGenerateContent?alt=sse"},
	} {
		s, _ := New(env(c.variable, c.base), nil) // on this computer no key is wanted
		seen := &recorder{}
		s.Transport = seen
		client, err := s.Client(c.provider)
		if err != nil {
			t.Fatal(err)
		}
		client.Ask(t.Context(), question())
		if seen.request == nil || seen.request.URL.String() != c.url {
			t.Errorf("%s: asked %v, want %s", c.provider, seen.request, c.url)
			continue
		}
		for _, header := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key"} {
			if v := seen.request.Header.Get(header); v != "" {
				t.Errorf("%s: %s is %q without a key", c.provider, header, v)
			}
		}
		s, _ = New(env(c.variable, "https://gateway.test"), nil)
		if _, err := s.Client(c.provider); err == nil {
			t.Errorf("%s: elsewhere a key is wanted", c.provider)
		}
	}
	s, _ := New(env("ANTHROPIC_AUTH_TOKEN", "t-123"), nil)
	seen := &recorder{}
	s.Transport = seen
	client, err := s.Client("anthropic")
	if err != nil {
		t.Fatal(err)
	}
	client.Ask(t.Context(), question())
	if got := seen.request.Header.Get("Authorization"); got != "Bearer t-123" {
		t.Errorf("Authorization %q", got)
	}
}

func TestNew_refusesWhatCannotBe(t *testing.T) {
	for want, p := range map[string]Provider{
		`unknown protocol "soap"; use openai-chat, openai-responses, anthropic or gemini`: {Protocol: "soap",
			BaseURL: "https://a.test"},
		"baseURL is missing":                 {Protocol: wire.Chat},
		`"localhost:80" is not an http`:      {BaseURL: "localhost:80"},
		"idle: -1: give 1 or more seconds":   {BaseURL: "https://a.test", Idle: -1},
		`maxTokens: unknown member "tokens"`: {BaseURL: "https://a.test", MaxTokens: "tokens"},
		"body is not a JSON object":          {BaseURL: "https://a.test", Body: jsontext.Value(`[1]`)},
		`"X Y" is not a valid HTTP header`:   {BaseURL: "https://a.test", Headers: map[string]string{"X Y": "1"}},
	} {
		if _, err := New(env(), map[string]Provider{"house": p}); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "providers.house") {
			t.Errorf("%+v: %v; want it to say %q", p, err, want)
		}
	}
	for _, name := range []string{"", "a/b", "a b"} {
		if _, err := New(env(), map[string]Provider{name: {BaseURL: "https://a.test"}}); err == nil {
			t.Errorf("the name %q is accepted", name)
		}
	}
}

func TestKnown_everyProviderCanBeAsked(t *testing.T) {
	s, _ := New(func(string) string { return "" }, nil)
	if names := s.Names(); !slices.Equal(names, slices.Sorted(maps.Keys(known))) {
		t.Errorf("names %v", names)
	}
	for name, k := range known {
		values := map[string]string{k.KeyEnv: "k-1234"}
		s, err := New(func(v string) string { return values[v] }, map[string]Provider{name: {}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Client(name); err != nil {
			t.Error(err)
		}
		if k.KeyEnv == "" != local(k.BaseURL) {
			t.Errorf("%s: a key is for servers elsewhere", name)
		}
	}
	for alias, name := range aliases {
		if _, ok := known[name]; !ok {
			t.Errorf("%s stands for %s, which is not known", alias, name)
		}
	}
}

func TestProtocol_isWhatTheProviderSpeaks(t *testing.T) {
	set, err := New(func(string) string { return "" }, map[string]Provider{"house": {BaseURL: "http://localhost:1/v1"},
		"google": {Protocol: wire.Chat}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]wire.Protocol{"anthropic": wire.Anthropic, "house": wire.Chat, "google": wire.Chat, "nobody": wire.Chat} {
		if got := set.Protocol(name); got != want {
			t.Errorf("%s speaks %s, want %s", name, got, want)
		}
	}
}

func TestOwn_isAKnownProviderWhereItIsKnownToBe(t *testing.T) {
	for _, c := range []struct {
		name    string
		env     func(string) string
		defined map[string]Provider
		want    bool
	}{
		{"anthropic", env(), nil, true},
		{"anthropic", env(), map[string]Provider{"anthropic": {Idle: 300}}, true},
		{"anthropic", env("ANTHROPIC_BASE_URL", "https://proxy.test"), nil, false},
		{"anthropic", env(), map[string]Provider{"anthropic": {BaseURL: "https://proxy.test"}}, false},
		{"anthropic", env(), map[string]Provider{"anthropic": {Protocol: wire.Chat}}, false},
		{"openrouter", env(), nil, true},
		{"ollama", env(), nil, false},
		{"house", env(), map[string]Provider{"house": {BaseURL: "https://house.test/v1"}}, false},
		{"", env(), nil, false},
	} {
		s, err := New(c.env, c.defined)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Own(c.name); got != c.want {
			t.Errorf("%s, %+v: %v, want %v", c.name, c.defined, got, c.want)
		}
	}
}
