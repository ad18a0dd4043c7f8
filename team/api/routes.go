package api

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strconv"

	"github.com/winnowhq/winnow/gateway/admin"
	"github.com/winnowhq/winnow/gateway/tenant"
)

// Route is one thing that the API does.
type Route struct {
	Name    string // in programs that are made from the OpenAPI document
	Method  string
	Path    string // below Prefix, with {names} as in http.ServeMux
	Summary string
	Did     string // the command of winnowd that does the same, as the audit log names it
	Status  int    // of an answer that is no error
	Limited bool   // it has the parameter limit
	Body    *Body  // nil without one
	Answer  reflect.Type

	do func(ctx context.Context, s admin.Service, r request) (any, error)
}

// Body is the schema of a request's body: any of the members of a type.
type Body struct {
	Type     reflect.Type
	Fixed    []string // members that it may not change
	Required []string // members that it must have
}

// Routes are those of the API, the OpenAPI document aside.
func Routes() []Route {
	settings := func(fixed, required []string) *Body {
		return &Body{reflect.TypeFor[tenant.Tenant](), fixed, required}
	}
	shown, tokens := reflect.TypeFor[admin.Shown](), reflect.TypeFor[admin.Tokens]()
	made, audited := reflect.TypeFor[admin.Made](), reflect.TypeFor[admin.Audited]()
	erasure := reflect.TypeFor[tenant.Erasure]()
	return []Route{
		{Name: "listTenants", Method: http.MethodGet, Path: "/tenants", Did: "tenant list",
			Summary: "List the tenants and what they spent",
			Status:  http.StatusOK, Answer: reflect.TypeFor[admin.List](), do: list},
		{Name: "addTenant", Method: http.MethodPost, Path: "/tenants", Did: "tenant add",
			Summary: "Make a tenant",
			Status:  http.StatusCreated, Body: settings([]string{"created", "store"}, []string{"name"}), Answer: shown, do: add},
		{Name: "showTenant", Method: http.MethodGet, Path: "/tenants/{tenant}", Did: "tenant show",
			Summary: "Show a tenant: its settings, tokens and what it spent",
			Status:  http.StatusOK, Answer: shown, do: show},
		{Name: "setTenant", Method: http.MethodPatch, Path: "/tenants/{tenant}", Did: "tenant set",
			Summary: "Change a tenant: only what is said changes",
			Status:  http.StatusOK, Body: settings([]string{"created", "name", "store"}, nil), Answer: shown, do: set},
		{Name: "removeTenant", Method: http.MethodDelete, Path: "/tenants/{tenant}", Did: "tenant remove",
			Summary: "Remove a tenant and its tokens; its sessions stay until its retention is over",
			Status:  http.StatusOK, Answer: reflect.TypeFor[admin.Removed](), do: remove},
		{Name: "eraseTenant", Method: http.MethodPost, Path: "/tenants/{tenant}/erase", Did: "tenant erase",
			Summary: "Remove a tenant, and erase everything that was kept of it and of those that had its name before",
			Status:  http.StatusOK, Answer: erasure, do: erase},
		{Name: "erasePerson", Method: http.MethodPost, Path: "/tenants/{tenant}/people/{person}/erase",
			Did: "person erase", Summary: "Erase the sessions that a person of a tenant began, and the person's tokens",
			Status: http.StatusOK, Answer: erasure, do: erase},
		{Name: "deleteSessions", Method: http.MethodPost, Path: "/tenants/{tenant}/sessions/delete", Did: "session delete",
			Summary: "Erase sessions of a tenant, by their whole ids",
			Status:  http.StatusOK, Body: &Body{Type: reflect.TypeFor[admin.Deletion](), Required: []string{"sessions"}},
			Answer: erasure, do: deleteSessions},
		{Name: "showSpending", Method: http.MethodGet, Path: "/tenants/{tenant}/spent", Did: "tenant show",
			Summary: "Show what a tenant and its people spent",
			Status:  http.StatusOK, Answer: reflect.TypeFor[admin.Spending](), do: spent},
		{Name: "auditTenant", Method: http.MethodGet, Path: "/tenants/{tenant}/audit", Did: "tenant audit",
			Summary: "Show who did what about a tenant",
			Limited: true, Status: http.StatusOK, Answer: audited, do: audit},
		{Name: "audit", Method: http.MethodGet, Path: "/audit", Did: "tenant audit",
			Summary: "Show who did what",
			Limited: true, Status: http.StatusOK, Answer: audited, do: audit},
		{Name: "listTenantTokens", Method: http.MethodGet, Path: "/tenants/{tenant}/tokens", Did: "token list",
			Summary: "List the tokens of a tenant",
			Status:  http.StatusOK, Answer: tokens, do: listTokens},
		{Name: "addToken", Method: http.MethodPost, Path: "/tenants/{tenant}/tokens", Did: "token add",
			Summary: "Make a token. It is in the answer, once",
			Status:  http.StatusCreated, Body: &Body{Type: reflect.TypeFor[admin.NewToken]()}, Answer: made, do: addToken},
		{Name: "listTokens", Method: http.MethodGet, Path: "/tokens", Did: "token list",
			Summary: "List the tokens of all tenants",
			Status:  http.StatusOK, Answer: tokens, do: listTokens},
		{Name: "rotateToken", Method: http.MethodPost, Path: "/tokens/{token}/rotate", Did: "token rotate",
			Summary: "Make a token that takes the place of another one. It is in the answer, once",
			Status:  http.StatusCreated, Body: &Body{Type: reflect.TypeFor[admin.Rotation]()}, Answer: made, do: rotate},
		{Name: "revokeToken", Method: http.MethodPost, Path: "/tokens/{token}/revoke", Did: "token revoke",
			Summary: "Revoke a token, and end what it has under way",
			Status:  http.StatusOK, Answer: tokens, do: revoke},
	}
}

