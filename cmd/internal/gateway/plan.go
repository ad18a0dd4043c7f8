// Package gateway starts the listener of `winnow wrap` and `winnow serve`, and points a client at
// it.
package gateway

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"

	"github.com/winnowhq/winnow/gateway/serve"
	"github.com/winnowhq/winnow/text/plainfile"
)

// Sources is what a plan is made from: nothing of it is changed.
type Sources struct {
	Getenv func(string) string
	Home   string
	Dir    string // the working folder
	// Upstreams are base URLs that the user named, by the API's name; "" is the client's first.
	Upstreams map[string]string
}

// Plan says how one process is started so that it asks through a listener.
type Plan struct {
	Program   string
	Args      []string
	Set       map[string]string // variables that it alone gets
	Upstreams map[string]string // of the listener: origins by name

	sources  Sources
	listener string            // HOST:PORT
	bases    map[string]string // base URLs that the client would have used, by name
	before   []string          // arguments before the user's
	temp     *temporary        // nil if there are no temporary files
}

// For makes the plan for a client: a known one by its name, or any program.
func For(client Client, args []string, listener string, s Sources) (*Plan, error) {
	if s.Upstreams = maps.Clone(s.Upstreams); s.Upstreams == nil {
		s.Upstreams = map[string]string{}
	}
	p := &Plan{Program: client.Name, Set: map[string]string{}, Upstreams: map[string]string{}, sources: s,
		listener: listener, bases: map[string]string{}}
	for _, name := range client.Elsewhere {
		if value := s.Getenv(name); value != "" && value != "0" && value != "false" {
			return nil, fmt.Errorf("%s is set, so that %s asks where winnow cannot stand in between; "+
				"start it without winnow", name, client.Name)
		}
	}
	if first, ok := s.Upstreams[""]; ok {
		if len(client.APIs) == 0 {
			return nil, fmt.Errorf("--upstream: say which provider of %s has this address, as NAME=URL", client.Name)
		}
		s.Upstreams[client.APIs[0].Name] = first
	}
	for _, api := range client.APIs {
		base := s.Upstreams[api.Name]
		for _, variable := range api.Variables {
			if own := s.Getenv(variable); base == "" {
				base = own
			}
		}
		if base == "" {
			base = api.Base
		}
		if base == "" {
			return nil, fmt.Errorf("winnow does not know which provider %s asks: set %s, or give --upstream URL",
				client.Name, api.Variables[0])
		}
		if err := p.relay(api.Name, base); err != nil {
			return nil, err
		}
		for _, variable := range api.Variables {
			p.Set[variable] = p.at(api.Name)
		}
	}
	if client.point != nil {
		if err := client.point(p); err != nil {
			return nil, errors.Join(err, p.Remove())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Upstreams)) {
		if _, ok := p.Upstreams[name]; !ok && name != "" {
			err := fmt.Errorf("--upstream %s=…: %s asks no provider of that name; it asks %s", name, client.Name,
				strings.Join(slices.Sorted(maps.Keys(p.Upstreams)), ", "))
			return nil, errors.Join(err, p.Remove())
		}
	}
	p.throughNoProxy()
	p.Args = append(slices.Clone(p.before), args...)
	return p, nil
}

// Environ is the environment of the process, made from that of this one.
func (p *Plan) Environ(own []string) []string {
	environ := slices.DeleteFunc(slices.Clone(own), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		_, set := p.Set[name]
		return set
	})
	for _, name := range slices.Sorted(maps.Keys(p.Set)) {
		environ = append(environ, name+"="+p.Set[name])
	}
	return environ
}

// relay has the listener relay what the client would have sent to a base URL. The upstream is its
// origin: the client keeps the path. An upstream that the user named counts instead.
func (p *Plan) relay(name, base string) error {
	if named := p.sources.Upstreams[name]; named != "" {
		base = named
	}
	u, err := url.Parse(base)
	if err != nil {
		return fmt.Errorf("%s: the address of the provider cannot be read", name) // it may hold a password
	}
	origin := url.URL{Scheme: u.Scheme, Host: u.Host, User: u.User}
	if _, err := serve.Upstream(name, origin.String()); err != nil {
		return err
	}
	p.Upstreams[name], p.bases[name] = origin.String(), base
	return nil
}

// at is the address that stands for a base URL at the listener.
func (p *Plan) at(name string) string {
	_, rest, _ := strings.Cut(p.bases[name], "://")
	if at := strings.IndexAny(rest, "/?"); at >= 0 {
		rest = strings.TrimRight(rest[at:], "/")
	} else {
		rest = ""
	}
	return "http://" + p.listener + "/" + name + rest
}

// set sets a variable that the user has not set.
func (p *Plan) set(name, value string) {
	if p.sources.Getenv(name) == "" || name == "OPENCODE_CONFIG_CONTENT" {
		p.Set[name] = value
	}
}

func (p *Plan) drop(name string) { delete(p.Set, name) }

// throughNoProxy keeps requests to the listener from a proxy that the user has set.
func (p *Plan) throughNoProxy() {
	proxied := func(name string) bool {
		return p.sources.Getenv(name) != "" || p.sources.Getenv(strings.ToLower(name)) != ""
	}
	if !slices.ContainsFunc([]string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"}, proxied) {
		return
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		own := p.sources.Getenv(name)
		p.Set[name] = strings.TrimPrefix(own+",127.0.0.1", ",")
	}
}

// home is a path below the home folder.
func (p *Plan) home(below string) string { return filepath.Join(p.sources.Home, below) }

// dir is a path below the working folder.
func (p *Plan) dir(below string) string { return filepath.Join(p.sources.Dir, below) }

// folders are the working folder and those above it, up to the one that git keeps, from the top.
func (p *Plan) folders() (all []string) {
	for dir := p.sources.Dir; ; dir = filepath.Dir(dir) {
		all = append(all, dir)
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil || dir == filepath.Dir(dir) {
			slices.Reverse(all)
			return all
		}
	}
}

// mostBytes bounds what is read of a client's settings.
const mostBytes = 4 << 20

// read reads a file of JSON, with comments or without, and reports whether there is one that can be
// read: what winnow cannot read, the client will complain about.
func (p *Plan) read(file string, into any) bool {
	if file == "" {
		return false
	}
	data, _, err := plainfile.Read(file, mostBytes)
	return err == nil && decode(data, into) == nil
}

func decode(data []byte, into any) error {
	plain, err := hujson.Standardize(data)
	if err != nil {
		return err
	}
	return json.Unmarshal(plain, into)
}

// merged is a JSON object with another one laid over it.
func merged(text string, over any) (string, error) {
	all := map[string]any{}
	if text != "" {
		if err := decode([]byte(text), &all); err != nil {
			return "", fmt.Errorf("OPENCODE_CONFIG_CONTENT: %w", err)
		}
	}
	data, err := json.Marshal(over)
	if err != nil {
		return "", err
	}
	var more map[string]any
	if err := json.Unmarshal(data, &more); err != nil {
		return "", err
	}
	lay(all, more)
	data, err = json.Marshal(all, json.Deterministic(true))
	return string(data), err
}

func lay(under, over map[string]any) {
	for name, value := range over {
		inner, ok := value.(map[string]any)
		below, both := under[name].(map[string]any)
		if ok && both {
			lay(below, inner)
		} else {
			under[name] = value
		}
	}
}

// quoted is a text as JSON, which TOML and JavaScript read as well.
func quoted(text string) string {
	data, err := json.Marshal(text, jsontext.EscapeForJS(true))
	if err != nil {
		return `""` // it is an address, which is valid text
	}
	return string(data)
}
