package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/transfer"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/visible"
)

// storeCopied is the JSON document of store copy.
type storeCopied struct {
	// The store that was copied, a URL without user, password and parameters.
	From   string `json:"from"`
	To     string `json:"to"`     // the store that it was copied to, likewise
	Copied int    `json:"copied"` // sessions that were not there
	// Sessions that were there with another content and were replaced, with "--update".
	Updated int `json:"updated"`
	Same    int `json:"same"` // sessions that were there with the same content
	// Ids of the sessions that were there with another content and were left; the exit code is 4 if
	// there are any.
	Different []string `json:"different"`
	Texts     int      `json:"texts"` // whole outputs, kept beside the log, that were copied
	Files     int      `json:"files"` // files that are known to have been read
}

func storeCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "store",
		Short: "Copy sessions from one store to another, and upgrade its tables",
		Long: `A store is a file (FILE or sqlite:FILE), or a PostgreSQL database (postgres://USER@HOST/NAME)
in which sessions belong to tenants: postgres://USER@HOST/NAME?tenant=TENANT, or without a tenant
those of one person. Put the password into PGPASSWORD or ~/.pgpass: others on the computer can read
what is on a command line.`,
		Example: `  winnow store copy FROM TO
  winnowd store migrate --store postgres://USER@HOST/NAME`,
		Args: cli.Exactly(0, "a command: copy or migrate"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return cli.Usage("give a command: winnow store copy FROM TO, or winnowd store migrate")
		},
	}
	cmd.AddCommand(storeCopyCommand(a), migrateCommand(a))
	return cmd
}

func storeCopyCommand(a *cli.App) *cobra.Command {
	var tenant string
	var update bool
	cmd := &cobra.Command{
		Use:   "copy FROM TO",
		Short: "Copy all sessions of a store into another one",
		Long: `copy copies all sessions of a store with all that belongs to them (log, decisions, pins,
receipts, costs, original files, whole outputs) into another store. Each is written whole or not at
all, and then read from both and compared. A session that is there already with the same content is
left; so a copy that was interrupted goes on where it stopped. One that is there with another content
is left too and named, unless --update replaces it.

FROM and TO are files, sqlite:FILE or postgres://USER@HOST/NAME. --tenant names the tenant of the
databases among them.`,
		Example: `  winnow store copy ~/.local/share/winnow/winnow.db postgres://winnow@db/winnow --tenant acme
  winnow store copy postgres://winnow@db/winnow sqlite:backup.db --tenant acme`,
		Args: cli.Exactly(2, "FROM and TO"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runStoreCopy(cmd.Context(), a, args[0], args[1], tenant, update)
		},
	}
	cmd.Flags().StringVar(&tenant, "tenant", "", "the tenant of a PostgreSQL database (default: the one of a person)")
	cmd.Flags().BoolVar(&update, "update", false, "replace sessions that are there with another content")
	return cmd
}

func runStoreCopy(ctx context.Context, a *cli.App, from, to, tenant string, update bool) error {
	if tenant != "" && !store.IsURL(from) && !store.IsURL(to) {
		return cli.Usage("--tenant is for PostgreSQL databases, and neither %s nor %s is one", from, to)
	}
	name := func(name string) string {
		if store.IsURL(name) && tenant != "" {
			return store.WithTenant(name, tenant)
		}
		return source.StoreName(a, name)
	}
	from, to = name(from), name(to)
	if from == to {
		return cli.Usage("FROM and TO are the same store")
	}
	old, err := source.OpenNamed(ctx, a, from, source.Reading)
	if err != nil {
		return err
	}
	defer old.Close()
	kept, err := source.OpenNamed(ctx, a, to, source.Making)
	if err != nil {
		return err
	}
	defer kept.Close()
	say, done := a.Counting()
	result, err := transfer.Copy(ctx, old, kept, transfer.Options{Update: update, Tell: func(p transfer.Progress) {
		say(p.Done, p.All, "%s of %s sessions", quantity.Number(p.Done), quantity.Number(p.All))
	}})
	done()
	if err != nil {
		return cli.Hint(fmt.Errorf("copying the store: %w", err), "run it again: what was copied is left, and it goes "+
			"on")
	}
	doc := storeCopied{source.ShownName(a, from), source.ShownName(a, to), result.Copied, result.Updated, result.Same,
		append([]string{}, result.Different...), result.Kept, result.Files}
	if err := a.Tell(doc, func() { showStoreCopied(a, &doc) }); err != nil {
		return err
	}
	if n := len(doc.Different); n > 0 {
		failed := fmt.Errorf("%s there with another content and left; --update replaces them",
			quantity.Plural(n, "session is", "sessions are"))
		return cli.Partly{Failed: []error{failed}}
	}
	return nil
}

func showStoreCopied(a *cli.App, doc *storeCopied) {
	a.Printf("%s copied, %s replaced, %s there already\n", quantity.Plural(doc.Copied, "session", "sessions"),
		quantity.Number(doc.Updated), quantity.Number(doc.Same))
	for _, id := range doc.Different {
		a.Printf("  differs: %s\n", visible.Line(id))
	}
	a.Printf("each was read from both and compared: %s → %s\n", doc.From, doc.To)
}
