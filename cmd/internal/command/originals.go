package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/desk/inplace"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/visible"
)

// originalList is the JSON document of originals.
type originalList struct {
	Folder string `json:"folder"` // the folder of the originals
	// The files that "--in-place" replaced, the newest first.
	Originals []inplace.Original `json:"originals"`
}

// originalsPruned is the JSON document of originals prune.
type originalsPruned struct {
	DryRun  bool               `json:"dryRun"`  // whether nothing was removed
	Removed []inplace.Original `json:"removed"` // originals that were removed, or would be
	Kept    []inplace.Kept     `json:"kept"`    // originals that were due for removal but stay
	Bytes   int64              `json:"bytes"`   // total size of the removed ones
}

func originalsCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "originals",
		Short: "List the originals of files that --in-place replaced",
		Long: `originals lists the files that --in-place replaced, as they were: of which file, when
and by what, how large, and whether something was written to them since. To go back to one, end the
agent and copy it over its source.`,
		Example: `  winnow doctor originals
  winnow doctor originals prune --older-than 30d
  winnow doctor originals prune --keep 3`,
		Args: cli.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, args []string) error { return runOriginals(a) },
	}
	cmd.AddCommand(originalsPruneCommand(a))
	return cmd
}

func runOriginals(a *cli.App) error {
	room, err := output.Room(a)
	if err != nil {
		return err
	}
	list, failed := room.Originals()
	doc := originalList{Folder: room.Folder(), Originals: append([]inplace.Original{}, list...)}
	if err := a.Tell(doc, func() {
		for _, o := range list {
			showOriginal(a, o)
		}
	}); err != nil {
		return err
	}
	if failed != nil {
		return cli.Partly{Failed: []error{failed}}
	}
	if len(list) == 0 {
		return cli.Nothing("--in-place has not replaced a file yet")
	}
	return nil
}

func showOriginal(a *cli.App, o inplace.Original) {
	state := ""
	switch {
	case o.Missing:
		state = "; it is missing"
	case o.Linked:
		state = "; the replacement was broken off, this is the file itself"
	case o.Grown > 0:
		state = fmt.Sprintf("; %s more since, see winnow doctor %s", quantity.Plural(int(o.Grown), "byte", "bytes"),
			cli.ShellWord(o.Source))
	}
	a.Printf("%s  %-8s %12s  %s%s\n  %s\n", dated(o), visible.Text(o.Command),
		quantity.Number(int(o.Size)), visible.Text(o.Source), visible.Text(state), visible.Text(o.Path))
}

func originalsPruneCommand(a *cli.App) *cobra.Command {
	var p inplace.Pruning
	var age string
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove originals",
		Long: `prune removes originals: all that are older than --older-than, all but the newest
--keep of each file, or with both those that are neither, or --all. An original that a program still
writes to is kept, and so is one that was written to after its file was replaced, because it has lines
that are nowhere else; --force removes them too.`,
		Example: `  winnow doctor originals prune --older-than 30d --dry-run
  winnow doctor originals prune --keep 3
  winnow doctor originals prune --all`,
		Args: cli.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if age != "" {
				if p.OlderThan, err = config.Age(age); err != nil {
					return cli.Misuse(err)
				}
			}
			if p.Keep < 0 || !p.All && p.OlderThan == 0 && !cmd.Flags().Changed("keep") {
				return cli.Usage("say which originals to remove: --older-than AGE, --keep N or --all")
			}
			if p.All && (p.OlderThan > 0 || p.Keep > 0) {
				return cli.Usage("--all cannot be combined with --older-than or --keep")
			}
			return runOriginalsPrune(a, p)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&age, "older-than", "", "those that are older: 12h, 30d, 8w")
	flags.IntVar(&p.Keep, "keep", 0, "not the newest N of each file")
	flags.BoolVar(&p.All, "all", false, "every one")
	flags.BoolVarP(&p.Force, "force", "f", false, "also those with lines that are nowhere else")
	cli.DryRun(cmd, &p.Dry, "say what would be removed and remove nothing")
	return cmd
}

func runOriginalsPrune(a *cli.App, p inplace.Pruning) error {
	room, err := output.Room(a)
	if err != nil {
		return err
	}
	removed, kept, err := room.Prune(p)
	if err != nil {
		return err
	}
	doc := originalsPruned{DryRun: p.Dry, Removed: append([]inplace.Original{}, removed...),
		Kept: append([]inplace.Kept{}, kept...)}
	for _, o := range removed {
		doc.Bytes += o.Bytes
	}
	if err := a.Tell(doc, func() {
		for _, k := range kept {
			a.Printf("kept %s: %s\n", visible.Text(k.Path), visible.Text(k.Reason))
		}
		word := "removed"
		if p.Dry {
			word = "would be removed"
		}
		a.Printf("%s, %s bytes, %s\n", quantity.Plural(len(removed), "original", "originals"),
			quantity.Number(int(doc.Bytes)), word)
	}); err != nil {
		return err
	}
	if len(removed) == 0 {
		return cli.Nothing("there is no original to remove")
	}
	return nil
}
