package tui

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/look/display"
)

func TestCheckup_breaksLinesBetweenWords(t *testing.T) {
	var out bytes.Buffer
	p := Painter{W: &out, Width: 40}
	p.Facts([]display.Fact{{Name: "agents", Text: "claude 2.1.330 (tried), codex 0.169.0 (tried)"},
		{Name: "store", Text: "none yet"}})
	p.Trouble(Trouble{What: "the store is damaged: page 3 is torn,\nand so is 5", Code: "store"})
	p.Trouble(Trouble{What: "HTTPS_PROXY is set: requests go through that proxy", Code: "base-url", Note: true})
	want := `agents    claude 2.1.330 (tried), codex
          0.169.0 (tried)
store     none yet
the store is damaged: page 3 is torn,
and so is 5 (store)
Note: HTTPS_PROXY is set: requests go
through that proxy (base-url)
`
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Error(d)
	}
}
