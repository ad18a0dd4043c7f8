package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/gateway"
	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/desk/seat"
	"github.com/winnowhq/winnow/look/display"
	"github.com/winnowhq/winnow/look/tui"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/text/quantity"
)

// Codes of what doctor finds around winnow.
const (
	untriedVersion = "version-untried" // an agent's version was not tried
	redirected     = "base-url"        // requests go elsewhere than to the provider
	silentProxy    = "proxy-silent"    // requests go where nothing answers
	outOfReach     = "out-of-reach"    // wrap cannot stand between
	foreignHooks   = "hooks"           // hooks or plugins of an agent that may change its context
	badSettings    = "settings"        // the settings cannot be meant
	lostHook       = "hook-missing"    // the program of a hook of winnow's is not there
	brokenStore    = "store"           // the store is damaged, or cannot be read
	openToOthers   = "permissions"     // others can read what is kept
	fullDisk       = "disk"            // there is little room
)

// installed is an agent on this computer.
type installed struct {
	Program string `json:"program"` // its name
	Path    string `json:"path"`    // where it is
	Version string `json:"version"` // the version that it states; empty if it states none
	Tried   string `json:"tried"`   // the newest version that was tried with winnow
	Known   bool   `json:"known"`   // whether it is this version
}

// keyed is a variable that may hold a key. Its value is never shown.
type keyed struct {
	Name    string `json:"name"`    // the variable
	Present bool   `json:"present"` // whether it is set; its value is nowhere
}

// storeHealth is how the store is.
type storeHealth struct {
	Path   string `json:"path"`   // its file
	Bytes  int64  `json:"bytes"`  // its size with its log
	Schema int    `json:"schema"` // the version of its tables
	Sound  bool   `json:"sound"`  // whether SQLite finds no damage in it
	Free   *int64 `json:"free"`   // bytes that its disk has left; null if unknown
}

// examineComputer looks at everything around sessions.
func examineComputer(ctx context.Context, a *cli.App, doc *diagnosis) error {
	doc.Agents = agentsHere(ctx, a)
	for _, p := range doc.Agents {
		if p.Version != "" && !p.Known {
			doc.note(untriedVersion, p.Path, fmt.Sprintf("%s %s is not the version that was tried, %s", p.Program,
				p.Version, p.Tried), "nothing has to be done; if a session of it is refused, say so with this version")
		}
	}
	loaded, err := config.Load(a.ConfigSources())
	if err != nil {
		doc.find(badSettings, "", err.Error(), "winnow config edit")
		loaded.Settings = config.Default()
	}
	for _, i := range loaded.Ignored {
		doc.note(badSettings, i.File, fmt.Sprintf("%s in line %d is ignored: %s", i.Key, i.Line, i.Reason),
			"set it in your own file if you want it: winnow config set "+i.Key+" VALUE")
	}
	examineHooks(a, loaded.Settings, doc)
	examineAddresses(ctx, a, doc)
	examineClaude(ctx, a, doc)
	examineSeats(a, doc)
	if set, err := a.Providers(loaded.Settings); err == nil {
		names := set.KeyEnvs()
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			if name != "" {
				doc.Keys = append(doc.Keys, keyed{name, a.Env.Getenv(name) != ""})
			}
		}
	}
	return examineStore(ctx, a, doc)
}

// find notes that something is wrong.
func (d *diagnosis) find(code, path, what, do string) {
	d.Findings = append(d.Findings, finding{Code: code, Path: path, What: what, Do: do})
}

// note notes what is worth knowing, and not wrong.
func (d *diagnosis) note(code, path, what, do string) {
	d.Notes = append(d.Notes, finding{Code: code, Path: path, What: what, Do: do})
}

// patienceForVersion is how long an agent has to say its version.
const patienceForVersion = 5 * time.Second

var versionNumber = regexp.MustCompile(`\d+\.\d+\.\d+`)

