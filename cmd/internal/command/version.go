package command

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
)

// versioned is the JSON document of version.
type versioned struct {
	Version  string `json:"version"`  // version of winnow
	Go       string `json:"go"`       // version of the compiler
	Platform string `json:"platform"` // operating system and architecture
}

func versionCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cli.Exactly(0, "no arguments"),
		Example: `  winnow version
  winnow version --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			v := a.Version
			doc := versioned{v, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			return a.Tell(doc, func() { a.Printf("%s %s (%s, %s)\n", programName(a), doc.Version, doc.Go, doc.Platform) })
		},
	}
}
