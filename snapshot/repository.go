package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// ErrNoGit is the error of Open where there is no git program.
var ErrNoGit = errors.New("there is no git program on this computer, so that no snapshots of files are taken; install git to have them")

// Config says which folder is kept, and where.
type Config struct {
	// Dir is the folder of the repository; it is made when it is missing. Each working folder has its own.
	Dir string
	// WorkTree is the working folder.
	WorkTree string
	// Leave are paths that are never kept nor touched, with what lies below them; patterns as in .gitignore may stand in their last element. Those outside
	// of the folder are no matter.
	Leave []string
	// Largest is how many bytes a new file may have to be kept. Default 2 MiB: larger ones are data and binaries. What was kept once is kept on.
	Largest int64
}

// Repository keeps the states of one working folder. It is safe for use by several goroutines and processes.
type Repository struct {
	git     string // the program
	dir     string
	folder  string // the working folder, absolute, without symbolic links
	top     string // the folder whose rules of what is ignored hold: the user's repository, or the working folder
	prefix  string // of the working folder in top, with a slash at the end, "" when they are the same
	exclude []byte
	largest int64
	many    int // files of its own before Pack does something
	config  []string
	busy    chan struct{} // holds one while somebody of this process works on it
}

// empty is the tree without files.
const empty = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// Open opens the repository of a working folder, and makes it when it is missing. ErrNoGit where there is no git.
func Open(ctx context.Context, c Config) (*Repository, error) {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil, ErrNoGit
	}
	r := &Repository{git: git, largest: c.Largest, many: many, busy: make(chan struct{}, 1)}
	if r.largest <= 0 {
		r.largest = 2 << 20
	}
	if r.dir, err = filepath.Abs(c.Dir); err != nil {
		return nil, fmt.Errorf("snapshots: %w", err)
	}
	if r.folder, err = resolved(c.WorkTree); err != nil {
		return nil, fmt.Errorf("snapshots of %s: %w", c.WorkTree, err)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "HEAD")); err != nil {
		if err := os.MkdirAll(r.dir, 0o700); err != nil {
			return nil, fmt.Errorf("snapshots: %w", err)
		}
		// Two processes may do so at the same time: git takes that.
		if _, err := r.run(ctx, nil, "init", "--quiet", "--bare", "--template="); err != nil {
			return nil, fmt.Errorf("snapshots: %w", err)
		}
	}
	if err := os.MkdirAll(filepath.Join(r.dir, "info"), 0o700); err != nil {
		return nil, fmt.Errorf("snapshots: %w", err)
	}
	r.locate(ctx)
	// Bytes as they are: what .gitattributes says of line ends, filters and encodings does not hold.
	if err := put(filepath.Join(r.dir, "info", "attributes"), []byte("* -text -ident -filter -working-tree-encoding !diff\n")); err != nil {
		return nil, fmt.Errorf("snapshots: %w", err)
	}
	r.leave(append([]string{r.dir}, c.Leave...))
	return r, nil
}

// locate finds the user's repository that the folder lies in, for its rules of what is ignored. Without one the folder stands for itself.
func (r *Repository) locate(ctx context.Context) {
	r.top = r.folder
	// The user's own git, with the user's configuration: it is only asked.
	ask := func(args ...string) (string, bool) {
		cmd := exec.CommandContext(ctx, r.git, append([]string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull}, args...)...)
		cmd.Dir, cmd.Env = r.folder, append(outer(), "GIT_OPTIONAL_LOCKS=0")
		out, _, err := finish(ctx, cmd)
		return strings.TrimSuffix(string(out), "\n"), err == nil
	}
	if file, ok := ask("config", "--type=path", "--get", "core.excludesFile"); ok && file != "" {
		r.config = append(r.config, "-c", "core.excludesFile="+file)
	}
	top, ok := ask("rev-parse", "--show-toplevel")
	if top, err := resolved(top); !ok || err != nil || !within(top, r.folder) {
		return
	} else if _, ignored := ask("check-ignore", "--quiet", "--no-index", "."); !ignored || top == r.folder {
		r.top, r.prefix = top, filepath.ToSlash(strings.TrimPrefix(strings.TrimPrefix(r.folder, top), string(filepath.Separator)))
		if r.prefix != "" {
			r.prefix += "/"
		}
		if file, ok := ask("rev-parse", "--git-path", "info/exclude"); ok {
			if !filepath.IsAbs(file) {
				file = filepath.Join(r.folder, file)
			}
			r.exclude, _ = os.ReadFile(file)
		}
	}
}

