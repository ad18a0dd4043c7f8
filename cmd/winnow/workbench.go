package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/agent/tools"
	"github.com/winnowhq/winnow/config"
	"github.com/winnowhq/winnow/llm"
	"github.com/winnowhq/winnow/llm/providers"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/pivot"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/snapshot"
	"github.com/winnowhq/winnow/store"
	asking "github.com/winnowhq/winnow/summarize/model"
)

// workbench is what an agent works with in one folder: the store and the engine on it, the models that can be asked, the tools and what they may do.
type workbench struct {
	app      *app
	settings config.Settings
	models   *model.Catalogue
	set      *providers.Set
	store    store.Store
	engine   *winnow.Engine
	folder   string // absolute
	states   string // where the states of the folder are kept, "" where winnow keeps them
	session  string // id of the session to go on with, "" for a new one
	model    string // "provider/model" of the model to begin with
	policy   tools.Policy
	lists    *tools.Lists
	files    *snapshot.Repository // nil: the states of the folder are not kept
	blind    error                // why not
	notices  []string             // what does not work as it was set, for people
	close    []func() error       // from the last to the first

	headlines func(ctx context.Context, t agent.Told) (agent.Headline, error) // nil: titles are made offline

	mu   sync.Mutex
	loop *agent.Loop // the one that was opened last: requests for summaries begin as its do
}

// working are the flags of the commands that work with an agent.
type working struct {
	session   string
	continues bool
	dir       string
	demo      bool
	allow     []string
}

// openWorkbench opens the store, finds the session that is meant, and reads the settings of the folder that it works in.
func (a *app) openWorkbench(ctx context.Context, f working) (_ *workbench, err error) {
	b := &workbench{app: a}
	a.orderly.Store(true)
	defer func() {
		if err != nil {
			b.Close()
		}
	}()
	switch {
	case f.session != "" && f.continues:
		return nil, usage("--session and --continue exclude each other")
	case f.demo && (f.session != "" || f.continues || f.dir != ""):
		return nil, usage("--demo is a session of its own, in a folder of its own: leave --session, --continue and --dir out")
	case f.demo:
		err = b.demo()
	default:
		err = b.here(ctx, f)
	}
	if err != nil {
		return nil, err
	}
	if b.policy, err = b.permitted(f.allow); err != nil {
		return nil, err
	}
	if b.set, err = a.providers(b.settings); err != nil {
		return nil, usageError{err}
	}
	counter, err := a.tokenCounter(b.settings)
	if err != nil {
		return nil, err
	}
	b.engine, err = winnow.Open(winnow.Config{
		Settings: &b.settings.Settings, Store: b.store, Models: b.models, Model: b.model, Counter: counter, Now: a.env.Now,
		SummarizerFor: b.summarizer(), Prefix: b.prefix,
	})
	if err != nil {
		return nil, err
	}
	b.close = append(b.close, b.engine.Close)
	b.lists = &tools.Lists{Log: b.log}
	b.watchFiles(ctx)
	b.titler()
	if b.session != "" && a.model == "" {
		if s, _, err := b.engine.Session(ctx, b.session); err == nil {
			b.model = cmp.Or(reader(s), b.model)
		}
	}
	return b, nil
}

// here is a workbench in a real folder, on winnow's own store.
func (b *workbench) here(ctx context.Context, f working) error {
	a := b.app
	if a.storeFile != "" {
		a.storeFile = a.path(a.storeFile) // before the folder changes
	}
	if f.dir != "" {
		a.env.Dir = a.path(f.dir)
	}
	kept, err := a.openStore(ctx, making)
	if err != nil {
		return err
	}
	b.store, b.close = kept, append(b.close, kept.Close)
	if f.session != "" {
		if b.session, err = findSession(ctx, kept, f.session); err != nil {
			return err
		}
		state, err := kept.State(ctx, b.session)
		if err != nil {
			return err
		}
		if own := state.Info.Directory; own != "" && f.dir == "" {
			if !isFolder(own) {
				return hinted{usage("session %s works in %s, which is not there", b.session, own), "name the folder to work in with --dir"}
			}
			a.env.Dir = own
		}
	}
	if !isFolder(a.env.Dir) {
		return usage("%s is no folder to work in", a.env.Dir)
	}
	if b.folder, err = filepath.Abs(a.env.Dir); err != nil {
		return usage("the current folder is not there any more: change to one that is, or name one with --dir")
	}
	if b.settings, err = a.settings(); err != nil {
		return err
	}
	if f.continues {
		if b.session, err = newest(ctx, kept, b.folder); err != nil {
			return err
		}
	}
	if b.models, err = a.models(); err != nil {
		return err
	}
	b.model = cmp.Or(a.model, b.settings.Model)
	return nil
}

