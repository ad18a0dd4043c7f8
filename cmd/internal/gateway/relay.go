package gateway

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/live"
	"github.com/winnowhq/winnow/gateway/serve"
	"github.com/winnowhq/winnow/gateway/trace"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/policy"
	"github.com/winnowhq/winnow/plan/schedule"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/token"
)

// Relay is a listener with what carries its requests.
type Relay struct {
	Mode transport.Mode

	app        *cli.App
	listener   net.Listener
	base       http.RoundTripper
	log        *slog.Logger
	requests   atomic.Int64
	store      store.Store       // nil until one is needed; set with mu held
	failsOpen  bool              // without its store it relays all the same, in mode off
	lacks      lack              // guarded by changing, but for its error
	calibrated *token.Calibrated // of all engines; nil if the counter does not learn
	metrics    serve.Metrics
	flights    flights
	tracer     *trace.Tracer        // nil if nobody collects traces
	jobs       http.Handler         // the page of jobs, nil if they are in this process
	work       atomic.Pointer[Jobs] // nil before Jobs
	beside     sync.WaitGroup       // summaries that are written without a job
	closing    context.Context      // ends these
	closed     context.CancelFunc
	upstreams  map[string]string
	hub        *live.Hub // nil if there is no page
	stopping   atomic.Bool
	ended      chan error
	stop       context.CancelFunc
	tenants    *tenants // nil if it has none, and looks for none
	ending     func()   // ends what tenants do beside relaying, and waits for it; nil without
	unbound    func()   // gives the process the memory limit back that it had; nil if it was not changed

	changing sync.Mutex      // held while another generation is made
	settings config.Settings // those in force, with the mode that they name
	named    transport.Mode
	switched transport.Mode // by the page, "" if it has not

	mu  sync.Mutex
	now *generation
}

// generation is what carries requests until the configuration changes. Its fields but the last two
// do not change once it carries any.
type generation struct {
	settings config.Settings
	wanted   transport.Mode // mode, unless the store could not be opened
	mode     transport.Mode
	engine   *winnow.Engine // nil in mode off
	carrier  *transport.Transport
	handler  http.Handler
	page     http.Handler // nil if there is none
	recall   http.Handler // the tools that get back what was left out; nil if nothing is kept
	clients  map[string]string
	aside    []string        // upstreams that are a winnow themselves
	passed   map[string]bool // their hosts

	under int  // requests that it carries; guarded by the relay
	over  bool // another one has taken its place; guarded by the relay
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
	r := &Relay{app: a, listener: l, base: serve.Direct(), log: log, ended: make(chan error, 1), failsOpen: failsOpen}
	r.closing, r.closed = context.WithCancel(context.WithoutCancel(ctx))
	if r.tracer = trace.FromEnvironment(a.Env.Getenv, log, a.Env.Now); r.tracer != nil {
		r.base = traced{r.base, r.tracer}
	}
	if settings.Counter == "auto" && settings.Policy == policy.Balanced {
		r.calibrated = token.NewCalibrated("auto", token.Linear{})
	}
	r.settings, r.named = settings, mode
	if r.now, err = r.generation(ctx, settings, mode); err != nil {
		r.Close()
		return nil, err
	}
	r.Mode = r.now.mode
	return r, nil
}

// generation makes what carries requests under these settings.
func (r *Relay) generation(ctx context.Context, settings config.Settings, mode transport.Mode) (*generation, error) {
	wanted := mode
	if mode != transport.Off {
		if err := r.open(ctx, settings.Gateway); err != nil && !r.doesWithout(ctx, err) {
			return nil, err
		} else if err != nil {
			mode = transport.Off
		}
	}
	g := &generation{settings: settings, wanted: wanted, mode: mode, clients: settings.Gateway.Clients}
	if mode != transport.Off {
		r.bound(settings.Gateway.Memory)
		var err error
		if g.engine, err = r.engine(settings, mode, r.store, r.calibrated); err != nil {
			return nil, err
		}
	}
	o := r.options(settings, mode, r.store)
	if g.engine != nil && !withholds(r.store) {
		g.recall = recalling(r.app.Version, g.engine, nil)
	}
	o.Prepare = r.preparing(tenantOf(r.store), r.store, g.engine, func(float64, time.Time) {})
	if settings.Gateway.Page {
		if r.hub == nil {
			r.hub = live.NewHub(settings.Gateway.Capture == config.CaptureNone, r.app.Env.Now())
		}
		o.Watch = r.hub.Watch
		g.page = r.page(g, settings)
	}
	if r.now != nil {
		g.carrier = r.now.carrier.Changed(g.engine, o)
	} else {
		g.carrier = transport.New(g.engine, o)
		r.readHabits(g)
		r.metrics = r.app.Shared.NewMetrics(g.carrier.Totals, false)
		r.metrics.Gauge("winnow_in_flight_requests", "Requests that are relayed and have not ended.", r.flights.count)
		r.metrics.Gauge("winnow_store_lost",
			"1 while the store cannot be opened or does not answer, and nothing is decided.", r.away)
	}
	return g, nil
}

