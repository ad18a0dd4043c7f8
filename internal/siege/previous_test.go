package siege

import (
	"bytes"
	"errors"
	"flag"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/internal/tworuns"
	"github.com/winnowhq/winnow/team/book"
)

var versions = flag.Bool("previous", false, "build the program as it was before the newest migrations, "+
	"and run it on today's tables")

// stores are the folders of the migrations in PostgreSQL.
var stores = map[string]string{"sessions": "store/postgres/migrations", "tenants": "team/book/migrations"}

// history asks git about the repository. The test is skipped if the history is not there.
func history(t *testing.T, args ...string) []byte {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", outside.Root(t)}, args...)...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			out = exit.Stderr
		}
		t.Skipf("the history of the repository is not there: git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// migrationsOf are the names of a store's migrations, in order.
func migrationsOf(t *testing.T, store string) (names []string) {
	t.Helper()
	for _, path := range must(filepath.Glob(filepath.Join(outside.Root(t), filepath.FromSlash(stores[store]), "*.sql"))) {
		names = append(names, stores[store]+"/"+filepath.Base(path))
	}
	return names
}

// previous builds the program as it was before the newest migration of a store came to the main
// line. The test is skipped if that is more than one version behind in the other store.
func previous(t *testing.T, store string) (program string) {
	t.Helper()
	if !*versions {
		t.Skip("it builds the program twice: -previous")
	}
	all := migrationsOf(t, store)
	commit := strings.TrimSpace(string(history(t, "log", "-m", "--first-parent", "--diff-filter=A", "-1",
		"--format=%H^", "--", all[len(all)-1])))
	if commit == "" {
		commit = "HEAD" // the newest migration is not committed yet
	}
	for other, folder := range stores {
		known := bytes.Count(history(t, "ls-tree", "--name-only", commit, folder+"/"), []byte(".sql\n"))
		if now := len(migrationsOf(t, other)); known < now-1 {
			t.Skipf("%s knows version %d of the tables of %s, which is %d now: more than one behind", commit, known,
				other, now)
		}
	}
	dir := t.TempDir()
	unpack := exec.Command("tar", "-x", "-C", dir)
	unpack.Stdin = bytes.NewReader(history(t, "archive", commit))
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("tar: %v\n%s", err, out)
	}
	program = filepath.Join(t.TempDir(), "winnowd")
	if out, err := exec.Command("go", "build", "-C", dir, "-o", program, "./cmd/winnowd").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}

// The program of the version before starts and works on the tables of this one, by itself, beside
// this one, and after it: requests, commands, sessions, the book. No conversation notices which one
// it asks.
func TestPrevious_worksOnTodaysTables(t *testing.T) {
	for store := range stores {
		t.Run(store, func(t *testing.T) {
			program := previous(t, store)
			o := operate(t)
			o.runs("are those of this version", "store", "migrate")
			o.runs("", "tenant", "add", "ann", "--budget-day", "1000", "--person-day", "900", "--routes", "any", "--keep-pinned")
			ann := o.visits("ann", 7)
			old := o.by(program)

			first := old.serve()
			ann.worksUntilPruned(first)
			at := "--store=" + o.database + "&tenant=ann" // the URL has a query
			for _, c := range []struct{ want, command string }{
				{"", "store migrate"},
				{"", "tenant add bob --budget-day 10"},
				{"ann", "tenant list"},
				{"of $1,000.00", "tenant show ann"},
				{"wt_", "tenant token add bob --owner bob@example.com"},
				{"bob@example.com", "tenant token list bob"},
				{"", "tenant set ann --budget-day 800"},
				{"tenant set", "tenant audit ann"},
				{"live_", "list " + at},
				{"", "status --by person " + at},
				{"", "tenant remove bob"},
			} {
				old.runs(c.want, strings.Fields(c.command)...)
			}
			o.runs(`"keepPinned": true`, "tenant", "show", "ann", "--json") // the version before may not know it

			second := o.serve()
			ann.works(6, first, second)
			o.ended(first)
			ann.works(4, second)
			third := old.serve() // back to the version before
			ann.works(4, second, third)
			o.ended(second)
			ann.works(4, third)
			o.ended(third)
			fourth := o.serve()
			ann.works(4, fourth)
			o.ended(fourth)
			o.bookHas(ann)
			if store == "tenants" { // else that version knows what follows
				// A job of the version before gives nothing to a tenant whose name came again, nor
				// takes it away.
				o.runs("", "tenant", "add", "web")
				o.runs("", "tenant", "remove", "web")
				o.runs("", "tenant", "add", "web")
				shown := o.runs(`"store": "web.2"`, "tenant", "show", "web", "--json")
				for _, args := range []string{"--if-missing", "--if-missing --token-env FIRST_TOKEN", "--budget-day 5"} {
					said, err := old.tries(strings.Fields("tenant add web " + args)...)
					t.Logf("tenant add web %s: %v, %s", args, err, said)
				}
				if now := o.runs("", "tenant", "show", "web", "--json"); now != shown {
					t.Errorf("the tenant that came again was\n%s\nand is\n%s", shown, now)
				}
			}
			o.runs("", "tenant", "add", "bob") // its store is not that of the one whom the version before removed
			o.runs(`"store": "bob.2"`, "tenant", "show", "bob", "--json")
		})
	}
}

