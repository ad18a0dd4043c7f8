package transcript

import (
	"strings"
	"testing"

	"github.com/winnowhq/winnow/text/span"
)

func TestObject_whatIsNoObjectIsDamage(t *testing.T) {
	for source, want := range map[string]string{
		`null`: "not a JSON object", `[1]`: "not a JSON object", `"a"`: "not a JSON object", `1`: "not a JSON object",
		``: "cut short", `{"a":1,`: "cut short", `{"a":1}x`: "invalid character 'x'", `{"a":1}`: "",
	} {
		l := New("test", []byte(source))
		l.Object(span.Span{End: len(source)}, func(string, span.Span) {})
		got := ""
		for _, d := range l.Damaged {
			got += d.Reason
		}
		if len(l.Damaged) > 1 || want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q: damage %q, want %q", source, got, want)
		}
	}
}
