package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/llm/providers"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/budget"
)

// write makes a file in a new folder and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), Name)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestLoad_withoutAnythingGivesTheDefaults(t *testing.T) {
	l, err := Load(Sources{User: t.TempDir(), Dir: t.TempDir(), Environ: []string{"PATH=/bin", "WINNOW_POLICY="}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Default(), l.Settings); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if len(l.Origins)+len(l.Files) > 0 {
		t.Errorf("origins %v, files %v", l.Origins, l.Files)
	}
}

func TestLoad_laterSourcesWin(t *testing.T) {
	user, dir := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(user, "winnow"), 0o755); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		filepath.Join(user, "winnow", Name): `{"policy": "classic", "compaction": {"protect": 1, "minimum": 2, "keep": 3}}`,
		filepath.Join(dir, Name):            `{"policy": "aggressive", "compaction": {"minimum": 20, /* for now */ "keep": 30,}}`,
	}
	for file, text := range files {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	l, err := Load(Sources{User: user, Dir: dir, Environ: []string{"WINNOW_COMPACTION_KEEP=300", "OPENCODE_DISABLE_PRUNE=1", "OPENCODE_DISABLE_AUTOCOMPACT=no"}})
	if err != nil {
		t.Fatal(err)
	}
	c := l.Settings.Compaction
	if l.Settings.Policy != "aggressive" || c.Protect != 1 || c.Minimum != 20 || *c.Keep != 300 || c.Prune || !c.Auto {
		t.Errorf("settings: %+v", l.Settings)
	}
	want := map[string]string{
		"policy": filepath.Join(dir, Name), "compaction.protect": filepath.Join(user, "winnow", Name), "compaction.minimum": filepath.Join(dir, Name),
		"compaction.keep": "WINNOW_COMPACTION_KEEP", "compaction.prune": "OPENCODE_DISABLE_PRUNE",
	}
	if diff := cmp.Diff(want, l.Origins); diff != "" {
		t.Errorf("origins (-want +got):\n%s", diff)
	}
}