// `store migrate` of this version upgrades tables of the version before, beside a replica of that
// version at work, which goes on, and so does every conversation.
func TestPrevious_goesOnWhileItsTablesAreUpgraded(t *testing.T) {
	for store := range stores {
		t.Run(store, func(t *testing.T) {
			o := operate(t)
			old := o.by(previous(t, store))
			old.runs("", "store", "migrate")
			old.runs("", "tenant", "add", "ann", "--budget-day", "1000")
			ann := old.visits("ann", 7)
			o.ups = old.ups
			first := old.serve()
			for range 3 {
				if h := ann.asks(first); h.status != 200 {
					t.Fatalf("%d %s", h.status, h.body)
				}
				ann.left = ann.left[1:]
			}
			o.runs("are those of this version", "store", "migrate")
			ann.worksUntilPruned(first)
			second := o.serve()
			ann.works(6, first, second)
			o.ended(first)
			ann.works(4, second)
			o.ended(second)
			o.bookHas(ann)
		})
	}
}

// worksUntilPruned lets a client work until something was left out of a request, and a little
// longer.
func (c *customer) worksUntilPruned(at ...*serving) {
	c.o.t.Helper()
	for range 60 {
		if c.works(1, at...); c.pruned {
			c.works(2, at...)
			return
		}
	}
	c.o.t.Fatal("nothing was left out: the test does not show what it is to show")
}

// ended ends a replica, as an upgrade does.
func (o *operator) ended(g *serving) {
	o.t.Helper()
	if err := <-o.ends(g); err != nil {
		o.t.Errorf("it ends with %v\n%s", err, g.log)
	}
}

// bookHas holds the book against the provider of a client.
func (o *operator) bookHas(c *customer) {
	o.t.Helper()
	billed := 0.0
	for _, r := range c.up.Records() {
		billed += tworuns.Bill(r.Model, r.Usage)
	}
	b := must(book.Open(o.t.Context(), o.database, time.Now))
	defer b.Close()
	use := must(b.Uses(o.t.Context(), time.Now()))[c.name]
	if got := use.Spent.Month; got < billed*0.999 || got > billed*1.001 || use.Requests.Month != int64(len(c.arrived)) {
		o.t.Errorf("the book has $%.4f for %d requests; the provider billed $%.4f for %d", got, use.Requests.Month, billed,
			len(c.arrived))
	}
	if problems := c.up.Problems(); len(problems) > 0 {
		o.t.Errorf("the provider finds fault: %s", problems)
	}
}
