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
	// Its name: at most 64 letters, digits, "-" and "_". It names the tenant's files, so two names
	// do not differ in case alone.
	Name string `json:"name"`
	// The name of its store: that of the tenant, or "NAME.2", "NAME.3" and so on if one of this
	// name was removed before.
	Store  string `json:"store"`
	Limits Limits `json:"limits"` // limits in each process of a gateway
	Budget Budget `json:"budget"` // the budget of the tenant
	// The budget of each person within it: of the owner of tokens, or of a token without one. Its
	// "warn" is that of "budget".
	Each Budget `json:"each"`
	// Days after which a conversation that nobody goes on with is deleted; 0 as "gateway.retention"
	// says.
	Retention int `json:"retention"`
	// Whether conversations in which an agent pinned something are kept beyond that, as those in
	// which a person did are.
	KeepPinned bool `json:"keepPinned"`
	// Whether "all" or "none" of its conversations are kept; empty as "gateway.capture" says.
	Capture string `json:"capture"`
	// The mode for its requests: "off", "observe", "safe" or "full"; empty as "gateway.mode" says.
	Mode string `json:"mode"`
	// Names of the server's keys ("gateway.keys") by upstream. Such a key is sent in place of the
	// client's.
	Keys map[string]string `json:"keys"`
	// Names of the routes that may be asked; empty: those that are metered where the server holds
	// the key, else all.
	Routes  []string  `json:"routes"`
	Models  []string  `json:"models"`  // models that may be asked, "*" for any text; empty: all
	Created time.Time `json:"created"` // when it was made
	// Cleared counts how often everything that processes hold of its sessions in memory had to go.
	Cleared int64 `json:"-"`
}

// Limits bound how much is asked at a time, by each process of a gateway.
type Limits struct {
	// Requests in a minute, 0 for no limit. So many may come at once; then one more is allowed
	// every 60/"perMinute" seconds.
	PerMinute  int `json:"perMinute"`
	Concurrent int `json:"concurrent"` // requests at a time, 0 for no limit
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
