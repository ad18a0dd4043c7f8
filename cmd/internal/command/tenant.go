package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/gateway"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/admin"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/visible"
	"github.com/winnowhq/winnow/wire"
)

func tenantCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tenant",
		Short: "Manage tenants: tokens, limits, budgets",
		Long: `A tenant is one of those who share "winnowd serve": a person, a team, a project. Each has sessions of its
own, which no other tenant sees, tokens to ask with, limits, and a budget in US dollars.

They are kept beside the store; of a token only its SHA-256 is. A serve that runs follows within two
seconds. As soon as there is a tenant, every request needs a token: in the header x-winnow-token, as the
first segment of the path (http://HOST:4141/TOKEN/anthropic), or in the place of the provider's key
where the server holds that (gateway.keys in the configuration).

docs/tenants.md goes through it, from nothing to two tenants.`,
		Hidden:            a.Shared.Missing != nil, // winnow says that winnowd has it
		PersistentPreRunE: func(*cobra.Command, []string) error { return a.Shared.Missing },
		Example: `  winnowd tenant add web --budget-day 20 --budget-month 300 --per-minute 120
  winnowd tenant token add web --label ann --expires 90d
  winnowd tenant list
  winnowd tenant audit web`,
		Args: cli.Exactly(0, "add, list, show, set, remove, erase, person, token or audit"),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(tenantAdd(a), tenantListCommand(a), tenantShow(a), tenantSet(a), tenantRemove(a), tenantErase(a),
		tenantPersonCommand(a), tenantTokenCommand(a), tenantAudit(a))
	return cmd
}

// actor is who runs the command, for the audit log: the account of the system, or its number where
// it has no name, as in a container.
func actor(a *cli.App) string {
	name := cmp.Or(a.Env.Getenv("USER"), a.Env.Getenv("LOGNAME"))
	if name == "" {
		name = strconv.Itoa(os.Getuid())
		if account, err := user.Current(); err == nil {
			name = account.Username
		}
	}
	return "cli:" + name
}

// withBook opens the book of tenants for what a command does.
func withBook(ctx context.Context, a *cli.App, want source.Access, do func(tenant.Book) error) error {
	b, err := source.OpenBook(ctx, a, want)
	if errors.Is(err, source.ErrNoStore) {
		return cli.Usage("there is no tenant yet; `winnowd tenant add NAME` makes the first one")
	}
	if err != nil {
		return err
	}
	defer b.Close()
	err = do(b)
	var wrong admin.Invalid
	var ended admin.Ended
	switch {
	case errors.Is(err, tenant.ErrExists), errors.Is(err, tenant.ErrNotFound), errors.As(err, &wrong),
		errors.As(err, &ended):
		return cli.Misuse(err)
	}
	return err
}

// administer is the service through which commands and the admin API change the book.
func administer(a *cli.App, b tenant.Book) admin.Service {
	who := actor(a)
	return admin.Service{Book: b, Who: who, Now: a.Env.Now, At: source.BookName(a),
		Eraser: gateway.Eraser{App: a, Book: b, Who: who},
		Left:   func(store string) string { return source.TenantLeft(a, store) },
		Erased: func(t tenant.Removed) (time.Time, error) {
			settings, err := a.Settings()
			at, _ := gateway.ErasedAt(t, settings.Gateway.Retention)
			return at, err
		}}
}

// inBook runs a command that only works on a book of tenants that exists.
func inBook(a *cli.App, do func(ctx context.Context, b tenant.Book, args []string) error) func(*cobra.Command,
	[]string) error {
	return func(cmd *cobra.Command, args []string) error {
		return withBook(cmd.Context(), a, source.Changing, func(b tenant.Book) error { return do(cmd.Context(), b, args) })
	}
}

// tenantFlags are what may be said of a tenant.
type tenantFlags struct {
	perMinute, concurrent, retention int
	day, month, warn                 float64
	personDay, personMonth           float64
	capture, mode                    string
	keys, routes, models             []string
	keepPinned                       bool
}