// request is a request for a route.
type request struct {
	*http.Request
	body []byte
}

func (r request) tenant() string { return r.PathValue("tenant") }
func (r request) token() string  { return r.PathValue("token") }

func list(ctx context.Context, s admin.Service, _ request) (any, error) { return s.List(ctx) }

func add(ctx context.Context, s admin.Service, r request) (any, error) {
	var t tenant.Tenant
	if err := r.merge(&t); err != nil {
		return nil, err
	}
	return s.Add(ctx, t)
}

func show(ctx context.Context, s admin.Service, r request) (any, error) {
	return s.Show(ctx, r.tenant())
}

func set(ctx context.Context, s admin.Service, r request) (any, error) {
	return s.Set(ctx, r.tenant(), func(t *tenant.Tenant) error {
		name := t.Name
		if err := r.merge(t); err != nil {
			return err
		}
		if t.Name != name {
			return admin.Invalid{Err: fmt.Errorf("name: a tenant keeps its name, which is %s", name)}
		}
		return nil
	})
}

func remove(ctx context.Context, s admin.Service, r request) (any, error) {
	return s.Remove(ctx, r.tenant())
}

func erase(ctx context.Context, s admin.Service, r request) (any, error) {
	return s.Erase(ctx, r.tenant(), r.PathValue("person"))
}

func deleteSessions(ctx context.Context, s admin.Service, r request) (any, error) {
	var d admin.Deletion
	if err := r.decode(&d); err != nil {
		return nil, err
	}
	return s.DeleteSessions(ctx, r.tenant(), d)
}

func spent(ctx context.Context, s admin.Service, r request) (any, error) {
	return s.Spending(ctx, r.tenant())
}

// The parameter limit: how many of the newest entries are shown, by default and at most.
const (
	Entries     = 50
	MostEntries = 10_000
)

func audit(ctx context.Context, s admin.Service, r request) (any, error) {
	limit := Entries
	if text := r.URL.Query().Get("limit"); text != "" {
		var err error
		if limit, err = strconv.Atoi(text); err != nil || limit > MostEntries {
			return nil, admin.Invalid{Err: fmt.Errorf("limit %q: give 1 to %d", text, MostEntries)}
		}
	}
	return s.Audited(ctx, r.tenant(), limit)
}

func listTokens(ctx context.Context, s admin.Service, r request) (any, error) {
	return s.Tokens(ctx, r.tenant())
}

func addToken(ctx context.Context, s admin.Service, r request) (any, error) {
	var n admin.NewToken
	if err := r.decode(&n); err != nil {
		return nil, err
	}
	return s.AddToken(ctx, r.tenant(), n)
}

func rotate(ctx context.Context, s admin.Service, r request) (any, error) {
	var o admin.Rotation
	if err := r.decode(&o); err != nil {
		return nil, err
	}
	return s.Rotate(ctx, r.token(), o)
}

func revoke(ctx context.Context, s admin.Service, r request) (any, error) {
	return s.Revoke(ctx, r.token())
}
