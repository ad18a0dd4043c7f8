package sqlite_test

import (
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/sqlite"
)

func TestExact_holdsWhatJSONDoesNot(t *testing.T) {
	want := session.Message{MessageInfo: session.MessageInfo{ID: "\xff\x00", Cost: new(float64), Tokens: &session.Usage{Input: -1}},
		Parts: []session.Part{{Files: []string{}, Metadata: []byte(" { }"), State: &session.ToolState{Attachments: []session.Part{{}}}}}, Unknown: []byte{}}
	data, err := sqlite.Exact(want)
	if err != nil {
		t.Fatal(err)
	}
	var got session.Message
	if err := sqlite.FromExact(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	receipt := pivot.Receipt{Gone: map[string]int{"a\xff": 1, "": -2}, Elisions: map[string]int{}}
	if data, err = sqlite.Exact(receipt); err != nil {
		t.Fatal(err)
	}
	var back pivot.Receipt
	if err := sqlite.FromExact(data, &back); err != nil || !reflect.DeepEqual(receipt, back) {
		t.Errorf("%v: (-want +got):\n%s", err, cmp.Diff(receipt, back))
	}
}

func TestExact_passesOverMembersOfALaterVersion(t *testing.T) {
	type later struct {
		ID    string
		Depth []float64
		Text  string
	}
	data, err := sqlite.Exact(later{"p", []float64{1, 2}, "kept"})
	if err != nil {
		t.Fatal(err)
	}
	var p session.Part
	if err := sqlite.FromExact(data, &p); err != nil || !reflect.DeepEqual(p, session.Part{ID: "p", Text: "kept"}) {
		t.Errorf("read %+v, %v", p, err)
	}
	if err := sqlite.FromExact([]byte{0, 2, 0}, &p); err == nil {
		t.Error("a later form was read")
	}
	if err := sqlite.FromExact(append(data, 0), &p); err == nil {
		t.Error("bytes after the end were passed over")
	}
}

func FuzzFromExact_neverPanics(f *testing.F) {
	for _, m := range steps(2, 100, 1) {
		m.Unknown = []byte("{ }")
		data, err := sqlite.Exact(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[:len(data)/2])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var m session.Message
		if sqlite.FromExact(data, &m) != nil {
			return
		}
		again, err := sqlite.Exact(m)
		if err != nil {
			t.Fatal(err)
		}
		var back session.Message
		if err := sqlite.FromExact(again, &back); err != nil {
			t.Fatal(err)
		}
		if third, err := sqlite.Exact(back); err != nil || string(third) != string(again) {
			t.Fatalf("what was read is not what was written: %v", err)
		}
	})
}

// People and SQL should find JSON where JSON will do.
func TestStore_keepsOrdinaryMessagesAsJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "winnow.db")
	s := open(t, sqlite.Config{Path: path})
	fill(t, s)
	for table, column := range map[string]string{"session": "info", "message": "info", "part": "data"} {
		var rows, valid int
		if err := raw(t, path).QueryRow(`SELECT count(*), sum(typeof(`+column+`) = 'text' AND json_valid(`+column+`)) FROM `+table).
			Scan(&rows, &valid); err != nil {
			t.Fatal(err)
		}
		if rows == 0 || rows != valid {
			t.Errorf("%s: %d of %d rows are JSON", table, valid, rows)
		}
	}
	odd := session.Message{MessageInfo: session.MessageInfo{ID: "odd"}, Parts: []session.Part{{Type: session.TextPart, Text: "\xff"}}}
	if _, err := s.Apply(t.Context(), "ses", store.Change{Append: []session.Message{odd}}); err != nil {
		t.Fatal(err)
	}
	var kind string
	if err := raw(t, path).QueryRow(`SELECT typeof(data) FROM part ORDER BY message DESC LIMIT 1`).Scan(&kind); err != nil || kind != "blob" {
		t.Errorf("text that is not UTF-8 is kept as %s, %v", kind, err)
	}
	var texts int
	if err := raw(t, path).QueryRow(`SELECT count(*) FROM part WHERE json_extract(iif(typeof(data) = 'text', data, '{}'), '$.type') = type`).
		Scan(&texts); err != nil || texts != 15 {
		t.Errorf("SQL finds the type of %d parts of 15, %v", texts, err)
	}
}
