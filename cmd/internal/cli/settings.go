package cli

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/winnowhq/winnow/agent/permission"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/desk/hook"
	"github.com/winnowhq/winnow/llm/providers"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/text/visible"
)

// Settings are the configuration with the flags over it.
func (a *App) Settings() (config.Settings, error) {
	loaded, err := config.Load(a.ConfigSources())
	if err != nil {
		return config.Settings{}, Misuse(err)
	}
	a.tellIgnored(loaded.Ignored)
	a.tellLinks(loaded.Links)
	s := loaded.Wished(a.Policy).Settings
	s.Counter = cmp.Or(a.Counter, s.Counter)
	s.Schedule = cmp.Or(a.Schedule, s.Schedule)
	s.Compaction.Summarizer = cmp.Or(a.Summarizer, s.Compaction.Summarizer)
	s.Agents = s.ForAll(a.Policy != "", a.Summarizer != "")
	if err := s.Validate(); err != nil {
		return s, Misuse(err)
	}
	if _, err := a.Providers(s); err != nil {
		return s, Misuse(loaded.Blame(err))
	}
	return s, nil
}

// ConfigSources is where settings are looked for.
func (a *App) ConfigSources() config.Sources {
	return config.Sources{File: a.ConfigFile, Dir: a.Env.Dir, User: a.Env.Config(), Environ: a.Env.Environ}
}

// tellIgnored says on standard error which settings of the project's file are ignored. It says the
// same only once, not for each command of a loop.
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
		own := cmp.Or(a.ConfigSources().Own(), "your own file, named with --config")
		file := visible.Line(a.Short(ignored[0].File))
		a.Warn("ignored in %s, which may be anybody's: %s\n"+
			"  if you want it, set it in %s (winnow config set KEY VALUE), or give --config %s; "+
			"`winnow config` says why it is ignored",
			file, strings.Join(keys, ", "), visible.Line(own), ShellWord(file))
	})
}

// tellLinks says once which variables are ignored as Kubernetes has set them.
func (a *App) tellLinks(links []string) {
	if len(links) == 0 {
		return
	}
	a.linked.Do(func() {
		a.Warn("ignored, as Kubernetes sets them for a service whose name begins with winnow: %s\n"+
			"  enableServiceLinks: false in the pod leaves them out", strings.Join(links, ", "))
	})
}

// Doubt says once, on standard error, what is not known of the limits of a model.
func (a *App) Doubt(m model.Model) {
	doubt := budget.Settings{Full: true}.Doubt(m)
	if _, told := a.doubted.LoadOrStore(m.String(), true); doubt != "" && m.Named() && !told && !a.Quiet {
		a.Warn("%s", doubt)
	}
}

// toldBefore reports whether an earlier command said the same of the same file, and remembers that
// it is said now. If nothing can be remembered it is said each time.
func (a *App) toldBefore(ignored []config.Ignored) bool {
	dir := a.Env.Cache("told")
	if dir == "" || os.MkdirAll(dir, 0o700) != nil {
		return false
	}
	what := sha256.New()
	for _, i := range ignored {
		fmt.Fprintf(what, "%q %q %q\n", i.File, i.Key, i.Reason)
	}
	name := filepath.Join(dir, fmt.Sprintf("%x", what.Sum(nil)[:16]))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return errors.Is(err, fs.ErrExist)
	}
	f.Close()
	return false
}

// Hooks are the commands of the settings, run in the folder in which this command works; none if it
// is run by one. failed is told what goes wrong with one.
func (a *App) Hooks(settings config.Settings, dry bool, failed func(sessionID, what string)) *hook.Runner {
	h := settings.Hooks
	if a.Env.Getenv(hook.Variable) != "" {
		h = config.Hooks{}
	}
	return hook.New(hook.Config{Compacting: h.Compacting, Compacted: h.Compacted, Elided: h.Elided,
		Timeout: time.Duration(h.Timeout) * time.Second, Dir: a.Env.Dir, Environ: a.Env.Environ,
		Context: settings.Compaction.Context, DryRun: dry, Failed: failed})
}

// OwnConfig is the configuration file that the user may write: the one of --config, or the one in
// the home folder.
func (a *App) OwnConfig() (string, error) {
	if a.ConfigFile != "" {
		return a.Path(a.ConfigFile), nil
	}
	if own := a.ConfigSources().Own(); own != "" {
		return own, nil
	}
	return "", Usage("there is no home folder; name a file with --config")
}

// ProjectConfig is the configuration file of the current folder, if a project may set a key to a
// value.
func (a *App) ProjectConfig(key, value string) (string, error) {
	loaded, err := config.Load(config.Sources{User: a.Env.Config()})
	if err != nil {
		return "", Misuse(err)
	}
	if err := config.ProjectMay(key, value, loaded.Settings); err != nil {
		return "", Usage("%s is not accepted from a project's file: %w; set it without --project", key, err)
	}
	return a.ProjectFile()
}

// ProjectFile is the configuration file of the current folder. A link that leads out of the folder
// is not followed.
func (a *App) ProjectFile() (string, error) {
	file := filepath.Join(a.Env.Dir, config.Name)
	folder, err := permission.Resolve(a.Env.Dir)
	if err != nil {
		return "", err
	}
	if at, err := permission.Resolve(file); err != nil || !permission.Within(folder, at) {
		return "", Usage("%s is a link that leads out of this folder; name its target with --config", config.Name)
	}
	return file, nil
}

// Providers are the known providers and those that the settings define.
func (a *App) Providers(settings config.Settings) (*providers.Set, error) {
	defined := make(map[string]providers.Provider, len(settings.Providers))
	for name, p := range settings.Providers {
		defined[name] = p.Provider
	}
	return providers.New(a.Env.Getenv, defined)
}
