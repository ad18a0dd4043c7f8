package span

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

type decoded struct {
	Name   string  `json:"name"`
	Count  int     `json:"count"`
	Cost   float64 `json:"cost"`
	On     bool    `json:"on"`
	Inner  *inner  `json:"inner"`
	List   []inner `json:"list"`
	Where  Span    `json:"where"`
	Beside inner   `json:"beside"`
}

type inner struct {
	Text string `json:"text"`
	At   Span   `json:"at"`
}

func TestDecode(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       decoded
	}{
		{"all as it should be", `{"name":"a\n","count":2,"cost":1.5,"on":true,"inner":{"text":"b"},"list":[{"text":"c"}],"more":[{}]}`,
			decoded{Name: "a\n", Count: 2, Cost: 1.5, On: true, Inner: &inner{Text: "b"}, List: []inner{{Text: "c"}}}},
		{"spans", `{"where": [1] ,"inner":{"at":"x"}}`, decoded{Where: Span{10, 13}, Inner: &inner{At: Span{29, 32}}}},
		{"the last of two", `{"name":"a","where":1,"name":"b","where":{}}`, decoded{Name: "b", Where: Span{41, 43}}},
		{"of other types", `{"name":1,"count":"2","cost":"x","on":null,"inner":"b","list":{},"beside":[],"where":1}`,
			decoded{Where: Span{85, 86}}},
		{"an odd one in a list", `{"list":[{"text":1,"at":2},3,{"text":"c"}],"count":1.5,"name":"d"}`,
			decoded{Name: "d", List: []inner{{At: Span{24, 25}}, {}, {Text: "c"}}}},
		{"a number too large", `{"count":99999999999999999999,"name":"d"}`, decoded{Name: "d"}},
	} {
		var got decoded
		if err := Decode([]byte(c.text), &got); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.name, diff)
		}
	}
	var got decoded
	if err := Decode([]byte(`{"name":"a","count":`), &got); err == nil || got.Name != "a" {
		t.Errorf("of a text that is cut: name %q, error %v; want what was read and an error", got.Name, err)
	}
}
