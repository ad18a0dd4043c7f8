package postgres

import (
	"net/url"
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

// Redacted names a database without a user, a password or parameters: by its host and name. It is
// what errors, logs and pages show.
func Redacted(text string) string {
	text, tenant := cutTenant(text)
	c, err := pgx.ParseConfig(text)
	if err != nil {
		return "postgres://…"
	}
	u := url.URL{Scheme: "postgres", Host: c.Host, Path: "/" + c.Database}
	if c.Port != 5432 {
		u.Host += ":" + strconv.Itoa(int(c.Port))
	}
	if strings.HasPrefix(c.Host, "/") { // the folder of a socket
		u.Host = ""
		u.RawQuery = "host=" + c.Host
	}
	if tenant != "" {
		return WithTenant(u.String(), tenant)
	}
	return u.String()
}
