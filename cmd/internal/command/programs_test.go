package command

import (
	"testing"

	"github.com/winnowhq/winnow/cmd/internal/cli"
)

// What a team's server needs is in winnowd alone: winnow says so in one sentence, and makes nothing.
func TestWinnow_saysThatTeamsHaveWinnowd(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	at := "postgres://ann:secret@127.0.0.1:1/winnow"
	for _, args := range [][]string{
		{"serve", "--store", at}, {"list", "--store", at}, {"store", "migrate", "--store", at},
		{"store", "copy", at, "a.db"}, {"tenant", "add", "acme"}, {"tenant", "list"}, {"tenant", "token", "add", "acme"},
	} {
		o := d.run(args...)
		o.wants(t, cli.ExitUsage, "winnow keeps sessions in files; a PostgreSQL database, and tenants, are for winnowd")
		if o.stdout != "" {
			t.Errorf("%q prints %q", args, o.stdout)
		}
	}
}

// A listener whose store has tenants lets nobody in who is none: winnow does not serve them.
func TestWinnow_servesNoTenants(t *testing.T) {
	t.Parallel()
	d := newTeamDesk(t)
	d.run("tenant", "add", "acme").wants(t, cli.ExitDone)
	d.team = false
	d.run("serve", "--listen", "127.0.0.1:0").wants(t, cli.ExitUsage, "tenants, are for winnowd")
	d.configure(`{"gateway": {"metrics": "127.0.0.1:0"}}`)
	d.run("serve", "--check").wants(t, cli.ExitUsage, "gateway.metrics is for winnowd serve")
}
