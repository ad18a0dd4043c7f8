package command

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/discover"
	"github.com/winnowhq/winnow/format/claudecode"
	"github.com/winnowhq/winnow/format/geminicli"
	"github.com/winnowhq/winnow/format/qwen"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/text/quantity"
)

// coldResume is a sentence about the session that a client is started to resume, for a terminal: the
// provider's cache has forgotten it, and going on costs much more than compacting. It is "" if that
// is not so, and if the session cannot be told: the client starts all the same.
func coldResume(ctx context.Context, a *cli.App, client string, args []string) string {
	if a.Quiet || !a.Env.StderrTerminal {
		return ""
	}
	product, id, newest := resumedSession(client, args)
	var found *discover.Found
	var err error
	switch {
	case id != "":
		found, err = source.ByID(ctx, a, product, id)
	case newest:
		found, err = source.Newest(ctx, a, product)
	}
	if err != nil || found == nil {
		return ""
	}
	info, err := os.Stat(a.Path(found.Source))
	if err != nil || !info.Mode().IsRegular() || info.Size() >= cmp.Or(a.Env.TooLarge, tooLarge) {
		return ""
	}
	s, err := source.OpenFor(ctx, a, found.Source, true)
	if err != nil {
		return ""
	}
	defer s.Close()
	cold, err := source.Cold(ctx, a, s)
	if err != nil || cold == nil {
		return ""
	}
	return cold.Words(quantity.Dollars) + "; to compact it first: winnow compact " +
		cli.ShellWord(found.Product+":"+found.ID) + " --in-place"
}

// coldStored is the same of a session of the store, for a status line: nil if nothing can be said.
func coldStored(ctx context.Context, a *cli.App, id string) *pivot.Cold {
	settings, err := a.Settings()
	if err != nil {
		return nil
	}
	s, err := source.OpenStored(ctx, a, id, source.Reading, settings)
	if err != nil {
		return nil
	}
	defer s.Close()
	cold, err := source.Cold(ctx, a, s)
	if err != nil {
		return nil
	}
	return cold
}

// resumedSession is the session that the arguments of a client name: by its id, or the newest of the
// folder. Neither is told where the client starts a new one, or asks which.
func resumedSession(client string, args []string) (product, id string, newest bool) {
	products := map[string]string{"claude": claudecode.Name, "gemini": geminicli.Name, "qwen": qwen.Name}
	product = cmp.Or(products[client], client)
	for i, arg := range args {
		name, value, joined := strings.Cut(arg, "=")
		switch {
		case arg == "--continue" || arg == "-c" || arg == "--last":
			return product, "", true
		case !slices.Contains([]string{"--resume", "-r", "--session", "-s", "--id", "resume"}, name):
		case joined:
			return product, value, false
		case i+1 < len(args) && !strings.HasPrefix(args[i+1], "-"):
			return product, args[i+1], false
		}
	}
	return product, "", false
}