// leave adds paths to what is ignored.
func (r *Repository) leave(paths []string) {
	var b bytes.Buffer
	b.Write(r.exclude)
	b.WriteString("\n")
	for _, p := range paths {
		folder, err := resolved(filepath.Dir(p))
		if err != nil {
			continue
		}
		full := filepath.Join(folder, filepath.Base(p))
		if full != r.top && within(r.top, full) {
			b.WriteString(filepath.ToSlash(strings.TrimPrefix(full, r.top)) + "\n")
		}
	}
	r.exclude = b.Bytes()
}

// within reports whether a path is a folder or lies in it.
func within(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func resolved(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// put writes a file where it is not so already.
func put(path string, data []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		return nil
	}
	return os.WriteFile(path, data, 0o600)
}

const (
	// stopDelay is how long a git that was told to end is waited for.
	stopDelay = 100 * time.Millisecond
	// readDelay is how long what a git printed is waited for once it has ended: on a busy machine longer than anybody who wants to stop would wait.
	readDelay = 10 * time.Second
)

// finish runs a command to its end and returns what it printed. When ctx ends it returns the cause soon.
func finish(ctx context.Context, cmd *exec.Cmd) (out, said []byte, err error) {
	var printed, complained bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &printed, &complained, readDelay
	ended := make(chan error, 1)
	go func() { ended <- cmd.Run() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		select {
		case <-ended:
		case <-time.After(stopDelay):
		}
	}
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	return printed.Bytes(), complained.Bytes(), err
}

// outer is the environment without what points git elsewhere.
func outer() []string {
	var env []string
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "GIT_") {
			env = append(env, pair)
		}
	}
	return append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0")
}

// settings are those of every git that works on the repository: whatever a name looks like it is kept, and none of the user's settings hold.
var settings = []string{
	"-c", "core.protectNTFS=false", "-c", "core.protectHFS=false", "-c", "core.precomposeUnicode=false", "-c", "core.autocrlf=false", "-c", "core.fsmonitor=false",
	"-c", "core.hooksPath=/dev/null", "-c", "core.bare=false", "-c", "index.version=4", "-c", "gc.auto=0", "-c", "core.longPaths=true",
}

// run runs git on the repository, in the working folder.
func (r *Repository) run(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	return r.runIn(ctx, r.folder, stdin, args...)
}

func (r *Repository) runIn(ctx context.Context, dir string, stdin io.Reader, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, r.git, append(append(append([]string{}, settings...), r.config...), args...)...)
	cmd.Env = append(outer(), "GIT_DIR="+r.dir, "GIT_INDEX_FILE="+filepath.Join(r.dir, "index"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_NO_REPLACE_OBJECTS=1")
	cmd.Dir = r.dir
	if r.top != "" {
		cmd.Env, cmd.Dir = append(cmd.Env, "GIT_WORK_TREE="+r.top), dir
	}
	if args[0] == "init" {
		cmd.Env = append(outer(), "GIT_DIR="+r.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
		cmd.Args = append([]string{r.git}, args...)
	}
	cmd.Stdin = stdin
	out, said, err := finish(ctx, cmd)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		line, _, _ := strings.Cut(strings.TrimSpace(string(said)), "\n")
		if line == "" {
			return out, fmt.Errorf("git %s: %w", args[0], err)
		}
		return out, fmt.Errorf("git %s: %w: %s", args[0], err, line)
	}
	return out, nil
}

// lock keeps other goroutines and processes away, and removes what a crash left.
func (r *Repository) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case r.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	f, err := os.OpenFile(filepath.Join(r.dir, "winnow.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		<-r.busy
		return nil, err
	}
	for wait := time.Millisecond; !claim(f); wait = min(2*wait, 50*time.Millisecond) {
		select {
		case <-ctx.Done():
			f.Close()
			<-r.busy
			return nil, context.Cause(ctx)
		case <-time.After(wait):
		}
	}
	os.Remove(filepath.Join(r.dir, "index.lock")) // whoever had it is no more
	return func() { f.Close(); <-r.busy }, nil
}
