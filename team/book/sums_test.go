package book_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/gateway/tenant"
)

// The sums of several tenants are those of each.
func TestSums_areThoseOfEach(t *testing.T) {
	on(t, func(t *testing.T, open func() tenant.Book) {
		b := open()
		for i, name := range []string{"ann", "bob", "eve"} {
			for back, who := range map[int]string{0: "zoe", 1: "max", 40: "zoe"} {
				day := tenant.Spender{Day: tenant.DayOf(noon.AddDate(0, 0, -back)), Person: who}
				err := b.Settle(t.Context(), name, map[tenant.Spender]tenant.Expense{day: {Dollars: float64(1 + i), Estimated: 0.5}}, nil)
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		spent, people, err := b.Sums(t.Context(), []string{"ann", "bob", "none"}, []string{"bob"}, noon)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]tenant.Spent{}
		for _, name := range []string{"ann", "bob"} {
			want[name] = must[tenant.Spent](t)(b.Spent(t.Context(), name, noon))
		}
		if diff := cmp.Diff(want, spent); diff != "" || want["bob"] != (tenant.Spent{Day: 2, Month: 4, Estimated: 1}) {
			t.Errorf("of tenants (-each +sums): %s", diff)
		}
		each := map[string]map[string]tenant.Spent{"bob": must[map[string]tenant.Spent](t)(b.People(t.Context(), "bob", noon))}
		if diff := cmp.Diff(each, people); diff != "" || len(each["bob"]) != 2 {
			t.Errorf("of people (-each +sums): %s", diff)
		}
		if spent, people, err := b.Sums(t.Context(), nil, nil, noon); err != nil || len(spent)+len(people) > 0 {
			t.Errorf("of nobody: %v %v %v", spent, people, err)
		}
	})
}