func TestLoad_mistakesSayWhereAndWhatWasMeant(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"an unknown key", "{\n  \"polici\": \"classic\"\n}", `:2:3: polici: there is no such key; did you mean "policy"?`},
		{"an unknown key inside", "{\"compaction\": {\n\t\"protected\": []}}", `:2:2: compaction.protected: there is no such key; did you mean "compaction.protect"?`},
		{"a key in the wrong group", `{"protect": 5}`, `protect: there is no such key; did you mean "compaction.protect"?`},
		{"a key like none", `{"xylophone": 5}`, `xylophone: there is no such key`},
		{"a text for a number", `{"compaction": {"protect": "many"}}`, `:1:28: compaction.protect: it must be a whole number, not a text`},
		{"a fraction for a whole number", `{"compaction": {"protect": 1.5}}`, `compaction.protect: it must be a whole number, not this number`},
		{"a number for a list", `{"compaction": {"protectedTools": 3}}`, `compaction.protectedTools: it must be a list of texts, not this number`},
		{"a list for an object", `{"compaction": []}`, `compaction: it must be an object, not a list`},
		{"not a verdict", "{\"permissions\": [\n  {\"verdict\": \"perhaps\"}]}", `:2:4: permissions.0.verdict: unknown verdict "perhaps"; use allow, ask or deny`},
		{"a permission without a verdict", `{"permissions": [{"action": "run"}]}`, `permissions.0.verdict: unknown verdict ""; use allow, ask or deny`},
		{"not an action", `{"permissions": [{"verdict": "ask"}, {"verdict": "ask", "action": "walk"}]}`, `permissions.1.action: unknown action "walk"; use read, write, run, fetch or env`},
		{"an unknown member of a permission", `{"permissions": [{"action": "run", "verdicts": "ask"}]}`, `permissions.0.verdicts: there is no such key; did you mean "permissions.0.verdict"?`},
		{"a text for a permission", `{"permissions": ["go test"]}`, `permissions.0: it must be an object, not a text`},
		{"an object for the permissions", `{"permissions": {"bash": "allow"}}`, `permissions: it must be a list of objects, not an object`},
		{"not a model", `{"model": "sonnet"}`, `model: "sonnet" is not a model; write provider/model`},
		{"no object at all", `[]`, `:1:1: it must be an object, not a list`},
		{"no JSON", "{\n  \"policy\" \"classic\"}", `:2:12: `},
		{"nothing", "", `: `},
		{"not a schedule", `{"schedule": "lazy"}`, `schedule: unknown schedule "lazy"; use eager, economic or cold, or leave it empty for the policy's own`},
		{"not a threshold", `{"compaction": {"threshold": "economical"}}`, `:1:30: compaction.threshold: it must be a fraction of the context (0.92), a number of tokens (150000), "economic" or "late", or an object of model patterns and these, not a text`},
		{"not a threshold of a model", `{"compaction": {"threshold": {"anthropic/*": "economical"}}}`, `compaction.threshold.anthropic/*: it must be a fraction of the context (0.92), a number of tokens (150000), "economic" or "late", not a text`},
		{"a list for a threshold", `{"compaction": {"threshold": [0.5]}}`, `compaction.threshold: it must be a fraction`},
		{"a threshold that stands for a word", `{"compaction": {"threshold": -2}}`, `1:17: compaction.threshold: for "*": 0: give a fraction of the context (0.92), a number of tokens (150000), "economic", or "late"`},
		{"a threshold of less than nothing", `{"compaction": {"threshold": -0.5}}`, `1:17: compaction.threshold: for "*": -0.5: give a fraction of the context (0.92), a number of tokens (150000), "economic", or "late"`},
		{"a threshold in percent", `{"compaction": {"threshold": 92}}`, `1:17: compaction.threshold: for "*": 92 is 92 tokens: did you mean 0.92, or 92000 tokens?`},
		{"a threshold beyond the context", `{"compaction": {"threshold": {"anthropic/*": 1.5}}}`, `compaction.threshold: for "anthropic/*": 1.5 is neither a fraction of the context, which is at most 1, nor a number of tokens: did you mean 0.15?`},
		{"a threshold in thousands", `{"compaction": {"threshold": {"*": 0.5, "openai/gpt-*": 150}}}`, `compaction.threshold: for "openai/gpt-*": 150 is 150 tokens: did you mean 150000?`},
		{"a reserve below nothing", `{"compaction": {"reserved": -1}}`, `1:17: compaction.reserved: -1: give 0 or more tokens`},
		{"not a value", `{"policy": "letter"}`, `policy: unknown policy "letter"; use careful, balanced, thrifty, classic or aggressive`},
		{"a negative number", `{"compaction": {"minimum": -1}}`, `compaction.minimum: -1: give 0 or more`},
		{"a model without a provider", `{"compaction": {"model": "haiku"}}`, `compaction.model: "haiku" is not a model; write provider/model`},
		{"a temperature that no provider takes", `{"compaction": {"temperature": 2.5}}`, `compaction.temperature: 2.5: give a number from 0 to 2, or null`},
		{"a temperature in words", `{"compaction": {"temperature": "low"}}`, `compaction.temperature: it must be a number or null`},
		{"a provider's unknown member", "{\"providers\": {\n  \"local\": {\"baseUrl\": \"http://127.0.0.1:1/v1\"}}}", `:2:13: providers.local.baseUrl: there is no such key; did you mean "providers.local.baseURL"?`},
		{"a provider's member of another type", `{"providers": {"local": {"headers": ["a"]}}}`, `providers.local.headers: it must be an object of texts, not a list`},
		{"not a provider", `{"providers": {"local": "http://127.0.0.1:1"}}`, `providers.local: it must be an object, not a text`},
		{"providers that are none", `{"providers": []}`, `providers: it must be an object of providers by name, not a list`},
		{"not an address", `{"providers": {"local": {"baseURL": "localhost"}}}`, `providers.local.baseURL: "localhost" is not an address; write one like https://host/v1`},
		{"not a provider's name", `{"providers": {"a/b": {}}}`, `providers: "a/b" cannot name a provider`},
		{"models that are none", `{"models": []}`, `:1:12: models: it must be an object of models by provider/id, not a list`},
		{"a model's unknown member", "{\"models\": {\n  \"ollama/qwen2.5:7b\": {\"contxt\": 1}}}", `:2:25: models.ollama/qwen2.5:7b.contxt: there is no such key; did you mean "models.ollama/qwen2.5:7b.context"?`},
		{"an unknown price", `{"models": {"a/b": {"price": {"read": 1}}}}`, `:1:31: models.a/b.price.read: there is no such key; did you mean "models.a/b.price.cacheRead"?`},
		{"a text for a context", "{\"models\": {\n  \"a/b\": {\"context\": \"8k\"}}}", `:2:22: models.a/b.context: it must be a whole number or null, not a text`},
		{"a text for a price", `{"models": {"a/b": {"price": {"input": "1"}}}}`, `models.a/b.price.input: it must be a number or null, not a text`},
		{"a negative context", "{\"models\": {\n  \"a/b.5\": {\n    \"context\": -1}}}", `:3:5: models.a/b.5.context: -1: give 0 or more`},
		{"a negative price", `{"models": {"a/b": {"price": {"cacheRead": -1}}}}`, `:1:31: models.a/b.price.cacheRead: -1: give 0 or more US dollars per million tokens`},
		{"not a model's pattern", `{"models": {"a[": {}}}`, `models.a[: "a[" is neither a model nor a pattern; write one like`},
		{"a provider's model's member", `{"providers": {"house": {"baseURL": "http://127.0.0.1:1", "models": {"a": {"output": -1}}}}}`, `providers.house.models.a.output: -1: give 0 or more`},
		{"a bad pattern", `{"compaction": {"protectedPaths": ["["]}}`, `compaction.protectedPaths: "[" is not a pattern`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			file := write(t, c.text)
			_, err := Load(Sources{File: file})
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("the error is %v", err)
			}
			if e.File != file {
				t.Errorf("it speaks of %q", e.File)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %s\nwant %s", err, c.want)
			}
		})
	}
}

