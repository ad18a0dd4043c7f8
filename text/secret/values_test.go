package secret

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

type inner struct {
	Text string
	Raw  jsontext.Value
	Any  any
	N    int
}

type outer struct {
	Name  string
	List  []inner
	Table map[string]string
	Next  *inner
	own   string
}

func TestValues_masksWhatCanBeReachedAndLeavesTheOriginal(t *testing.T) {
	key := "sk-ant-" + fill(40)
	before := func() outer {
		return outer{Name: "tide", List: []inner{{Text: "plain", N: 1},
			{Text: "a " + key, Raw: jsontext.Value(`{"x":"` + key + `"}`), Any: key}},
			Table: map[string]string{"a": key, "b": "c"}, Next: &inner{Text: key}, own: key}
	}
	in := before()
	got, n := Values(in)
	want := outer{Name: "tide", List: []inner{{Text: "plain", N: 1}, {Text: "a sk-ant-[masked]",
		Raw: jsontext.Value(`{"x":"sk-ant-[masked]"}`), Any: "sk-ant-[masked]"}},
		Table: map[string]string{"a": "sk-ant-[masked]", "b": "c"}, Next: &inner{Text: "sk-ant-[masked]"}, own: key}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(outer{})); diff != "" || n != 5 {
		t.Errorf("%d masked (-want +got):\n%s", n, diff)
	}
	if diff := cmp.Diff(before(), in, cmp.AllowUnexported(outer{})); diff != "" {
		t.Errorf("the original was changed:\n%s", diff)
	}
	same := outer{List: []inner{{Text: "plain"}}}
	if got, n := Values(same); n != 0 || &got.List[0] != &same.List[0] {
		t.Error("what has no secret is copied")
	}
}
