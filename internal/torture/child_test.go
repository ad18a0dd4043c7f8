package torture

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/store/sqlite"
)

var (
	kills   = flag.Int("kills", 10, "how many processes the kill loop kills in the middle of an operation")
	seedArg = flag.Uint64("seed", 0, "seed of the kill loop, to run one again; 0 draws one")
	long    = flag.Bool("torture", false, "take the time that a thorough run needs")
)

// orders say what a process is to do that a test starts to kill it. They come in its environment.
type orders struct {
	Path string `json:"path"`
	Seed uint64 `json:"seed"`
	// Session is the one to work on. Default: mainSession.
	Session string  `json:"session,omitzero"`
	Ops     []op    `json:"ops"`
	Arm     int     `json:"arm"`          // number of the operation whose disk operations count
	At      int64   `json:"at,omitzero"`  // of these, the one that trouble happens at
	How     trouble `json:"how,omitzero"` //
	// Full says that the store is on a small disk, which is to be filled.
	Full bool `json:"full,omitzero"`
	// Silent kills the process when the operation Arm is done and nobody was told.
	Silent bool `json:"silent,omitzero"`
	// Agent is to be done in place of operations.
	Agent *errand `json:"agent,omitzero"`
}

const ordersVariable = "WINNOW_TORTURE_ORDERS"

// TestMain makes the test binary the process that is killed, where it is told so.
func TestMain(m *testing.M) {
	text := os.Getenv(ordersVariable)
	if text == "" {
		if os.Getenv("GORACE") == "" { // otherwise every process waits for a second before it ends, for races that come late
			os.Setenv("GORACE", "atexit_sleep_ms=0")
		}
		os.Exit(m.Run())
	}
	var o orders
	err := json.Unmarshal([]byte(text), &o)
	if err == nil {
		err = o.follow(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// follow does the operations, and says of each on standard output when it begins and when it is
// done. The next one does not begin before that was said.
func (o orders) follow(ctx context.Context) (err error) {
	switch {
	case o.Full:
		return fillUp(ctx, o.Path)
	case o.Agent != nil:
		return o.Agent.work(ctx, o.Path)
	}
	if err := disk.install(); err != nil {
		return err
	}
	begin := func(n int, kind string) error {
		if n == o.Arm {
			err = disk.arm(o.At, o.How)
		}
		fmt.Printf("begin %d %s\n", n, kind)
		return err
	}
	done := func(n int, kind, result string) {
		took := disk.disarm()
		if o.Silent && n == o.Arm {
			die()
		}
		fmt.Printf("done %d %s %s %d\n", n, kind, result, took)
	}
	if err := begin(openNumber, "open"); err != nil {
		return err
	}
	s, err := sqlite.Open(ctx, sqlite.Config{Path: o.Path})
	if err != nil {
		return err
	}
	done(openNumber, "open", "ok")
	w, err := newWorker(o.Seed, s)
	if err != nil {
		return err
	}
	if o.Session != "" {
		w.session = o.Session
	}
	for _, next := range o.Ops {
		if err := begin(next.N, next.Kind); err != nil {
			return err
		}
		result, err := w.do(ctx, next)
		if err != nil {
			return fmt.Errorf("operation %d, %s: %w", next.N, next.Kind, err)
		}
		done(next.N, next.Kind, result)
	}
	if err := begin(closeNumber, "close"); err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	done(closeNumber, "close", "ok")
	return nil
}

// The numbers of opening and closing the store, among the numbers of operations. Closing writes the
// log into the file.
const (
	openNumber  = -1
	closeNumber = -2
	noNumber    = -3
)

// process is one that follows orders.
type process struct {
	cmd    *exec.Cmd
	lines  *bufio.Reader
	stderr strings.Builder
}

func start(o orders) (*process, error) {
	p, err := prepared(o)
	if err != nil {
		return nil, err
	}
	return p, p.cmd.Start()
}

// prepared is a process that is not started yet.
func prepared(o orders) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(self)}
	p.cmd.Env = append(slices.Clone(os.Environ()), ordersVariable+"="+string(text), "GOMAXPROCS=2")
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.lines = bufio.NewReader(out)
	return p, nil
}

// said is one line of a process.
type said struct {
	done   bool
	op     op
	result string
	disk   int64 // operations of the disk that it took
	when   time.Time
}

// next returns the next line; ok is false when the process has ended.
func (p *process) next() (s said, ok bool, err error) {
	line, err := p.lines.ReadString('\n')
	if errors.Is(err, io.EOF) {
		return s, false, nil // a line without an end was never said
	}
	if err != nil {
		return s, false, err
	}
	s.when = time.Now()
	fields := strings.Fields(line)
	switch {
	case len(fields) == 3 && fields[0] == "begin":
		_, err = fmt.Sscan(fields[1], &s.op.N)
	case len(fields) == 5 && fields[0] == "done":
		s.done, s.result = true, fields[3]
		_, err = fmt.Sscan(fields[1]+" "+fields[4], &s.op.N, &s.disk)
	default:
		err = fmt.Errorf("the process said %q", line)
	}
	if err == nil {
		s.op.Kind = fields[2]
	}
	return s, true, err
}

// killed waits for the end, and reports whether the process was killed; otherwise it ended well or
// the error says how.
func (p *process) killed() (bool, error) {
	err := p.cmd.Wait()
	if err == nil {
		return false, nil
	}
	if p.cmd.ProcessState.ExitCode() == -1 { // by a signal
		return true, nil
	}
	return false, fmt.Errorf("%w: %s", err, p.stderr.String())
}
