package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/winnowhq/winnow/agent/permission"
	"github.com/winnowhq/winnow/config"
	"github.com/winnowhq/winnow/visible"
)

// tellIgnored says on standard error what the project's file may not set: once for what it says, not for each command of a loop.
func (a *app) tellIgnored(ignored []config.Ignored) {
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
		if own := a.configSources().Own(); own != "" {
			where = own
		}
		file := ignored[0].File
		fmt.Fprintf(a.env.Stderr, "winnow: ignored in %s, which may be anybody's: %s\n  if you want it, set it in %s (winnow config set KEY VALUE), or give --config %s; `winnow config` says why it is ignored\n",
			visible.Line(a.short(file)), strings.Join(keys, ", "), visible.Line(where), shellWord(visible.Line(a.short(file))))
	})
}

// toldBefore reports whether the same was said of the same file by an earlier command, and remembers that it is said now. Where nothing can be
// remembered it is said each time.
func (a *app) toldBefore(ignored []config.Ignored) bool {
	dir := a.env.xdg("XDG_CACHE_HOME", ".cache")
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

// ownConfig is the configuration that is the user's to write: the one of --config, or the one in the home folder.
func (a *app) ownConfig() (string, error) {
	if a.configFile != "" {
		return a.path(a.configFile), nil
	}
	if own := a.configSources().Own(); own != "" {
		return own, nil
	}
	return "", usage("there is no home folder; name a file with --config")
}

// projectConfig is the configuration of the current folder, where it may say this of a key. A link that came with the folder is not followed out of it.
func (a *app) projectConfig(key, value string) (string, error) {
	sources := a.configSources()
	loaded, err := config.Load(config.Sources{User: sources.User})
	if err != nil {
		return "", usageError{err}
	}
	if err := config.ProjectMay(key, value, loaded.Settings); err != nil {
		return "", usage("%s is not taken from a project's file: %w; set it without --project", key, err)
	}
	file := filepath.Join(a.env.Dir, config.Name)
	folder, err := permission.Resolve(a.env.Dir)
	if err != nil {
		return "", err
	}
	if at, err := permission.Resolve(file); err != nil || !permission.Within(folder, at) {
		return "", usage("%s is a link that leads out of this folder; name what it leads to with --config", config.Name)
	}
	return file, nil
}
