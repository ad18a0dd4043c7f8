package cli

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent/tools"
	"github.com/winnowhq/winnow/config"
	"github.com/winnowhq/winnow/llm/providers"
	"github.com/winnowhq/winnow/visible"
)

// Settings are the configuration with the flags over it.
func (a *App) Settings() (winnow.Settings, error) {
	loaded, err := config.Load(a.ConfigSources())
	if err != nil {
		return winnow.Settings{}, Misuse(err)
	}
	a.tellIgnored(loaded.Ignored)
	s := loaded.Settings
	if a.Policy != "" {
		s.Policy = a.Policy
	}
	if a.Counter != "" {
		s.Counter = a.Counter
	}
	if a.Schedule != "" {
		s.Schedule = a.Schedule
	}
	if a.Summarizer != "" {
		s.Compaction.Summarizer = a.Summarizer
	}
	if err := s.Validate(); err != nil {
		return s, Misuse(err)
	}
	if _, err := a.Providers(s); err != nil {
		return s, Misuse(loaded.Blame(err))
	}
	return s, nil
}

func (a *App) ConfigSources() config.Sources {
	return config.Sources{
		File: a.ConfigFile, Dir: a.Env.Dir, User: a.Env.XDG("XDG_CONFIG_HOME", ".config"), Environ: a.Env.Environ,
	}
}

// tellIgnored says on standard error what the project's file may not set: once for what it says, not for each command of a loop.
func (a *App) tellIgnored(ignored []config.Ignored) {
	if len(ignored) == 0 {
		return
	}
	a.ignored.Do(func() {
		if a.toldBefore(ignored) {
			return
		}
		var keys []string
		for _, i := range ignored {
			keys = append(keys, fmt.Sprintf("%s (line %d)", i.Key, i.Line))
		}
		where := "your own file, named with --config"
		if own := a.ConfigSources().Own(); own != "" {
			where = own
		}
		file := ignored[0].File
		fmt.Fprintf(a.Env.Stderr, "winnow: ignored in %s, which may be anybody's: %s\n  if you want it, set it in %s (winnow config set KEY VALUE), or give --config %s; `winnow config` says why it is ignored\n",
			visible.Line(a.Short(file)), strings.Join(keys, ", "), visible.Line(where), ShellWord(visible.Line(a.Short(file))))
	})
}

// toldBefore reports whether the same was said of the same file by an earlier command, and remembers that it is said now. Where nothing can be
// remembered it is said each time.
func (a *App) toldBefore(ignored []config.Ignored) bool {
	dir := a.Env.XDG("XDG_CACHE_HOME", ".cache")
	if dir == "" {
		return false
	}
	dir = filepath.Join(dir, "winnow", "told")
	if os.MkdirAll(dir, 0o700) != nil {
		return false
	}
	what := sha256.New()
	for _, i := range ignored {
		fmt.Fprintf(what, "%q %q %q\n", i.File, i.Key, i.Reason)
	}
	f, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf("%x", what.Sum(nil)[:16])), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return errors.Is(err, fs.ErrExist)
	}
	f.Close()
	return false
}

// OwnConfig is the configuration that is the user's to write: the one of --config, or the one in the home folder.
func (a *App) OwnConfig() (string, error) {
	if a.ConfigFile != "" {
		return a.Path(a.ConfigFile), nil
	}
	if own := a.ConfigSources().Own(); own != "" {
		return own, nil
	}
	return "", Usage("there is no home folder; name a file with --config")
}

// ProjectConfig is the configuration of the current folder, where it may say this of a key. A link that came with the folder is not followed out of it.
func (a *App) ProjectConfig(key, value string) (string, error) {
	sources := a.ConfigSources()
	loaded, err := config.Load(config.Sources{User: sources.User})
	if err != nil {
		return "", Misuse(err)
	}
	if err := config.ProjectMay(key, value, loaded.Settings); err != nil {
		return "", Usage("%s is not taken from a project's file: %w; set it without --project", key, err)
	}
	file := filepath.Join(a.Env.Dir, config.Name)
	folder, err := tools.Resolve(a.Env.Dir)
	if err != nil {
		return "", err
	}
	if at, err := tools.Resolve(file); err != nil || !tools.Within(folder, at) {
		return "", Usage("%s is a link that leads out of this folder; name what it leads to with --config", config.Name)
	}
	return file, nil
}

// Providers are those that are known and those of the settings.
func (a *App) Providers(settings winnow.Settings) (*providers.Set, error) {
	defined := make(map[string]providers.Provider, len(settings.Providers))
	for name, p := range settings.Providers {
		defined[name] = providers.Provider{Protocol: providers.Protocol(p.Protocol), BaseURL: p.BaseURL, KeyEnv: p.KeyEnv, Headers: p.Headers,
			Idle: p.Idle, Longest: p.Longest, MaxTokens: p.MaxTokens, Body: p.Body}
	}
	return providers.New(a.Env.Getenv, defined)
}
