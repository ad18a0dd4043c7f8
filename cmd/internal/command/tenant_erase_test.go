package command

import (
	"strings"
	"testing"

	"github.com/winnowhq/winnow/cmd/internal/cli"
)

// A tenant is erased only if that is confirmed; the receipt counts the erased data and lists the rest.
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

// Sessions are deleted one by one, in a person's own store or, with its name, in a tenant's, which is
// noted.
func TestSessionDelete(t *testing.T) {
	d := newTeamDesk(t)
	d.run("session", "delete", "ses_1", "--yes").wants(t, cli.ExitUsage, "there is no store yet")
	id := d.stored(d.take("claude.jsonl"))
	d.run("session", "delete", id).wants(t, cli.ExitUsage, "the sessions ", "confirm it with --yes")
	d.run("session", "delete", "nosuch", "--yes").wants(t, cli.ExitFailed, "nosuch")
	o := d.run("session", "delete", id, "--yes")
	if o.wants(t, cli.ExitDone); !strings.Contains(o.stdout, "erased: 1 session, ") {
		t.Errorf("%s", o.stdout)
	}
	if o := d.run("list"); strings.Contains(o.stdout, id) {
		t.Errorf("it is there: %s", o.stdout)
	}
	d.run("tenant", "add", "ann").wants(t, cli.ExitDone)
	d.run("session", "delete", "live_1", "--tenant", "ann", "--yes").wants(t, cli.ExitFailed, "live_1")
	d.run("session", "delete", "live_1", "--tenant", "bob", "--yes").wants(t, cli.ExitUsage, "not found")
	d.run("tenant", "token", "add", "ann", "--owner", "eve@example.com").wants(t, 0, "")
	o = d.run("tenant", "person", "erase", "ann", "eve@example.com", "--yes", "--json")
	if o.wants(t, cli.ExitDone); !strings.Contains(o.stdout, `"person": "eve@example.com"`) {
		t.Errorf("%s", o.stdout)
	}
	if o := d.run("tenant", "audit", "ann"); !strings.Contains(o.stdout, "person erase") || strings.Contains(o.stdout, "eve") {
		t.Errorf("the audit log: %s", o.stdout)
	}
}
