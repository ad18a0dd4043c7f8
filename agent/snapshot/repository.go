// Package snapshot keeps states of a working folder as git trees in a repository of its own,
// compares them, and brings the folder back to one.
//
// The user's own repository is never written, nor are its configuration, its hooks and its filters
// used: only its rules about what is ignored are read.
//
// It runs the git program instead of linking an implementation. With its index a snapshot of 50,000
// files in which little changed takes fractions of a second (the first one 20 s, on a busy machine
// of two cores); it knows what .gitignore means to the letter; and nothing is added to programs
// that take no snapshots. If there is no git, there are no snapshots: Open says so.
//
// Left out are what is ignored, new files of more than Config.Largest bytes, and repositories
// inside the folder, submodules among them. Empty folders are not kept. Bytes are kept as they are,
// whatever .gitattributes says. Nothing is deleted from the repository; Pack makes it small.
package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// ErrNoGit is the error of Open if there is no git program.
var ErrNoGit = errors.New("there is no git program on this computer, so no snapshots of files are taken; " +
	"install git to have them")

// Config says which folder is kept, and where.
type Config struct {
	// Dir is the folder of the repository; it is made when it is missing. Each working folder has
	// its own.
	Dir string
	// WorkTree is the working folder.
	WorkTree string
	// Leave are paths that are never kept nor touched, with what is below them. Their last element
	// may be a pattern as in .gitignore. Paths outside the folder do not matter.
	Leave []string
	// Largest is how many bytes a new file may have to be kept. Default 2 MiB: larger ones are data
	// and binaries. What was kept once is kept on.
	Largest int64
}

// Repository keeps the states of one working folder. It is safe for use by several goroutines and
// processes.
type Repository struct {
	git     string // the program
	dir     string
	folder  string // the working folder, absolute, without symbolic links
	top     string // the folder whose rules of what is ignored hold: the user's repository, or the working folder
	prefix  string // of the working folder in top, with a slash at the end, "" when they are the same
	exclude []byte
	largest int64
	many    int // files of its own before Pack packs them
	config  []string
	busy    chan struct{} // holds one while somebody of this process works on it
}

// empty is the tree without files.
const empty = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// Open opens the repository of a working folder, and makes it when it is missing. ErrNoGit where
// there is no git.
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
	if err := os.MkdirAll(filepath.Join(r.dir, "info"), 0o700); err != nil {
		return nil, fmt.Errorf("snapshots: %w", err)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "HEAD")); err != nil {
		// Two processes may do this at the same time: git copes with it.
		if _, err := r.run(ctx, nil, "init", "--quiet", "--bare", "--template="); err != nil {
			return nil, fmt.Errorf("snapshots: %w", err)
		}
	}
	r.locate(ctx)
	// Bytes as they are: what .gitattributes says of line ends, filters and encodings does not
	// hold.
	attributes := []byte("* -text -ident -filter -working-tree-encoding !diff\n")
	if err := put(filepath.Join(r.dir, "info", "attributes"), attributes); err != nil {
		return nil, fmt.Errorf("snapshots: %w", err)
	}
	r.leave(append([]string{r.dir}, c.Leave...))
	return r, nil
}

// locate finds the user's repository that the folder is in, for its rules about what is ignored. If
// there is none, the folder's own rules hold.
func (r *Repository) locate(ctx context.Context) {
	r.top = r.folder
	// The user's own git, with the user's configuration: it is only asked.
	ask := func(args ...string) (string, bool) {
		quiet := []string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull}
		cmd := exec.CommandContext(ctx, r.git, append(quiet, args...)...)
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
		r.top = top
		if rel, _ := filepath.Rel(top, r.folder); rel != "." {
			r.prefix = filepath.ToSlash(rel) + "/"
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
	return err == nil && filepath.IsLocal(rel)
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
	// readDelay is how long what a git printed is waited for once it has ended: on a busy machine
	// longer than anybody who wants to stop would wait.
	readDelay = 10 * time.Second
)

// finish runs a command to its end and returns what it printed. When ctx ends it returns the cause
// soon.
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

// settings hold for every git that works on the repository: any name is kept whatever it looks
// like, and none of the user's settings count.
var settings = []string{
	"-c", "core.protectNTFS=false", "-c", "core.protectHFS=false", "-c", "core.precomposeUnicode=false",
	"-c", "core.autocrlf=false", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
	"-c", "core.bare=false", "-c", "index.version=4", "-c", "gc.auto=0", "-c", "core.longPaths=true",
}

// run runs git on the repository, in the working folder.
func (r *Repository) run(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	return r.runIn(ctx, r.folder, stdin, args...)
}

func (r *Repository) runIn(ctx context.Context, dir string, stdin io.Reader, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, r.git, args...)
	cmd.Dir, cmd.Stdin = r.dir, stdin
	cmd.Env = append(outer(), "GIT_DIR="+r.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	if args[0] != "init" {
		cmd.Args, cmd.Dir = slices.Concat([]string{r.git}, settings, r.config, args), dir
		cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+filepath.Join(r.dir, "index"), "GIT_NO_REPLACE_OBJECTS=1",
			"GIT_WORK_TREE="+r.top)
	}
	out, said, err := finish(ctx, cmd)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		line, _, _ := strings.Cut(strings.TrimSpace(string(said)), "\n")
		if line != "" {
			line = ": " + line
		}
		return out, fmt.Errorf("git %s: %w%s", args[0], err, line)
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
	file := flock.New(filepath.Join(r.dir, "winnow.lock"), flock.SetPermissions(0o600))
	if _, err := file.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		<-r.busy
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	os.Remove(filepath.Join(r.dir, "index.lock")) // the git that had it was killed
	return func() { file.Close(); <-r.busy }, nil
}

// many is how many files of its own a repository may have before Pack packs them; git's own limit
// is of that order.
const many = 4096

// Pack writes what the snapshots hold into one file where it is many. Nothing is deleted from the
// repository by it: every snapshot that was ever taken stays. To be rid of old ones, remove the
// folder of the repository.
func (r *Repository) Pack(ctx context.Context) error {
	// Objects are spread evenly over 256 folders.
	some, err := os.ReadDir(filepath.Join(r.dir, "objects", "17"))
	if err != nil || len(some)*256 < r.many {
		return nil
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return fmt.Errorf("packing snapshots: %w", err)
	}
	defer unlock()
	all, err := r.run(ctx, nil, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
	if err == nil {
		pack := filepath.Join(r.dir, "objects", "pack", "pack")
		_, err = r.run(ctx, bytes.NewReader(all), "pack-objects", "--quiet", "--window=10", pack)
	}
	if err == nil {
		_, err = r.run(ctx, nil, "prune-packed", "--quiet")
	}
	if err == nil {
		return nil
	}
	// What a git that was stopped left; nobody else works here.
	left, _ := filepath.Glob(filepath.Join(r.dir, "objects", "pack", "tmp_*"))
	for _, name := range left {
		os.Remove(name)
	}
	return fmt.Errorf("packing snapshots: %w", err)
}
