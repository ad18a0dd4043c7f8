package gateway

import (
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/store"
)

// Finding is a result of reading or trying something that the configuration of serve names.
type Finding struct {
	Setting string `json:"setting"`          // key of the configuration
	Found   string `json:"found"`            // the value or file that is there; empty with a problem
	Problem string `json:"problem,omitzero"` // why "serve" does not start
	Err     error  `json:"-"`                // nil without a problem
}

// Finds makes the finding about a setting.
func Finds(setting, found string, err error) Finding {
	if err != nil {
		return Finding{setting, "", err.Error(), err}
	}
	return Finding{Setting: setting, Found: found}
}

// Check reads what a relay with tenants reads before it starts, except what is in a database or
// elsewhere in the network.
func Check(a *cli.App, settings config.Settings) (all []Finding) {
	if book := source.BookAt(a); a.Shared.Missing != nil {
		if _, err := os.Stat(book); store.IsURL(book) || book != "" && err == nil {
			all = append(all, Finds("store", "", a.Shared.Missing))
		}
	}
	keys := readKeys(a, settings, nil)
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		where := settings.Gateway.Keys[name]
		found := "read from " + where.File
		if where.File == "" {
			found = "read from the variable " + where.Env
		}
		all = append(all, Finds("gateway.keys."+name, found, unreadKeys(map[string]heldKey{name: keys[name]})))
	}
	if o := settings.Gateway.OIDC; o.Issuer != "" {
		_, _, err := signInSecrets(a, o)
		found := strings.Join(slices.DeleteFunc([]string{o.SecretFile, o.CookieFile}, func(file string) bool {
			return file == ""
		}), ", ")
		if found != "" {
			found = "; read: " + found
		}
		all = append(all, Finds("gateway.oidc", o.Issuer+" is asked when somebody signs in"+found, err))
	}
	return all
}
