package openhands

import (
	"fmt"
	"testing"
)

func TestRead_whatCannotBeReadInAListHidesNothingBehindIt(t *testing.T) {
	good := func(n int) string {
		return fmt.Sprintf(`{"id":"e%d","source":"user","kind":"MessageEvent","llm_message":{"role":"user","content":"%d"}}`, n, n)
	}
	for name, src := range map[string]string{
		"a list":          "[" + good(0) + ",\n{\"id\":oops},\n" + good(1) + ",\n" + good(2) + ",\n" + good(3) + "\n]\n",
		"the first of it": "[\n{\"id\":oops},\n" + good(0) + ",\n" + good(1) + ",\n" + good(2) + ",\n" + good(3) + "\n]",
		"lines":           good(0) + "\n{\"id\":oops}\n" + good(1) + "\n" + good(2) + "\n" + good(3) + "\n",
	} {
		doc := read(t, []byte(src))
		if len(doc.Session.Messages) != 4 || len(doc.Damaged) != 1 {
			t.Errorf("%s: %d messages, damaged %+v", name, len(doc.Session.Messages), doc.Damaged)
		}
	}
}
