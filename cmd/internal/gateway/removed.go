package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/job"
	"github.com/winnowhq/winnow/gateway/tenant"
)

// byRetention is who does what the daily job does, for the audit log.
const byRetention = "retention"

// sweptFor is for how long after an erasure it is looked once a day whether something came late,
// such as from a replica of the version before.
const sweptFor = 7 * 24 * time.Hour

// ErasedAt is when a removed tenant is erased by itself: when its retention is over, or the
// gateway's if it had none. ok is false if it is kept.
func ErasedAt(t tenant.Removed, retention string) (at time.Time, ok bool) {
	age := time.Duration(t.Retention) * 24 * time.Hour
	if age == 0 {
		if age, ok = config.Expires(retention); !ok {
			return time.Time{}, false
		}
	}
	return t.Removed.Add(age), true
}

// askForRemoved asks for the expiry of each removed tenant that is not erased, or was erased
// lately.
func (w *Jobs) askForRemoved(ctx context.Context, now time.Time) (failed error) {
	d := w.relay.tenants
	if d == nil || d.book.Load() == nil {
		return nil
	}
	all, err := d.book.Load().Removed(ctx, "")
	if err != nil {
		return fmt.Errorf("find the removed tenants: %w", err)
	}
	for _, t := range all {
		if !t.Erased.IsZero() && now.Sub(t.Erased) > sweptFor {
			continue
		}
		failed = errors.Join(failed, w.current().Add(ctx, job.Job{Kind: expiry, Key: t.Store, Limit: longest}))
	}
	return failed
}

// expireRemoved erases a removed tenant whose retention is over.
func (d *tenants) expireRemoved(ctx context.Context, of string, now time.Time) error {
	b := d.book.Load()
	if b == nil {
		return nil
	}
	name, _, err := tenant.ParseStoreName(of)
	if err != nil {
		return nil // of another version
	}
	all, err := b.Removed(ctx, name)
	if err != nil {
		return err
	}
	settings, _ := d.r.inForce()
	for _, t := range all {
		at, due := ErasedAt(t, settings.Gateway.Retention)
		if t.Store != of || t.Erased.IsZero() && (!due || now.Before(at)) {
			continue
		}
		r := tenant.Erasure{Tenant: name, Stores: []string{of}}
		e := Eraser{App: d.r.app, Book: b, Who: byRetention}
		stores := source.TenantStores{App: d.r.app}
		defer stores.Close()
		if err := e.removed(ctx, &stores, &r); err != nil {
			return err
		}
		if r.Sessions == 0 && !t.Erased.IsZero() {
			return nil // nothing came late
		}
		if err := e.book(ctx, &r); err != nil {
			return err
		}
		d.log.Info("erased a removed tenant", "store", of, "sessions", r.Sessions)
	}
	return nil
}

// expireAudit deletes the entries of the audit log that are older than gateway.auditRetention.
func (w *Jobs) expireAudit(ctx context.Context, now time.Time) error {
	d := w.relay.tenants
	if d == nil || d.book.Load() == nil {
		return nil
	}
	settings, _ := d.r.inForce()
	age, limited := config.Expires(settings.Gateway.AuditRetention)
	if !limited {
		return nil
	}
	deleted, err := d.book.Load().ExpireAudit(ctx, byRetention, now.Add(-age))
	if err != nil {
		return fmt.Errorf("delete old entries of the audit log: %w", err)
	}
	if deleted > 0 {
		d.log.Info("deleted old entries of the audit log", "entries", deleted)
	}
	return nil
}
