package gateway

import (
	"context"
	"fmt"
	"net/http"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/gateway/live"
	"github.com/winnowhq/winnow/gateway/mcp"
	"github.com/winnowhq/winnow/gateway/serve"
	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/model/bill"
)

// recalling gives agents what was left out of the sessions of an engine's store, over HTTP. Of a
// tenant's clients each has the tools that its scopes allow, and what they do is audited.
// compacts is that of CompactTool.
func recalling(version string, e *winnow.Engine, compacts func(client string) bool, audit func(context.Context, live.Deed) error) http.Handler {
	return mcp.HandlerFor(func(r *http.Request) mcp.Config {
		c := mcp.Config{Engine: e, Version: version, Compact: compacts}
		asks := r.Context()
		if g := serve.ClientOf(asks); g != nil {
			c.Refuse = func(tool string) error { return allowed(g, tool) }
		}
		if audit != nil {
			c.Audit = func(_ context.Context, d mcp.Deed) error {
				return audit(asks, live.Deed{Did: d.Did, Session: d.Session, What: d.Part})
			}
		}
		return c
	})
}

// CompactTool says which clients may ask for a compaction over MCP, by the setting mcp.compact: nil
// is none.
func CompactTool(setting string) func(client string) bool {
	switch setting {
	case "off":
		return nil
	case "on":
		return func(string) bool { return true }
	}
	return func(client string) bool { return !bill.Compacts(client) }
}

// allowed says why a client may not use a tool.
func allowed(g *serve.Client, tool string) error {
	needed := tenant.Read
	if tool == "pin" || tool == "compact" {
		needed = tenant.Act
	}
	if g.Scopes.Has(needed) {
		return nil
	}
	return fmt.Errorf("this token allows %s: for this one with the scope %s is needed", g.Scopes, needed)
}
