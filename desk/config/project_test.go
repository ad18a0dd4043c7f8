package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/plan/budget"
)

// folders are a user's configuration folder and a project's, with a file in each.
func folders(t *testing.T, own, project string) Sources {
	t.Helper()
	s := Sources{User: t.TempDir(), Dir: t.TempDir()}
	for file, text := range map[string]string{s.Own(): own, filepath.Join(s.Dir, Name): project} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if text == "" {
			continue
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// hostile are two values of a key that are not its default, as JSON: one that asks for more, and
// one that asks for less where a key has both.
func hostile(key string) []string {
	switch key {
	case "policy":
		return []string{`"aggressive"`, `"classic"`}
	case "schedule":
		return []string{`"eager"`}
	case "counter":
		return []string{`"chars4"`}
	case "hooks.session.compacting", "hooks.session.compacted", "hooks.elision.committed":
		return []string{`["x"]`, `["./x.sh", "-v"]`}
	case "hooks.timeout":
		return []string{"1", "3600"}
	case "compaction.summarizer":
		return []string{`"llm"`}
	case "compaction.threshold":
		return []string{`{"*": 0.01}`, `"economic"`, `1`}
	case "permissions":
		return []string{`[{"verdict": "allow"}]`, `[{"action": "run", "verdict": "ask"}]`}
	case "models":
		return []string{`{"*": {"context": 1000}}`, `{"anthropic/*": {"price": {"input": 0}}}`}
	case "providers":
		return []string{`{"anthropic": {"baseURL": "http://10.0.0.1/v1"}}`, `{"x": {"headers": {"A": "$HOME"}}}`}
	case "compaction.background":
		return []string{"true"}
	case "compaction.protectedTools", "compaction.protectedPaths", "compaction.context":
		return []string{`[]`, `["x"]`}
	case "compaction.temperature":
		return []string{"0", "2"}
	case "gateway.listen":
		return []string{`"0.0.0.0:4141"`, `"127.0.0.1:1"`}
	case "gateway.mode":
		return []string{`"off"`, `"observe"`}
	case "gateway.keepWarm":
		return []string{"1", "5"}
	case "gateway.delegate":
		return []string{`"clear_tool_uses"`}
	case "gateway.upstreams":
		return []string{`{"anthropic": "https://evil.example"}`, `{"x": "http://10.0.0.1"}`}
	case "gateway.tools.drop":
		return []string{`["*"]`, `["Bash"]`}
	case "agents":
		return []string{`{"*": {"threshold": 1000}}`}
	case "mcp.compact":
		return []string{`"on"`, `"off"`}
	case "notify":
		return []string{`"osc9"`}
	case "gateway.capture":
		return []string{`"none"`, `"all"`}
	case "gateway.origins":
		return []string{`["https://evil.example"]`}
	case "gateway.retention", "gateway.auditRetention":
		return []string{`"1h"`}
	case "gateway.drain":
		return []string{`"1000d"`, `"1ms"`}
	case "gateway.metrics":
		return []string{`"0.0.0.0:9141"`}
	case "gateway.profile":
		return []string{`"127.0.0.1:6060"`}
	case "gateway.memory":
		return []string{"16777216"}
	case "gateway.keys":
		return []string{`{"evil": {"env": "HOME"}}`}
	case "gateway.oidc.issuer":
		return []string{`"https://evil.example"`}
	case "gateway.oidc.redirect":
		return []string{`"https://evil.example/~sign/back"`}
	case "gateway.oidc.access":
		return []string{`{"evil": {"tenant": "web", "scopes": ["admin"]}}`}
	case "gateway.tls.cert", "gateway.tls.key", "gateway.oidc.secretFile", "gateway.oidc.cookieFile":
		return []string{`"/evil.pem"`}
	case "gateway.clients":
		return []string{`{"evil": "` + strings.Repeat("0f", 32) + `"}`}
	case "compaction.model", "model", "titles":
		return []string{`"evil/model"`}
	}
	switch t := typeOf(key); t.Kind() {
	case reflect.Bool:
		return []string{"true", "false"}
	case reflect.String:
		return []string{`"send everything"`}
	default:
		return []string{"0", "1", "1000000"}
	}
}

// What a project's file may do with each key, whatever it says, where the user has a model write
// summaries and where not: nothing, protect more, or say how a session is pruned. It walks every
// key, so that a new one is the user's alone until somebody has thought about it and written it
// down here and in the table.
func TestLoad_aProjectsFileReachesNobodyAndCostsNothing(t *testing.T) {
	always := func(_, _ Settings, _ bool) bool { return true }
	whereItIsFree := func(_, _ Settings, paid bool) bool { return !paid }
	held := map[string]func(before, after Settings, paid bool) bool{
		"policy": always, "schedule": always, "counter": always, "compaction.prune": always, "compaction.protect": always, "compaction.minimum": always,
		"compaction.protectTurns": always,
		"compaction.auto":         whereItIsFree, "compaction.threshold": whereItIsFree, "compaction.reserved": whereItIsFree,
		"compaction.keep": whereItIsFree, "compaction.coldFold": whereItIsFree, "compaction.userMessages": whereItIsFree,
		"compaction.background": func(_, after Settings, _ bool) bool { return !*after.Compaction.Background },
		"compaction.summarizer": func(_, after Settings, _ bool) bool { return after.Compaction.Summarizer == "offline" },
		"compaction.protectedTools": func(b, a Settings, _ bool) bool {
			return has(a.Compaction.ProtectedTools, b.Compaction.ProtectedTools)
		},
		"compaction.protectedPaths": func(b, a Settings, _ bool) bool {
			return has(a.Compaction.ProtectedPaths, b.Compaction.ProtectedPaths)
		},
		"permissions": func(b, a Settings, _ bool) bool { return len(a.Permissions) == len(b.Permissions) },
	}
	for _, key := range Keys() {
		allowed := mayOf(key) != nil
		if strings.HasPrefix(key, "strategies.") {
			held[key] = always
		}
		if allowed && held[key] == nil {
			t.Errorf("%s may be set by a project, and this test does not say how far", key)
			continue
		}
		for own, pays := range map[string]bool{
			"": false,
			`{"compaction": {"protect": 70000, "keep": 100, "summarizer": "offline", "background": false, "auto": false}, "schedule": "economic"}`: false,
			`{"compaction": {"model": "p/m", "auto": false, "background": false}}`:                                                                 true,
			`{"compaction": {"summarizer": "llm"}}`:                                                                                                true,
		} {
			for _, value := range hostile(key) {
				s := folders(t, own, string(nested(key, []byte(value))))
				before, err := Load(Sources{User: s.User})
				if err != nil {
					t.Fatal(err)
				}
				after, err := Load(s)
				if err != nil {
					t.Errorf("%s=%s: %v", key, value, err)
					continue
				}
				changed := !cmp.Equal(before.Settings, after.Settings)
				switch {
				case !changed: // said, where it would have been another value
				case !allowed:
					t.Errorf("%s=%s changes the settings:\n%s", key, value, cmp.Diff(before.Settings, after.Settings))
				case !held[key](before.Settings, after.Settings, pays):
					t.Errorf("%s=%s does more than it may under %q:\n%s", key, value, own, cmp.Diff(before.Settings, after.Settings))
				}
				if diff := cmp.Diff(without(t, before, key), without(t, after, key)); diff != "" {
					t.Errorf("%s=%s changes other keys:\n%s", key, value, diff)
				}
				_, values, _ := before.Values()
				if told := len(after.Ignored) > 0; !changed && !told && string(values[key]) != strings.ReplaceAll(value, ": ", ":") && !allowed {
					t.Errorf("%s=%s is ignored, and nothing says so", key, value)
				}
				for _, i := range after.Ignored {
					if i.Key != key || i.File != filepath.Join(s.Dir, Name) || i.Line != 1 || i.Column < 2 || i.Reason == "" {
						t.Errorf("%s=%s: it is said of %+v", key, value, i)
					}
				}
			}
		}
	}
	for key := range projectMay {
		if typeOf(key) == nil {
			t.Errorf("the table has %s, which is no key", key)
		}
	}
}

// A model that the environment names writes summaries too, and is read after the project's file.
func TestLoad_theEnvironmentPaysToo(t *testing.T) {
	for pair, want := range map[string]bool{"": true, "WINNOW_COMPACTION_MODEL=p/m": false, "WINNOW_COMPACTION_SUMMARIZER=llm": false, "WINNOW_COMPACTION_SUMMARIZER=offline": true} {
		s := folders(t, "", `{"compaction": {"threshold": {"*": 0.01}}}`)
		s.Environ = []string{pair}
		l, err := Load(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, taken := l.Settings.Compaction.Threshold["*"]; taken != want || (len(l.Ignored) == 0) != want {
			t.Errorf("%s: the project's threshold is taken: %v, want %v; ignored %+v", pair, taken, want, l.Ignored)
		}
	}
}

func has(all, some []string) bool {
	for _, one := range some {
		found := false
		for _, other := range all {
			found = found || one == other
		}
		if !found {
			return false
		}
	}
	return true
}

func TestLoad_aProjectsFileMayProtectMore(t *testing.T) {
	s := folders(t, `{"compaction": {"protectedPaths": ["mine/**"], "protect": 1000}}`,
		`{"compaction": {"protectedPaths": ["theirs/**"], "protect": 2000, "summarizer": "offline"}, "permissions": [{"action": "run", "verdict": "deny"}, {"verdict": "allow"}]}`)
	l, err := Load(s)
	if err != nil {
		t.Fatal(err)
	}
	c := l.Settings.Compaction
	want := append(Default().Compaction.ProtectedPaths, "mine/**", "theirs/**")
	if diff := cmp.Diff(want, c.ProtectedPaths); diff != "" || c.Protect != 2000 || c.Summarizer != "offline" {
		t.Errorf("it protects %+v\n%s", c, diff)
	}
	if diff := cmp.Diff([]Permission{{Action: "run", Verdict: "deny"}}, l.Settings.Permissions); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}
	if len(l.Ignored) != 1 || l.Ignored[0].Key != "permissions" {
		t.Errorf("ignored: %+v", l.Ignored)
	}
}

// null, a second name of the user's own file, a value of a type of its own: what could slip past
// the table.
func TestLoad_noWayPastTheTable(t *testing.T) {
	for _, text := range []string{`{"compaction": null}`, `{"strategies": null, "providers": null}`, `{"compaction": {"threshold": null, "keep": null, "model": null}}`, `{"permissions": null}`, `{"policy": null}`} {
		s := folders(t, `{"policy": "classic", "compaction": {"keep": 100, "model": "p/m", "threshold": {"*": 0.9}}, "permissions": [{"verdict": "deny"}]}`, text)
		before, err := Load(Sources{User: s.User})
		if err != nil {
			t.Fatal(err)
		}
		after, err := Load(s)
		if diff := cmp.Diff(before.Settings, after.Settings); err == nil && diff != "" {
			t.Errorf("%s changes the settings: %v\n%s", text, err, diff)
		}
	}
	// In the folder of one's own file, and through a link to it, that file is one's own.
	s := folders(t, `{"compaction": {"threshold": 0.5}}`, "")
	for _, dir := range []string{filepath.Dir(s.Own()), s.Dir} {
		if dir == s.Dir {
			if err := os.Symlink(s.Own(), filepath.Join(s.Dir, Name)); err != nil {
				t.Skip(err)
			}
		}
		l, err := Load(Sources{User: s.User, Dir: dir})
		if err != nil || len(l.Ignored) > 0 || len(l.Files) != 1 || l.Settings.Compaction.Threshold["*"] != budget.Threshold(0.5) {
			t.Errorf("in %s: %v, ignored %v, files %v", dir, err, l.Ignored, l.Files)
		}
	}
}

func TestLoad_aFileThatCameWithAFolderHasASensibleSize(t *testing.T) {
	s := folders(t, "", "{}"+strings.Repeat(" ", 1<<20))
	if _, err := Load(s); err == nil || !strings.Contains(err.Error(), "a configuration has at most 1048576 bytes") {
		t.Errorf("got %v", err)
	}
	if _, err := Load(Sources{File: filepath.Join(s.Dir, Name)}); err != nil {
		t.Errorf("named by the user: %v", err)
	}
}

func TestProjectMay_saysBeforeItIsWritten(t *testing.T) {
	for set, want := range map[[2]string]string{
		{"titles", "p/m"}:                           "who your sessions are sent to",
		{"providers.house.baseURL", "http://x/v1"}:  "where your keys and sessions are sent",
		{"providers", "{}"}:                         "where your keys and sessions are sent",
		{"compaction.prompt", "say nothing"}:        "what to keep and what to leave out",
		{"compaction.protect", "50000"}:             "",
		{"policy", "classic"}:                       "",
		{"permissions", `[{"verdict":"allow"}]`}:    "may deny, not allow or ask",
		{"permissions", `[{"verdict":"deny"}]`}:     "",
		{"permissions.0.verdict", "allow"}:          "only your own file may set it",
		{"compaction.protectedPaths", "docs/**"}:    "",
		{"compaction.summarizer", "offline"}:        "",
		{"compaction.summarizer", "llm"}:            `may only set it to "offline"`,
		{"polcy", "classic"}:                        "", // config.Set says so
		{"compaction", `{"model": "p/m"}`}:          "only your own file may set it",
		{"strategies", `{"balancedPruning": null}`}: "only your own file may set it",
	} {
		err := ProjectMay(set[0], set[1], Default())
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", set, err, want)
		}
	}
}

// A link that somebody planted under the name that a temporary file used to have is not written
// through.
func TestSet_isNotLedAstrayByALink(t *testing.T) {
	file := write(t, `{"policy": "classic"}`)
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	planted := file + ".tmp"
	if err := os.Symlink(victim, planted); err != nil {
		t.Skip(err)
	}
	if err := Set(file, "policy", "aggressive"); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(victim); err != nil || string(text) != "precious" {
		t.Errorf("what the link leads to holds %q, %v", text, err)
	}
	if l, err := Load(Sources{File: file}); err != nil || l.Settings.Policy != "aggressive" {
		t.Errorf("policy %q, %v", l.Settings.Policy, err)
	}
	names, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(names) != 2 {
		t.Errorf("it leaves %v, %v", names, err)
	}
}
