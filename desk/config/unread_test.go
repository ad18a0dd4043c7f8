package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/policy"
)

// another is a value of a key that is not the one it has.
func another(key, now string) string {
	switch t := typeOf(key); {
	case t == reflect.TypeFor[budget.Thresholds]():
		return `{"*":0.5}`
	case now == "true", now == "false":
		return fmt.Sprint(now == "false")
	case t.Kind() == reflect.Int:
		return strings.TrimLeft(now+"1", "0")
	case t.Kind() == reflect.String:
		return `"x"`
	case t.Kind() == reflect.Slice:
		return `["x"]`
	}
	return "7"
}

// drawn is all that a policy is made of, as a text.
func drawn(s Settings) string {
	p := s.NewPolicy()
	text := fmt.Sprintf("%+v %+v %+v %+v %v %v %v %v %+v %v %v", p.Budget, p.Pivot, p.Schedule, *p.Guard, p.Markers(), p.Auto,
		p.Prune, p.Background, p.First, p.Outline, p.ColdFold)
	for _, r := range p.Rules {
		text += fmt.Sprintf("\n%s %+v", r.Name(), r)
	}
	return text
}

// A key that a policy is said not to read makes the same policy whatever its value; any other key
// makes another one, if it is one that policies are made of.
func TestUnread_isWhatChangesNothing(t *testing.T) {
	start := Default()
	start.Compaction.Background = new(bool)
	start.Strategies.BalancedPruning.Code = true // so that its age counts
	_, values, err := Loaded{Settings: start}.Values()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, key := range Keys() {
		if !strings.HasPrefix(key, "compaction.") && !strings.HasPrefix(key, "strategies.") {
			continue
		}
		unread, same := map[string]string{}, map[string]bool{}
		read := false
		for _, name := range []string{policy.Classic, policy.Aggressive, policy.Careful, policy.Balanced, policy.Thrifty} {
			for _, schedule := range append(policy.Schedules(), "") {
				before := start
				before.Policy, before.Schedule = name, schedule
				after := before
				if err := decode(nested(key, []byte(another(key, string(values[key])))), &after); err != nil {
					t.Fatalf("%s: %v", key, err)
				}
				at := name + " " + schedule
				unread[at], same[at] = policy.Unread(key, name, schedule), drawn(before) == drawn(after)
				read = read || !same[at]
			}
		}
		for at, why := range unread {
			if !read && why != "" || read && same[at] != (why != "") {
				t.Errorf("%s under %s: leaves the policy as it is %v, and is said to be unread because %q",
					key, at, same[at], why)
			}
		}
		if read {
			checked++
		}
	}
	if checked < 35 {
		t.Errorf("%d keys were found to change a policy", checked)
	}
}

func TestUnread_says(t *testing.T) {
	for _, c := range []struct{ key, policy, schedule, want string }{
		{"strategies.aggressivePruning.snapshots", policy.Balanced, "", "only the policy aggressive reads it"},
		{"strategies.aggressivePruning.pruneSnapshots", policy.Balanced, "", "only the policy aggressive reads it"},
		{"strategies.aggressivePruning", policy.Classic, "", "only the policy aggressive reads it"},
		{"strategies.aggressivePruning.snapshots", policy.Aggressive, "", ""},
		{"strategies.balancedPruning.idleSteps", policy.Aggressive, "", "only the policies careful, balanced and thrifty read it"},
		{"compaction.minimum", policy.Balanced, "", "under balanced only the schedule eager reads it"},
		{"compaction.minimum", policy.Balanced, "eager", ""},
		{"compaction.minimum", policy.Classic, "economic", ""},
		{"compaction.keep", policy.Classic, "", "only the policies careful, balanced and thrifty read it"},
		{"compaction.keep", policy.Balanced, "", ""},
		{"compaction.auto", policy.Classic, "", ""},
		{"strategies.balancedPruning.idleSteps", policy.Thrifty, "", ""},
		{"compaction.keep", policy.Careful, "", ""},
	} {
		if got := policy.Unread(c.key, c.policy, c.schedule); got != c.want {
			t.Errorf("%s under %s, schedule %q: %q, want %q", c.key, c.policy, c.schedule, got, c.want)
		}
	}
}

// docs/configuration.md names the variables of another product, and only keys that there are.
func TestDocument_namesTheVariables(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(outside.Root(t), "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"OPENCODE_DISABLE_AUTOCOMPACT", "OPENCODE_DISABLE_PRUNE"} {
		l, err := Load(Sources{Environ: []string{name + "=1"}})
		if err != nil || len(l.Origins) != 1 || !strings.Contains(string(page), "| `"+name+"` |") {
			t.Errorf("%s sets %v, %v; or the page has no row for it", name, l.Origins, err)
		}
	}
	named := 0
	for _, name := range regexp.MustCompile("`WINNOW_[A-Z_]+`").FindAllString(string(page), -1) {
		named++
		if name == "`WINNOW_STORE`" { // no key: where the store is
			continue
		}
		if !slices.ContainsFunc(Keys(), func(key string) bool { return "`"+Variable(key)+"`" == name }) {
			t.Errorf("the page names %s, which sets nothing", name)
		}
	}
	if _, err := Load(Sources{Environ: []string{"WINNOW_STORE=elsewhere.db", "WINNOW_PROGRAM=/opt/winnow"}}); err != nil {
		t.Error(err)
	}
	if named < 3 {
		t.Errorf("the page names %d variables of winnow", named)
	}
}
