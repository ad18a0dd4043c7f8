package store

import (
	"net/url"
	"strings"
)

// IsURL reports whether the name of a store is that of a database with a server: postgres://….
func IsURL(name string) bool {
	scheme, _, ok := strings.Cut(name, "://")
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
	rest, _ := CutTenant(text)
	return rest
}

// CutTenant takes the name of a tenant out of a URL.
func CutTenant(text string) (rest, tenant string) {
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

// CutPassword takes the password out of a URL. Of a URL that cannot be read nothing is left.
func CutPassword(text string) (rest, password string) {
	u, err := url.Parse(text)
	if err != nil {
		return "postgres://…", ""
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