// newest is the session that was last worked on in a folder by somebody; those that an agent began for a call are not meant.
func newest(ctx context.Context, kept store.Store, folder string) (string, error) {
	list, err := kept.List(ctx)
	if err != nil {
		return "", err
	}
	for _, l := range list {
		if l.Info.Directory != folder {
			continue
		}
		if child, err := isChild(ctx, kept, l.Info); err != nil {
			return "", err
		} else if !child {
			return l.Info.ID, nil
		}
	}
	return "", hinted{nothing{"there is no session of " + folder + " to go on with"}, "`winnow list` shows all of them; leave --continue out to begin one"}
}

// isChild reports whether a call of another session began this one. A fork has a parent as well, and is a session like any other.
func isChild(ctx context.Context, kept store.Store, info session.Info) (bool, error) {
	if info.ParentID == "" {
		return false, nil
	}
	for m, err := range kept.Messages(ctx, info.ParentID) {
		if errors.Is(err, store.ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if slices.Contains(agent.Children([]session.Message{m}), info.ID) {
			return true, nil
		}
	}
	return false, nil
}

// reader is the model that a session was last read by, "" when it names none.
func reader(s session.Session) string {
	for i := len(s.Messages) - 1; i >= 0; i-- {
		if m := &s.Messages[i]; !m.IsSummary() {
			if ref := m.Answers(); ref != nil && ref.ProviderID != "" {
				return ref.String()
			}
		}
	}
	if ref := s.Info.Model; ref != nil && ref.ProviderID != "" {
		return ref.String()
	}
	return ""
}

// Close lets go of everything.
func (b *workbench) Close() error {
	var all []error
	for i := len(b.close) - 1; i >= 0; i-- {
		all = append(all, b.close[i]())
	}
	return errors.Join(all...)
}

// permitted is the policy: the rules of the settings, and behind them what was allowed on the command line.
func (b *workbench) permitted(allow []string) (tools.Policy, error) {
	p := tools.Policy{Directory: b.folder}
	for _, r := range b.settings.Permissions {
		p.Rules = append(p.Rules, tools.Rule{Tool: r.Tool, Action: r.Action, Target: r.Target, Verdict: tools.Verdict(r.Verdict)})
	}
	for _, command := range allow {
		if strings.TrimSpace(command) == "" {
			return p, usage("--allow wants the words that a command begins with, as in --allow \"go test\"")
		}
		p.Rules = append(p.Rules, tools.Rule{Action: "run", Target: command, Verdict: tools.Allow})
	}
	if err := p.Validate(); err != nil {
		return p, usageError{fmt.Errorf("permissions: %w", err)}
	}
	return p, nil
}

// open makes the loop that asks a model.
func (b *workbench) open(name string, c agent.Config) (*agent.Loop, model.Model, error) {
	if name == "" {
		name = b.model
	}
	if name == "" {
		return nil, model.Model{}, hinted{usage("which model is to be asked?"), "say --model provider/model, or `winnow config set model provider/model`; without a key: --demo"}
	}
	client, m, err := b.client(name)
	if err != nil {
		return nil, m, usageError{err}
	}
	c.Engine, c.Client, c.Model, c.Protocol = b.engine, client, m, agent.Protocol(b.set.Protocol(m.Provider))
	c.SystemFor, c.Directory, c.Headlines = b.system, b.folder, b.headlines
	if b.files != nil {
		c.Snapshots = b.files
	}
	if c.Tools == nil {
		c.Tools = b.tools()
	}
	loop, err := agent.New(c)
	if err != nil {
		return nil, m, err
	}
	b.mu.Lock()
	b.loop = loop
	b.mu.Unlock()
	return loop, m, nil
}

// client makes the client of a model, without a second attempt at what fails.
func (b *workbench) client(name string) (llm.Client, model.Model, error) {
	client, m, err := b.set.Open(b.models, name)
	if stand := b.app.env.Client; stand != nil && (err == nil || m.Provider != "") {
		client, err = stand(m)
	}
	return client, m, err
}

func (b *workbench) tools() []agent.Tool {
	o := tools.Options{Engine: b.engine, Directory: b.folder, Policy: b.policy, Keys: b.set.KeyEnvs(), Lists: b.lists}
	if dir := b.app.env.xdg("XDG_CONFIG_HOME", ".config"); dir != "" {
		o.Skills = []string{filepath.Join(dir, "winnow", "skills")}
	}
	return tools.Standard(o)
}

func (b *workbench) log(ctx context.Context, id string) ([]session.Message, error) {
	s, _, err := b.engine.Session(ctx, id)
	return s.Messages, err
}

func (b *workbench) prefix(ctx context.Context, id string) (winnow.Prefix, error) {
	b.mu.Lock()
	loop := b.loop
	b.mu.Unlock()
	if loop == nil {
		return winnow.Prefix{}, nil
	}
	return loop.Prefix(ctx, id)
}

// errUnwatched is why there are no snapshots where the settings say so.
var errUnwatched = errors.New("no snapshots of the files are taken (the setting snapshots is false)")

// packing is how long the snapshots may be packed at the end: who leaves does not wait long.
const packing = 5 * time.Second

// watchFiles opens the snapshots of the folder. Where many were taken they are packed at the end, unless somebody is in a hurry to leave.
func (b *workbench) watchFiles(ctx context.Context) {
	var files *snapshot.Repository
	switch {
	case !b.settings.Snapshots:
		b.blind = errUnwatched
	case b.states == "":
		files, b.blind = b.app.snapshots(ctx, b.folder)
	default:
		files, b.blind = snapshot.Open(ctx, snapshot.Config{Dir: b.states, WorkTree: b.folder})
	}
	if b.blind != nil {
		if b.settings.Snapshots {
			b.notices = append(b.notices, b.blind.Error())
		}
		return
	}
	b.files = files
	b.close = append(b.close, func() error {
		if ctx.Err() != nil {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, packing)
		defer cancel()
		files.Pack(ctx) // what fails changes nothing, and is done the next time
		return nil
	})
}

// titler is who puts finished turns into a few words, where the settings name a model for it.
func (b *workbench) titler() {
	if b.settings.Titles == "" {
		return
	}
	client, m, err := b.client(b.settings.Titles)
	if err != nil {
		b.notices = append(b.notices, "titles are made offline: "+err.Error())
		return
	}
	b.headlines = agent.HeadlinesBy(client, m)
}

// summarizer asks for summaries: a session that asks a model anyway has its summaries from a model too, but where the settings want them offline.
func (b *workbench) summarizer() func(model.Model) (pivot.Summarizer, error) {
	if b.settings.Compaction.Summarizer == "offline" {
		return nil
	}
	return func(m model.Model) (pivot.Summarizer, error) {
		client, asked, err := b.client(m.String())
		if err != nil {
			return nil, err
		}
		return asking.New(llm.Retry(client, llm.RetryOptions{}), asked, asking.Options{}), nil
	}
}

// platform is what the system prompt says of the computer.
func platform(goos string) string {
	if goos == "darwin" {
		return "macOS"
	}
	return goos
}

// temporary makes a folder that goes when the workbench is closed.
func (b *workbench) temporary(pattern string) (string, error) {
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