func (f *tenantFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.perMinute, "per-minute", 0, "requests that may come in a minute; 0 for no limit")
	flags.IntVar(&f.concurrent, "concurrent", 0, "requests that may be under way at a time; 0 for no limit")
	flags.Float64Var(&f.day, "budget-day", 0, "US dollars that may be spent in a day (UTC); 0 for no limit")
	flags.Float64Var(&f.month, "budget-month", 0, "US dollars that may be spent in a month (UTC); 0 for no limit")
	flags.Float64Var(&f.personDay, "person-day", 0,
		"US dollars that each person may spend in a day (UTC); 0 for no limit")
	flags.Float64Var(&f.personMonth, "person-month", 0,
		"US dollars that each person may spend in a month (UTC); 0 for no limit")
	flags.Float64Var(&f.warn, "warn", 0, "share of a budget from which on there are warnings; 0 for 0.8")
	flags.IntVar(&f.retention, "retention", 0,
		"days after which a conversation that nobody goes on with is deleted; 0 as gateway.retention says")
	flags.BoolVar(&f.keepPinned, "keep-pinned", false,
		"keep conversations in which an agent pinned something, whatever their age; those of a person's pins are kept")
	flags.StringVar(&f.capture, "capture", "",
		"what is kept of conversations: all or none (default as gateway.capture says)")
	flags.StringVar(&f.mode, "mode", "",
		"what is done to requests: off, observe, safe or full (default as gateway.mode says)")
	flags.StringSliceVar(&f.keys, "key", nil,
		"UPSTREAM=NAME: the key of gateway.keys that the server sends; UPSTREAM= for none")
	flags.StringSliceVar(&f.routes, "routes", nil, "routes that may be asked: "+strings.Join(wire.RouteNames(), ", ")+
		`; "" for those that are metered where the server holds the key, else any`)
	flags.StringSliceVar(&f.models, "models", nil, `models that may be asked, such as claude-*; "" for all`)
	cli.Complete(cmd, "routes", wire.RouteNames()...)
	cli.Complete(cmd, "capture", config.CaptureAll, config.CaptureNone)
	cli.Complete(cmd, "mode", gateway.Modes()...)
}

// change puts into a tenant what was said.
func (f *tenantFlags) change(cmd *cobra.Command, t *tenant.Tenant) error {
	set := func(name string, do func()) {
		if cmd.Flags().Changed(name) {
			do()
		}
	}
	set("per-minute", func() { t.Limits.PerMinute = f.perMinute })
	set("concurrent", func() { t.Limits.Concurrent = f.concurrent })
	set("budget-day", func() { t.Budget.Day = f.day })
	set("budget-month", func() { t.Budget.Month = f.month })
	set("person-day", func() { t.Each.Day = f.personDay })
	set("person-month", func() { t.Each.Month = f.personMonth })
	set("warn", func() { t.Budget.Warn = f.warn })
	set("retention", func() { t.Retention = f.retention })
	set("keep-pinned", func() { t.KeepPinned = f.keepPinned })
	set("capture", func() { t.Capture = f.capture })
	set("mode", func() { t.Mode = f.mode })
	set("routes", func() { t.Routes = f.routes })
	set("models", func() { t.Models = f.models })
	for _, pair := range f.keys {
		upstream, name, ok := strings.Cut(pair, "=")
		if !ok || upstream == "" {
			return cli.Usage("--key %s: write it as UPSTREAM=NAME", pair)
		}
		if t.Keys == nil {
			t.Keys = map[string]string{}
		}
		if t.Keys[upstream] = name; name == "" {
			delete(t.Keys, upstream)
		}
	}
	return nil
}

