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

// Redacted names a database without a user, a password or parameters: by its host and name. It is
// what errors, logs and pages show.
func Redacted(text string) string {
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
	return u.String()
}
