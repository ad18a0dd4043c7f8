package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/cmd/winnow/internal/cli"
	"github.com/winnowhq/winnow/internal/llmtest"
)

// naming answers requests for titles, and everything else with "Done.".
func naming(r llmtest.Request) llmtest.Reply {
	if strings.HasPrefix(r.System, "You name finished pieces of work") {
		return llmtest.Reply{Text: "The lamp in short\n\nIt was lit."}
	}
	return llmtest.Reply{Text: "Done."}
}

func TestTitles_comeFromTheModelThatTheSettingsName(t *testing.T) {
	d, upstream := agentDesk(t, naming)
	d.env = append(d.env, "WINNOW_TITLES=house/small")
	d.run("run", "light the lamp").wants(t, cli.ExitDone)
	records := upstream.Records()
	if len(records) != 2 || records[1].Model != "small" {
		t.Fatalf("%d requests, want one for the work and one of the small model for its title", len(records))
	}
	if list := d.run("list"); !strings.Contains(list.stdout, "The lamp in short") {
		t.Errorf("the session has not the title that was given it: %s", list.stdout)
	}
}

func TestTitles_withoutTheModelAreMadeOffline(t *testing.T) {
	d, upstream := agentDesk(t, naming)
	d.env = append(d.env, "WINNOW_TITLES=nobody/small")
	d.run("run", "light the lamp").wants(t, cli.ExitDone, "! titles are made offline", "nobody")
	if n := len(upstream.Records()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
	if list := d.run("list"); !strings.Contains(list.stdout, "light the lamp") {
		t.Errorf("the session has not the title of its first sentence: %s", list.stdout)
	}
}

func TestSnapshots_areNotTakenWhereTheSettingsSaySo(t *testing.T) {
	for value, taken := range map[string]bool{"true": true, "false": false} {
		t.Run(value, func(t *testing.T) {
			d, _ := agentDesk(t, llmtest.Sequence(calling("write", `{"filePath":"a.txt","content":"hello\n"}`), llmtest.Reply{Text: "It is written."}))
			d.env = append(d.env, "WINNOW_SNAPSHOTS="+value)
			o := d.run("run", "write hello into a.txt")
			o.wants(t, cli.ExitDone)
			if strings.Contains(o.stderr, "snapshots") {
				t.Errorf("what was asked for is told as trouble: %s", o.stderr)
			}
			found := false
			err := filepath.WalkDir(filepath.Dir(d.dir), func(path string, _ os.DirEntry, err error) error {
				found = found || filepath.Base(path) == "snapshots"
				return err
			})
			if err != nil || found != taken {
				t.Errorf("there are snapshots: %v, want %v (%v)", found, taken, err)
			}
		})
	}
}

func TestRun_saysWhatToDoAboutAProviderThatRefuses(t *testing.T) {
	d, _ := agentDesk(t, llmtest.Answer(naming).Fails(llmtest.Unauthorized, llmtest.Gone))
	o := d.run("run", "light the lamp")
	o.wants(t, cli.ExitFailed, "winnow: house/any: auth", "check providers.house", "continue with: winnow run --session ")
	if strings.Contains(o.stderr, "agent: session") {
		t.Errorf("it says what it says already: %s", o.stderr)
	}
	d.run("run", "light the lamp").wants(t, cli.ExitFailed, "`winnow models` lists")
}

func TestRun_aCallThatCannotBeMadeIsTold(t *testing.T) {
	d, _ := agentDesk(t, llmtest.Sequence(calling("wombat", `{}`), llmtest.Reply{Text: "Done."}))
	d.run("run", "light the lamp").wants(t, cli.ExitDone, "✗ wombat", `There is no tool called "wombat"`)
}

func TestRun_saysThatItWaits(t *testing.T) {
	d, _ := agentDesk(t, llmtest.Answer(naming).Fails(llmtest.RateMillis))
	d.run("run", "light the lamp").wants(t, cli.ExitDone, "! rate limited: trying again in ")
}
