package live

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/look/display"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/rule"
)

// Under is where everything of a page stands but the page itself. No upstream can have that name.
const Under = "/~/"

// Config says what a page shows, and what its buttons do.
type Config struct {
	// Engine keeps the sessions; nil in the mode off, where none are looked at or changed.
	Engine *winnow.Engine
	Mode   string   // that is in force
	Modes  []string // that there are
	// Switch puts another mode in force for new requests. Default: it cannot be switched.
	Switch func(ctx context.Context, mode string) error
	// Models says what models cost. Default: the embedded catalogue.
	Models *model.Catalogue
	// Tenant is whose requests a request of a browser may see, by its name; "" if clients are not
	// told apart. A tenant sees its own sessions, and cannot switch the mode. Default: nobody's.
	Tenant func(*http.Request) string
	// Audit is told what somebody asks for before it is done; what it refuses is not done. The
	// context is that of the request. Default: nobody is told.
	Audit func(ctx context.Context, deed Deed) error
	// Budget is a warning about what the tenant has spent, in words; "" for nothing. Default:
	// nothing.
	Budget func() string
	// Others are links to the pages of other tenants, by name, for those who may see them. Default:
	// there are none.
	Others func(*http.Request) []Link
	// Person names somebody who has signed in, "" for a client with a token. A button signs out.
	// Default: nobody has.
	Person func(*http.Request) string
	Now    func() time.Time // default: time.Now
	// Every is how long changes are gathered before a browser is told of them. Default: 250 ms.
	Every time.Duration
	// Beat is after how long without a change a stream says that it is still there. Default: 15 s.
	Beat time.Duration
}

// Link leads to the page of a tenant.
type Link struct {
	Name string
	To   string // relative to the page
	Here bool   // it is this page
}

// Deed is what somebody does with a session on a page.
type Deed struct {
	Did     string // "read", or what an Action does
	Session string
	What    string // the receipt, part or pin that it is about
}

// page serves a hub.
type page struct {
	Config
	hub    *Hub
	models *model.Memo
	looks  *looks
}

//go:embed assets
var assets embed.FS

var document = template.Must(template.ParseFS(assets, "assets/page.html"))

// types of what is served, by the ending of its name.
var types = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".svg": "image/svg+xml"}

// New is the handler of a page and of what stands [Under] it. Who may ask is for the caller to say;
// the page itself lets no other page act: what changes something needs a word that only the page
// has.
func New(h *Hub, c Config) http.Handler {
	p := &page{Config: c, hub: h, looks: &looks{made: map[string]*look{}}}
	p.models = cmp.Or(c.Models, model.Default()).Memo()
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Tenant == nil {
		p.Tenant = func(*http.Request) string { return "" }
	}
	if p.Audit == nil {
		p.Audit = func(context.Context, Deed) error { return nil }
	}
	if p.Others == nil {
		p.Others = func(*http.Request) []Link { return nil }
	}
	if p.Person == nil {
		p.Person = func(*http.Request) string { return "" }
	}
	if p.Budget == nil {
		p.Budget = func() string { return "" }
	}
	p.Every, p.Beat = cmp.Or(c.Every, 250*time.Millisecond), cmp.Or(c.Beat, 15*time.Second)
	return p
}

// policy lets a page load and ask nothing but what this listener serves it.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ServeHTTP implements http.Handler.
func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Content-Security-Policy", policy)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("X-Frame-Options", "DENY")
	head.Set("Referrer-Policy", "no-referrer") // a token may be in the address
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	head.Set("Cache-Control", "no-store")
	name, tenant := strings.TrimPrefix(r.URL.Path, Under), p.Tenant(r)
	switch {
	case r.URL.Path != "/" && !p.same(r):
		tell(w, http.StatusForbidden, result{Error: "another page asked for this"})
	case name == "act":
		p.act(w, r, tenant)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		head.Set("Allow", "GET, HEAD")
		tell(w, http.StatusMethodNotAllowed, result{Error: "use GET"})
	case r.URL.Path == "/":
		p.open(w, r, tenant)
	case name == "events":
		p.events(w, r, tenant)
	case name == "session":
		p.session(w, r, tenant)
	default:
		text, err := assets.ReadFile("assets/" + path.Base(name))
		kind := types[path.Ext(name)]
		if err != nil || kind == "" {
			tell(w, http.StatusNotFound, result{Error: "there is no such thing"})
			return
		}
		if path.Ext(name) == ".css" {
			text = []byte(display.Toned(string(text)))
		}
		head.Set("Content-Type", kind)
		_, _ = w.Write(text) // who asked may have left
	}
}

// same reports whether a request may come from the page itself, as far as its browser says. One
// that changes something must have an Origin.
func (p *page) same(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return false
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return r.Method == http.MethodGet || r.Method == http.MethodHead
	}
	from, err := url.Parse(origins[0])
	return err == nil && len(origins) == 1 && from.Host == r.Host
}

// open writes the page.
func (p *page) open(w http.ResponseWriter, r *http.Request, tenant string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	switches := p.Switch != nil && tenant == ""
	_ = document.Execute(w, map[string]any{"Word": p.hub.word(tenant), "Modes": p.Modes, "Mode": p.Mode,
		"Switches": switches, "Tenant": tenant, "Withheld": p.hub.withheld, "Most": MostSessions,
		"Budget": p.Budget(), "Others": p.Others(r), "Person": p.Person(r)})
}

// key makes the words of pages. It is of this process alone.
var key = sync.OnceValue(func() []byte {
	random := make([]byte, 32)
	rand.Read(random) // it never fails
	return random
})

// word is what a page of a tenant shows to change something. It is bound to the hub, too: a page
// that is left open over a restart loads again.
func (h *Hub) word(tenant string) string {
	mac := hmac.New(sha256.New, key())
	mac.Write([]byte(h.epoch + "\x00" + tenant))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// result is what a button is told.
type result struct {
	Done  string    `json:"done,omitzero"` // what was done, for people
	Error string    `json:"error,omitzero"`
	Hint  string    `json:"hint,omitzero"`
	Code  rule.Code `json:"code,omitzero"`
}

func tell(w http.ResponseWriter, status int, document any) {
	body, err := json.Marshal(document, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":"it cannot be written"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // who asked may have left
}
