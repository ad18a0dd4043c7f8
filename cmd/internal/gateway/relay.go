package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/live"
	"github.com/winnowhq/winnow/gateway/serve"
	"github.com/winnowhq/winnow/gateway/shared"
	"github.com/winnowhq/winnow/gateway/trace"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/cache"
)

// Relay is a listener with what carries its requests: those of one person, and of tenants.
type Relay struct {
	*tenantState // of the person

	Mode transport.Mode

	app      *cli.App
	listener net.Listener
	base     http.RoundTripper
	log      *slog.Logger
	tracer   *trace.Tracer // nil if nobody collects traces
	tenants  *tenants      // nil if it has none, and looks for none

	requests  atomic.Int64
	inFlight  inFlight
	failsOpen bool        // without its store it relays all the same, in mode off
	outage    storeOutage // guarded by changing, but for its error
	writing   *failure    // changes of stores
	stopping  atomic.Bool
	readiness readiness
	ended     chan error
	stop      context.CancelFunc
	unbound   func() // gives the process the memory limit back that it had; nil if it was not changed

	background
	configured
}

// background is the work that no request waits for.
type background struct {
	jobs    http.Handler         // the page of jobs, nil if they are in this process
	work    atomic.Pointer[Jobs] // nil before Jobs
	beside  sync.WaitGroup       // summaries that are written without a job
	closing context.Context      // ends these
	cancel  context.CancelFunc
	bus     shared.Bus // nil if no other process serves from the store
	ending  func()     // ends what tenants do beside relaying, and waits for it; nil without
}

// configured is what the configuration in force says.
type configured struct {
	changing  sync.Mutex // held while another runtime is built
	settings  config.Settings
	memory    *cache.Pool    // of all that is at hand, bounded by gateway.memory
	named     transport.Mode // the mode that they name
	switched  transport.Mode // by the page, "" if it has not
	upstreams map[string]string
	clients   admissions // of gateway.clients
}

// Modes are the words of --mode.
func Modes() []string { return config.GatewayModes() }

// CheckMode says what is wrong with a mode.
func CheckMode(mode string) error {
	if !slices.Contains(Modes(), mode) {
		return cli.Usage("unknown mode %q; use %s", mode, strings.Join(Modes(), ", "))
	}
	return nil
}

// Open opens a listener, and the engine and the store for what goes through it; mode off needs
// neither.
func Open(ctx context.Context, a *cli.App, settings config.Settings, address string, mode transport.Mode,
	log *slog.Logger) (_ *Relay, err error) {
	l, err := serve.Listen(address)
	if err != nil {
		var failed *net.OpError
		if !errors.As(err, &failed) {
			err = cli.Misuse(err)
		}
		return nil, err
	}
	return openAt(ctx, a, settings, l, mode, log, false)
}

// OpenAt is Open with a listener, which is closed if it fails. If the store cannot be opened it
// relays in mode off until it can: see Upkeep.
func OpenAt(ctx context.Context, a *cli.App, settings config.Settings, l net.Listener, mode transport.Mode,
	log *slog.Logger) (*Relay, error) {
	return openAt(ctx, a, settings, l, mode, log, true)
}

func openAt(ctx context.Context, a *cli.App, settings config.Settings, l net.Listener, mode transport.Mode,
	log *slog.Logger, failsOpen bool) (_ *Relay, err error) {
	undumpable()
	r := &Relay{app: a, listener: l, base: serve.Direct(), log: log, ended: make(chan error, 1), failsOpen: failsOpen,
		writing: &failure{fails: "nothing can be written: until it can, requests leave with what was decided before",
			ended: "the store can be written again"}}
	r.tenantState = &tenantState{clock: a.Env.Now, failed: r.failed}
	r.closing, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if r.tracer = trace.FromEnvironment(a.Env.Getenv, log, a.Env.Now); r.tracer != nil {
		r.base = traced{r.base, r.tracer}
	}
	r.calibrated = calibrated(settings)
	r.settings, r.named, r.memory = settings, mode, cache.NewPool(settings.Gateway.Memory)
	f, err := r.build(ctx, settings, mode)
	if err != nil {
		r.Close()
		return nil, err
	}
	r.replace(f)()
	r.Mode = f.mode
	return r, nil
}

// build builds what carries the person's requests under these settings.
func (r *Relay) build(ctx context.Context, settings config.Settings, mode transport.Mode) (*tenantRuntime, error) {
	f := &tenantRuntime{settings: settings, mode: mode, routes: &routes{wanted: mode}}
	if mode != transport.Off {
		if err := r.open(ctx, settings.Gateway); err != nil && !r.toleratesOutage(ctx, err) {
			return nil, err
		} else if err != nil {
			f.mode = transport.Off
		} else {
			r.bound(settings.Gateway.Memory)
		}
	}
	r.mu.Lock()
	if settings.Gateway.Page && r.hub == nil {
		r.hub = live.NewHub(settings.Gateway.Capture == config.CaptureNone, r.app.Env.Now())
		r.share(r.tenantState, r.hub)
	}
	r.mu.Unlock()
	if err := r.buildRuntime(r.tenantState, f, nil); err != nil {
		return nil, err
	}
	if r.now == nil {
		r.readHabits(f)
		r.metrics = r.app.Shared.NewMetrics(f.carrier.Totals, false)
		r.metrics.Gauge("winnow_in_flight_requests", "Requests that are relayed and have not ended.", r.inFlight.count)
		r.metrics.Gauge("winnow_memory_bytes",
			"What conversations at hand take by winnow's own account, which gateway.memory bounds.",
			func() float64 { return float64(r.memory.Bytes()) })
		r.metrics.Gauge("winnow_store_lost",
			"1 while the store cannot be opened or does not answer, and nothing is decided.", r.away)
		r.metrics.Gauge("winnow_store_unwritable",
			"1 while a store can be read and not written, as its disk is full or it is read-only.", func() float64 {
				if r.unwritable() != nil {
					return 1
				}
				return 0
			})
	}
	return f, nil
}

