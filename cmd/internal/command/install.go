package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/desk/seat"
	"github.com/winnowhq/winnow/text/visible"
)

// installation is the JSON document of install and uninstall.
type installation struct {
	Product string `json:"product"`          // the product
	Project string `json:"project,omitzero"` // the folder, if it is for a project
	// Version of the product; empty if it is not known ("uninstall" does not ask).
	Version string       `json:"version"`
	Known   bool         `json:"known"`   // whether this version was tried
	DryRun  bool         `json:"dryRun"`  // whether nothing was written ("--print")
	Changes []fileChange `json:"changes"` // the files
	Notes   []string     `json:"notes"`   // remarks, and steps that are left to do, a sentence each
}

type fileChange struct {
	Path string `json:"path"` // where the file is
	// "written" (it was not there), "replaced", "merged" (settings were added to it), "kept" (it is
	// as it should be), "removed", "restored", "stripped" (somebody changed it since: only settings
	// of winnow were taken out), "left" (somebody changed it since: it was not touched).
	Done string `json:"done"`
	Text string `json:"text,omitzero"` // with "--print": the text that the file would have
}

func installCommand(a *cli.App) *cobra.Command {
	var project, show bool
	cmd := &cobra.Command{
		Use:   "install [PRODUCT]",
		Short: "Make an agent call winnow by itself; uninstall takes that back",
		Long: `install puts what a product needs to call winnow into its place, for you or, with --project, for
the folder you are in. --print shows every file and change and writes nothing. What was there before is
kept, and "winnow uninstall PRODUCT" puts the same bytes back. Run it again after an update of winnow.

PRODUCT is one of: ` + seatNames("or") + `. Without it, install lists those on this computer, and
on a terminal asks about each.`,
		Example: `  winnow install
  winnow install claude --print
  winnow install claude`,
		Args: cli.Between(0, 1, "at most one PRODUCT"), ValidArgs: validSeats(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && show {
				return cli.Usage("--print needs a PRODUCT: %s", seatNames("or"))
			}
			if len(args) == 0 {
				return runOffers(cmd.Context(), a, project)
			}
			return runInstall(cmd.Context(), a, args[0], project, show)
		},
	}
	cmd.Flags().BoolVar(&project, "project", false, "for the folder you are in, not for you everywhere")
	cmd.Flags().BoolVar(&show, "print", false, "show every file and change, and write nothing")
	return cmd
}

func uninstallCommand(a *cli.App) *cobra.Command {
	var project bool
	cmd := &cobra.Command{
		Use:   "uninstall PRODUCT",
		Short: "Take back what install wrote",
		Long: `uninstall removes what "winnow install" wrote, and puts the bytes back that were there before. A file
that somebody changed since is left, and named; of a file of settings only what winnow set is taken out.
Sessions stay as they are.`,
		Example: `  winnow uninstall claude`,
		Args:    cli.Exactly(1, "one PRODUCT"), ValidArgs: validSeats(),
		RunE: func(_ *cobra.Command, args []string) error { return runUninstall(a, args[0], project) },
	}
	cmd.Flags().BoolVar(&project, "project", false, "what was installed for the folder you are in")
	return cmd
}

func validSeats() (names []string) {
	for _, s := range seat.All() {
		names = append(names, s.Name())
	}
	return names
}

// seatNames lists the products: "claude, codex or pi".
func seatNames(last string) string {
	names := validSeats()
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " " + last + " " + names[n-1]
	}
	return strings.Join(names, "")
}

// seatNamed finds a seat and where it goes.
func seatNamed(a *cli.App, name string, project bool) (seat.Seat, seat.Place, error) {
	s := seat.Named(name)
	if s == nil {
		return nil, seat.Place{}, cli.Usage("unknown product %q; winnow can be installed in %s", name, seatNames("and"))
	}
	p, err := placeOf(a, project)
	return s, p, err
}

func placeOf(a *cli.App, project bool) (seat.Place, error) {
	p := seat.Place{Home: a.Env.Home(), Getenv: a.Env.Getenv, Version: a.Version, Receipts: a.Env.Kept("seats")}
	if !filepath.IsAbs(p.Home) {
		return p, cli.Usage("there is no home folder; set HOME")
	}
	if project {
		p.Project = a.Env.Dir
	}
	program, err := os.Executable()
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	p.Winnow = program
	return p, err
}

