package command

import (
	"context"
	"os/exec"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/desk/seat"
)

// offers is the JSON document of install without a product.
type offers struct {
	Products []offer `json:"products"` // products in PATH, and products that have winnow
}

// offer is a product in which winnow can be installed.
type offer struct {
	Product   string `json:"product"`       // its name
	Path      string `json:"path,omitzero"` // of its program; empty if it is not in PATH
	Installed bool   `json:"installed"`     // whether winnow is installed in it
}

// runOffers looks which products are on this computer, and asks about each without winnow. Where
// nobody can be asked it names the commands.
func runOffers(ctx context.Context, a *cli.App, project bool) error {
	p, err := placeOf(a, project)
	if err != nil {
		return err
	}
	doc := offers{Products: []offer{}}
	for _, s := range seat.All() {
		path, _ := exec.LookPath(s.Versions().Program) // empty if it is not there
		_, is := seat.Installed(p, s)
		if path != "" || is {
			doc.Products = append(doc.Products, offer{s.Name(), path, is})
		}
	}
	if len(doc.Products) == 0 {
		return cli.Nothing("none of these is in PATH: " + seatNames("or"))
	}
	flag := map[bool]string{true: " --project"}[project]
	err = a.Tell(doc, func() {
		for _, o := range doc.Products {
			state := "winnow install " + o.Product + flag
			if o.Installed {
				state = "has winnow; winnow uninstall " + o.Product + flag + " takes it back"
			}
			a.Printf("%-14s %s\n", o.Product, state)
		}
	})
	if err != nil || !a.Asks() {
		return err
	}
	for _, o := range doc.Products {
		if o.Installed {
			continue
		}
		a.Warn("press y to install winnow in %s, n to leave it, q to stop", o.Product)
		key, err := a.Key(ctx)
		if err != nil || key == "" {
			return err
		}
		if key == "y" || key == "Y" {
			if err := runInstall(ctx, a, o.Product, project, false); err != nil {
				return err
			}
		}
	}
	return nil
}
