package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the build of a release: -ldflags "-X main.version=v1.2.3".
var version = ""

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: exactly(0, "no argument"),
		RunE: func(cmd *cobra.Command, args []string) error {
			v := version
			if info, ok := debug.ReadBuildInfo(); v == "" && ok {
				v = info.Main.Version
			}
			if v == "" {
				v = "(devel)"
			}
			if a.json {
				return a.print(map[string]string{"version": v, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH})
			}
			a.printf("winnow %s (%s, %s/%s)\n", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}