func runInstall(ctx context.Context, a *cli.App, name string, project, show bool) error {
	s, p, err := seatNamed(a, name, project)
	if err != nil {
		return err
	}
	doc := installation{Product: name, Project: p.Project, DryRun: show, Changes: []fileChange{}, Notes: []string{}}
	if err := versionFor(ctx, a, s, &doc); err != nil {
		return err
	}
	do := seat.Install
	if show {
		do = seat.Preview
	}
	changes, plan, err := do(p, s)
	if errors.Is(err, seat.ErrChanged) {
		return cli.Misuse(err)
	}
	if err != nil {
		return err
	}
	doc.add(changes, show)
	doc.Notes = append(doc.Notes, plan.Notes...)
	return a.Tell(doc, func() {
		doc.show(a)
		if !show && !slices.ContainsFunc(changes, func(c seat.Change) bool { return c.Done != seat.Kept }) {
			a.Printf("Everything is in its place already.\n")
		}
		for _, note := range doc.Notes {
			a.Printf("%s\n", visible.Text(note))
		}
		if !show {
			a.Printf("To take it back: winnow uninstall %s%s\n", name, map[bool]string{true: " --project"}[project])
		}
	})
}

func runUninstall(a *cli.App, name string, project bool) error {
	s, p, err := seatNamed(a, name, project)
	if err != nil {
		return err
	}
	changes, err := seat.Uninstall(p, s)
	if errors.Is(err, seat.ErrAbsent) {
		return cli.Nothing("winnow is not installed in " + name)
	}
	if err != nil {
		return err
	}
	doc := installation{Product: name, Project: p.Project, Changes: []fileChange{}, Notes: []string{}}
	doc.add(changes, false)
	left := 0
	for _, c := range changes {
		if c.Done == seat.Left {
			left++
			doc.Notes = append(doc.Notes, c.Path+" was changed since winnow wrote it, and was left as it is")
		}
	}
	if err := a.Tell(doc, func() {
		doc.show(a)
		for _, note := range doc.Notes {
			a.Printf("%s\n", visible.Text(note))
		}
	}); err != nil || left == 0 {
		return err
	}
	return cli.Incomplete("some files were left")
}

func (d *installation) add(changes []seat.Change, texts bool) {
	for _, c := range changes {
		one := fileChange{Path: c.Path, Done: string(c.Done)}
		if texts {
			one.Text = string(c.Text)
		}
		d.Changes = append(d.Changes, one)
	}
}

func (d *installation) show(a *cli.App) {
	for _, c := range d.Changes {
		done := c.Done
		if d.DryRun {
			done = "would be " + done
		}
		if c.Done == string(seat.Kept) {
			done = "stays"
		}
		a.Printf("%s: %s\n", a.Short(c.Path), done)
		if d.DryRun && c.Done != string(seat.Kept) {
			for line := range strings.Lines(c.Text) {
				a.Printf("  | %s\n", visible.Text(strings.TrimRight(line, "\n")))
			}
		}
	}
}

// versionFor asks the product for its version, and refuses one that cannot work. A product that is
// not found may still come.
func versionFor(ctx context.Context, a *cli.App, s seat.Seat, doc *installation) error {
	v := s.Versions()
	path, err := exec.LookPath(v.Program)
	if err != nil {
		doc.Notes = append(doc.Notes, v.Program+" is not in PATH, so its version was not checked")
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patienceForVersion)
	defer cancel()
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env, cmd.WaitDelay, cmd.Stdout, cmd.Stderr = a.Env.Environ, time.Second, &said, &said
	_ = cmd.Run() // what does not say its version has none
	doc.Version = versionNumber.FindString(said.String())
	doc.Known = slices.Contains(v.Tried, doc.Version)
	switch {
	case doc.Version == "":
		doc.Notes = append(doc.Notes, v.Program+" does not say its version")
	case v.Least != "" && older(doc.Version, v.Least):
		return cli.Usage("%s %s is too old: what winnow needs came with %s. Update it and install again", v.Program,
			doc.Version, v.Least)
	case v.Below != "" && !older(doc.Version, v.Below):
		return cli.Usage("%s %s loads nothing of what winnow installs, which is for versions before %s; "+
			"winnow wrap %s works without it", v.Program, doc.Version, v.Below, v.Program)
	case !doc.Known:
		doc.Notes = append(doc.Notes, untried(v, doc.Version))
	}
	return nil
}

// untried says what is known of a version that was not tried.
func untried(v seat.Versions, version string) string {
	text := fmt.Sprintf("%s %s was not tried; tried: %s. ", v.Program, version, strings.Join(v.Tried, ", "))
	if len(v.Tried) > 0 && v.Least == "" && older(version, v.Tried[0]) {
		return text + "Older versions may lack what winnow needs, and which do is unknown"
	}
	return text + "A newer one may have changed what winnow needs; winnow ls --store shows whether sessions of it arrive"
}

// older compares versions of three numbers.
func older(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	return slices.CompareFunc(x, y, func(p, q string) int {
		m, _ := strconv.Atoi(p)
		n, _ := strconv.Atoi(q)
		return cmp.Compare(m, n)
	}) < 0
}