// agentsHere are the agents that are installed, with their versions.
func agentsHere(ctx context.Context, a *cli.App) []installed {
	all := gateway.AllTried()
	found := make([]installed, len(all))
	defer a.Progress("asking agents for their versions")()
	var asked sync.WaitGroup
	for i, p := range all {
		path, err := exec.LookPath(p.Program)
		if err != nil {
			continue
		}
		asked.Go(func() {
			found[i] = installed{Program: p.Program, Path: path, Tried: p.Version}
			ctx, cancel := context.WithTimeout(ctx, patienceForVersion)
			defer cancel()
			cmd := exec.CommandContext(ctx, path, "--version")
			cmd.Env, cmd.WaitDelay = a.Env.Environ, time.Second
			text, _ := cmd.CombinedOutput() // what does not say its version has none
			found[i].Version = versionNumber.FindString(string(text))
			found[i].Known = found[i].Version == p.Version
		})
	}
	asked.Wait()
	return append([]installed{}, slices.DeleteFunc(found, func(p installed) bool { return p.Program == "" })...)
}

// examineHooks looks for the programs of winnow's own hooks.
func examineHooks(a *cli.App, s config.Settings, doc *diagnosis) {
	for name, command := range map[string][]string{"hooks.session.compacting": s.Hooks.Compacting,
		"hooks.session.compacted": s.Hooks.Compacted, "hooks.elision.committed": s.Hooks.Elided} {
		if len(command) == 0 {
			continue
		}
		if _, err := exec.LookPath(command[0]); err != nil {
			doc.find(lostHook, "", fmt.Sprintf("the program of %s cannot be run: %v", name, err),
				"winnow config unset "+name+", or give its whole path")
		}
	}
}

// examineSeats looks at what install put into agents, for the user and for the folder.
func examineSeats(a *cli.App, doc *diagnosis) {
	for _, project := range []bool{false, true} {
		place, err := placeOf(a, project)
		if err != nil {
			return // without a home folder nothing is installed
		}
		for _, s := range seat.All() {
			found, err := seat.Examine(place, s)
			if err != nil {
				doc.find(seat.Missing, "", err.Error(), "winnow install "+s.Name())
			}
			for _, f := range found {
				if f.Wrong {
					doc.find(f.Code, f.Path, f.What, f.Do)
				} else {
					doc.note(f.Code, f.Path, f.What, f.Do)
				}
			}
		}
	}
}

// examineStore looks at the store, its file's permissions, and the room on its disk.
func examineStore(ctx context.Context, a *cli.App, doc *diagnosis) error {
	path := source.StoreAt(a)
	if path == "" {
		return nil
	}
	if store.IsURL(path) {
		doc.Store = &storeHealth{Path: path}
		return checkDatabase(ctx, a, path, doc)
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		examineDisk(filepath.Dir(path), 0, doc)
		return nil
	}
	if err != nil {
		doc.find(brokenStore, path, err.Error(), "check who may read and write there")
		return nil
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		doc.find(openToOthers, path,
			fmt.Sprintf("others can read the store, which has all that was said: mode %04o", mode),
			"chmod 600 "+cli.ShellWord(path))
	}
	if own, err := a.OwnConfig(); err == nil {
		if info, err := os.Stat(own); err == nil && info.Mode().Perm()&0o022 != 0 {
			doc.find(openToOthers, own, fmt.Sprintf("others can write the settings, which run hooks: mode %04o",
				info.Mode().Perm()), "chmod 600 "+cli.ShellWord(own))
		}
	}
	doc.Store = &storeHealth{Path: path, Bytes: info.Size()}
	return checkStore(ctx, a, path, doc)
}

// checkStore looks through the store's file.
func checkStore(ctx context.Context, a *cli.App, path string, doc *diagnosis) error {
	const instead = "what is imported can be imported again: move the file away, then winnow import ~/.claude/projects"
	defer a.Progress("checking the store")()
	kept, err := source.OpenStore(ctx, a, source.Reading)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		doc.find(brokenStore, path, err.Error()+"; a gateway that starts now relays everything whole", instead)
		return nil
	}
	defer kept.Close()
	s, ok := kept.(store.Checker)
	if !ok {
		return nil
	}
	health, err := s.Check(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		health.Problems = append(health.Problems, err.Error())
	}
	doc.Store.Bytes, doc.Store.Schema, doc.Store.Sound = health.Bytes, health.Schema, len(health.Problems) == 0
	if !doc.Store.Sound {
		doc.find(brokenStore, path, "the store is damaged: "+strings.Join(health.Problems, "; "), instead)
	}
	doc.Store.Free = examineDisk(filepath.Dir(path), health.Bytes, doc)
	return nil
}

