package gateway

import (
	"github.com/winnowhq/winnow/serve"
	"github.com/winnowhq/winnow/tenant"
)

// keysOf are the keys that the server holds for a tenant, by upstream.
func (r *Relay) keysOf(tenant.Tenant) map[string]serve.Key { return nil }
