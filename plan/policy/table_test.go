package policy

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/outside"
)

// One word stands for a strategy wherever people look: the key of the configuration, the field in Go, the
// rule in receipts, the file in rule/ and the heading in docs/strategies.md.
func TestStrategies_haveOneNameEach(t *testing.T) {
	root := outside.Root(t)
	book, err := os.ReadFile(filepath.Join(root, "docs", "strategies.md"))
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]string{} // key → field
	for f := range reflect.TypeFor[Strategies]().Fields() {
		for _, f := range append(membersOf(f), f) {
			if f.Type.Kind() == reflect.Bool {
				fields[f.Tag.Get("json")] = f.Name
			}
		}
	}
	var names []string
	for _, s := range All() {
		names = append(names, s.Name)
		if !strings.EqualFold(fields[s.Name], s.Name) {
			t.Errorf("the key %s is the field %q", s.Name, fields[s.Name])
		}
		var on Strategies
		*s.on(&on) = true
		if !isSet(reflect.ValueOf(on), fields[s.Name]) {
			t.Errorf("%s switches another strategy on", s.Name)
		}
		_, section, ok := strings.Cut(string(book), "\n## "+s.Name+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		if !ok || !strings.Contains(section, "*Risk*: ") {
			t.Errorf("docs/strategies.md has no heading %q, or tells no risk under it", s.Name)
		}
		if s.Does == "" || s.Alias == "" || s.Alias == s.Name {
			t.Errorf("%s: does %q, alias %q", s.Name, s.Does, s.Alias)
		}
		if s.sound == nil {
			continue // it is rendered, not left out
		}
		if _, err := os.Stat(filepath.Join(root, "plan", "rule", s.Name+".go")); err != nil {
			t.Error(err)
		}
		if got := s.sound(&on).Name(); got != s.Name {
			t.Errorf("the rule of %s is called %q", s.Name, got)
		}
		if s.letter != nil && s.letter(&on).Name() != s.Name {
			t.Errorf("the letter of %s is called %q", s.Name, s.letter(&on).Name())
		}
		for _, policy := range []string{Balanced, Aggressive} {
			if key := Key(s.Name, policy); !strings.HasSuffix(key, "Pruning."+s.Name) {
				t.Errorf("under %s the switch of %s is %q", policy, s.Name, key)
			}
		}
	}
	for key := range fields {
		if !slices.Contains(names, key) {
			t.Errorf("the table does not have %s", key)
		}
	}
}

func membersOf(f reflect.StructField) []reflect.StructField {
	if !f.Anonymous {
		return nil
	}
	return slices.Collect(f.Type.Fields())
}

// isSet reports whether a field is set, and nothing else.
func isSet(v reflect.Value, field string) bool {
	set := v.FieldByName(field).Bool()
	v2 := reflect.New(v.Type()).Elem()
	v2.FieldByName(field).SetBool(true)
	return set && v2.Interface() == v.Interface()
}

// docs/try.md has a prompt for each of the ten strategies of S002.
func TestTry_hasAPromptForEachStrategy(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(outside.Root(t), "docs", "try.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, s := range All() {
		if s.letter == nil && s.sound != nil {
			continue // none of the ten
		}
		if found++; !strings.Contains(string(page), "\n| `"+s.Name+"` | ") {
			t.Errorf("docs/try.md has no prompt for %s", s.Name)
		}
	}
	if found != 10 {
		t.Errorf("%d strategies, want ten", found)
	}
}