func TestLoad_aFileThatCannotBeReadIsNamedOnce(t *testing.T) {
	for _, file := range []string{filepath.Join(t.TempDir(), "nosuch.jsonc"), t.TempDir()} {
		_, err := Load(Sources{File: file})
		if err == nil || strings.Count(err.Error(), file) != 1 {
			t.Errorf("of %s: %v", file, err)
		}
	}
}

// A project's file may have come with a clone of anybody's repository.
func TestLoad_aProjectDoesNotSayWhereKeysAreSent(t *testing.T) {
	file := write(t, `{"providers": {"anthropic": {"baseURL": "https://example.org"}}}`)
	l, err := Load(Sources{Dir: filepath.Dir(file)})
	if err != nil || len(l.Settings.Providers) > 0 || len(l.Ignored) != 1 || l.Ignored[0].Key != "providers" || !strings.Contains(l.Ignored[0].Reason, "where your keys and sessions are sent") {
		t.Errorf("%v: %+v, and ignored is %+v", err, l.Settings.Providers, l.Ignored)
	}
	if l, err := Load(Sources{File: file}); err != nil || l.Settings.Providers["anthropic"].BaseURL != "https://example.org" {
		t.Errorf("of a file that was named: %v, %+v", err, l.Settings.Providers)
	}
}

func TestSet_writesAMemberOfAProvider(t *testing.T) {
	file := write(t, "{ // mine\n}")
	for key, value := range map[string]string{"providers.local.baseURL": "http://127.0.0.1:8080/v1", "providers.local.headers.X-Team": "tools"} {
		if err := Set(file, key, value); err != nil {
			t.Fatal(err)
		}
	}
	l, err := Load(Sources{File: file})
	want := map[string]Provider{"local": {Provider: providers.Provider{BaseURL: "http://127.0.0.1:8080/v1",
		Headers: map[string]string{"X-Team": "tools"}}}}
	if diff := cmp.Diff(want, l.Settings.Providers); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if err := Set(file, "providers.local.base", "x"); err == nil || !strings.Contains(err.Error(), "providers.local.baseURL") {
		t.Errorf("the error is %v", err)
	}
}