// habitsPatience is how long a start waits for what a store has seen of clients.
const habitsPatience = 2 * time.Second

// readHabits reads what was seen of clients that compact by themselves; without it the estimates of
// what winnow saves are wider.
func (r *Relay) readHabits(g *generation) {
	if g.engine == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), habitsPatience)
	defer cancel()
	if err := g.carrier.ReadHabits(ctx); err != nil {
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
	c.Memory, c.Calibrated, c.Hooks = settings.Gateway.Memory/2, calibrated, transport.Hooks(c.Hooks)
	return winnow.Open(c)
}

// options are how a transport on a store works.
func (r *Relay) options(settings config.Settings, mode transport.Mode, kept store.Store) transport.Options {
	o := transport.Options{Base: r.base, Mode: mode, Later: true, Recall: !withholds(kept),
		Models: settings.Catalogue(model.Default()), Drop: settings.Gateway.Tools.Drop,
		Delegate: settings.Gateway.Delegate,
		KeepWarm: settings.Gateway.KeepWarm,
		Memory:   settings.Gateway.Memory / 2 / bytesOfBody, Log: r.log, Now: r.app.Env.Now}
	if r.tracer != nil {
		o.Stage = r.stage
	}
	return o
}

// bytesOfBody is how many bytes of memory a byte of a body takes that the transport has at hand,
// with what is understood of it.
const bytesOfBody = 3

// wholeMemory is how much memory the whole process may take, in bytes for each byte of
// gateway.memory, before garbage is collected more often than usual: what is at hand takes twice
// that, and requests that are under way need room.
const wholeMemory = 3

// bound makes garbage be collected in time. Who runs the program may say otherwise with GOMEMLIMIT.
func (r *Relay) bound(memory int) {
	if r.app.Env.Getenv("GOMEMLIMIT") != "" {
		return
	}
	before := debug.SetMemoryLimit(wholeMemory * int64(memory))
	if r.unbound == nil {
		r.unbound = func() { debug.SetMemoryLimit(before) }
	}
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
		kept = transport.Withhold(kept, set.Memory/2)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.store, r.lacks = kept, lack{}
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

// lead lets a generation lead to upstreams.
func (r *Relay) lead(ctx context.Context, g *generation, upstreams map[string]string) (err error) {
	g.passed = map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(upstreams)) {
		to, err := url.Parse(upstreams[name])
		if err != nil {
			continue // serve.New says so
		}
		if to.Host == r.Address() {
			return cli.Usage("gateway.upstreams.%s: %s is this listener itself", name, upstreams[name])
		}
		if g.mode == transport.Off {
			continue
		}
		if mode := serve.Detect(ctx, upstreams[name]); mode != "" && mode != string(transport.Off) {
			g.aside, g.passed[to.Host] = append(g.aside, name), true
		}
	}
	var door serve.Door // nil, and not a nil *tenants, without
	if r.tenants != nil {
		door = r.tenants
	}
	g.handler, err = serve.New(serve.Config{Door: door, Upstreams: upstreams, Transport: counting{r, g},
		Metrics: r.metrics, Host: r.Address(), Mode: string(g.mode), Clients: g.clients, Origins: g.settings.Gateway.Origins,
		Ready: r.ready,
		Page:  g.page, Jobs: r.jobs, MCP: g.recall, Log: r.log})
	r.upstreams = upstreams
	return err
}

// ServeHTTP implements http.Handler: a request is carried by what was in force when it came.
func (r *Relay) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	g := r.now
	g.under++
	r.mu.Unlock()
	defer r.left(g)
	landed, flies := r.flights.takeOff(request)
	defer landed()
	if flies && r.tracer != nil {
		traced, ended := r.tracer.Request(request, "relay")
		request = traced
		defer ended()
	}
	g.handler.ServeHTTP(w, request)
}

