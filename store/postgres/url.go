package postgres

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/winnowhq/winnow/store"
)

// Redacted names a database without a user, a password or parameters: by its hosts and name. It is
// what errors, logs and pages show.
func Redacted(text string) string {
	text, tenant := store.CutTenant(text)
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
		return store.WithTenant(u.String(), tenant)
	}
	return u.String()
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
