package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/gateway"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
)

// showKeys says which keys there are, with the command of each where the terminal is wide.
func (doc fronted) showKeys(a *cli.App) {
	for _, c := range doc.Commands {
		line := fmt.Sprintf("  %s  %s", c.key, c.what)
		if a.Env.Width >= 100 {
			line = fmt.Sprintf("  %s  %-28s  %s", c.key, c.what, c.Command)
		}
		a.Printf("%s\n", a.Cut(line, 0))
	}
	a.Printf("  q  leave\n")
}

// keyToCompact names the key that compacts; "" if no keys are asked for, or none does.
func keyToCompact(asks bool, commands []suggestion) string {
	for _, c := range commands {
		if asks && c.Name == "compact" {
			return "; " + c.key + " compacts it"
		}
	}
	return ""
}

// ask does what keys say until the session is left.
func (doc fronted) ask(ctx context.Context, a *cli.App, r resumption) error {
	for {
		key, err := a.Key(ctx)
		if key == "" || err != nil {
			return err
		}
		does := ""
		for _, c := range doc.Commands {
			if c.key == key {
				does = c.Name
			}
		}
		switch does {
		case "inspect":
			err = runInspect(ctx, a, doc.Session.Source, output.Page{})
		case "page":
			err = openPage(ctx, a, doc.Session)
		case "compact":
			return doc.Session.compactAndResume(ctx, a, r)
		case "resume":
			return r.run(ctx, a)
		case "wrap":
			return wrapResumed(ctx, a, r)
		default:
			continue
		}
		if err != nil {
			return err
		}
		a.Printf("\n")
		doc.showKeys(a)
	}
}

// compactAndResume compacts the session where it is, with the checks of --in-place, and goes on
// with it.
func (n *newestSession) compactAndResume(ctx context.Context, a *cli.App, r resumption) error {
	var f compactFlags
	f.out.Command = "compact"
	switch {
	case n.Product == source.Own:
	case n.inStore():
		f.out.To, f.out.Force = n.copied(), true
		r = resumptionOf(n.Product, n.ID, n.Directory, n.copied(), true)
	default:
		f.out.InPlace = true
	}
	if err := runCompact(ctx, a, n.Source, f); err != nil {
		return err
	}
	return r.run(ctx, a)
}

// wrapResumed goes on with a session with its requests going through winnow.
func wrapResumed(ctx context.Context, a *cli.App, r resumption) error {
	client, args := r.wrapped()
	if err := r.enter(a); err != nil {
		return err
	}
	a.Show()
	for _, c := range gateway.Clients() {
		if c.Name == client {
			return runWrap(ctx, a, c, args, wrapFlags{})
		}
	}
	return nil
}

// openPage writes the page of a session to a temporary file and shows it.
func openPage(ctx context.Context, a *cli.App, n *newestSession) error {
	folder, err := os.MkdirTemp("", "winnow-")
	if err != nil {
		return err
	}
	page := output.Page{To: filepath.Join(folder, output.FileName(cmp.Or(n.ID, "session"))+".html")}
	s, err := source.Open(ctx, a, n.Source)
	if err != nil {
		return err
	}
	defer s.Close()
	path, err := page.Write(ctx, a, s, output.Written{Name: output.NameOf(a, s)})
	if err != nil {
		return err
	}
	if err := browse(a, path); err != nil {
		a.Printf("The page is %s\n", path)
		return nil
	}
	a.Printf("The page is open in a browser: %s\n", path)
	return nil
}

// browse opens a file in a browser; without one, or without a screen, it fails.
func browse(a *cli.App, path string) error {
	program := "xdg-open"
	switch {
	case runtime.GOOS == "darwin":
		program = "open"
	case a.Env.Getenv("DISPLAY") == "" && a.Env.Getenv("WAYLAND_DISPLAY") == "":
		return errors.New("there is no screen")
	}
	name, err := exec.LookPath(program)
	if err != nil {
		return err
	}
	opener := exec.Command(name, path)
	opener.Env = a.Env.Environ
	return opener.Run()
}
