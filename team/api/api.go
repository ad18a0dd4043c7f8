// Package api is the admin API of a gateway: `winnowd tenant` by HTTP.
//
// Routes is all of it. The OpenAPI document is made from that table and the Go types: see
// internal/schema.
package api

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/gateway/admin"
	"github.com/winnowhq/winnow/gateway/serve"
	"github.com/winnowhq/winnow/gateway/tenant"
)

// Prefix is the path that the paths of all routes are below.
const Prefix = serve.Administered + "v1"

// Document is the OpenAPI document of the API.
//
//go:embed openapi.json
var Document []byte

// mostBody is how many bytes the body of a request may have: the longest list of models fits.
const mostBody = 64 << 10

// Config says what the API works on. The caller decides who may ask.
type Config struct {
	// Service acts for whoever sends a request. Its error says that the book of
	// tenants cannot be read.
	Service func(ctx context.Context) (admin.Service, error)
	// Looked notes in the audit log that somebody looks: at which tenant, "" for all, and how. What
	// cannot be noted is not shown.
	Looked func(ctx context.Context, of, did string) error
	Log    *slog.Logger
}

// Failure is the body of every answer that is an error.
type Failure struct {
	Error Reason `json:"error"`
}

// Reason is why a request was not answered.
type Reason struct {
	Type    string `json:"type"`    // the status as a word, such as not_found_error
	Code    string `json:"code"`    // always winnow
	Message string `json:"message"` // for people
}

// New is the handler of the API.
func New(c Config) http.Handler {
	byPath := map[string][]Route{}
	for _, r := range Routes() {
		byPath[r.Path] = append(byPath[r.Path], r)
	}
	mux := http.NewServeMux()
	for path, routes := range byPath {
		mux.HandleFunc(Prefix+path, func(w http.ResponseWriter, r *http.Request) { c.route(w, r, routes) })
	}
	mux.HandleFunc(Prefix+documentPath, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			useMethods(w, []string{http.MethodGet})
			return
		}
		answer(w, http.StatusOK, Document)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		serve.Refuse(w, http.StatusNotFound, "not_found_error",
			"the admin API has no such path; "+Prefix+documentPath+" lists those that there are")
	})
	return mux
}

// documentPath is the path of the OpenAPI document.
const documentPath = "/openapi.json"

// route answers a request for a path with the route of its method.
func (c Config) route(w http.ResponseWriter, r *http.Request, routes []Route) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	var methods []string
	for _, route := range routes {
		if route.Method == method {
			c.serve(w, r, route)
			return
		}
		methods = append(methods, route.Method)
	}
	useMethods(w, methods)
}

func useMethods(w http.ResponseWriter, methods []string) {
	slices.Sort(methods)
	w.Header().Set("Allow", strings.Join(methods, ", "))
	serve.Refuse(w, http.StatusMethodNotAllowed, "invalid_request_error", "use "+strings.Join(methods, " or "))
}

// serve answers a request with a route.
func (c Config) serve(w http.ResponseWriter, r *http.Request, route Route) {
	ctx := r.Context()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	if err != nil {
		c.refuse(w, r, err)
		return
	}
	s, err := c.Service(ctx)
	if err != nil {
		c.refuse(w, r, err)
		return
	}
	if route.Method == http.MethodGet {
		if err := c.Looked(ctx, r.PathValue("tenant"), route.Did); err != nil {
			c.Log.Error("a request to the admin API cannot be noted", "did", route.Did, "why", err)
			serve.Refuse(w, http.StatusServiceUnavailable, "api_error",
				"it cannot be noted in the audit log who looks, so nothing is shown")
			return
		}
	}
	value, err := route.do(ctx, s, request{r, body})
	if err != nil {
		c.refuse(w, r, err)
		return
	}
	text, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		c.refuse(w, r, err)
		return
	}
	answer(w, route.Status, append(text, '\n'))
}

// answer sends JSON that nobody keeps: a token may be in it.
func answer(w http.ResponseWriter, status int, text []byte) {
	head := w.Header()
	head.Set("Content-Type", "application/json")
	head.Set("Cache-Control", "no-store")
	head.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(text) // who asked may have left
}

// refuse says why a request was not answered.
func (c Config) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var ended admin.Ended
	var wrong admin.Invalid
	var large *http.MaxBytesError
	switch {
	case errors.Is(err, tenant.ErrNotFound):
		serve.Refuse(w, http.StatusNotFound, "not_found_error", err.Error())
	case errors.Is(err, tenant.ErrExists), errors.As(err, &ended):
		serve.Refuse(w, http.StatusConflict, "conflict_error", err.Error())
	case errors.As(err, &wrong):
		serve.Refuse(w, http.StatusUnprocessableEntity, "invalid_request_error", err.Error())
	case errors.As(err, &large):
		serve.Refuse(w, http.StatusRequestEntityTooLarge, "request_too_large",
			fmt.Sprintf("a body has at most %d bytes", mostBody))
	default:
		c.Log.Error("the admin API cannot answer", "method", r.Method, "path", r.URL.Path, "why", err)
		serve.Refuse(w, http.StatusServiceUnavailable, "api_error",
			"the book of tenants cannot be read or changed now; the log says why")
	}
}
