package simulation

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/text/plainfile"
)

// ApplyAdvice writes the recommended settings into the user's own configuration, or the one of
// --config, and resets those that contradict them, so that what was measured is what is done. With
// --json it reports on standard error.
func ApplyAdvice(a *cli.App, r lab.Report, inForce config.Settings) error {
	out := a.Out
	if a.JSON {
		out = a.Err
	}
	if r.Advice == nil {
		return cli.Hint(cli.Nothing("there is no recommendation to apply"), r.Unadvised)
	}
	changes, err := Advised(r, inForce)
	if err != nil {
		return err
	}
	if len(changes) == 0 {
		fmt.Fprintf(out, "\nNothing to write: %s is what the configuration says already\n", r.Advice.Policy)
		return nil
	}
	return Write(a, out, changes, func() error { return stillOtherwise(a, r, out) })
}

// Write writes settings into the user's own configuration, or the one of --config, shows what
// changed, and says how to undo it. Then it calls after.
func Write(a *cli.App, out io.Writer, changes map[string]string, after func() error) error {
	file, err := a.OwnConfig()
	if err != nil {
		return err
	}
	before, err := os.ReadFile(file)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return err
	}
	kept, made := "", false
	if !missing {
		if kept, made, err = keepAside(file, before); err != nil {
			return err
		}
	}
	if err := config.SetAll(file, changes); err != nil {
		if made {
			os.Remove(kept)
		}
		return cli.Misuse(err)
	}
	now, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if bytes.Equal(before, now) { // something stronger says otherwise
		if made {
			os.Remove(kept)
		}
		fmt.Fprintf(out, "\nNothing to write: %s says it already\n", a.Short(file))
		return after()
	}
	fmt.Fprintf(out, "\n%s:\n%s", a.Short(file), difference(string(before), string(now)))
	if missing {
		fmt.Fprintf(out, "It was written. Undo with: rm %s\n", cli.ShellWord(a.Short(file)))
	} else {
		fmt.Fprintf(out, "It was written. Undo with: mv %s %s\n", cli.ShellWord(a.Short(kept)),
			cli.ShellWord(a.Short(file)))
	}
	return after()
}

// stillOtherwise names the recommended settings that a place with precedence sets otherwise.
func stillOtherwise(a *cli.App, r lab.Report, out io.Writer) error {
	loaded, err := config.Load(a.ConfigSources())
	if err != nil {
		return nil // of what else is wrong with it other commands tell
	}
	if still, err := Advised(r, loaded.Settings); err == nil && len(still) > 0 {
		fmt.Fprintf(out, "Still set otherwise, `winnow config` shows where: %s\n",
			strings.Join(slices.Sorted(maps.Keys(still)), ", "))
	}
	return nil
}

// Advised are the settings to write so that what was recommended is in force, none if it is.
func Advised(r lab.Report, inForce config.Settings) (map[string]string, error) {
	wanted, err := set(config.Default(), r.Advice.Settings)
	if err != nil {
		return nil, err
	}
	return differing(wanted, inForce)
}

// keepAside copies a configuration to the first of FILE.orig, FILE.orig.2, … that is free or has
// the same content. An existing file is never written to, whatever it links to.
func keepAside(file string, data []byte) (kept string, made bool, err error) {
	for n := 1; ; n++ {
		kept = file + ".orig"
		if n > 1 {
			kept += fmt.Sprintf(".%d", n)
		}
		mode := fs.FileMode(0o600)
		if info, err := os.Stat(file); err == nil {
			mode = info.Mode().Perm()
		}
		f, err := os.OpenFile(kept, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		switch {
		case errors.Is(err, fs.ErrExist):
			if there, _, err := plainfile.Read(kept, int64(len(data))); err == nil && bytes.Equal(there, data) {
				return kept, false, nil
			}
			continue
		case err != nil:
			return "", false, err
		}
		_, err = f.Write(data)
		if err = errors.Join(err, f.Close()); err != nil {
			os.Remove(kept)
		}
		return kept, true, err
	}
}

// difference shows the lines that changed between two texts, those between the first and the last
// that are the same at both ends.
func difference(before, after string) string {
	old, now := call.Differing(strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n"), nil)
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
