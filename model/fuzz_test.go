package model

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

// A catalogue that is read is written so that it is read as the same.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"source":"x","date":"2026-01-01","models":[{"provider":"a","id":"b","limit":{"context":1},"price":{"input":1,"tiers":[{"above":5,"price":{"input":2}}]},"cache":{"seconds":300}}]}`))
	f.Add([]byte(`{"models":[{"id":""}]}`))
	f.Add([]byte(`{"MODELS":[{"ID":"x","cache":{"seconds":9223372036854775807}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse(text)
		if err != nil {
			return
		}
		out, err := json.Marshal(c)
		if err != nil {
			t.Fatalf("it cannot be written: %v", err)
		}
		again, err := Parse(out)
		if err != nil {
			t.Fatalf("what was written is not read: %v\n%s", err, out)
		}
		if diff := cmp.Diff(c.Models, again.Models); diff != "" {
			t.Errorf("written and read it differs (-before +after):\n%s", diff)
		}
	})
}
