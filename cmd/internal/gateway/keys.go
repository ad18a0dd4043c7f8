package gateway

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/textproto"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/serve"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/text/plainfile"
)

// heldKey is a key of a provider that the server holds.
type heldKey struct {
	value  string // the newest that could be read, "" if none could
	header string // that it is sent in, "" for the usual one
	err    error  // why it cannot be read now
}

// mostKey is how many bytes a key may have.
const mostKey = 16 << 10

// readKeys reads the keys that the server holds, each by itself, from where the configuration says.
// One that cannot be read keeps the value that it had before.
func readKeys(a *cli.App, settings config.Settings, before map[string]heldKey) map[string]heldKey {
	keys := map[string]heldKey{}
	for name, where := range settings.Gateway.Keys {
		value, err := readKey(a, where)
		if err != nil {
			value = before[name].value
		}
		keys[name] = heldKey{value, where.Header, err}
	}
	return keys
}

func readKey(a *cli.App, where config.GatewayKey) (string, error) {
	value := a.Env.Getenv(where.Env)
	if where.File != "" {
		var err error
		if value, err = readSecret(where.File, mostKey); err != nil {
			return "", err
		}
	}
	value = strings.TrimSpace(value)
	switch {
	case value == "" && where.File != "":
		return "", fmt.Errorf("%s is empty", where.File)
	case value == "":
		return "", fmt.Errorf("the variable %s is not set: it must be when serve starts", where.Env)
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }):
		return "", fmt.Errorf("the content of %s cannot be a key: it has several lines, or is not ASCII",
			where.Env+where.File)
	}
	return value, nil
}

// unreadKeys says which keys cannot be read, nil if all can.
func unreadKeys(keys map[string]heldKey) error {
	var all []error
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		if err := keys[name].err; err != nil {
			all = append(all, cli.Usage("gateway.keys.%s: %w", name, err))
		}
	}
	return errors.Join(all...)
}

// followKeys reads the keys again, and logs what has changed.
func (d *tenants) followKeys(settings config.Settings) {
	before := *d.keys.Load()
	keys := readKeys(d.r.app, settings, before)
	d.keys.Store(&keys)
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		was, known := before[name]
		switch key := keys[name]; {
		case key.err != nil && was.err != nil && key.err.Error() == was.err.Error():
		case key.err != nil && key.value == "":
			d.log.Error("a held key cannot be read; requests that need it get 503", "key", name, "why", key.err)
		case key.err != nil:
			d.log.Error("a held key cannot be read; its last value stays in force", "key", name, "why", key.err)
		case was.err != nil:
			d.log.Info("a held key can be read again", "key", name)
		case known && key.value != was.value:
			d.log.Info("a held key has a new value", "key", name)
		}
	}
}

// readSecret reads a short file whole.
func readSecret(path string, most int64) (string, error) {
	f, _, err := plainfile.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = errors.New("the file is too long")
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return string(data), nil
}

// keysOf are the keys that the server holds for a tenant, by upstream. One that the configuration
// does not have, or that could never be read, is there without a value.
func (d *tenants) keysOf(t tenant.Tenant) map[string]serve.Key {
	keys := make(map[string]serve.Key, len(t.Keys))
	for upstream, name := range t.Keys {
		held := (*d.keys.Load())[name]
		key := serve.Key{Name: name, Header: textproto.CanonicalMIMEHeaderKey(held.header), Value: held.value,
			Unread: held.err}
		if key.Header == "" {
			switch upstream {
			case "anthropic":
				key.Header = "X-Api-Key"
			case "gemini":
				key.Header = "X-Goog-Api-Key"
			default:
				key.Header = "Authorization"
			}
		}
		if key.Header == "Authorization" && key.Value != "" {
			key.Value = "Bearer " + key.Value
		}
		keys[upstream] = key
	}
	return keys
}

const leastCookieKey = 32 // bytes

// signInSecrets reads the secrets of a sign-in: the client's, and the key that seals cookies.
func signInSecrets(a *cli.App, o config.GatewayOIDC) (secret string, key []byte, err error) {
	if a.Shared.Missing != nil {
		return "", nil, cli.Usage("gateway.oidc is for winnowd serve")
	}
	if o.ClientID == "" || o.Redirect == "" {
		return "", nil, cli.Usage("gateway.oidc.issuer is set, so gateway.oidc.clientID and gateway.oidc.redirect must " +
			"be, too")
	}
	if o.SecretFile != "" {
		if secret, err = readSecret(o.SecretFile, mostKey); err != nil {
			return "", nil, cli.Usage("gateway.oidc.secretFile: %w", err)
		}
		secret = strings.TrimSpace(secret)
	}
	if o.CookieFile == "" {
		key = make([]byte, leastCookieKey)
		rand.Read(key) // it never fails
		return secret, key, nil
	}
	text, err := readSecret(o.CookieFile, mostKey)
	if err != nil {
		return "", nil, cli.Usage("gateway.oidc.cookieFile: %w", err)
	}
	if len(text) < leastCookieKey {
		return "", nil, cli.Usage("gateway.oidc.cookieFile: %s has %d bytes; it must have %d random ones or more",
			o.CookieFile, len(text), leastCookieKey)
	}
	return secret, []byte(text), nil
}
