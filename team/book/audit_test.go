package book_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/gateway/tenant"
)

// Entries that are too old go, of all tenants; that they went is an entry, and nothing is noted
// where none is too old.
func TestBook_auditExpires(t *testing.T) {
	on(t, func(t *testing.T, open func() tenant.Book) {
		b := open()
		for i, of := range []string{"ann", "bob", "ann", "bob"} {
			e := tenant.Entry{Time: noon.AddDate(0, 0, -i), Tenant: of, Who: "tok_1", Did: "read"}
			if err := b.Audit(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		for _, want := range []int{2, 0} {
			n, err := b.ExpireAudit(t.Context(), "retention", noon.Add(-36*time.Hour))
			if err != nil || n != want {
				t.Errorf("%d entries went, want %d: %v", n, want, err)
			}
		}
		all, err := b.Audited(t.Context(), "", 10)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for _, e := range all {
			got[fmt.Sprint(e.Tenant, " ", e.Did, " ", e.What)]++
		}
		want := map[string]int{"ann read ": 1, "bob read ": 1, " audit expiry 2 entries before 2026-05-30T00:00:00Z": 1}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}
