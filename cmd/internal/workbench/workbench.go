// Package workbench sets up an agent in a folder for run and chat: its store, engine, models,
// tools, permissions, instructions and snapshots.
package workbench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/agent/permission"
	"github.com/winnowhq/winnow/agent/snapshot"
	"github.com/winnowhq/winnow/agent/tools"
	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/llm/providers"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// WorkingFlags adds the flags that run and chat have in common.
func WorkingFlags(a *cli.App, cmd *cobra.Command, f *Flags) {
	flags := cmd.Flags()
	flags.StringVar(&f.Session, "session", "", "continue this session, named by its id or the beginning of it")
	flags.BoolVar(&f.Continues, "continue", false, "continue the session that was last worked on in the folder")
	flags.StringVar(&f.dir, "dir", "", "folder to work in (default the current one, or the session's)")
	flags.StringArrayVar(&f.allow, "allow", nil,
		`allow commands that begin with these words, as in --allow "go test"; may be repeated`)
	flags.BoolVar(&f.Demo, "demo", false,
		"a demonstration: scripted answers, without a key and without the network, in a folder that is thrown away")
	cli.CompleteBy(cmd, "session", source.CompleteSources(a))
	if err := cmd.MarkFlagDirname("dir"); err != nil {
		panic(err) // the flag is above
	}
}

// Bench is what an agent works with in one folder: the store and the engine on it, the models that
// can be asked, the tools and what they may do.
type Bench struct {
	app      *cli.App
	settings config.Settings
	Models   *model.Catalogue
	set      *providers.Set
	store    store.Store
	Engine   *winnow.Engine
	Folder   string // absolute
	states   string // where the states of the folder are kept, "" for where winnow keeps them
	Session  string // id of the session to continue, "" for a new one
	Model    string // "provider/model" of the model to begin with
	Policy   permission.Policy
	lists    *tools.Lists
	Files    *snapshot.Repository // nil: the states of the folder are not kept
	Blind    error                // why not
	Notices  []string             // what does not work as it was set, for people
	close    []func() error       // from the last to the first

	headlines func(ctx context.Context, t agent.Told) (agent.Headline, error) // of the model that the settings name

	mu      sync.Mutex
	loop    *agent.Loop       // the one that was opened last: requests for summaries begin as its do
	onEvent func(agent.Event) // of that one
}

// Flags are the flags of the commands that work with an agent.
type Flags struct {
	Session   string
	Continues bool
	dir       string
	Demo      bool
	allow     []string
}

// Open opens the store, finds the session that is meant, and reads the settings of the folder that
// it works in.
func Open(ctx context.Context, a *cli.App, f Flags) (_ *Bench, err error) {
	b := &Bench{app: a}
	a.Orderly.Store(true)
	defer func() {
		if err != nil {
			b.Close()
		}
	}()
	switch {
	case f.Session != "" && f.Continues:
		return nil, cli.Usage("--session and --continue cannot be combined")
	case f.Demo && (f.Session != "" || f.Continues || f.dir != ""):
		return nil, cli.Usage("--demo is a session of its own, in a folder of its own: " +
			"leave --session, --continue and --dir out")
	case f.Demo:
		err = b.demo()
	default:
		err = b.here(ctx, f)
	}
	if err != nil {
		return nil, err
	}
	if b.Policy, err = b.permitted(f.allow); err != nil {
		return nil, err
	}
	if b.set, err = a.Providers(b.settings); err != nil {
		return nil, cli.Misuse(err)
	}
	counter, err := source.TokenCounter(b.settings)
	if err != nil {
		return nil, err
	}
	hooks := a.Hooks(b.settings, false, b.notice)
	b.Engine, err = winnow.Open(winnow.Config{
		Hooks:    hooks.Hooks(),
		Settings: &b.settings.Settings, Store: b.store, Models: b.Models, Model: b.Model, Counter: counter,
		Now:           a.Env.Now,
		SummarizerFor: b.summarizer(), Prefix: b.prefix, Queue: true,
	})
	if err != nil {
		return nil, err
	}
	stop := hooks.Watch(b.Engine).Start(ctx)
	b.close = append(b.close, b.Engine.Close, func() error { stop(); return nil })
	b.lists = &tools.Lists{Log: b.log}
	b.watchFiles(ctx)
	b.titler()
	if b.Session != "" && a.Model == "" {
		if s, _, err := b.Engine.Session(ctx, b.Session); err == nil {
			b.Model = cmp.Or(reader(s), b.Model)
		}
	}
	return b, nil
}

// here is a workbench in a real folder, on winnow's own store.
func (b *Bench) here(ctx context.Context, f Flags) error {
	a := b.app
	if a.StoreFile != "" {
		a.StoreFile = source.StoreName(a, a.StoreFile) // before the folder changes
	}
	if f.dir != "" {
		a.Env.Dir = a.Path(f.dir)
	}
	kept, err := source.OpenStore(ctx, a, source.Making)
	if err != nil {
		return err
	}
	b.store, b.close = kept, append(b.close, kept.Close)
	if f.Session != "" {
		if b.Session, err = source.FindSession(ctx, kept, f.Session); err != nil {
			return err
		}
		state, err := kept.State(ctx, b.Session)
		if err != nil {
			return err
		}
		if own := state.Info.Directory; own != "" && f.dir == "" {
			if !cli.IsFolder(own) {
				return cli.Hint(cli.Usage("session %s works in %s, which is not there", b.Session, own),
					"name the folder to work in with --dir")
			}
			a.Env.Dir = own
		}
	}
	if !cli.IsFolder(a.Env.Dir) {
		return cli.Usage("%s is not a folder to work in", a.Env.Dir)
	}
	if b.Folder, err = filepath.Abs(a.Env.Dir); err != nil {
		return cli.Usage("the current folder is not there any more: change to one that is, or name one with --dir")
	}
	if b.settings, err = a.Settings(); err != nil {
		return err
	}
	if f.Continues {
		if b.Session, err = newest(ctx, kept, b.Folder); err != nil {
			return err
		}
	}
	b.Models = b.settings.Catalogue(model.Default())
	b.Model = cmp.Or(a.Model, b.settings.Model)
	return nil
}

