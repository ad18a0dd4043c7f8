package config

import (
	"encoding/hex"
	"fmt"
	"maps"
	"net"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Gateway is what the commands wrap and serve do.
type Gateway struct {
	// Listen is where serve listens: HOST:PORT. Another address than a loopback one demands Clients
	// and TLS.
	Listen string `json:"listen"`
	// Upstreams are addresses of providers by the name that is the first segment of a path, beside
	// anthropic, openai and gemini, or instead of them.
	Upstreams map[string]string `json:"upstreams"`
	Mode      string            `json:"mode"` // what is done to requests: one of GatewayModes
	Tools     GatewayTools      `json:"tools"`
	// Retention is the age at which a conversation that nobody goes on with is deleted, as Age
	// reads it; Never, or empty: never. See Expires.
	Retention string `json:"retention"`
	// AuditRetention is the age at which entries of the tenants' audit log are deleted, as Age reads
	// it; Never, or empty: never.
	AuditRetention string `json:"auditRetention"`
	Memory         int    `json:"memory"` // bytes of conversations that are at hand
	// Capture is what the store has of conversations: CaptureAll, or CaptureNone for nothing that
	// was said. See transport.Withholding.
	Capture string `json:"capture"`
	// Clients are the names of those who may ask, and the SHA-256 of their tokens as hexadecimal
	// digits. As soon as there is one, every request needs a token.
	Clients map[string]string `json:"clients"`
	// Origins are those of web pages that are agents and may ask, such as https://agent.example.
	Origins []string `json:"origins"`
	// Keys are keys of providers that serve holds for tenants, by a name of theirs. Where each is
	// is written here, never the key itself.
	Keys map[string]GatewayKey `json:"keys"`
	OIDC GatewayOIDC           `json:"oidc"`
	TLS  GatewayTLS            `json:"tls"`
	// Delegate lets a provider edit prompts itself where winnow may not: "clear_tool_uses", or ""
	// for nothing. See transport.ClearToolUses.
	Delegate string `json:"delegate"`
	// KeepWarm is how many requests at most keep the provider's cache of a conversation while its
	// client is silent, where that pays; 0 for none. See transport.Options.
	KeepWarm int `json:"keepWarm"`
	// Page shows browsers a page of what goes through the listener, at its address. Where clients
	// need tokens, the page does.
	Page bool `json:"page"`
	// SearchIndex keeps an index of all words, by which search finds them. Without one it reads the
	// newest messages.
	SearchIndex bool `json:"searchIndex"`
	// Drain is how long answers that are under way may take after serve was asked to end, as Age
	// reads it.
	Drain string `json:"drain"`
	// Profile is the loopback address at which the profiles of Go are had: HOST:PORT; "" for
	// nowhere. What is in memory can be read there.
	Profile string `json:"profile"`
	// Metrics is where winnowd serve shows figures and probes without a token: HOST:PORT; "" for at
	// Listen alone, where figures need one.
	Metrics string `json:"metrics"`
}

// The values of gateway.capture.
const (
	CaptureAll  = "all"
	CaptureNone = "none"
)

// GatewayTools say what is left out of the tools that a client declares.
type GatewayTools struct {
	// Drop are names of tools, or patterns with *, whose declarations are left out of a
	// conversation from its first request on.
	Drop []string `json:"drop"`
}

// GatewayKey says where a provider's key is.
type GatewayKey struct {
	File string `json:"file"` // that has nothing else in it
	Env  string `json:"env"`  // variable of the environment
	// Header is the header that it is sent in. Default: Authorization, with Bearer before the key;
	// x-api-key for the upstream anthropic, x-goog-api-key for gemini.
	Header string `json:"header"`
}

// GatewayOIDC lets people sign in to the page with an account of theirs elsewhere, by OpenID
// Connect.
type GatewayOIDC struct {
	Issuer   string `json:"issuer"` // address of the provider of identities; "": nobody can sign in
	ClientID string `json:"clientID"`
	// SecretFile has the client's secret; "" for a public client.
	SecretFile string `json:"secretFile"`
	// Redirect is the address that the provider sends browsers back to: that of serve, as browsers
	// have it, and /~sign/back.
	Redirect string `json:"redirect"`
	Groups   string `json:"groups"` // claim that lists a person's groups; "" is "groups"
	// CookieFile has at least 32 random bytes with which cookies are signed; every replica has the
	// same. "": new ones with each start.
	CookieFile string `json:"cookieFile"`
	// Access says what the people of a group may see.
	Access map[string]GatewayAccess `json:"access"`
}

// GatewayAccess is what the people of a group may see.
type GatewayAccess struct {
	Tenant string   `json:"tenant"`
	Scopes []string `json:"scopes"` // read, act, admin
}

// GatewayTLS says how what serve is sent is encrypted.
type GatewayTLS struct {
	Cert string `json:"cert"` // file of the certificate and those above it, PEM
	Key  string `json:"key"`  // file of its key, PEM
	// InFront says that a program in front of serve does it.
	InFront bool `json:"inFront"`
}

// GatewayModes are the values of gateway.mode, from the one that does nothing on.
func GatewayModes() []string { return []string{"off", "observe", "safe", "full"} }

// gatewayMemory is the default of gateway.memory: 512 MiB.
const gatewayMemory = 512 << 20

// gatewayRetention is the default of gateway.retention: who goes on with a conversation does so
// within days, and what was said in it should not lie around for years.
const gatewayRetention = "30d"

// gatewayAuditRetention is the default of gateway.auditRetention: audits ask about a year.
const gatewayAuditRetention = "365d"

// Never is the value of gateway.retention and auditRetention with which nothing is deleted.
const Never = "never"

// Expires reads gateway.retention or auditRetention. It reports false if nothing is deleted.
func Expires(retention string) (age time.Duration, ok bool) {
	age, err := Age(retention)
	return age, err == nil
}

// Age reads an age as people write it: 12h, 30d, 8w.
func Age(text string) (time.Duration, error) {
	for unit, hours := range map[string]int{"d": 24, "w": 7 * 24} {
		if number, ok := strings.CutSuffix(text, unit); ok {
			if n, err := strconv.Atoi(number); err == nil && n > 0 && n < 1e5 {
				return time.Duration(n*hours) * time.Hour, nil
			}
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return d, nil
	}
	return 0, fmt.Errorf("%q is not an age; write it as 12h, 30d or 8w", text)
}

// wrong says what cannot be right, by the rest of the key.
func (g Gateway) wrong(bad func(key, format string, args ...any)) {
	if !slices.Contains(GatewayModes(), g.Mode) {
		bad("mode", "unknown mode %q; use off, observe, safe or full", g.Mode)
	}
	if g.Delegate != "" && g.Delegate != "clear_tool_uses" {
		bad("delegate", `unknown edit %q; use clear_tool_uses, or "" for nothing`, g.Delegate)
	}
	if g.Capture != CaptureAll && g.Capture != CaptureNone {
		bad("capture", "unknown %q; use all, or none to keep what is said out of the store", g.Capture)
	}
	if g.KeepWarm < 0 || g.KeepWarm > mostWarm {
		bad("keepWarm", "%d: give 0 for none, or up to %d requests in a pause", g.KeepWarm, mostWarm)
	}
	if _, _, err := net.SplitHostPort(g.Listen); err != nil {
		bad("listen", "%q is not an address to listen at; write one like 127.0.0.1:4141", g.Listen)
	}
	for _, name := range slices.Sorted(maps.Keys(g.Upstreams)) {
		u, err := url.Parse(g.Upstreams[name])
		switch {
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			bad("upstreams."+name, "this is not an address; write one like https://host")
		case u.User != nil:
			bad("upstreams."+name, "leave out the user and the password; the client sends its own")
		}
	}
	for i, origin := range g.Origins {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme == "" || u.Host == "" || origin != u.Scheme+"://"+u.Host {
			bad(fmt.Sprintf("origins.%d", i), "%q is not the origin of a web page; write one like https://host:8443",
				origin)
		}
	}
	for i, name := range g.Tools.Drop {
		if _, err := path.Match(name, ""); err != nil || name == "" {
			bad(fmt.Sprintf("tools.drop.%d", i), "%q is not the name of a tool, nor a pattern such as mcp__github__*",
				name)
		}
	}
	for key, text := range map[string]string{"retention": g.Retention, "auditRetention": g.AuditRetention} {
		if age, err := Age(text); text == "" || text == Never {
			continue
		} else if err != nil {
			bad(key, "%w; or never", err)
		} else if age < time.Hour {
			bad(key, "%s: give an hour or more, or never", text)
		}
	}
	if _, err := Age(g.Drain); err != nil {
		bad("drain", "%w", err)
	}
	if host, _, err := net.SplitHostPort(g.Profile); g.Profile != "" && (err != nil ||
		!net.ParseIP(host).IsLoopback()) {
		bad("profile", "%q is not an address of this computer alone; write one like 127.0.0.1:6060", g.Profile)
	}
	if _, _, err := net.SplitHostPort(g.Metrics); g.Metrics != "" && err != nil {
		bad("metrics", "%q is not an address to listen at; write one like 127.0.0.1:9141", g.Metrics)
	}
	if g.Memory < leastMemory {
		bad("memory", "%d: give %d bytes (16 MiB) or more", g.Memory, leastMemory)
	}
	for _, name := range slices.Sorted(maps.Keys(g.Clients)) {
		if hash, err := hex.DecodeString(g.Clients[name]); err != nil || len(hash) != 32 { // never the value itself
			bad("clients."+name, "this is not the hash of a token; `winnow serve token add %s` makes one", name)
		}
	}
	g.wrongKeys(bad)
	g.OIDC.wrong(bad)
	for key, file := range map[string]string{"tls.cert": g.TLS.Cert, "tls.key": g.TLS.Key,
		"oidc.secretFile": g.OIDC.SecretFile,
		"oidc.cookieFile": g.OIDC.CookieFile} {
		if file != "" && !filepath.IsAbs(file) {
			bad(key, "%q depends on the current folder; give the whole path", file)
		}
	}
}

// wrongKeys says what cannot be right about the keys that serve holds.
func (g Gateway) wrongKeys(bad func(key, format string, args ...any)) {
	for _, name := range slices.Sorted(maps.Keys(g.Keys)) {
		switch k := g.Keys[name]; {
		case (k.File == "") == (k.Env == ""):
			bad("keys."+name, "give one of file and env: where the key is")
		case k.File != "" && !filepath.IsAbs(k.File):
			bad("keys."+name+".file", "%q depends on the current folder; give the whole path", k.File)
		case strings.ContainsFunc(k.Header, func(r rune) bool { return r != '-' && (r < '0' || r > 'z') }):
			bad("keys."+name+".header", "%q is not the name of a header", k.Header)
		}
	}
}

// wrong says what cannot be right.
func (o GatewayOIDC) wrong(bad func(key, format string, args ...any)) {
	for key, address := range map[string]string{"oidc.issuer": o.Issuer, "oidc.redirect": o.Redirect} {
		u, err := url.Parse(address)
		if address == "" {
			continue
		}
		if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !local(u.Hostname())) {
			bad(key, "%q is not an address that begins with https://", address)
		}
	}
	if o.Redirect != "" && !strings.HasSuffix(o.Redirect, SignedIn) {
		bad("oidc.redirect", "%q must end in %s", o.Redirect, SignedIn)
	}
	for _, group := range slices.Sorted(maps.Keys(o.Access)) {
		a := o.Access[group]
		if a.Tenant == "" || len(a.Scopes) == 0 {
			bad("oidc.access."+group, "give a tenant, and scopes: read, act, admin")
		}
		for _, scope := range a.Scopes {
			if !slices.Contains([]string{"read", "act", "admin"}, scope) {
				bad("oidc.access."+group, "unknown scope %q; use read, act, admin", scope)
			}
		}
	}
}

// SignedIn is the path to which a provider of identities sends browsers back.
const SignedIn = "/~sign/back"

// local reports whether a host is this computer.
func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// mostWarm is the most of gateway.keepWarm: for more nobody has come back in any recorded session.
const mostWarm = 20

// leastMemory is the least of gateway.memory: one long conversation needs it.
const leastMemory = 16 << 20
