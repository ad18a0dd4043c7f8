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

// heldKey is a key of a provider, and the header that it is sent in, "" for the usual one.
type heldKey struct{ value, header string }

// mostKey is how many bytes a key may have.
const mostKey = 16 << 10

// readKeys reads the keys that the server holds, from where the configuration says.
func (d *tenants) readKeys(settings config.Settings) error {
	keys := map[string]heldKey{}
	for _, name := range slices.Sorted(maps.Keys(settings.Gateway.Keys)) {
		where := settings.Gateway.Keys[name]
		value, err := d.r.app.Env.Getenv(where.Env), error(nil)
		if where.File != "" {
			value, err = readSecret(where.File, mostKey)
		}
		value = strings.TrimSpace(value)
		switch {
		case err != nil:
			return cli.Usage("gateway.keys.%s: %w", name, err)
		case value == "":
			return cli.Usage("gateway.keys.%s: there is no key in %s", name, where.Env+where.File)
		case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }):
			return cli.Usage("gateway.keys.%s: what is in %s cannot be a key: it is more than one line, or not ASCII",
				name, where.Env+where.File)
		}
		keys[name] = heldKey{value, where.Header}
	}
	d.keys.Store(&keys)
	return nil
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
// does not have is there without a value.
func (d *tenants) keysOf(t tenant.Tenant) map[string]serve.Key {
	keys := make(map[string]serve.Key, len(t.Keys))
	for upstream, name := range t.Keys {
		held := (*d.keys.Load())[name]
		key := serve.Key{Name: name, Header: textproto.CanonicalMIMEHeaderKey(held.header), Value: held.value}
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
func signInSecrets(o config.GatewayOIDC) (secret string, key []byte, err error) {
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
