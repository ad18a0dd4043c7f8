package command

import (
	"strings"
	"testing"

	"github.com/winnowhq/winnow/cmd/internal/cli"
)

// A tenant is erased only if that is confirmed; the receipt says what went and what remains.
func TestTenantErase(t *testing.T) {
	d := newTeamDesk(t)
	d.run("tenant", "add", "ann").wants(t, cli.ExitDone)
	d.token(t, "ann")
	d.run("tenant", "erase", "ann").wants(t, cli.ExitUsage, "everything of the tenant ann, and cannot be undone: confirm it with --yes")
	d.run("tenant", "show", "ann").wants(t, cli.ExitDone)
	o := d.run("tenant", "erase", "ann", "--yes")
	o.wants(t, cli.ExitDone)
	for _, want := range []string{"erased: 0 sessions, 0 messages, 0 large texts, 0 B, 1 token", "cli:", "what remains:", "backups"} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("it does not say %q: %s", want, o.stdout)
		}
	}
	d.run("tenant", "show", "ann").wants(t, cli.ExitUsage, "not found")
	if o := d.run("tenant", "audit", "ann"); strings.Count(o.stdout, "\n") != 1 || !strings.Contains(o.stdout, "tenant erase") {
		t.Errorf("the audit log: %s", o.stdout)
	}
	d.run("tenant", "erase", "bob", "--yes").wants(t, cli.ExitUsage, "not found")
}