func TestSet_leavesLinksAndPermissionsAsTheyAre(t *testing.T) {
	file := write(t, `{"policy": "classic"}`)
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), Name)
	if err := os.Symlink(file, link); err != nil {
		t.Skip(err)
	}
	if err := Set(link, "policy", "aggressive"); err != nil {
		t.Fatal(err)
	}
	if l, err := Load(Sources{File: file}); err != nil || l.Settings.Policy != "aggressive" {
		t.Errorf("the file that the link leads to has policy %q, %v", l.Settings.Policy, err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("it is no longer a link: %v", err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v; it was for nobody else to read", info.Mode(), err)
	}
}

func TestSet_saysOnceWhichKeyIsWrong(t *testing.T) {
	file := write(t, "{}")
	if err := Set(file, "schedule", "lazy"); err == nil || strings.Count(err.Error(), "schedule: ") != 1 || !strings.HasPrefix(err.Error(), file) {
		t.Errorf("the error is %v", err)
	}
	if err := Set(file, "", "{}"); err == nil {
		t.Error("a key without a name can be set")
	}
}

func TestLoad_aNamedFileMustBeThereAndIsTheOnlyOne(t *testing.T) {
	dir := filepath.Dir(write(t, `{"policy": "classic"}`))
	if _, err := Load(Sources{File: filepath.Join(dir, "missing"), Dir: dir}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the error is %v", err)
	}
	l, err := Load(Sources{File: write(t, "{}"), Dir: dir})
	if err != nil || l.Settings.Policy != "balanced" {
		t.Errorf("policy %q, %v", l.Settings.Policy, err)
	}
}

// Every key has a variable, which sets it and nothing else.
func TestEnvironment_setsEveryKey(t *testing.T) {
	values := map[string]string{
		"policy": "classic", "schedule": "eager", "counter": "chars4", "compaction.summarizer": "offline", "compaction.threshold": `{"*":0.5}`, "compaction.reserved": "7", "compaction.keep": "7",
		"compaction.model": "p/m", "model": "p/m", "titles": "p/m", "mcp.compact": "on", "agents": `{"claude/sub":{"threshold":0.5}}`, "permissions": `[{"verdict":"ask"}]`, "providers": `{"local":{"baseURL":"http://127.0.0.1:1/v1","keyEnv":"LOCAL_KEY"}}`,
		"gateway.listen": "127.0.0.1:1", "gateway.mode": "observe", "gateway.origins": `["https://agent.example"]`, "gateway.upstreams": `{"house":"http://127.0.0.1:1"}`,
		"gateway.retention": "60d", "gateway.auditRetention": "2h", "gateway.capture": "none", "gateway.memory": "16777216", "gateway.tls.cert": "/c.pem", "gateway.tls.key": "/k.pem",
		"gateway.clients": `{"ann":"` + strings.Repeat("0f", 32) + `"}`, "gateway.delegate": "clear_tool_uses", "gateway.drain": "15m", "gateway.profile": "127.0.0.1:6060", "gateway.metrics": "0.0.0.0:9141",
		"gateway.keys": `{"team":{"env":"TEAM_KEY"}}`, "gateway.oidc.issuer": "https://id.example", "gateway.oidc.redirect": "https://w.example/~sign/back",
		"gateway.oidc.secretFile": "/secret", "gateway.oidc.cookieFile": "/cookie", "gateway.oidc.access": `{"g":{"tenant":"t","scopes":["read"]}}`,
		"notify": "bell", "compaction.background": "0", "compaction.temperature": "0.7", "models": `{"ollama/qwen2.5":{"context":0,"price":{"input":1}}}`,
	}
	before, defaults, err := Loaded{Settings: Default()}.Values()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range Keys() {
		value := values[key]
		if value == "" {
			switch typeOf(key).Kind() {
			case reflect.Bool:
				value = "0"
				if string(defaults[key]) == "false" {
					value = "1"
				}
			case reflect.Int:
				value = "7"
			case reflect.Slice:
				value = "one, two"
			default:
				value = "a text"
			}
		}
		l, err := Load(Sources{Environ: []string{Variable(key) + "=" + value}})
		if err != nil {
			t.Errorf("%s=%s: %v", Variable(key), value, err)
			continue
		}
		_, after, err := l.Values()
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range before {
			if changed := string(after[other]) != string(defaults[other]); changed != (other == key) {
				t.Errorf("%s=%s: %s is %s", Variable(key), value, other, after[other])
			}
		}
		if l.Origins[key] != Variable(key) {
			t.Errorf("%s comes from %s", key, l.Origins[key])
		}
	}
	for _, bad := range []string{"WINNOW_COMPACTION_KEEP=x", "WINNOW_COMPACTION_AUTO=maybe", "WINNOW_COMPACTION_BACKGROUND=2", "WINNOW_COMPACTION_PROTECT=1.5", "WINNOW_COMPACTION_THRESHOLD=[]", "WINNOW_COMPACTON_KEEP=1"} {
		name, _, _ := strings.Cut(bad, "=")
		var e *Error
		if _, err := Load(Sources{Environ: []string{bad}}); !errors.As(err, &e) || e.File != name {
			t.Errorf("%s: the error is %v", bad, err)
		}
	}
}

func TestNearest_findsWhatWasMeant(t *testing.T) {
	for typed, want := range map[string]string{
		"polcy": "policy", "Policy": "policy", "compaction.protectturns": "compaction.protectTurns", "compacton": "compaction", "keep": "compaction.keep",
		"pruneFiles": "strategies.aggressivePruning.attachments", "strategy": "strategies", "modl": "model", "zzzzzzzz": "",
	} {
		if got := nearest(typed); got != want {
			t.Errorf("nearest(%q) = %q, want %q", typed, got, want)
		}
	}
}

func TestSet_keepsCommentsAndTheRest(t *testing.T) {
	file := write(t, "{\n  // why it is so\n  \"policy\": \"classic\", // for now\n  \"compaction\": {\n    \"keep\": 5, /* the newest */\n  },\n}\n")
	for _, set := range [][2]string{{"compaction.keep", "6"}, {"compaction.protectedTools", "skill, todo"}, {"strategies.aggressivePruning.pruneFiles", "false"}, {"compaction.threshold", `{"*": 0.9}`}, {"compaction.reserved", "null"}, {"compaction.background", "1"}} {
		if err := Set(file, set[0], set[1]); err != nil {
			t.Fatalf("%v: %v", set, err)
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"// why it is so", "// for now", "/* the newest */", `"classic"`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%s is gone:\n%s", want, data)
		}
	}
	l, err := Load(Sources{File: file})
	if err != nil {
		t.Fatal(err)
	}
	c := l.Settings.Compaction
	if *c.Keep != 6 || !slices.Equal([]string{"skill", "todo"}, c.ProtectedTools) || l.Settings.Strategies.AggressivePruning.Attachments || c.Threshold["*"] != 0.9 || c.Reserved != nil || c.Background == nil || !*c.Background {
		t.Errorf("settings: %+v", l.Settings)
	}
}

func TestSet_refusesWhatLoadWouldRefuse(t *testing.T) {
	text := `{"policy": "classic"}`
	file := write(t, text)
	for _, set := range [][2]string{{"polcy", "balanced"}, {"policy", "letter"}, {"compaction.keep", "-1"}, {"compaction.auto", "perhaps"}, {"compaction", "7"}, {"", "x"}} {
		var e *Error
		if err := Set(file, set[0], set[1]); !errors.As(err, &e) {
			t.Errorf("%v: the error is %v", set, err)
		}
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != text {
		t.Errorf("the file holds %s, %v", data, err)
	}
	fresh := filepath.Join(t.TempDir(), "new", Name)
	if err := Set(fresh, "policy", "classic"); err != nil {
		t.Fatal(err)
	}
	if l, err := Load(Sources{File: fresh}); err != nil || l.Settings.Policy != "classic" {
		t.Errorf("policy %q, %v", l.Settings.Policy, err)
	}
}

func TestValues_areInTheOrderOfKeys(t *testing.T) {
	keys, values, err := Loaded{Settings: Default()}.Values()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if !jsontext.Value(values[key]).IsValid() {
			t.Errorf("%s has the value %q", key, values[key])
		}
	}
}

func TestLoad_mistakesAboutModelsAreFoundWhereTheyStand(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"{\n  // not \"baseUrl\"\n  \"providers\": {\"a\": {\"baseURL\": \"http://x/v1\"},\n    \"b\": {\"baseUrl\": \"http://y/v1\"}}\n}",
			`:4:11: providers.b.baseUrl: there is no such key; did you mean "providers.b.baseURL"?`},
		{"{\"providers\": {\n  \"house.two\": {\"protocol\": \"openai-chats\"}}}",
			`:2:17: providers.house.two.protocol: unknown protocol "openai-chats"; use openai-chat, openai-responses, anthropic or gemini`},
		{`{"providers": {"a": {"baseURL": "nope"}}}`, `:1:22: providers.a.baseURL: "nope" is not an address; write one like https://host/v1`},
		{`{"providers": {"a": {"idle": -1}}}`, `:1:22: providers.a.idle: -1: give 1 or more seconds, or leave it out for 120`},
		{`{"providers": {"a": {"idle": "1"}}}`, `:1:30: providers.a.idle: it must be a whole number, not a text`},
		{`{"providers": {"a": {"maxTokens": "max"}}}`, `:1:22: providers.a.maxTokens: unknown member "max"; use max_tokens or max_completion_tokens`},
		{`{"providers": {"a": {"body": [1]}}}`, `:1:22: providers.a.body: it must be an object`},
		{`{"providers": {"a/b": {}}}`, `:1:2: providers: "a/b" cannot name a provider: it stands before the slash in provider/model`},
		{"{\"compaction\": {\n\t\"model\": \"haiku\"}}", `:2:2: compaction.model: "haiku" is not a model; write provider/model, as ` + "`winnow config models` lists them"},
		{`{"compaction": {"summarizer": "lmm"}}`, `:1:17: compaction.summarizer: unknown summarizer "lmm"; use auto, llm or offline`},
		{`{"compaction": {"context": "x"}}`, `:1:28: compaction.context: it must be a list of texts, not a text`},
		{`{"compaction": {"modle": "p/m"}}`, `:1:17: compaction.modle: there is no such key; did you mean "compaction.model"?`},
	} {
		file := filepath.Join(t.TempDir(), Name)
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		var e *Error
		if _, err := Load(Sources{File: file}); !errors.As(err, &e) || err.Error() != file+c.want {
			t.Errorf("%s\n got %v\nwant %s", c.text, err, file+c.want)
		}
	}
	_, err := Load(Sources{Environ: []string{"WINNOW_COMPACTION_MODEL=haiku", `WINNOW_PROVIDERS={"a":{"protocol":"smoke"}}`}})
	for _, want := range []string{"WINNOW_COMPACTION_MODEL: compaction.model: ", "WINNOW_PROVIDERS: providers.a.protocol: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q in it", err, want)
		}
	}
}