// left notes that a request has ended; the last one of a generation that is over ends its engine.
func (r *Relay) left(g *generation) {
	r.mu.Lock()
	g.under--
	last := g.over && g.under == 0
	r.mu.Unlock()
	if last {
		r.end(g)
	}
}

func (r *Relay) end(g *generation) {
	if g.engine == nil {
		return
	}
	g.carrier.Wait()
	if err := g.engine.Close(); err != nil {
		r.log.Error("closing", "why", err)
	}
}

// Change puts other settings in force. Requests that are under way end as they began. After an
// error all is as it was.
//
// A mode that the page has chosen stays until the settings name another one than before.
func (r *Relay) Change(ctx context.Context, settings config.Settings, mode transport.Mode,
	upstreams map[string]string) error {
	r.changing.Lock()
	defer r.changing.Unlock()
	switched := r.switched
	if mode != r.named {
		switched = ""
	}
	if err := r.change(ctx, settings, cmp.Or(switched, mode), upstreams); err != nil {
		return err
	}
	r.settings, r.named, r.switched = settings, mode, switched
	return nil
}

// change makes another generation. changing is locked.
func (r *Relay) change(ctx context.Context, settings config.Settings, mode transport.Mode,
	upstreams map[string]string) error {
	next, err := r.generation(ctx, settings, mode)
	if err != nil {
		return err
	}
	before := r.upstreams
	if err := r.lead(ctx, next, upstreams); err != nil {
		r.upstreams = before
		r.end(next)
		return err
	}
	r.mu.Lock()
	old := r.now
	old.over, r.now = true, next
	idle := old.under == 0
	r.mu.Unlock()
	if r.hub != nil {
		r.hub.End() // their streams would keep the old one
	}
	if r.tenants != nil {
		r.tenants.version.Add(1)
	}
	if idle {
		r.end(old)
	}
	return nil
}

// ready says why requests should go elsewhere.
func (r *Relay) ready(ctx context.Context) error {
	if r.stopping.Load() {
		return errors.New("winnow is about to end")
	}
	r.mu.Lock()
	off, kept, lacks, carrier := r.now.mode == transport.Off, r.store, r.lacks.err, r.now.carrier
	r.mu.Unlock()
	if r.tenants != nil && r.tenants.Away() != nil {
		return errors.New("it cannot be read who may ask: nobody is served")
	}
	if lacks != nil {
		return errors.New("the store cannot be opened: requests are relayed as they came")
	}
	if off {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	if carrier.Lost() {
		return errors.New("the store is lost: nothing more is decided")
	}
	// Whether it can be written shows even if there is nothing to change.
	if _, err := kept.Apply(ctx, "ready", store.Change{}); !errors.Is(err, store.ErrNotFound) {
		r.log.Error("the store cannot be written", "error", err)
		return errors.New("the store cannot be written")
	}
	return nil
}

// counting counts the requests that are relayed.
type counting struct {
	r *Relay
	g *generation
}

// RoundTrip implements http.RoundTripper.
func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.r.requests.Add(1)
	if c.g.passed[r.URL.Host] {
		r = r.Clone(r.Context())
		r.Header.Set(transport.Header, string(transport.Off))
	}
	if stay := serve.StayOf(r.Context()); stay != nil {
		return stay.Carrier.RoundTrip(r)
	}
	return c.g.carrier.RoundTrip(r)
}

// Aside are the names of the upstreams that are a winnow themselves and prune, or observe: what
// goes there passes here, as one of two is enough.
func (r *Relay) Aside() []string { return r.now.aside }

// Ended tells how the listener ended.
func (r *Relay) Ended() <-chan error { return r.ended }

// Stop ends the listener, waits for what is under way, and closes the store.
func (r *Relay) Stop() error {
	r.stopping.Store(true)
	if r.hub != nil {
		r.hub.Close()
	}
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
	r.closed()
	defer r.tracer.Close()
	if base, ok := r.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
	if r.now != nil {
		r.now.carrier.Close()
		r.end(r.now)
	}
	if r.ending != nil {
		r.ending()
	}
	r.beside.Wait()
	if r.tenants != nil {
		r.tenants.close()
	}
	if r.store != nil {
		if err := r.store.Close(); err != nil {
			r.log.Error("closing", "why", err)
		}
	}
}

// Account is what came of it, in three lines for people, and one for whatever else rewrites requests.
// client is what was run.
func (r *Relay) Account(client string) []string {
	lines := account(client, int(r.requests.Load()), r.Mode, r.now.carrier.Totals())
	return append(lines, r.now.carrier.Strangers()...)
}
