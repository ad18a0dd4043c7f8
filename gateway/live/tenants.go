package live

import (
	"context"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/winnowhq/winnow/text/quantity"
)

// TenantsConfig says what a list of tenants shows.
type TenantsConfig struct {
	// Tenants are all tenants, in the order in which they are shown.
	Tenants func(ctx context.Context) ([]TenantLine, error)
	// Audit is told before the list is shown; what it refuses is not shown.
	Audit func(ctx context.Context) error
	Now   func() time.Time
}

// TenantLine is one tenant in the list.
type TenantLine struct {
	Tenant   string          `json:"tenant"`
	Requests PerDay[int64]   `json:"requests"` // that were answered
	Spent    PerDay[float64] `json:"spent"`    // US dollars
	Budget   PerDay[float64] `json:"budget"`   // US dollars, 0 for no limit
	// Seen is when one of its tokens was last shown, to a minute; zero: never.
	Seen time.Time `json:"lastSeen,omitzero"`
}

// PerDay is a figure of a day and of its month, of UTC.
type PerDay[N any] struct {
	Day   N `json:"day"`
	Month N `json:"month"`
}

// tenantsDocument is the list as JSON.
type tenantsDocument struct {
	Tenants []TenantLine `json:"tenants"`
}

// mostTenants is how many are shown at a time; a filter finds the others.
const mostTenants = 500

var tenantsPage = template.Must(template.New("tenants.html").Funcs(template.FuncMap{
	"dollars": func(d float64) string { return quantity.Dollars(d) },
	"number":  func(n int64) string { return quantity.Number(int(n)) },
	"budget": func(d float64) string {
		if d == 0 {
			return "unlimited"
		}
		return quantity.Dollars(d)
	},
	"share": func(spent, budget float64) string {
		if budget <= 0 {
			return ""
		}
		return quantity.Share(spent / budget)
	},
}).ParseFS(assets, "assets/tenants.html"))

// tenantsPolicy is policy with the form that filters.
var tenantsPolicy = strings.Replace(policy, "form-action 'none'", "form-action 'self'", 1)

// Tenants is the handler of the list of all tenants, as a page for browsers, as JSON for others.
// Who may ask is for the caller to say. The parameter q keeps those whose name contains it.
func Tenants(c TenantsConfig) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Content-Security-Policy", tenantsPolicy)
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("X-Frame-Options", "DENY")
		head.Set("Referrer-Policy", "no-referrer") // a token may be in the address
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Set("Cache-Control", "no-store")
		if err := c.Audit(r.Context()); err != nil {
			tell(w, http.StatusServiceUnavailable,
				result{Error: "it cannot be noted that the list was read, so it is not shown"})
			return
		}
		all, err := c.Tenants(r.Context())
		if err != nil {
			tell(w, http.StatusServiceUnavailable, result{Error: "the tenants cannot be read now"})
			return
		}
		asked := r.URL.Query().Get("q")
		doc := tenantsDocument{[]TenantLine{}}
		for _, t := range all {
			if strings.Contains(strings.ToLower(t.Tenant), strings.ToLower(asked)) {
				doc.Tenants = append(doc.Tenants, t)
			}
		}
		if !strings.Contains(r.Header.Get("Accept"), "text/html") {
			tell(w, http.StatusOK, doc)
			return
		}
		c.write(w, asked, doc.Tenants, len(all))
	})
}

// write writes the page.
func (c TenantsConfig) write(w http.ResponseWriter, asked string, found []TenantLine, all int) {
	type line struct {
		TenantLine
		Ago string
	}
	now := c.Now()
	var sums TenantLine
	lines := make([]line, 0, min(len(found), mostTenants))
	for i, t := range found {
		sums.Requests.Day, sums.Requests.Month = sums.Requests.Day+t.Requests.Day, sums.Requests.Month+t.Requests.Month
		sums.Spent.Day, sums.Spent.Month = sums.Spent.Day+t.Spent.Day, sums.Spent.Month+t.Spent.Month
		if i >= mostTenants {
			continue
		}
		l := line{t, "never"}
		if !t.Seen.IsZero() {
			l.Ago = ago(now.Sub(t.Seen))
		}
		lines = append(lines, l)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = tenantsPage.Execute(w, map[string]any{"Asked": asked, "Lines": lines, "Found": len(found), "All": all,
		"Sums": sums, "Most": mostTenants})
}

// ago is how long something is over, to the minute.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return quantity.Count(int(d/time.Minute), "minute") + " ago"
	case d < 48*time.Hour:
		return quantity.Count(int(d/time.Hour), "hour") + " ago"
	}
	return quantity.Count(int(d/(24*time.Hour)), "day") + " ago"
}
