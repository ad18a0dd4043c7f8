package tenant_test

import (
	"testing"

	"github.com/winnowhq/winnow/gateway/tenant"
)

// A store's name is one that StoreName made, and no path.
func TestParseStoreName(t *testing.T) {
	for name, generation := range map[string]int{"web": 1, "web.2": 2, "a-b_C.31": 31} {
		got, n, err := tenant.ParseStoreName(name)
		if err != nil || n != generation || tenant.StoreName(got, n) != name {
			t.Errorf("%s: %s, %d, %v", name, got, n, err)
		}
	}
	for _, name := range []string{"", ".", "web.", "web.1", "web.0", "web.02", "web.-3", "web.2.3", "../web", "web/.2", "web.db", ".2",
		"book.sqlite", "web.99999999999999999999"} {
		if _, _, err := tenant.ParseStoreName(name); err == nil {
			t.Errorf("%q names a store", name)
		}
	}
}