// A threshold is a number or a word, for every model or by pattern; later files lay patterns over
// those of earlier ones.
func TestLoad_thresholds(t *testing.T) {
	for text, want := range map[string]budget.Thresholds{
		`0.8`:        {"*": 0.8},
		`"economic"`: {"*": budget.Economic},
		`"late"`:     {"*": budget.Late},
		`{"anthropic/*": "economic", "*": 150000}`: {"anthropic/*": budget.Economic, "*": 150_000},
		`{"openai/gpt-*": 0.5, "*": "economic"}`:   {"openai/gpt-*": 0.5, "*": budget.Economic},
		`{}`:                                       {},
	} {
		l, err := Load(Sources{File: write(t, `{"compaction": {"threshold": `+text+`}}`)})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, l.Settings.Compaction.Threshold); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		_, values, err := l.Values()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Load(Sources{File: write(t, `{"compaction": {"threshold": `+string(values["compaction.threshold"])+`}}`)})
		if diff := cmp.Diff(want, again.Settings.Compaction.Threshold); err != nil || diff != "" {
			t.Errorf("%s written as %s and read again (-want +got): %v\n%s", text, values["compaction.threshold"], err, diff)
		}
	}
	for variable, want := range map[string]budget.Thresholds{
		"economic": {"*": budget.Economic}, `"economic"`: {"*": budget.Economic}, "late": {"*": budget.Late}, "0.9": {"*": 0.9}, `{"local/*":"economic"}`: {"local/*": budget.Economic},
	} {
		l, err := Load(Sources{Environ: []string{"WINNOW_COMPACTION_THRESHOLD=" + variable}})
		if diff := cmp.Diff(want, l.Settings.Compaction.Threshold); err != nil || diff != "" {
			t.Errorf("WINNOW_COMPACTION_THRESHOLD=%s (-want +got): %v\n%s", variable, err, diff)
		}
	}
	file := write(t, `{"compaction": {"threshold": {"*": 0.9, "a/*": 0.5}}}`)
	l, err := Load(Sources{File: file, Environ: []string{`WINNOW_COMPACTION_THRESHOLD={"a/*":"economic"}`}})
	if diff := cmp.Diff(budget.Thresholds{"*": 0.9, "a/*": budget.Economic}, l.Settings.Compaction.Threshold); err != nil || diff != "" {
		t.Errorf("patterns of a variable over a file's (-want +got): %v\n%s", err, diff)
	}
}

