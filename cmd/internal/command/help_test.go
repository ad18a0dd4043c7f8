package command

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/gateway/shared"
)

func TestHelp_everyCommandHasAnExampleThatIsItsOwn(t *testing.T) {
	root := root(&cli.App{Env: cli.System(), Shared: shared.None(errors.New("no database"))})
	var check func(*cobra.Command)
	check = func(cmd *cobra.Command) {
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: what it does is %q", cmd.CommandPath(), cmd.Short)
		}
		_, called, _ := strings.Cut(cmd.CommandPath(), " ") // by winnow, or by winnowd
		if !strings.Contains(cmd.Example, "  winnow "+called) && !strings.Contains(cmd.Example, "  winnowd "+called) {
			t.Errorf("%s has no example of itself", cmd.CommandPath())
		}
		for _, inner := range cmd.Commands() {
			check(inner)
		}
	}
	for _, cmd := range root.Commands() {
		check(cmd)
	}
}
