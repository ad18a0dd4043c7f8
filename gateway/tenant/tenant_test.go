package tenant_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/gateway/tenant"
)

var noon = time.Date(2026, 5, 31, 12, 0, 0, 0, time.UTC)

func TestBudget_judges(t *testing.T) {
	both := tenant.Budget{Day: 10, Month: 100}
	for name, c := range map[string]struct {
		budget tenant.Budget
		spent  tenant.Spent
		want   string // Message, "" for nothing
	}{
		"no budget":             {tenant.Budget{}, tenant.Spent{Day: 1e6, Month: 1e6}, ""},
		"below":                 {both, tenant.Spent{Day: 7.99, Month: 79}, ""},
		"the day's share":       {both, tenant.Spent{Day: 8, Month: 8}, "$8.00 of the budget of $10.00 for this day (UTC) are spent"},
		"the nearer one":        {both, tenant.Spent{Day: 8, Month: 95}, "$95.00 of the budget of $100.00 for this month (UTC) are spent"},
		"another share":         {tenant.Budget{Day: 10, Warn: 0.2}, tenant.Spent{Day: 2}, "$2.00 of the budget of $10.00 for this day (UTC) are spent"},
		"the day is over":       {both, tenant.Spent{Day: 10.5, Month: 99}, "$10.50 of the budget of $10.00 for this day (UTC) are spent; it begins again at 2026-06-01T00:00:00Z"},
		"both, the later":       {both, tenant.Spent{Day: 20, Month: 100}, "$100.00 of the budget of $100.00 for this month (UTC) are spent; it begins again at 2026-06-01T00:00:00Z"},
		"a month alone, exact":  {tenant.Budget{Month: 1}, tenant.Spent{Day: 1, Month: 1}, "$1.00 of the budget of $1.00 for this month (UTC) are spent; it begins again at 2026-06-01T00:00:00Z"},
		"warnings only at once": {tenant.Budget{Day: 10, Warn: 1}, tenant.Spent{Day: 9.99}, ""},
	} {
		got := ""
		if v := c.budget.Judge(c.spent, noon); v != nil {
			got = v.Message()
		}
		if got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.want)
		}
	}
}

// Whatever is asked when: no more are under way than may be, and no more come within a minute than
// the bucket has and gets; what was refused takes nothing.
func TestGate_limits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := tenant.Limits{PerMinute: rapid.IntRange(1, 30).Draw(t, "per minute"),
			Concurrent: rapid.IntRange(1, 5).Draw(t, "concurrent")}
		g := tenant.NewGate(tenant.Tenant{Name: "ann", Limits: limits})
		now, began, let := noon, noon, 0
		var under []func()
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				now = now.Add(time.Duration(rapid.IntRange(0, 10_000).Draw(t, "ms")) * time.Millisecond)
			case 1:
				if len(under) > 0 {
					under[0]()
					under[0]() // twice counts once
					under = under[1:]
				}
			default:
				pass, refused := g.Enter(now)
				switch {
				case refused == nil:
					under, let = append(under, pass.Leave), let+1
				case refused.After <= 0:
					t.Fatalf("%s without a time", refused.Kind)
				case refused.Kind == "concurrency" && len(under) < limits.Concurrent:
					t.Fatalf("refused at %d of %d under way", len(under), limits.Concurrent)
				case refused.Kind == "rate" && len(under) < limits.Concurrent:
					if _, again := g.Enter(now.Add(refused.After + time.Millisecond)); again != nil {
						t.Fatalf("told to wait %v, and refused then: %s", refused.After, again.Kind)
					}
					return
				}
			}
			if _, n := g.Now(now); n != len(under) || n > limits.Concurrent {
				t.Fatalf("%d under way, counted as %d of %d", len(under), n, limits.Concurrent)
			}
			most := float64(limits.PerMinute) * (1 + now.Sub(began).Minutes())
			if float64(let) > math.Ceil(most)+1e-6 {
				t.Fatalf("%d requests in %v at %d a minute", let, now.Sub(began), limits.PerMinute)
			}
		}
	})
}

func TestGate_budget(t *testing.T) {
	g := tenant.NewGate(tenant.Tenant{Name: "ann", Budget: tenant.Budget{Day: 10, Month: 12}})
	enter := func(at time.Time) string {
		pass, refused := g.Enter(at)
		switch {
		case refused != nil:
			return refused.Kind + " " + refused.Verdict.Period
		case pass.Warning != nil && pass.First:
			return "first " + pass.Warning.Period
		case pass.Warning != nil:
			return "again " + pass.Warning.Period
		}
		return ""
	}
	day := func(n int) time.Time { return noon.AddDate(0, 0, n-31) } // of May
	for i, c := range []struct {
		at    time.Time
		spend float64
		want  string
	}{
		{day(29), 0, ""}, {day(29), 8, ""}, {day(29), 0, "first day"}, {day(29), 1, "again day"}, {day(29), 1, "again day"},
		{day(29), 0, "budget day"}, {day(30), 0, "first month"}, {day(30), 2, "again month"}, {day(30), 0, "budget month"},
		{day(31), 0, "budget month"}, {day(32), 0, ""}, {day(31), 0, ""},
	} {
		if got := enter(c.at); got != c.want {
			t.Errorf("%d: %q, want %q", i, got, c.want)
		}
		g.Spend(c.spend, c.at)
	}
	g.Learn(tenant.Spent{Day: 10, Month: 10}, day(32))
	if got := enter(day(32)); got != "budget day" {
		t.Errorf("what others spent: %q", got)
	}
	g.Learn(tenant.Spent{Day: 1}, day(32))
	if got := enter(day(32)); got != "budget day" {
		t.Errorf("it was forgotten: %q", got)
	}
}

func TestTenant_check(t *testing.T) {
	for want, c := range map[string]tenant.Tenant{
		"":                      {Name: "Team_1-a", Limits: tenant.Limits{PerMinute: 1}, Mode: "observe", Capture: "none"},
		"cannot name a tenant":  {Name: "a/b"},
		"requests a minute":     {Name: "a", Limits: tenant.Limits{PerMinute: -1}},
		"requests at a time":    {Name: "a", Limits: tenant.Limits{Concurrent: -1}},
		"a budget of NaN":       {Name: "a", Budget: tenant.Budget{Day: math.NaN()}},
		"a share of 2":          {Name: "a", Budget: tenant.Budget{Day: 1, Warn: 2}},
		"unknown capture":       {Name: "a", Capture: "some"},
		"unknown mode":          {Name: "a", Mode: "bold"},
		"a retention of -1":     {Name: "a", Retention: -1},
		"named as UPSTREAM":     {Name: "a", Keys: map[string]string{"anthropic": ""}},
		"a budget cannot be":    {Name: "a", Mode: "off", Budget: tenant.Budget{Day: 1}},
		`"" cannot name a tena`: {},
	} {
		err := c.Check()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%+v: %v, want %q", c, err, want)
		}
	}
}

func TestScopes_parse(t *testing.T) {
	for list, want := range map[string]string{"read,relay": "relay,read", "admin": "admin", " act , act": "act"} {
		got, err := tenant.ParseScopes(list)
		if err != nil || got.String() != want {
			t.Errorf("%q: %v %v", list, got, err)
		}
	}
	for _, list := range []string{"", "relay,", "root"} {
		if got, err := tenant.ParseScopes(list); err == nil {
			t.Errorf("%q: %v", list, got)
		}
	}
}