func tenantAdd(a *cli.App) *cobra.Command {
	var f tenantFlags
	var first firstToken
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Make a tenant", Example: `  winnowd tenant add web --budget-day 20
  winnowd tenant add web --if-missing --token-env FIRST_TOKEN`,
		Args: cli.Exactly(1, "NAME"), ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		t := tenant.Tenant{Name: args[0]}
		if err := f.change(cmd, &t); err != nil {
			return err
		}
		if err := t.Check(); err != nil { // before a book is made
			return cli.Misuse(err)
		}
		token, err := first.token(a, t.Name)
		if err != nil {
			return err
		}
		return withBook(cmd.Context(), a, source.Making, func(b tenant.Book) error {
			if err := first.add(cmd.Context(), a, b, t, token); err != nil {
				return err
			}
			if token == nil && !first.ifMissing && !a.JSON && !a.Quiet {
				a.Warn("it has no token yet: winnowd tenant token add %s", t.Name)
			}
			return showTenant(cmd.Context(), a, b, t.Name)
		})
	}
	f.add(cmd)
	first.flags(cmd)
	return cmd
}

func tenantSet(a *cli.App) *cobra.Command {
	var f tenantFlags
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Change a tenant: only what is said changes",
		Example: "  winnowd tenant set web --budget-day 30 --mode observe",
		Args:    cli.Exactly(1, "NAME"), ValidArgsFunction: completeTenants(a),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return withBook(cmd.Context(), a, source.Changing, func(b tenant.Book) error {
			change := func(t *tenant.Tenant) error { return f.change(cmd, t) }
			shown, err := administer(a, b).Set(cmd.Context(), args[0], change)
			if err != nil {
				return err
			}
			return tellTenant(a, shown)
		})
	}
	f.add(cmd)
	return cmd
}

func tenantShow(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show a tenant: its settings, tokens and what it spent",
		Example: "  winnowd tenant show web",
		Args:    cli.Exactly(1, "NAME"), ValidArgsFunction: completeTenants(a),
		RunE: inBook(a, func(ctx context.Context, b tenant.Book, args []string) error {
			return showTenant(ctx, a, b, args[0])
		}),
	}
}

func showTenant(ctx context.Context, a *cli.App, b tenant.Book, name string) error {
	shown, err := administer(a, b).Show(ctx, name)
	if err != nil {
		return err
	}
	return tellTenant(a, shown)
}

func tellTenant(a *cli.App, shown admin.Shown) error {
	t, spent, people := shown.Tenant, shown.Spent, shown.People
	return a.Tell(shown, func() {
		a.Table([]int{-1, -1}, [][]string{
			{"tenant", t.Name},
			{"store", cmp.Or(source.TenantFile(a, t.Store), t.Store+", in the database")},
			{"today", spentOf(spent.Day, t.Budget.Day)},
			{"this month", spentOf(spent.Month, t.Budget.Month) + estimatedOf(spent.Estimated)},
			{"each person", eachOf(t.Each)},
			{"limits", limitsOf(t.Limits)},
			{"retention", cmp.Or(days(t.Retention), "as gateway.retention says") + pinnedOf(t)},
			{"capture", cmp.Or(t.Capture, "as gateway.capture says")},
			{"mode", cmp.Or(t.Mode, "as gateway.mode says")},
			{"keys", cmp.Or(keysOf(t), "the clients' own")},
			{"routes", cmp.Or(strings.Join(t.Routes, ", "), routesOf(t))},
			{"models", cmp.Or(strings.Join(t.Models, ", "), "all")},
		})
		for _, who := range slices.Sorted(maps.Keys(people)) {
			a.Printf("%s  today %s, this month %s%s\n", visible.Line(who), quantity.Dollars(people[who].Day),
				quantity.Dollars(people[who].Month), estimatedOf(people[who].Estimated))
		}
		for _, token := range shown.Tokens {
			a.Printf("%s\n", tokenLine(a, token))
		}
	})
}

func spentOf(spent, budget float64) string {
	if budget == 0 {
		return quantity.Dollars(spent) + ", no budget"
	}
	return fmt.Sprintf("%s of %s", quantity.Dollars(spent), quantity.Dollars(budget))
}

// estimatedOf says how much of an amount no provider reported, "" for nothing.
func estimatedOf(dollars float64) string {
	if dollars == 0 {
		return ""
	}
	return ", " + quantity.Dollars(dollars) + " of it estimated"
}

func limitsOf(l tenant.Limits) string {
	var all []string
	if l.PerMinute > 0 {
		all = append(all, quantity.Count(l.PerMinute, "request")+" a minute")
	}
	if l.Concurrent > 0 {
		all = append(all, quantity.Count(l.Concurrent, "request")+" at a time")
	}
	return cmp.Or(strings.Join(all, ", "), "unlimited")
}

func days(n int) string {
	if n == 0 {
		return ""
	}
	return quantity.Count(n, "day")
}

// pinnedOf says that pins of agents defeat the retention, "" if they do not.
func pinnedOf(t tenant.Tenant) string {
	if !t.KeepPinned {
		return ""
	}
	return ", but for what agents pinned"
}

func keysOf(t tenant.Tenant) string {
	var all []string
	for upstream, name := range t.Keys {
		all = append(all, upstream+"="+name)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// routesOf is which routes a tenant without a list of them may ask.
func routesOf(t tenant.Tenant) string {
	if len(t.Keys) == 0 {
		return "any"
	}
	return strings.Join(wire.MeteredRoutes(), ", ") + " with a key of the server, else any"
}

// completeTenants offers the names of tenants.
func completeTenants(a *cli.App) cobra.CompletionFunc {
	return completeFromBook(a, func(ctx context.Context, b tenant.Book) (names []string, err error) {
		all, err := b.Tenants(ctx)
		for _, t := range all {
			names = append(names, t.Name)
		}
		return names, err
	})
}

// completeFromBook offers what a book of tenants has, as the first argument.
func completeFromBook(a *cli.App, list func(context.Context, tenant.Book) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
		if len(args) == 0 {
			_ = withBook(cmd.Context(), a, source.Changing, func(b tenant.Book) (err error) {
				names, err = list(cmd.Context(), b)
				return err
			})
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
