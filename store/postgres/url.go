package postgres

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// IsURL reports whether a text names a PostgreSQL database by a URL.
func IsURL(text string) bool {
	scheme, _, ok := strings.Cut(text, "://")
	return ok && (scheme == "postgres" || scheme == "postgresql")
}

// WithTenant is a URL whose parameter names a tenant.
func WithTenant(text, tenant string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text // which opening it says
	}
	q := u.Query()
	q.Set("tenant", tenant)
	u.RawQuery = q.Encode()
	return u.String()
}

// WithoutTenant is a URL without the parameter that names a tenant: what other programs of the
// database understand.
func WithoutTenant(text string) string {
	rest, _ := cutTenant(text)
	return rest
}

// cutTenant takes the name of a tenant out of a URL.
func cutTenant(text string) (rest, tenant string) {
	u, err := url.Parse(text)
	if err != nil || !IsURL(text) {
		return text, ""
	}
	q := u.Query()
	if !q.Has("tenant") {
		return text, ""
	}
	tenant = q.Get("tenant")
	q.Del("tenant")
	u.RawQuery = q.Encode()
	return u.String(), tenant
}

// Redacted names a database without a user, a password or parameters: by its hosts and name. It is
// what errors, logs and pages show.
func Redacted(text string) string {
	text, tenant := cutTenant(text)
	c, err := pgx.ParseConfig(text)
	if err != nil {
		return "postgres://…"
	}
	hosts := []string{hostOf(c.Host, c.Port)}
	for _, f := range c.Fallbacks { // one a server and way of encrypting
		if host := hostOf(f.Host, f.Port); !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	u := url.URL{Scheme: "postgres", Host: strings.Join(hosts, ","), Path: "/" + c.Database}
	if strings.HasPrefix(c.Host, "/") { // the folder of a socket
		u.RawQuery, u.Host = "host="+u.Host, ""
	}
	if tenant != "" {
		return WithTenant(u.String(), tenant)
	}
	return u.String()
}

// CutPassword takes the password out of a URL. What is left of a URL that cannot be read names no
// user either.
func CutPassword(text string) (rest, password string) {
	u, err := url.Parse(text)
	if err != nil {
		return Redacted(text), ""
	}
	q := u.Query()
	password, given := u.User.Password()
	if !given {
		password = q.Get("password")
	}
	if password == "" {
		return text, ""
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	q.Del("password")
	u.RawQuery = q.Encode()
	return u.String(), password
}

// WithPassfile is a URL whose password is in a file that Passfile wrote.
func WithPassfile(text, file string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text // which opening it says
	}
	q := u.Query()
	q.Set("passfile", file)
	u.RawQuery = q.Encode()
	return u.String()
}

// Passfile is what a file holds that has the password of whatever asks with it.
func Passfile(password string) []byte {
	return []byte("*:*:*:*:" + strings.NewReplacer(`\`, `\\`, ":", `\:`).Replace(password) + "\n")
}

// hostOf is a server as it stands in a URL: without the port that all have.
func hostOf(host string, port uint16) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port == 5432 || strings.HasPrefix(host, "/") {
		return host
	}
	return host + ":" + strconv.Itoa(int(port))
}
