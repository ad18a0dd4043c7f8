package command

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/winnowhq/winnow/cmd/internal/cli"
)

// install without a product names those that are on this computer, and asks about each where
// somebody can be asked.
func TestInstall_withoutAProduct(t *testing.T) {
	needsShell(t)
	d := newDesk(t)
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	d.run("install").wants(t, cli.ExitNothing)
	for program, version := range map[string]string{"claude": "2.1.332", "opencode": "1.18.33"} {
		if err := os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\necho "+version+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	o := d.run("install")
	o.wants(t, cli.ExitDone)
	if want := "claude         winnow install claude\nopencode       winnow install opencode\n"; o.stdout != want {
		t.Errorf("it prints\n%swant\n%s", o.stdout, want)
	}
	d.run("install", "--print").wants(t, cli.ExitUsage)
	installed := func() (is []bool) {
		for _, p := range d.run("install", "--json").document(t)["products"].([]any) {
			is = append(is, p.(map[string]any)["installed"].(bool))
		}
		return is
	}
	for _, c := range []struct {
		keys             string
		claude, openCode bool
	}{{"q", false, false}, {"ny", false, true}, {"y", true, true}} {
		d.terminal, d.keys = true, c.keys
		d.run("install").wants(t, cli.ExitDone)
		d.terminal, d.keys = false, ""
		if is := installed(); len(is) != 2 || is[0] != c.claude || is[1] != c.openCode {
			t.Errorf("after the keys %q: %v", c.keys, is)
		}
	}
}
