package gateway

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/live"
	"github.com/winnowhq/winnow/gateway/serve"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/schedule"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/sqlite"
	"github.com/winnowhq/winnow/token"
)

// buildRuntime builds what carries the requests of a tenant, or of the person, by the settings that it
// has: an engine on the store, a transport that goes on with the one before, and the pages. audit is
// told what somebody does with a tenant's sessions. Nothing else is built for it meanwhile.
func (r *Relay) buildRuntime(m *tenantState, f *tenantRuntime, audit func(context.Context, live.Deed) error) error {
	if f.mode != transport.Off {
		var err error
		if f.engine, err = r.engine(f.settings, f.mode, m.store, m.calibrated); err != nil {
			return err
		}
	}
	o, tenants, metered := r.options(f.settings, f.mode, m.store), m.gate != nil, f.tenant.Metered()
	if tenants {
		o.Recall = false // the tenant's computer does not have this store
	}
	if f.engine != nil && !withholds(m.store) {
		f.recall = recalling(r.app.Version, f.engine, CompactTool(f.settings.MCP.Compact), audit)
		o.RecallTool = tenants
	}
	m.mu.Lock()
	paged, before := m.hub != nil && f.settings.Gateway.Page, m.now
	m.mu.Unlock()
	if tenants || paged {
		o.Watch = func(n transport.Notice) { m.watch(n, metered) }
	}
	if metered {
		o.Reserve = r.tenants.reserving(m)
	}
	o.Prepare = r.preparing(m, f)
	if len(f.tenant.Models) > 0 {
		o.Permit = func(model string) error {
			if refused := f.tenant.AllowsModel(model); refused != nil {
				return refused // and not a nil that is one
			}
			return nil
		}
	}
	if len(f.tenant.Keys) > 0 {
		o.Refer = func(ctx context.Context, member string) error {
			if access := serve.AccessOf(ctx); access != nil && access.Held {
				if refused := f.tenant.AllowsReference(member); refused != nil {
					return refused // and not a nil that is one
				}
			}
			return nil
		}
	}
	if paged {
		f.page = r.page(m, f, audit)
	}
	if before != nil {
		f.carrier = before.carrier.Changed(f.engine, o)
	} else {
		f.carrier = transport.New(f.engine, o)
	}
	return nil
}

// calibrated is a counter that learns from what providers report, nil if the settings name another.
func calibrated(settings config.Settings) *token.Calibrated {
	if settings.Counter != "auto" || !policy.Sound(settings.Policy) {
		return nil
	}
	return token.NewCalibrated("auto", token.Linear{})
}

// habitsPatience is how long a start waits for what a store has seen of clients.
const habitsPatience = 2 * time.Second

// readHabits reads at which sizes clients were seen to compact by themselves. Without them the
// estimated range of savings is wider.
func (r *Relay) readHabits(f *tenantRuntime) {
	if f.engine == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), habitsPatience)
	defer cancel()
	if err := f.carrier.ReadHabits(ctx); err != nil {
		r.log.Warn("could not read how clients compact by themselves", "error", err)
	}
}

// engine opens an engine on a store.
func (r *Relay) engine(settings config.Settings, mode transport.Mode, kept store.Store, calibrated *token.Calibrated) (
	*winnow.Engine, error) {
	switch mode {
	case transport.Safe:
		settings.Schedule, settings.Compaction.Auto = schedule.Cold{}.Name(), false
	case transport.Full, transport.Observe:
		if len(settings.Compaction.Threshold) == 0 { // before the client does, and when it pays
			settings.Compaction.Threshold = budget.Thresholds{"*": budget.Economic}
		}
	}
	c, err := source.Config(r.app, kept, settings)
	if err != nil {
		return nil, err
	}
	c.NoteWanted = r.prepares(kept)
	c.Cache, c.Calibrated, c.Hooks = r.memory, calibrated, transport.Hooks(c.Hooks)
	return winnow.Open(c)
}

// options are how a transport on a store works.
func (r *Relay) options(settings config.Settings, mode transport.Mode, kept store.Store) transport.Options {
	o := transport.Options{Base: r.base, Mode: mode, Later: true, Recall: !withholds(kept),
		Models: settings.Catalogue(model.Default()), Drop: settings.Gateway.Tools.Drop,
		Delegate: settings.Gateway.Delegate,
		KeepWarm: settings.Gateway.KeepWarm,
		Cache:    r.memory, Log: r.log, Now: r.app.Env.Now}
	_, alone := kept.(*sqlite.Store)
	o.Behind, o.Shared = !withholds(kept), !alone // replicas of a team take each other's requests, on PostgreSQL
	if r.tracer != nil {
		o.Stage = r.stage
	}
	return o
}

// wholeMemory is how much memory the whole process may take, in bytes for each byte of
// gateway.memory, before garbage is collected more often than usual: what is at hand takes twice
// that, and requests that are under way need room.
const wholeMemory = 3

// garbage is the value of GOGC, in percent. Most garbage is request bodies, which are large and live
// shortly: with Go's default of 100 a step takes a fifth longer.
const garbage = 250

// bound bounds what all tenants have at hand together, and sets when garbage is collected. GOMEMLIMIT
// and GOGC in the environment take precedence.
func (r *Relay) bound(memory int) {
	r.memory.Bound(memory)
	undo := []func(){}
	if r.app.Env.Getenv("GOMEMLIMIT") == "" {
		before := debug.SetMemoryLimit(wholeMemory * int64(memory))
		undo = append(undo, func() { debug.SetMemoryLimit(before) })
	}
	if r.app.Env.Getenv("GOGC") == "" {
		before := debug.SetGCPercent(garbage)
		undo = append(undo, func() { debug.SetGCPercent(before) })
	}
	if r.unbound == nil {
		r.unbound = func() {
			for _, do := range undo {
				do()
			}
		}
	}
}