func TestLoad_permissionsOfAProjectOnlyTakeAway(t *testing.T) {
	user, dir := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(user, "winnow"), 0o755); err != nil {
		t.Fatal(err)
	}
	mine, theirs := filepath.Join(user, "winnow", Name), filepath.Join(dir, Name)
	put := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put(mine, `{"permissions": [{"action": "run", "target": "make", "verdict": "allow"}]}`)
	put(theirs, `{"permissions": [{"action": "run", "target": "make deploy", "verdict": "deny"}]}`)
	l, err := Load(Sources{User: user, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	want := []Permission{{Action: "run", Target: "make", Verdict: "allow"}, {Action: "run", Target: "make deploy", Verdict: "deny"}}
	if diff := cmp.Diff(want, l.Settings.Permissions); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}
	l, err = Load(Sources{User: user, Dir: dir, Environ: []string{`WINNOW_PERMISSIONS=[{"verdict":"ask"}]`}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Permission{{Verdict: "ask"}, want[1]}, l.Settings.Permissions); diff != "" {
		t.Errorf("with a variable (-want +got):\n%s", diff)
	}
	put(theirs, "{\n  \"permissions\": [\n    {\"action\": \"run\", \"verdict\": \"allow\"}]}")
	l, err = Load(Sources{User: user, Dir: dir})
	if diff := cmp.Diff(want[:1], l.Settings.Permissions); err != nil || diff != "" {
		t.Errorf("a project that allows: %v (-want +got):\n%s", err, diff)
	}
	ignored := []Ignored{{"permissions", theirs, 2, 3, "a project's file may deny, not allow or ask"}}
	if diff := cmp.Diff(ignored, l.Ignored); diff != "" {
		t.Errorf("what is ignored (-want +got):\n%s", diff)
	}
	if _, err = Load(Sources{File: theirs}); err != nil {
		t.Errorf("the same file, named by the user: %v", err)
	}
}

// A project's folder may be anybody's, and a link in it lead to what never ends.
func TestLoad_onlyPlainFilesThatWereNotNamed(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/dev/zero", filepath.Join(dir, Name)); err != nil {
		t.Skip(err)
	}
	_, err := Load(Sources{Dir: dir})
	var e *Error
	if !errors.As(err, &e) || e.File != filepath.Join(dir, Name) || !errors.Is(err, errNotPlain) {
		t.Errorf("got %v, want the error that it is not a plain file", err)
	}
}

