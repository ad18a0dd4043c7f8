package exact

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/session"
)

func TestForm_holdsWhatJSONDoesNot(t *testing.T) {
	want := session.Message{MessageInfo: session.MessageInfo{ID: "\xff\x00", Cost: new(float64),
		Tokens: &session.Usage{Input: -1}},
		Parts: []session.Part{{Files: []string{}, Metadata: []byte(" { }"),
			State: &session.ToolState{Attachments: []session.Part{{}}}}}, Unknown: []byte{}}
	data, err := form(want)
	if err != nil {
		t.Fatal(err)
	}
	var got session.Message
	if err := fromForm(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	receipt := pivot.Receipt{Gone: map[string]int{"a\xff": 1, "": -2}, Saved: 3}
	if data, err = form(receipt); err != nil {
		t.Fatal(err)
	}
	var back pivot.Receipt
	if err := fromForm(data, &back); err != nil || !reflect.DeepEqual(receipt, back) {
		t.Errorf("%v: (-want +got):\n%s", err, cmp.Diff(receipt, back))
	}
}

func TestForm_passesOverMembersOfALaterVersion(t *testing.T) {
	type later struct {
		ID    string
		Depth []float64
		Text  string
	}
	data, err := form(later{"p", []float64{1, 2}, "kept"})
	if err != nil {
		t.Fatal(err)
	}
	var p session.Part
	if err := fromForm(data, &p); err != nil || !reflect.DeepEqual(p, session.Part{ID: "p", Text: "kept"}) {
		t.Errorf("read %+v, %v", p, err)
	}
	if err := fromForm([]byte{0, 2, 0}, &p); err == nil {
		t.Error("a later form was read")
	}
	if err := fromForm(append(data, 0), &p); err == nil {
		t.Error("bytes after the end were passed over")
	}
}

func TestForm_hasADepth(t *testing.T) {
	p := session.Part{ID: "p"}
	for range 1000 {
		p = session.Part{State: &session.ToolState{Attachments: []session.Part{p}}}
	}
	if _, err := form(p); err == nil {
		t.Error("attachments in attachments without end were written")
	}
}

func FuzzFromForm_neverPanics(f *testing.F) {
	for _, m := range []session.Message{
		{MessageInfo: session.MessageInfo{ID: "m", Cost: new(float64), Time: session.MessageTime{Created: 1.5}},
			Unknown: []byte("{ }")},
		{Parts: []session.Part{{ID: "p", Files: []string{"a", ""}, Attempt: -3},
			{State: &session.ToolState{Input: []byte(`{"a":1}`), Output: "o"}}}},
	} {
		data, err := form(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[:len(data)/2])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 8192 {
			t.Skip("an empty part is one byte here and many hundreds in memory: large inputs only take time")
		}
		var m session.Message
		if fromForm(data, &m) != nil {
			return
		}
		again, err := form(m)
		if err != nil {
			t.Fatal(err)
		}
		var back session.Message
		if err := fromForm(again, &back); err != nil {
			t.Fatal(err)
		}
		if third, err := form(back); err != nil || string(third) != string(again) {
			t.Fatalf("what was read is not what was written: %v", err)
		}
	})
}