// open opens the store.
func (r *Relay) open(ctx context.Context, set config.Gateway) error {
	if r.store != nil {
		return nil
	}
	kept, err := source.OpenStore(ctx, r.app, source.Making)
	if err != nil {
		return err
	}
	r.inTransaction(kept)
	if set.Capture == config.CaptureNone {
		kept = transport.Withhold(kept, r.memory)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.name, r.store, r.outage = tenantOf(kept), kept, storeOutage{}
	return nil
}

// withholds reports whether nothing that is said is in the store: then only the client has it, and
// placeholders name the call.
func withholds(kept store.Store) bool {
	_, withholds := kept.(*transport.Withholding)
	return withholds
}

// Address is where it listens: HOST:PORT.
func (r *Relay) Address() string { return r.listener.Addr().String() }

// Start relays to the upstreams until Stop, or until it fails, which Ended tells.
func (r *Relay) Start(ctx context.Context, upstreams map[string]string, patience time.Duration) error {
	if err := r.lead(ctx, r.now, upstreams); err != nil {
		return err
	}
	if len(r.now.aside) == len(upstreams) {
		r.Mode = transport.Off
	}
	if err := r.joinBus(); err != nil {
		return err
	}
	ctx, r.stop = context.WithCancel(ctx)
	if r.tenants != nil {
		tending, stop := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() { defer close(done); r.tenants.run(tending) }()
		r.ending = sync.OnceFunc(func() { stop(); <-done })
	}
	go func() { r.ended <- serve.Until(ctx, r.listener, r, patience, r.log) }()
	return nil
}

// ServeHTTP implements http.Handler: a request is carried by what was in force when it came.
func (r *Relay) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	g := r.enter()
	defer r.leave(g)
	done, counted := r.inFlight.Begin(request)
	defer done()
	if counted && r.tracer != nil {
		traced, ended := r.tracer.Request(request, "relay")
		request = traced
		defer ended()
	}
	g.handler.ServeHTTP(w, request)
}

// Monitoring answers with the figures of all tenants, and the probes, to whoever asks. The relay
// was started.
func (r *Relay) Monitoring() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		g := r.enter()
		defer r.leave(g)
		g.monitoring.ServeHTTP(w, request)
	})
}

// failed logs that something could not be closed.
func (r *Relay) failed(err error) { r.log.Error("closing", "why", err) }

// counting counts the requests that are relayed.
type counting struct {
	r *Relay
	g *tenantRuntime
}

// RoundTrip implements http.RoundTripper.
func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.r.requests.Add(1)
	if c.g.passed[r.URL.Host] {
		r = r.Clone(r.Context())
		r.Header.Set(transport.Header, string(transport.Off))
	}
	if access := serve.AccessOf(r.Context()); access != nil {
		return access.Carrier.RoundTrip(r)
	}
	return c.g.carrier.RoundTrip(r)
}

// Aside are the names of the upstreams that are a winnow themselves and prune, or observe: what
// goes there passes here, as one of two is enough.
func (r *Relay) Aside() []string { return r.now.aside }

// Ended tells how the listener ended.
func (r *Relay) Ended() <-chan error { return r.ended }

// GiveNotice has probes say that it is about to end. It goes on relaying until Stop.
func (r *Relay) GiveNotice() { r.stopping.Store(true) }

// Stop ends the listener, waits for what is under way, and closes the store.
func (r *Relay) Stop() error {
	r.GiveNotice()
	r.pages((*live.Hub).Close)
	r.now.carrier.Close() // nothing of our own is sent any more
	if r.tenants != nil {
		r.tenants.pages()
		r.tenants.quiet()
	}
	r.stop()
	err := <-r.ended
	r.Close()
	return err
}

// Close closes what Open opened. A listener that was started has ended.
func (r *Relay) Close() {
	if r.unbound != nil {
		r.unbound()
	}
	r.listener.Close() // it may be closed already
	r.cancel()
	defer r.tracer.Close()
	if base, ok := r.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
	if r.now != nil {
		r.now.carrier.Close()
		r.now.end(r.failed)
	}
	if r.ending != nil {
		r.ending()
	}
	r.beside.Wait()
	if r.bus != nil {
		r.bus.Close()
	}
	if r.tenants != nil {
		r.tenants.close()
	}
	if r.store != nil {
		if err := r.store.Close(); err != nil {
			r.failed(err)
		}
	}
}

// Account is what came of it, in three lines for people, and one for whatever else rewrites requests.
// client is what was run.
func (r *Relay) Account(client string) []string {
	lines := account(client, int(r.requests.Load()), r.Mode, r.now.carrier.Totals())
	return append(lines, r.now.carrier.Strangers()...)
}
