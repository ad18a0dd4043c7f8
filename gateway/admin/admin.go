// Package admin shows and changes the tenants of a gateway and their tokens: the command
// `winnowd tenant` and the admin API do the same through it.
package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/winnowhq/winnow/gateway/tenant"
)

// Service shows and changes what a book has, for somebody.
type Service struct {
	Book tenant.Book
	Who  string // in the audit log
	Now  func() time.Time
	At   string // where the book is kept, for people
	// Left is the file with the sessions of a store, "" if there is none.
	Left func(store string) string
	// Erased is when a removed tenant is erased by itself; zero: not before somebody does that.
	Erased func(tenant.Removed) (time.Time, error)
	Eraser Eraser
}

// Eraser erases what is kept of somebody. It waits some seconds for the processes that serve.
type Eraser interface {
	// Tenant removes a tenant, if it is there, and erases everything that was kept of it and of those
	// that had its name before.
	Tenant(ctx context.Context, name string) (tenant.Erasure, error)
	// Person erases the sessions that a person of a tenant began, and the person's tokens.
	Person(ctx context.Context, name, person string) (tenant.Erasure, error)
	// Sessions erases sessions of a tenant.
	Sessions(ctx context.Context, name string, ids ...string) (tenant.Erasure, error)
}

// Shown is a tenant with its tokens and its spending.
type Shown struct {
	tenant.Tenant
	Spending
	Tokens []Token `json:"tokens"` // its tokens, oldest first
	Book   string  `json:"book"`   // the place in which the tenant is recorded
}

// Spending is a tenant's spending today and this month (UTC), in US dollars.
type Spending struct {
	Spent tenant.Spent `json:"spent"` // US dollars that it spent
	// US dollars that each person spent, by the owner of the tokens, or the id of a token without
	// one.
	People map[string]tenant.Spent `json:"people"`
}

// List is all tenants, by name.
type List struct {
	Tenants []Line `json:"tenants"` // the tenants, by name
}

// Line is a tenant in a list.
type Line struct {
	tenant.Tenant
	Spent  tenant.Spent `json:"spent"`  // US dollars that it spent
	Tokens int          `json:"tokens"` // how many of its tokens are valid now
}

// Removed is a tenant that was removed.
type Removed struct {
	Tenant string `json:"tenant"` // the tenant that was removed
	Left   string `json:"left"`   // the file that has its sessions; empty if there is none
	// When everything that is kept of it is erased, by the configuration of the computer that the
	// command runs on; omitted: when somebody does.
	Erased time.Time `json:"erased,omitzero"`
}

// Audited is the audit log.
type Audited struct {
	Entries []tenant.Entry `json:"entries"` // the newest first
}

// Invalid is an error in what was asked for. Nothing was done.
type Invalid struct{ Err error }

func (e Invalid) Error() string { return e.Err.Error() }

// Unwrap returns the error itself.
func (e Invalid) Unwrap() error { return e.Err }

// invalid is an error in what was asked for, nil for none.
func invalid(err error) error {
	if err == nil {
		return nil
	}
	return Invalid{err}
}

// List lists the tenants.
func (s Service) List(ctx context.Context) (List, error) {
	list := List{Tenants: []Line{}}
	all, err := s.Book.Tenants(ctx)
	if err != nil {
		return list, err
	}
	uses, err := s.Book.Uses(ctx, s.Now())
	if err != nil {
		return list, err
	}
	tokens, err := s.Book.Tokens(ctx, "")
	if err != nil {
		return list, err
	}
	valid := map[string]int{}
	for _, t := range tokens {
		if t.State(s.Now()) == "valid" {
			valid[t.Tenant]++
		}
	}
	for _, t := range all {
		list.Tenants = append(list.Tenants, Line{t, uses[t.Store].Spent, valid[t.Name]})
	}
	return list, nil
}

// Show shows a tenant. tenant.ErrNotFound if there is none of that name, here and below.
func (s Service) Show(ctx context.Context, name string) (Shown, error) {
	t, err := s.Book.Tenant(ctx, name)
	if err != nil {
		return Shown{}, err
	}
	spending, err := s.spending(ctx, t)
	if err != nil {
		return Shown{}, err
	}
	tokens, err := s.Book.Tokens(ctx, name)
	if err != nil {
		return Shown{}, err
	}
	return Shown{t, spending, s.states(tokens), s.At}, nil
}

