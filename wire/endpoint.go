package wire

import (
	"slices"
	"strings"
)

// Purpose is what a request wants of its provider.
type Purpose int

const (
	Other    Purpose = iota // nothing that winnow reads
	Generate                // the next answer of a conversation
	Count                   // how large a conversation is
	Billed                  // an answer that belongs to no conversation
	Free                    // something that the provider does not bill
)

// Endpoint is a kind of request that providers answer. Several have one name: what a team calls one
// thing, its providers have at different addresses.
type Endpoint struct {
	Name     string // as lists of routes name it
	Method   string // "" for any
	Path     string // behind the version, as Route spells it; "*" stands for the rest of a segment
	Below    bool   // what stands below the path belongs to it
	Protocol Protocol
	Purpose  Purpose
}

// endpoints are those that winnow knows: the one table that metering, budgets and lists of allowed
// routes go by.
var endpoints = []Endpoint{
	{"messages", "POST", "/messages", false, Anthropic, Generate},
	{"chat", "POST", "/chat/completions", false, Chat, Generate},
	{"responses", "POST", "/responses", false, Responses, Generate},
	{"gemini", "POST", "/models/*:generatecontent", false, Gemini, Generate},
	{"gemini", "POST", "/models/*:streamgeneratecontent", false, Gemini, Generate},
	{"compact", "POST", "/responses/compact", false, Responses, Billed},
	{"count", "POST", "/messages/count_tokens", false, Anthropic, Count},
	{"count", "POST", "/responses/input_tokens", false, Responses, Count},
	{"count", "POST", "/models/*:counttokens", false, Gemini, Count},
	{"models", "GET", "/models", false, Unknown, Other},
	{"models", "GET", "/models/*", false, Unknown, Other},

	{"moderations", "POST", "/moderations", false, Unknown, Free},
	{"files", "", "/files", true, Unknown, Free},
	{"stored", "POST", "/responses/*/cancel", false, Unknown, Free},
	{"stored", "GET", "/responses/*", true, Unknown, Other},
	{"stored", "DELETE", "/responses/*", false, Unknown, Other},
	{"batches", "", "/batches", true, Unknown, Other},
	{"batches", "", "/messages/batches", true, Unknown, Other},
	{"embeddings", "POST", "/embeddings", false, Unknown, Other},
	{"embeddings", "POST", "/models/*:embedcontent", false, Unknown, Other},
	{"embeddings", "POST", "/models/*:batchembedcontents", false, Unknown, Other},
	{"images", "POST", "/images", true, Unknown, Other},
	{"audio", "POST", "/audio", true, Unknown, Other},
}

// AnyRoute stands in a list of routes for every request.
const AnyRoute = "any"

// RouteNames are the names that a list of routes may have.
func RouteNames() (names []string) {
	for _, e := range endpoints {
		if !slices.Contains(names, e.Name) {
			names = append(names, e.Name)
		}
	}
	return append(names, AnyRoute)
}

// MeteredRoutes are the names of the routes whose requests winnow reads and meters, and of the
// lists of models, which cost nothing and show nothing of others.
func MeteredRoutes() []string {
	return []string{"messages", "chat", "responses", "gemini", "compact", "count", "models"}
}

// EndpointOf is the endpoint that a request is for, by the end of its path: what stands before it
// is the provider's own. ok is false for one that winnow does not read.
func EndpointOf(method, path string) (e Endpoint, ok bool) {
	path = Route(path)
	for _, e := range endpoints {
		end := e.Path[strings.LastIndexByte(e.Path, '*')+1:]
		if e.Purpose != Other && e.answers(method) && strings.HasSuffix(path, end) {
			return e, true
		}
	}
	return Endpoint{}, false
}

func (e Endpoint) answers(method string) bool {
	return e.Method == "" || e.Method == method || e.Method == "GET" && method == "HEAD"
}

// Allows reports whether a list of routes has the one that a request is for, however its path is
// spelled. Unlike EndpointOf it looks at the whole path: what merely ends like a route that is
// allowed, such as the messages of a thread, is another one.
func Allows(names []string, method, path string) bool {
	if slices.Contains(names, AnyRoute) {
		return true
	}
	segments := strings.Split(strings.TrimPrefix(Route(path), "/"), "/")
	for len(segments) > 0 && isBase(segments[0]) {
		if segments[0] == "deployments" && len(segments) > 1 { // Azure's: a name follows
			segments = segments[1:]
		}
		segments = segments[1:]
	}
	return slices.ContainsFunc(endpoints, func(e Endpoint) bool {
		return e.answers(method) && slices.Contains(names, e.Name) && e.matches(segments)
	})
}

// isBase reports whether a segment stands before the routes of an API: a version, or its name.
func isBase(segment string) bool {
	if slices.Contains([]string{"api", "openai", "anthropic", "deployments"}, segment) {
		return true
	}
	return len(segment) > 1 && segment[0] == 'v' && '0' <= segment[1] && segment[1] <= '9'
}

// matches reports whether segments of a path are those of the endpoint.
func (e Endpoint) matches(segments []string) bool {
	own := strings.Split(e.Path[1:], "/")
	if len(segments) < len(own) || len(segments) > len(own) && !e.Below || slices.Contains(segments, "..") {
		return false
	}
	for i, pattern := range own {
		_, end, open := strings.Cut(pattern, "*")
		name, ends := strings.CutSuffix(segments[i], end)
		switch {
		case !open && segments[i] != pattern:
			return false
		case open && (!ends || name == "" || end != "" && strings.Contains(name, ":")):
			return false
		}
	}
	return true
}
