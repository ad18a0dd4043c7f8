package workbench

import (
	"strings"
	"testing"

	"github.com/winnowhq/winnow/cmd/internal/cli"
)

func TestRun_thatNeverBeganHasNoSum(t *testing.T) {
	var said strings.Builder
	(&Telling{app: &cli.App{Env: cli.Env{Stderr: &said}}}).Sum(Ran{})
	if said.Len() > 0 {
		t.Errorf("it says %q", said.String())
	}
}
