package command

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/store/sqlite"
)

// shown is what stands in place of what was left out of a session, and the handle of one such part.
func (g *gatewayed) shown(id string) (text, handle string) {
	g.t.Helper()
	kept, err := sqlite.Open(g.t.Context(), sqlite.Config{Path: filepath.Join(g.dir, "..", "home", ".local", "share", "winnow", "winnow.db")})
	if err != nil {
		g.t.Fatal(err)
	}
	defer kept.Close()
	state, err := kept.State(g.t.Context(), id)
	if err != nil {
		g.t.Fatal(err)
	}
	for _, e := range state.Ledger.All() {
		text += e.Shown + "\n"
	}
	_, handle, _ = strings.Cut(text, "[winnow ")
	handle, _, _ = strings.Cut(handle, ":")
	return text, handle
}

// With gateway.capture none requests have the same bytes, before and after a restart, and what was
// said is nowhere on the disk.
func TestServe_capturesNothing(t *testing.T) {
	t.Parallel()
	sequential(t)
	const id = "5e551011-0000-4000-8000-00000000bbbb"
	plain, withheld := relaying(t, newDesk(t), "full", 60), relaying(t, newDesk(t), "full", 60, `,"capture":"none"`)
	for _, g := range []*gatewayed{plain, withheld} {
		g.part(id, 0, 44)
		g.ends()
		g.start()
		g.part(id, 44, len(g.log))
		g.ends()
	}
	a, b := plain.server.Records(), withheld.server.Records()
	if len(a) != len(b) || plain.statusOf().Total.Edited == 0 {
		t.Fatalf("%d and %d requests, %d edited", len(a), len(b), plain.statusOf().Total.Edited)
	}
	for i := range a {
		if !bytes.Equal(a[i].Body, b[i].Body) {
			t.Fatalf("request %d is another one:\n%.200s\n%.200s", i, a[i].Body, b[i].Body)
		}
	}
	said := func(g *gatewayed) (found []string) {
		kept := everything(t, filepath.Join(g.dir, ".."))
		for i := range g.log[:len(g.log)-1] {
			for _, p := range g.log[i].Parts {
				text := p.Text
				if p.State != nil {
					text = p.State.Result()
				}
				for line := range strings.Lines(text) {
					if line = strings.TrimSpace(line); len(line) >= 30 && strings.Contains(kept, line) {
						found = append(found, line)
					}
				}
			}
		}
		return slices.Compact(found)
	}
	live := withheld.statusOf().Sessions[0].ID
	shown, handle := withheld.shown(live)
	quoted := func(line string) bool { return strings.Contains(shown, line) }
	if all, none := said(plain), slices.DeleteFunc(said(withheld), quoted); len(all) == 0 || len(none) > 0 {
		t.Errorf("%d pieces of what was said are on the disk, and %d with capture none, such as %q", len(all), len(none), none)
	}
	if o := withheld.run("explain", live); o.code != cli.ExitDone || !strings.Contains(o.stdout, "left out") {
		t.Errorf("explain: exit code %d: %s%s", o.code, o.stdout, o.stderr)
	}
	if o := withheld.run("recall", handle); o.code == cli.ExitDone || !strings.Contains(o.stderr, "gateway.capture") {
		t.Errorf("recall %s: exit code %d: %s%s", handle, o.code, o.stdout, o.stderr)
	}
}
