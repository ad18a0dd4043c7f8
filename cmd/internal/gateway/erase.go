package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/store"
	sums "github.com/winnowhq/winnow/store/report"
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

// letGo is longer than a process takes to read the book, to end what its clients have under way,
// and to write down what was answered by then.
const letGo = 5 * time.Second

// twice erases, waits for the processes that serve, and erases what they have written meanwhile.
func (e Eraser) twice(ctx context.Context, erase func() error) error {
	if err := erase(); err != nil {
		return err
	}
	if err := e.wait(ctx); err != nil {
		return err
	}
	return erase()
}

// wait waits for the processes that serve.
func (e Eraser) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(cmp.Or(e.Wait, letGo)):
		return nil
	}
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

// Person erases the sessions that a person of a tenant began, with the person's tokens; whatever
// else names the person names nobody then. ErrNotFound if there is no such tenant, or nothing of the
// person.
func (e Eraser) Person(ctx context.Context, name, person string) (tenant.Erasure, error) {
	r := tenant.Erasure{Tenant: name, Person: person, Stores: []string{}}
	t, err := e.Book.Tenant(ctx, name)
	if err != nil {
		return r, err
	}
	r.Stores = append(r.Stores, t.Store)
	if r.Tokens, r.Entries, err = e.Book.ErasePerson(ctx, name, person, nil); err != nil {
		return r, err
	}
	stores := source.TenantStores{App: e.App}
	defer stores.Close()
	err = e.twice(ctx, func() error {
		kept, err := stores.Open(ctx, t.Store)
		if err != nil {
			return err
		}
		defer kept.Close()
		list, err := kept.List(ctx)
		if err != nil {
			return err
		}
		var ids []string
		for _, l := range list {
			if sums.Person(l.Info) == person {
				ids = append(ids, l.Info.ID)
			}
		}
		can, err := eraserOf(kept)
		if err != nil {
			return err
		}
		n, err := can.Forget(ctx, person)
		r.Requests += n
		if err != nil {
			return err
		}
		gone, err := can.Erase(ctx, ids...)
		r.Amount = r.Amount.Plus(gone)
		if err == nil && r.Sessions+r.Tokens+r.Requests+r.Entries == 0 {
			return fmt.Errorf("%w: anything of %s within the tenant %s", tenant.ErrNotFound, person, name)
		}
		return err
	})
	if err != nil {
		return r, err
	}
	e.complete(&r)
	note := &tenant.Entry{Who: e.Who, Did: "person erase", What: Counted(r)} // whom it does not say
	tokens, entries, err := e.Book.ErasePerson(ctx, name, person, note)
	r.Tokens, r.Entries = r.Tokens+tokens, r.Entries+entries
	return r, err
}

// Sessions erases sessions of a tenant. ErrNotFound, and nothing is erased, if there is no such
// tenant or if it does not have one of the sessions. What clients make anew of them meanwhile is
// erased, too, and not counted again.
func (e Eraser) Sessions(ctx context.Context, name string, ids ...string) (tenant.Erasure, error) {
	t, err := e.Book.Tenant(ctx, name)
	if err != nil {
		return tenant.Erasure{}, err
	}
	stores := source.TenantStores{App: e.App}
	defer stores.Close()
	kept, err := stores.Open(ctx, t.Store)
	if err != nil {
		return tenant.Erasure{}, err
	}
	defer kept.Close()
	there, err := among(ctx, kept, ids)
	if err != nil {
		return tenant.Erasure{}, err
	}
	for _, id := range ids {
		if !slices.Contains(there, id) {
			return tenant.Erasure{}, fmt.Errorf("%w: the session %s of the tenant %s", tenant.ErrNotFound, id, name)
		}
	}
	r, err := e.Stored(ctx, kept, ids...)
	if err != nil {
		return r, err
	}
	r.Tenant, r.Stores = t.Name, append(r.Stores, t.Store)
	if err := e.Book.Clear(ctx, t.Name, tenant.Entry{Who: e.Who, Did: "session delete",
		Session: strings.Join(ids, " "), What: Counted(r)}); err != nil {
		return r, err
	}
	if err := e.wait(ctx); err != nil {
		return r, err
	}
	again, err := among(ctx, kept, ids)
	if err != nil {
		return r, err
	}
	if len(again) > 0 {
		r.Remains = append(r.Remains, "clients are at work on "+strings.Join(again, ", ")+": what they sent meanwhile "+
			"was erased, too; with their next request they send their own history, which is kept anew")
	}
	can, err := eraserOf(kept)
	if err != nil {
		return r, err
	}
	_, err = can.Erase(ctx, ids...) // large texts may have come without a session
	return r, err
}

// among are those of some sessions that a store has.
func among(ctx context.Context, kept store.Store, ids []string) (there []string, err error) {
	list, err := kept.List(ctx)
	for _, l := range list {
		if slices.Contains(ids, l.Info.ID) {
			there = append(there, l.Info.ID)
		}
	}
	return there, err
}

// Stored erases sessions of a store, once.
func (e Eraser) Stored(ctx context.Context, kept store.Store, ids ...string) (tenant.Erasure, error) {
	r := tenant.Erasure{Stores: []string{}}
	can, err := eraserOf(kept)
	if err != nil {
		return r, err
	}
	var left []string
	for _, id := range ids {
		family, err := store.Family(ctx, kept, id)
		if err != nil {
			return r, err
		}
		for _, member := range family {
			if !slices.Contains(ids, member.ID) {
				left = append(left, member.ID)
			}
		}
	}
	r.Amount, err = can.Erase(ctx, ids...)
	e.complete(&r)
	if len(left) > 0 {
		r.Remains = append(r.Remains, "sessions that began within one of these: "+strings.Join(left, ", "))
	}
	return r, err
}

// eraserOf is a store that can erase.
func eraserOf(kept store.Store) (store.Eraser, error) {
	if can, ok := kept.(store.Eraser); ok {
		return can, nil
	}
	return nil, errors.New("this store cannot erase")
}

// complete adds to a receipt who erased it, when, and the data that remains.
func (e Eraser) complete(r *tenant.Erasure) {
	r.By, r.Time, r.Remains = e.Who, e.App.Env.Now().UTC().Truncate(time.Millisecond), e.remains()
}

// book erases what the book has of removed tenants, and completes the receipt.
func (e Eraser) book(ctx context.Context, r *tenant.Erasure) (err error) {
	e.complete(r)
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