// newest is the session that was last worked on in a folder.
func newest(ctx context.Context, kept store.Store, folder string) (string, error) {
	l, err := source.NewestIn(ctx, kept, func(l store.Listing) bool { return l.Info.Directory == folder })
	switch {
	case err != nil:
		return "", err
	case l != nil:
		return l.Info.ID, nil
	}
	return "", cli.Hint(cli.Nothing("there is no session of "+folder+" to continue"),
		"`winnow ls --store` shows all of them; leave --continue out to begin one")
}

// Close closes everything.
func (b *Bench) Close() error {
	b.mu.Lock()
	b.onEvent = nil // nobody looks at events any more
	b.mu.Unlock()
	var all []error
	for i := len(b.close) - 1; i >= 0; i-- {
		all = append(all, b.close[i]())
	}
	return errors.Join(all...)
}

// permitted is the policy: the rules of the settings, followed by what was allowed on the command
// line.
func (b *Bench) permitted(allow []string) (permission.Policy, error) {
	p := permission.Policy{Directory: b.Folder}
	for _, r := range b.settings.Permissions {
		rule := permission.Rule{Tool: r.Tool, Action: r.Action, Target: r.Target,
			Verdict: permission.Verdict(r.Verdict)}
		p.Rules = append(p.Rules, rule)
	}
	for _, command := range allow {
		if strings.TrimSpace(command) == "" {
			return p, cli.Usage("--allow needs the words that a command begins with, as in --allow \"go test\"")
		}
		p.Rules = append(p.Rules, permission.Rule{Action: "run", Target: command, Verdict: permission.Allow})
	}
	if err := p.Validate(); err != nil {
		return p, cli.Misuse(fmt.Errorf("permissions: %w", err))
	}
	return p, nil
}

// Open makes the loop that asks a model.
func (b *Bench) Open(name string, c agent.Config) (*agent.Loop, model.Model, error) {
	if name = cmp.Or(name, b.Model); name == "" {
		return nil, model.Model{}, cli.Hint(cli.Usage("no model is configured"),
			"say --model provider/model, or `winnow config set model provider/model`; without a key: --demo")
	}
	client, m, err := b.client(name)
	if err != nil {
		return nil, m, cli.Misuse(err)
	}
	c.Engine, c.Client, c.Model, c.Protocol = b.Engine, client, m, b.set.Protocol(m.Provider)
	c.SystemFor, c.Directory, c.Headlines = b.system, b.Folder, b.headlines
	if c.Headlines == nil {
		c.Headlines = b.titlesBeside(m)
	}
	if b.Files != nil {
		c.Snapshots = b.Files
	}
	if c.Tools == nil {
		c.Tools = b.tools()
	}
	loop, err := agent.New(c)
	if err != nil {
		return nil, m, err
	}
	b.mu.Lock()
	b.loop, b.onEvent = loop, c.OnEvent
	b.mu.Unlock()
	return loop, m, nil
}

// notice says where the events of the work are shown that something does not work.
func (b *Bench) notice(id, what string) {
	b.mu.Lock()
	tell := b.onEvent
	b.mu.Unlock()
	if tell == nil {
		b.app.Warn("%s", what)
		return
	}
	tell(agent.Event{Type: agent.Noticed, SessionID: id, Text: what})
}

func (b *Bench) tools() []agent.Tool {
	o := tools.Options{Engine: b.Engine, Directory: b.Folder, Policy: b.Policy, Keys: b.set.KeyEnvs(), Lists: b.lists}
	if dir := b.app.Env.Config("winnow", "skills"); dir != "" {
		o.Skills = []string{dir}
	}
	return tools.Standard(o)
}

func (b *Bench) log(ctx context.Context, id string) ([]session.Message, error) {
	s, _, err := b.Engine.Session(ctx, id)
	return s.Messages, err
}

func (b *Bench) prefix(ctx context.Context, id string) (winnow.Prefix, error) {
	b.mu.Lock()
	loop := b.loop
	b.mu.Unlock()
	if loop == nil {
		return winnow.Prefix{}, nil
	}
	return loop.Prefix(ctx, id)
}

// platform is what the system prompt says of the computer.
func platform(goos string) string {
	if goos == "darwin" {
		return "macOS"
	}
	return goos
}

// temporary makes a folder that goes when the workbench is closed.
func (b *Bench) temporary(pattern string) (string, error) {
	dir, err := os.MkdirTemp("", pattern)
	if err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	b.close = append(b.close, func() error { return os.RemoveAll(dir) })
	return dir, nil
}
