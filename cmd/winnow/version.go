package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/winnow/internal/cli"
)

// version is set by the build of a release: -ldflags "-X main.version=v1.2.3".
var version = ""

// versioned is the JSON document of version.
type versioned struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"` // operating system/architecture
}

func versionOf() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

func versionCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cli.Exactly(0, "no arguments"),
		Example: `  winnow version
  winnow version --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			v := versionOf()
			doc := versioned{v, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			return a.Tell(doc, func() { a.Printf("winnow %s (%s, %s)\n", doc.Version, doc.Go, doc.Platform) })
		},
	}
}
