package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/config"
	"github.com/winnowhq/winnow/replay"
)

// applyAdvice writes the recommended settings into the project's configuration, and those back to their defaults that stand against them, so that what
// was measured is what is done. With --json it tells on standard error.
func (a *app) applyAdvice(r replay.Report, inForce winnow.Settings) error {
	out := a.out
	if a.json {
		out = a.err
	}
	if r.Advice == nil {
		return hinted{nothing{"there is no recommendation to apply"}, r.Unadvised}
	}
	changes, err := advised(r, inForce)
	if err != nil {
		return err
	}
	if len(changes) == 0 {
		fmt.Fprintf(out, "\nNothing to write: %s is what the configuration says already\n", r.Advice.Policy)
		return nil
	}
	file := filepath.Join(a.env.Dir, config.Name)
	if a.configFile != "" {
		file = a.path(a.configFile)
	}
	before, err := os.ReadFile(file)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return err
	}
	kept, made := "", false
	if missing {
		// An object of several lines stays one.
		err = os.WriteFile(file, []byte("{\n}\n"), 0o644)
	} else {
		kept, made, err = keepAside(file, before)
	}
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(changes)) {
		if err := config.Set(file, key, changes[key]); err != nil {
			if missing {
				os.Remove(file)
			} else {
				os.WriteFile(file, before, 0o644)
			}
			if made {
				os.Remove(kept)
			}
			return usageError{err}
		}
	}
	after, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if bytes.Equal(before, after) { // something stronger says otherwise
		if made {
			os.Remove(kept)
		}
		fmt.Fprintf(out, "\nNothing to write: %s says it already\n", a.short(file))
		return a.stillOtherwise(r, out)
	}
	fmt.Fprintf(out, "\n%s:\n%s", a.short(file), difference(string(before), string(after)))
	if missing {
		fmt.Fprintf(out, "It was written. Undo with: rm %s\n", shellWord(a.short(file)))
	} else {
		fmt.Fprintf(out, "It was written. Undo with: mv %s %s\n", shellWord(a.short(kept)), shellWord(a.short(file)))
	}
	return a.stillOtherwise(r, out)
}

// stillOtherwise names what is recommended and set otherwise in a place that counts for more.
func (a *app) stillOtherwise(r replay.Report, out io.Writer) error {
	loaded, err := config.Load(a.configSources())
	if err != nil {
		return nil // of what else is wrong with it other commands tell
	}
	if still, err := advised(r, loaded.Settings); err == nil && len(still) > 0 {
		fmt.Fprintf(out, "Still set otherwise, `winnow config` shows where: %s\n", strings.Join(slices.Sorted(maps.Keys(still)), ", "))
	}
	return nil
}

// advised are the settings to write so that what was recommended is in force, none when it is.
func advised(r replay.Report, inForce winnow.Settings) (map[string]string, error) {
	wanted, err := set(winnow.DefaultSettings(), r.Advice.Settings)
	if err != nil {
		return nil, err
	}
	return differing(wanted, inForce)
}

// keepAside copies a configuration to the first of FILE.orig, FILE.orig.2, … that is free or has the same content.
func keepAside(file string, data []byte) (kept string, made bool, err error) {
	for n := 1; ; n++ {
		kept = file + ".orig"
		if n > 1 {
			kept += fmt.Sprintf(".%d", n)
		}
		there, err := os.ReadFile(kept)
		switch {
		case err == nil && string(there) == string(data):
			return kept, false, nil
		case err == nil:
			continue
		case !errors.Is(err, fs.ErrNotExist):
			return "", false, err
		}
		mode := fs.FileMode(0o600)
		if info, err := os.Stat(file); err == nil {
			mode = info.Mode().Perm()
		}
		return kept, true, os.WriteFile(kept, data, mode)
	}
}

// shellWord is a name as a shell takes it.
func shellWord(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-./:@%+,", r)
	}) {
		return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	}
	return name
}

// difference shows the lines that changed between two texts, those between the first and the last that are the same at both ends.
func difference(before, after string) string {
	old, now := strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")
	for len(old) > 0 && len(now) > 0 && old[0] == now[0] {
		old, now = old[1:], now[1:]
	}
	for len(old) > 0 && len(now) > 0 && old[len(old)-1] == now[len(now)-1] {
		old, now = old[:len(old)-1], now[:len(now)-1]
	}
	var b strings.Builder
	for _, side := range []struct {
		sign  string
		lines []string
	}{{"- ", old}, {"+ ", now}} {
		for _, line := range side.lines {
			if line != "" {
				b.WriteString(side.sign + strings.TrimSuffix(line, "\n") + "\n")
			}
		}
	}
	return b.String()
}