// checkDatabase looks whether the database of the store answers, and through what it has.
func checkDatabase(ctx context.Context, a *cli.App, place string, doc *diagnosis) error {
	defer a.Progress("checking the store")()
	kept, err := source.OpenStore(ctx, a, source.Reading)
	var problems []string
	if err == nil {
		defer kept.Close()
		if s, ok := kept.(store.Checker); ok {
			var health store.Health
			health, err = s.Check(ctx)
			doc.Store.Bytes, doc.Store.Schema, problems = health.Bytes, health.Schema, health.Problems
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	doc.Store.Sound = err == nil && len(problems) == 0
	if err != nil {
		doc.find(brokenStore, place, err.Error(), "check the server, and what --store or WINNOW_STORE says")
	}
	if len(problems) > 0 {
		doc.find(brokenStore, place, "the store is damaged: "+strings.Join(problems, "; "),
			"restore the database from a backup; what can be read still can")
	}
	return nil
}

// leastRoom is how many bytes a disk should have free, beside as many again as the store has.
const leastRoom = 500_000_000

// examineDisk looks how much room the disk of a folder has, or of the first one above it that is
// there.
func examineDisk(folder string, store int64, doc *diagnosis) *int64 {
	for folder != filepath.Dir(folder) && !cli.IsFolder(folder) {
		folder = filepath.Dir(folder)
	}
	free, ok := cli.FreeBytes(folder)
	if !ok {
		return nil
	}
	if free < leastRoom+store {
		doc.find(fullDisk, folder, "the disk of the store has "+quantity.Bytes(int(free))+" left",
			"make room; winnow doctor originals prune --older-than 30d removes originals that are no longer needed")
	}
	return &free
}

// examineAll looks at the computer and at the originals.
func examineAll(ctx context.Context, a *cli.App, doc *diagnosis) error {
	room, err := output.Room(a)
	if err != nil {
		return err
	}
	return errors.Join(examineComputer(ctx, a, doc), examineOriginals(a, room, doc))
}

// unwrapped draws on a terminal as wide as it is, and breaks no line where there is none.
func unwrapped(a *cli.App) tui.Painter {
	p := a.Paint()
	p.Width = cmp.Or(p.Width, 1<<16)
	return p
}

// showComputer prints what was looked at, beside findings.
func (d *diagnosis) showComputer(a *cli.App) {
	var agents []string
	for _, p := range d.Agents {
		text := strings.TrimSpace(p.Program + " " + p.Version)
		if p.Known {
			text += " (tried)"
		}
		agents = append(agents, text)
	}
	var facts []display.Fact
	show := func(name string, things []string, none string) {
		facts = append(facts, display.Fact{Name: name, Text: cmp.Or(strings.Join(things, ", "), none)})
	}
	show("agents", agents, "none that winnow knows is in your PATH")
	var keys []string
	for _, k := range d.Keys {
		if k.Present {
			keys = append(keys, k.Name)
		}
	}
	show("keys", keys, "none of the "+strconv.Itoa(len(d.Keys))+" variables that winnow knows is set")
	if s := d.Store; s != nil {
		about := []string{a.Short(s.Path), quantity.Bytes(int(s.Bytes)), "schema " + strconv.Itoa(s.Schema)}
		if s.Sound {
			about = append(about, "sound")
		}
		if s.Free != nil {
			about = append(about, quantity.Bytes(int(*s.Free))+" free on its disk")
		}
		show("store", about, "")
	} else {
		show("store", nil, "none yet")
	}
	unwrapped(a).Facts(facts)
	a.Printf("\n")
}
