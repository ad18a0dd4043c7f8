package gateway

import (
	"os"
	"os/exec"
	"path/filepath"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/store"
)

// WayBack lets a client's shell run "winnow recall", which placeholders name: the program is found,
// and finds the store. A client works without it.
func WayBack(p *Plan, a *cli.App) {
	if a.StoreFile != "" && p.Set[storeVariable] == "" {
		p.Set[storeVariable] = source.StoreForChild(a)
	}
	own, err := os.Executable()
	if err == nil {
		err = p.callable(own, a.Env.Getenv("PATH"))
	}
	if err != nil {
		a.Warn("the agent may not find winnow recall: %v", err)
	}
}

// callable puts a program into PATH under the name winnow. winnowd comes before a winnow that is
// installed, which cannot open a store on PostgreSQL.
func (p *Plan) callable(own, path string) error {
	switch filepath.Base(own) {
	case "winnow":
		if _, err := exec.LookPath("winnow"); err != nil {
			p.Set["PATH"] = path + string(os.PathListSeparator) + filepath.Dir(own)
		}
	case "winnowd":
		file, err := p.file("winnow", []byte("#!/bin/sh\nexec "+cli.ShellWord(own)+" \"$@\"\n"))
		if err != nil {
			return err
		}
		p.Set["PATH"] = filepath.Dir(file) + string(os.PathListSeparator) + path
		return os.Chmod(file, 0o700)
	}
	return nil
}

const storeVariable = "WINNOW_STORE"

// Discreet keeps the password of the store out of the client's environment, where everything that
// it starts, logs and reports would have it: it is in a file that only this user can read, and that
// goes with the plan.
func Discreet(p *Plan, a *cli.App) error {
	name := source.StoreForChild(a)
	if !store.IsURL(name) {
		return nil
	}
	rest, password := store.CutPassword(name)
	if rest == name {
		return nil
	}
	if password != "" {
		file, err := p.file("pgpass", store.Passfile(password))
		if err != nil {
			return err
		}
		rest = store.WithPassfile(rest, file)
	}
	p.Set[storeVariable] = rest
	return nil
}