// Spending shows what a tenant spent.
func (s Service) Spending(ctx context.Context, name string) (Spending, error) {
	t, err := s.Book.Tenant(ctx, name)
	if err != nil {
		return Spending{}, err
	}
	return s.spending(ctx, t)
}

func (s Service) spending(ctx context.Context, t tenant.Tenant) (all Spending, err error) {
	if all.Spent, err = s.Book.Spent(ctx, t.Store, s.Now()); err != nil {
		return all, err
	}
	all.People, err = s.Book.People(ctx, t.Store, s.Now())
	return all, err
}

// Add adds a tenant. tenant.ErrExists if there is one of that name.
func (s Service) Add(ctx context.Context, t tenant.Tenant) (Shown, error) {
	if err := t.Check(); err != nil {
		return Shown{}, Invalid{err}
	}
	if err := s.Book.Add(ctx, s.Who, t); err != nil {
		return Shown{}, err
	}
	return s.Show(ctx, t.Name)
}

// Set changes a tenant as edit does. An error of edit is returned as it is, and changes nothing.
func (s Service) Set(ctx context.Context, name string, edit func(*tenant.Tenant) error) (Shown, error) {
	_, err := s.Book.Set(ctx, s.Who, name, func(t *tenant.Tenant) error {
		if err := edit(t); err != nil {
			return err
		}
		return invalid(t.Check())
	})
	if err != nil {
		return Shown{}, err
	}
	return s.Show(ctx, name)
}

// Remove removes a tenant with its tokens. Its sessions stay until its retention is over.
func (s Service) Remove(ctx context.Context, name string) (Removed, error) {
	t, err := s.Book.Tenant(ctx, name)
	if err != nil {
		return Removed{}, err
	}
	if err := s.Book.Remove(ctx, s.Who, name); err != nil {
		return Removed{}, err
	}
	removed := Removed{Tenant: t.Name, Left: s.Left(t.Store)}
	all, err := s.Book.Removed(ctx, t.Name)
	if n := len(all); err == nil && n > 0 {
		removed.Erased, err = s.Erased(all[n-1])
	}
	return removed, err
}

// Erase erases everything that was kept of a tenant, or, if a person is named, of that person within
// it. It goes on to its end if whoever asked leaves.
func (s Service) Erase(ctx context.Context, name, person string) (tenant.Erasure, error) {
	ctx = context.WithoutCancel(ctx)
	if err := tenant.CheckName(name); err != nil {
		return tenant.Erasure{}, Invalid{err}
	}
	if person == "" {
		return s.Eraser.Tenant(ctx, name)
	}
	if err := tenant.CheckOwner(person); err != nil {
		return tenant.Erasure{}, Invalid{err}
	}
	return s.Eraser.Person(ctx, name, person)
}

// Deletion says which sessions of a tenant are deleted.
type Deletion struct {
	Sessions []string `json:"sessions"` // their whole ids
}

// DeleteSessions erases sessions of a tenant. It goes on to its end if whoever asked leaves.
// tenant.ErrNotFound, and nothing is erased, if the tenant does not have one of them.
func (s Service) DeleteSessions(ctx context.Context, name string, d Deletion) (tenant.Erasure, error) {
	if len(d.Sessions) == 0 {
		return tenant.Erasure{}, Invalid{errors.New("sessions: name at least one")}
	}
	return s.Eraser.Sessions(context.WithoutCancel(ctx), name, d.Sessions...)
}

// Audited shows the newest entries of the audit log about a tenant, or the one that was removed last
// under its name; of is "" for all, and may be the name of a store.
func (s Service) Audited(ctx context.Context, of string, limit int) (Audited, error) {
	if limit < 1 {
		return Audited{}, Invalid{fmt.Errorf("limit %d: give 1 or more", limit)}
	}
	if of != "" {
		var err error
		if of, err = s.store(ctx, of); err != nil {
			return Audited{}, err
		}
	}
	all, err := s.Book.Audited(ctx, of, limit)
	return Audited{append([]tenant.Entry{}, all...)}, err
}

// store is the store of the tenant of a name, or of the one that was removed last, or what was given:
// the name of a store.
func (s Service) store(ctx context.Context, name string) (string, error) {
	t, err := s.Book.Tenant(ctx, name)
	if err == nil || !errors.Is(err, tenant.ErrNotFound) {
		return t.Store, err
	}
	removed, err := s.Book.Removed(ctx, name)
	if err != nil || len(removed) == 0 {
		return name, err
	}
	return removed[len(removed)-1].Store, nil
}