func TestSet_writesAMemberOfAModelWhoseNameHasDots(t *testing.T) {
	file := write(t, "{ // mine\n}")
	for _, one := range [][2]string{
		{"models.ollama/qwen2.5-coder:7b.context", "32768"}, {"models.ollama/qwen2.5-coder:7b.price.input", "0.5"},
		{"models.openai/gpt-5.1", `{"context": 0}`}, {"models.openai/gpt-5.1.boundReasoning", "true"},
		{"providers.z.ai.baseURL", "http://127.0.0.1:1/v1"}, {"providers.z.ai.models.glm-4.6.context", "200000"},
	} {
		if err := Set(file, one[0], one[1]); err != nil {
			t.Fatal(err)
		}
	}
	l, err := Load(Sources{File: file})
	if err != nil {
		t.Fatal(err)
	}
	n := func(v int) *int { return &v }
	price := 0.5
	yes := true
	want := map[string]model.Patch{
		"ollama/qwen2.5-coder:7b": {Context: n(32_768), Price: model.PricePatch{Input: &price}},
		"openai/gpt-5.1":          {Context: n(0), BoundReasoning: &yes},
	}
	if diff := cmp.Diff(want, l.Settings.Models); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]model.Patch{"glm-4.6": {Context: n(200_000)}}, l.Settings.Providers["z.ai"].Models); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for key, want := range map[string]string{"models.a/b.contxt": `"models.a/b.context"`, "models.a/b-1.5.price.inptu": `"models.a/b-1.5.price.input"`} {
		if err := Set(file, key, "5"); err == nil || !strings.Contains(err.Error(), "there is no such key; did you mean "+want) {
			t.Errorf("%s: the error is %v", key, err)
		}
	}
	if err := Set(file, "models.a/b.context", "-5"); err == nil || !strings.Contains(err.Error(), "give 0 or more") {
		t.Errorf("the error is %v", err)
	}
}

func TestCatalogue_modelsHaveTheLastWord(t *testing.T) {
	l, err := Load(Sources{Environ: []string{
		`WINNOW_MODELS={"house/a": {"context": 3000}, "house/*": {"output": 300}}`,
		`WINNOW_PROVIDERS={"house": {"baseURL": "http://127.0.0.1:1", "models": {"a": {"context": 2000, "output": 200}, "b*": {"context": 1000}}}}`,
	}})
	if err != nil {
		t.Fatal(err)
	}
	c := l.Settings.Catalogue(model.Default())
	for name, want := range map[string]model.Limits{
		"house/a": {Context: 3000, Output: 200}, "house/big": {Context: 1000, Output: 300}, "openai/gpt-4o": {Context: 128_000, Output: 16_384},
	} {
		if got := c.Lookup(name).Limits; got != want {
			t.Errorf("%s has %+v, want %+v", name, got, want)
		}
	}
	known := model.Default()
	if Default().Catalogue(known) != known {
		t.Error("a catalogue that nobody knows better is another one")
	}
}

