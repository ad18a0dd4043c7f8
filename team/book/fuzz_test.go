package book

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fuzzedRow is a row of book_tenant with settings that somebody wrote.
type fuzzedRow string

func (f fuzzedRow) Scan(to ...any) error {
	*to[0].(*string), *to[1].(*string), *to[2].(*string), *to[3].(*int64) = "ann", "ann", string(f), 1
	return nil
}

// Whatever stands in the column, it is refused or read; what was read is written so that it reads
// the same.
func FuzzSettings(f *testing.F) {
	f.Add(`{}`)
	f.Add(`{"limits":{"perMinute":60},"budget":{"day":5,"warn":0.5},"retention":30,"capture":"none","mode":"safe","keys":{"anthropic":"team"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		first, err := readTenant(fuzzedRow(text))
		if err != nil {
			return
		}
		if err := first.Check(); err != nil {
			return // no command writes it
		}
		written, err := settingsOf(first)
		if err != nil {
			t.Fatal(err)
		}
		second, err := readTenant(fuzzedRow(written))
		if err != nil {
			t.Fatal(err)
		}
		if len(first.Keys) == 0 {
			first.Keys, second.Keys = nil, nil
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Error(diff)
		}
	})
}
