package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/text/quantity"
)

// Eraser erases what a gateway keeps.
type Eraser struct {
	App  *cli.App
	Book tenant.Book
	Who  string // for the receipt and the audit log
	// Wait is how long processes that serve have to end what is under way, and to forget what they
	// hold, until it is erased once more. Default: letGo.
	Wait time.Duration
}

// letGo is longer than a process takes to read the book, to end what its clients have under way, and
// to write down what was answered by then.
const letGo = 5 * time.Second

// twice erases, waits for the processes that serve, and erases what they have written meanwhile.
func (e Eraser) twice(ctx context.Context, erase func() error) error {
	if err := erase(); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(cmp.Or(e.Wait, letGo)):
	}
	return erase()
}

// Tenant removes a tenant, if it is there, and erases everything that was kept of it, and of all
// tenants that had its name before. ErrNotFound if there was none. Interrupted, it can be repeated.
func (e Eraser) Tenant(ctx context.Context, name string) (tenant.Erasure, error) {
	r := tenant.Erasure{Tenant: name, Stores: []string{}}
	tokens, err := e.Book.Tokens(ctx, name)
	if err != nil {
		return r, err
	}
	missing := e.Book.Remove(ctx, e.Who, name)
	if missing != nil && !errors.Is(missing, tenant.ErrNotFound) {
		return r, missing
	}
	r.Tokens = len(tokens)
	all, err := e.Book.Removed(ctx, name)
	if err != nil {
		return r, err
	}
	for _, one := range all {
		r.Stores = append(r.Stores, one.Store)
	}
	if len(all) == 0 {
		return r, missing
	}
	stores := source.TenantStores{App: e.App}
	defer stores.Close()
	err = e.twice(ctx, func() error { return e.removed(ctx, &stores, &r) })
	if err != nil {
		return r, err
	}
	return r, e.book(ctx, &r)
}

// removed erases the stores of removed tenants.
func (e Eraser) removed(ctx context.Context, stores *source.TenantStores, r *tenant.Erasure) error {
	for _, of := range r.Stores {
		gone, err := stores.Erase(ctx, of)
		r.Amount = r.Amount.Plus(gone)
		if err != nil {
			return fmt.Errorf("erase the store %s: %w", of, err)
		}
	}
	return nil
}

// book erases what the book has of removed tenants, and completes the receipt.
func (e Eraser) book(ctx context.Context, r *tenant.Erasure) (err error) {
	r.By, r.Time, r.Remains = e.Who, e.App.Env.Now().UTC().Truncate(time.Millisecond), e.remains()
	r.Remains = append(r.Remains, "the name, and when it was erased, so that no other tenant gets its store: in the "+
		"book of tenants")
	entry := tenant.Entry{Tenant: r.Stores[len(r.Stores)-1], Who: e.Who, Did: tenant.Erased,
		What: Counted(*r) + " in " + strings.Join(r.Stores, ", ")}
	r.Entries, err = e.Book.EraseRemoved(ctx, entry, r.Stores...)
	return err
}

// Counted says how much was erased.
func Counted(r tenant.Erasure) string {
	return strings.Join([]string{quantity.Count(r.Sessions, "session"), quantity.Count(r.Messages, "message"),
		quantity.Count(r.Texts, "large text"), quantity.Bytes(int(r.Bytes)), quantity.Count(r.Tokens, "token")}, ", ")
}

// remains are the places that winnow cannot reach, or that forget by themselves.
func (e Eraser) remains() []string {
	all := []string{"backups, dumps and copies, until you delete them"}
	if store.IsURL(source.StoreForChild(e.App)) {
		all = append(all, "dead rows in PostgreSQL's files until VACUUM has run, which it does by itself, and its "+
			"write-ahead log and archive until they are recycled",
			"ids of sessions in the jobs of the last day, and for a week in those that failed")
	} else {
		all = append(all, "blocks of the disk that are free now, until its file system uses them again")
	}
	return append(all, "the log lines of winnowd, which have ids and names, and nothing that was said",
		"whatever the providers keep of requests, and the clients' own histories")
}