func TestAge(t *testing.T) {
	for text, want := range map[string]time.Duration{"12h": 12 * time.Hour, "30d": 720 * time.Hour, "8w": 1344 * time.Hour,
		"": 0, "0d": 0, "-1d": 0, "30": 0, "d": 0, "99999999d": 0, "1.5h": 90 * time.Minute} {
		if got, err := Age(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q is %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestValidate_gateway(t *testing.T) {
	for text, want := range map[string]string{
		`{"retention": "soon"}`:                                             `gateway.retention: "soon" is not an age`,
		`{"retention": "nevr"}`:                                             `"nevr" is not an age; write it as 12h, 30d or 8w; or never`,
		`{"retention": "5m"}`:                                               "gateway.retention: 5m: give an hour or more",
		`{"origins": ["agent.example"]}`:                                    `gateway.origins.0: "agent.example" is not the origin of a web page`,
		`{"origins": ["https://agent.example/"]}`:                           `gateway.origins.0: "https://agent.example/" is not`,
		`{"capture": "some"}`:                                               `gateway.capture: unknown "some"; use all, or none`,
		`{"memory": 1000}`:                                                  "gateway.memory: 1000: give 16777216 bytes (16 MiB) or more",
		`{"tools": {"drop": ["[x"]}}`:                                       `gateway.tools.drop.0: "[x" is not the name of a tool`,
		`{"keys": {"a": {"env": "A", "file": "/a"}}}`:                       "gateway.keys.a: give one of file and env: where the key is",
		`{"keys": {"a": {}}}`:                                               "gateway.keys.a: give one of file and env: where the key is",
		`{"keys": {"a": {"file": "a"}}}`:                                    `gateway.keys.a.file: "a" depends on the current folder; give the whole path`,
		`{"keys": {"a": {"env": "A", "header": "a: b"}}}`:                   `gateway.keys.a.header: "a: b" is not the name of a header`,
		`{"oidc": {"issuer": "http://id.example"}}`:                         `gateway.oidc.issuer: "http://id.example" is not an address that begins with https://`,
		`{"oidc": {"redirect": "https://w.example/back"}}`:                  `gateway.oidc.redirect: "https://w.example/back" must end in /~sign/back`,
		`{"oidc": {"access": {"g": {"tenant": "t", "scopes": ["relay"]}}}}`: `gateway.oidc.access.g: unknown scope "relay"; use read, act, admin`,
		`{"clients": {"ann": "hunter2"}}`:                                   "gateway.clients.ann: this is not the hash of a token; `winnow serve token add ann` makes one",
		`{"keepWarm": -1}`:                                                  "gateway.keepWarm: -1: give 0 for none",
		`{"keepWarm": 21}`:                                                  "gateway.keepWarm: 21: give 0 for none, or up to 20",
		`{"tls": {"cert": "c.pem"}}`:                                        `gateway.tls.cert: "c.pem" depends on the current folder`,
		`{"tls": {"on": true}}`:                                             "on",
	} {
		_, err := Load(Sources{File: write(t, `{"gateway": `+text+`}`)})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// Kubernetes sets variables for each service of a namespace in its pods. Those of one whose name begins
// with winnow are told and ignored; what has such a name alone is a mistake as ever.
func TestLoad_serviceLinksAreIgnored(t *testing.T) {
	links := []string{"WINNOW_SERVICE_HOST=10.96.7.1", "WINNOW_SERVICE_PORT=4141", "WINNOW_SERVICE_PORT_HTTP=4141",
		"WINNOW_PORT=tcp://10.96.7.1:4141", "WINNOW_PORT_4141_TCP=tcp://10.96.7.1:4141", "WINNOW_PORT_4141_TCP_PROTO=tcp",
		"WINNOW_PORT_4141_TCP_PORT=4141", "WINNOW_PORT_4141_TCP_ADDR=10.96.7.1", "WINNOW_DB_SERVICE_HOST=fd00::17",
		"WINNOW_DB_PORT=udp://[fd00::17]:5432", "WINNOW_DB_PORT_5432_UDP_ADDR=fd00::17"}
	l, err := Load(Sources{Environ: append([]string{"WINNOW_GATEWAY_MODE=safe"}, links...)})
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Links) != len(links) || l.Settings.Gateway.Mode != "safe" {
		t.Errorf("%d of %d are ignored: %q", len(l.Links), len(links), l.Links)
	}
	for _, wrong := range []string{"WINNOW_PORT=4141", "WINNOW_PORT=tcp", "WINNOW_SERVICE_HOST=winnow.example.com", "WINNOW_SERVICE_PORT=http",
		"WINNOW_SERVICE=10.96.7.1", "WINNOW_PORT_4141=tcp://10.96.7.1:4141", "WINNOW_PORT_4141_TCP_HOST=10.96.7.1", "WINNOW_SERVICE_HOSTS=10.96.7.1"} {
		if _, err := Load(Sources{Environ: []string{wrong}}); err == nil || !strings.Contains(err.Error(), "no such variable") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
