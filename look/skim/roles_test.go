package skim_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/pi"
	"github.com/winnowhq/winnow/look/skim"
)

// A result is where its call is, whatever stands between the two: results of no call, entries of roles that nobody knows, what the user said meanwhile.
func TestInspect_aResultStaysWithItsCall(t *testing.T) {
	call := func(id string) string {
		return `{"role":"assistant","content":[{"type":"toolCall","id":"` + id + `","name":"read","arguments":{}}]}`
	}
	result := func(id string) string {
		return `{"role":"toolResult","toolCallId":"` + id + `","content":[{"type":"text","text":"` + strings.Repeat("x", 300) + `"}]}`
	}
	said := func(role string) string {
		return `{"role":"` + role + `","content":[{"type":"text","text":"` + strings.Repeat("y", 400) + `"}]}`
	}
	for name, messages := range map[string][]string{
		"a result of no call":    {said("user"), call("a"), result("b"), said("assistant"), said("assistant"), result("a"), said("user")},
		"the user in between":    {said("user"), call("a"), said("user"), said("assistant"), said("user"), result("a"), said("assistant")},
		"an unknown role":        {said("user"), call("a"), said("toolResulx"), said("user"), said("developer"), said("user"), result("a"), said("user")},
		"two results of one":     {said("user"), call("a"), result("a"), said("user"), said("user"), result("a"), said("user")},
		"two results of no call": {said("user"), result("a"), said("user"), said("user"), result("a"), said("user")},
		"a call without an id":   {said("user"), call(""), said("user"), said("user"), result(""), said("user")},
		"an id that comes again": {said("user"), call("a"), result("a"), said("user"), call("a"), said("user"), result("a"), said("user")},
	} {
		src := []byte(`{"type":"session","version":3,"id":"s","cwd":"/x"}` + "\n")
		for i, m := range messages {
			src = fmt.Appendf(src, `{"type":"message","id":"%d","parentId":"%d","message":%s}`+"\n", i+1, i, m)
		}
		whole, err := pi.Format{}.Read(src)
		if err != nil {
			t.Fatal(err)
		}
		p, err := format.Cut(bytes.NewReader(src), int64(len(src)), pi.Format{}.Outline(), 500)
		if err != nil {
			t.Fatal(err)
		}
		settings := fixed()
		r, err := skim.Inspect(t.Context(), skim.File{Pieces: p, Format: pi.Format{}}, winnow.Config{Settings: &settings})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r.Messages != len(whole.Session.Messages) || p.Len() < 2 {
			t.Errorf("%s: %d messages in %d stretches, %d in the whole", name, r.Messages, p.Len(), len(whole.Session.Messages))
		}
	}
}
