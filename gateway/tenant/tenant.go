// Package tenant says who may ask a gateway: for what, how often, and for how much money. It holds
// what a tenant is, tells whose token is shown, and counts what is asked; package tenant/book keeps
// it.
package tenant

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/winnowhq/winnow/wire"
)

// Tenant is one of those who share a gateway. Each has sessions of its own, which no other tenant
// sees. The zero value of a setting means what it says, or the gateway's own.
type Tenant struct {
	// Name has letters, digits, - and _, 64 at most. It names the tenant's files, so that case does
	// not tell two apart.
	Name string `json:"name"`
	// Store names what is kept of the tenant: see StoreName. "" is its name.
	Store  string `json:"store"`
	Limits Limits `json:"limits"`
	Budget Budget `json:"budget"`
	// Each is the budget of each person within the tenant: of the owner of tokens, or of a token
	// without one. Its Warn is Budget's.
	Each Budget `json:"each"`
	// Retention is after how many days a conversation that nobody goes on with is deleted; 0 as
	// gateway.retention says.
	Retention int `json:"retention"`
	// KeepPinned keeps conversations in which an agent pinned something beyond the retention, as
	// those in which a person did are kept.
	KeepPinned bool `json:"keepPinned"`
	// Capture is what is kept of conversations, "all" or "none"; "" as gateway.capture says.
	Capture string `json:"capture"`
	// Mode is what is done to requests: "off", "observe", "safe" or "full"; "" as gateway.mode
	// says.
	Mode string `json:"mode"`
	// Keys are the names of the server's own keys by upstream. Where there is one, it is sent in
	// the place of what the client shows.
	Keys map[string]string `json:"keys"`
	// Routes are the names of the routes that may be asked: see wire.RouteNames. None: those that
	// are metered where the server holds the key, all where it does not.
	Routes []string `json:"routes"`
	// Models are the models that may be asked, as patterns in which * stands for any text; none:
	// all.
	Models  []string  `json:"models"`
	Created time.Time `json:"created"`
	// Cleared counts how often everything that processes hold of its sessions in memory had to go.
	Cleared int64 `json:"-"`
}

// Limits bound how much is asked at a time, by each process of a gateway.
type Limits struct {
	// PerMinute is how many requests may come in a minute, 0 for no limit. So many may come at
	// once; then one more is allowed every 60/PerMinute seconds.
	PerMinute int `json:"perMinute"`
	// Concurrent is how many requests may be under way at a time, 0 for no limit.
	Concurrent int `json:"concurrent"`
}

// The values of Tenant.Capture and Tenant.Mode.
var (
	captures = []string{"", "all", "none"}
	modes    = []string{"", "off", "observe", "safe", "full"}
)

const (
	mostName   = 64
	mostDays   = 100_000
	mostNumber = 1_000_000
)

// CheckName says what is wrong with the name of a tenant.
func CheckName(name string) error {
	if name == "" || len(name) > mostName ||
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
		return fmt.Errorf("%q cannot name a tenant: use letters, digits, - and _, at most %d", name, mostName)
	}
	return nil
}

// Check says what is wrong with a tenant.
func (t Tenant) Check() error {
	if err := CheckName(t.Name); err != nil {
		return err
	}
	switch {
	case t.Limits.PerMinute < 0 || t.Limits.PerMinute > mostNumber:
		return fmt.Errorf("%d requests a minute: give 1 to %d, or 0 for no limit", t.Limits.PerMinute, mostNumber)
	case t.Limits.Concurrent < 0 || t.Limits.Concurrent > mostNumber:
		return fmt.Errorf("%d requests at a time: give 1 to %d, or 0 for no limit", t.Limits.Concurrent, mostNumber)
	case t.Retention < 0 || t.Retention > mostDays:
		return fmt.Errorf("a retention of %d days: give 1 to %d, or 0 for the gateway's own", t.Retention, mostDays)
	case !slices.Contains(captures, t.Capture):
		return fmt.Errorf("unknown capture %q; use all or none", t.Capture)
	case !slices.Contains(modes, t.Mode):
		return fmt.Errorf("unknown mode %q; use off, observe, safe or full", t.Mode)
	}
	for _, upstream := range slices.Sorted(maps.Keys(t.Keys)) {
		if upstream == "" || t.Keys[upstream] == "" {
			return fmt.Errorf("a key is named as UPSTREAM=NAME, not %s=%s", upstream, t.Keys[upstream])
		}
	}
	for _, name := range t.Routes {
		if !slices.Contains(wire.RouteNames(), name) {
			return fmt.Errorf("unknown route %q; there are %s", name, strings.Join(wire.RouteNames(), ", "))
		}
	}
	for _, pattern := range t.Models {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return fmt.Errorf("%q is no pattern of a model's name: write claude-* or gpt-4.1", pattern)
		}
	}
	if t.Metered() && t.Mode == "off" {
		return fmt.Errorf("in the mode off nothing is counted, so a budget cannot be kept: use observe")
	}
	return cmp.Or(t.Budget.check(), t.Each.check())
}

// Metered reports whether anybody keeps a budget of what its requests cost.
func (t Tenant) Metered() bool { return t.Budget.Limited() || t.Each.Limited() }

// PersonBudget is the budget of each person within the tenant.
func (t Tenant) PersonBudget() Budget {
	t.Each.Warn = t.Budget.Warn
	return t.Each
}

// AllowsRoute says why a request may not be sent to a provider, nil if it may. held: it would be
// sent with a key of the server, which opens whatever the provider lets the key's owner do.
func (t Tenant) AllowsRoute(method, path string, held bool) *Refusal {
	routes := t.Routes
	if len(routes) == 0 && held {
		routes = wire.MeteredRoutes()
	}
	if len(routes) == 0 || wire.Allows(routes, method, path) {
		return nil
	}
	return &Refusal{Kind: "route", Message: fmt.Sprintf("%s %s is none of its routes, which are %s", method, path,
		strings.Join(routes, ", "))}
}

// AllowsReference says why a request that is sent with a key of the server may not refer to what
// the provider keeps for the key's owner, nil if it may: another tenant may have been given it.
// member is where it does, "" if the request cannot be read.
func (t Tenant) AllowsReference(member string) *Refusal {
	if slices.Contains(t.Routes, "stored") || slices.Contains(t.Routes, wire.AnyRoute) ||
		wire.RefersToFile(member) && slices.Contains(t.Routes, "files") {
		return nil
	}
	routes := t.Routes
	if len(routes) == 0 {
		routes = wire.MeteredRoutes()
	}
	what := member + " names what the provider keeps for whoever has its key"
	if member == "" {
		what = "the request cannot be read, so it may name what the provider keeps for whoever has its key"
	}
	return &Refusal{Kind: "route", Message: fmt.Sprintf("%s, which the server holds; send the whole conversation, "+
		"or have the operator allow it: winnowd tenant set %s --routes %s,stored", what, t.Name,
		strings.Join(routes, ","))}
}

// AllowsModel says why a model may not be asked, nil if it may. "" is one that cannot be told.
func (t Tenant) AllowsModel(name string) *Refusal {
	for _, pattern := range t.Models {
		if ok, _ := path.Match(strings.ToLower(pattern), strings.ToLower(name)); ok && name != "" {
			return nil
		}
	}
	if len(t.Models) == 0 {
		return nil
	}
	list := strings.Join(t.Models, ", ")
	if name == "" {
		return &Refusal{Kind: "model",
			Message: "winnow cannot tell which model this request is for; allowed are " + list}
	}
	return &Refusal{Kind: "model", Message: fmt.Sprintf("the model %s is none of its models, which are %s", name, list)}
}
