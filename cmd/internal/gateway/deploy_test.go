package gateway

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/team/metrics"
)

// named are the figures that a text speaks of.
var named = regexp.MustCompile(`\b(winnow|process|go)_[a-z0-9_]*[a-z0-9]\b`)

// Every figure that the dashboard, the alerts, the chart or the documents name is one that
// GET /metrics shows.
func TestDeploy_figuresExist(t *testing.T) {
	r := opened(t, config.Default(), transport.Full)
	defer r.Close()
	if _, err := r.Jobs(t.Context(), func() string { return "" }); err != nil {
		t.Fatal(err)
	}
	known := r.metrics.(*metrics.Metrics).Names()
	if !slices.Contains(known, "winnow_requests_total") || !slices.Contains(known, "process_resident_memory_bytes") {
		t.Fatalf("the names are %v", known)
	}
	root := outside.Root(t)
	files := []string{filepath.Join(root, "docs", "operations.md"), filepath.Join(root, "docs", "gateway.md")}
	err := filepath.WalkDir(filepath.Join(root, "deploy"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(path) != ".go" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range named.FindAllString(string(text), -1) {
			found++
			base := name
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				base = strings.TrimSuffix(base, suffix)
			}
			if !slices.Contains(known, name) && !slices.Contains(known, base) {
				t.Errorf("%s: there is no figure %s", strings.TrimPrefix(file, root), name)
			}
		}
	}
	if found < 50 {
		t.Errorf("%d figures were found in %d files", found, len(files))
	}
}

// dashboard is what Grafana is given.
type dashboard struct {
	Templating struct {
		List []struct{ Name string }
	}
	Panels []struct {
		ID      int    `json:"id"`
		Type    string `json:"type"`
		Title   string `json:"title"`
		Grid    grid   `json:"gridPos"`
		Targets []struct {
			Expr string `json:"expr"`
		} `json:"targets"`
	} `json:"panels"`
}

type grid struct{ X, Y, W, H int }

// shown is the dashboard.
func shown(t *testing.T) (d dashboard) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(outside.Root(t), "deploy", "grafana", "dashboards", "winnow.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &d, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	return d
}

// queries are those of the dashboard, with its variables filled in.
func queries(t *testing.T) (all []string) {
	t.Helper()
	seen := map[int]bool{}
	for i, p := range shown(t).Panels {
		if seen[p.ID] || p.Title == "" || p.Grid.X+p.Grid.W > 24 || p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %d cannot be shown: %+v", i, p)
		}
		seen[p.ID] = true
		for _, target := range p.Targets {
			all = append(all, strings.NewReplacer("$instance", ".*", "$tenant", ".*", "$__rate_interval", "1m").Replace(target.Expr))
		}
	}
	return all
}

// The dashboard has panels that Grafana can show, each with a query.
func TestDeploy_dashboard(t *testing.T) {
	if all := queries(t); len(all) < 20 {
		t.Errorf("it has %d queries", len(all))
	}
}

// Whatever is counted for each tenant can be looked at for one, and an alert about it says whose it
// is.
func TestDeploy_tenantsAreToldApart(t *testing.T) {
	figures := metrics.OfTenant(func() transport.Totals { return transport.Totals{} }).Names()
	ofTenants := func(expr string) bool {
		return slices.ContainsFunc(named.FindAllString(expr, -1), func(name string) bool {
			return slices.Contains(figures, strings.TrimSuffix(name, "_bucket"))
		})
	}
	d, found := shown(t), 0
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			if !ofTenants(target.Expr) {
				continue
			}
			if found++; !strings.Contains(target.Expr, `tenant=~"$tenant"`) {
				t.Errorf("the dashboard does not choose among tenants: %s", target.Expr)
			}
		}
	}
	if n := len(d.Templating.List); n != 2 || d.Templating.List[1].Name != "tenant" || found < 15 {
		t.Errorf("the variables are %+v; %d queries are of tenants", d.Templating.List, found)
	}
	text := outsideFile(t, filepath.Join(outside.Root(t), "deploy", "prometheus", "alerts.yml"))
	found = 0
	for _, expr := range alertExpr.FindAllStringSubmatch(string(text), -1) {
		if !ofTenants(expr[1]) {
			continue
		}
		found++
		if all, by := strings.Count(expr[1], "sum"), strings.Count(expr[1], "sum by (tenant"); all != by {
			t.Errorf("the alert does not say whose it is: %s", expr[1])
		}
	}
	if said := strings.Count(string(text), "{{ with $labels.tenant }}"); said != found || found < 4 {
		t.Errorf("%d of %d alerts about tenants name them", said, found)
	}
}

// alertExpr finds the expressions of alerts.
var alertExpr = regexp.MustCompile(`(?m)^ +expr: (.+)$`)

// overTime finds what an expression does with the past of a figure.
var overTime = regexp.MustCompile(`(\w+)\((winnow_\w+)[^\[\]()]*\[`)

// A restart sets every figure to zero. No alert takes that for a change: the past of a figure is looked
// at as that of a counter, or for its extremes.
func TestDeploy_alertsOutliveRestarts(t *testing.T) {
	text := outsideFile(t, filepath.Join(outside.Root(t), "deploy", "prometheus", "alerts.yml"))
	all := alertExpr.FindAllStringSubmatch(string(text), -1)
	if len(all) < 8 {
		t.Fatalf("%d expressions are found", len(all))
	}
	for _, expr := range all {
		for _, use := range overTime.FindAllStringSubmatch(expr[1], -1) {
			switch by, figure := use[1], use[2]; {
			case by == "max_over_time":
			case by != "rate" && by != "increase":
				t.Errorf("%s: after a restart %s of %s says what has not happened", expr[1], by, figure)
			case !strings.HasSuffix(figure, "_total") && !strings.HasSuffix(figure, "_bucket"):
				t.Errorf("%s: %s is no counter", expr[1], figure)
			}
		}
	}
}
