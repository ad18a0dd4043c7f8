package siege

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/postgres"
)

// TestOperator_story is what somebody does who runs winnow for a team: install it, let two tenants
// in, see one of them stopped by its budget, upgrade it while an answer is on its way, back the
// database up, and go on from the backup.
func TestOperator_story(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program and starts a database")
	}
	o := operate(t)

	// Installed: the tables are made before anything starts, as often as one likes.
	for range 2 {
		o.runs("are those of this version", "store", "migrate")
	}
	o.runs("the configuration is sound", "serve", "--check")

	// Two tenants, and nobody else. ann may spend ten dollars a day.
	o.runs("", "tenant", "add", "ann", "--budget-day", "10", "--warn", "0.5")
	o.runs("", "tenant", "add", "bob")
	ann, bob := o.visits("ann", 7), o.visits("bob", 8)
	first, second := o.serve(), o.serve()
	if h := ann.hear(ann.request(t.Context(), first.url(), 1)); h.status != 401 {
		t.Errorf("without a token: %d %s", h.status, h.body)
	}
	for i := range 60 {
		ann.works(1, first, second)
		bob.works(1, second, first)
		if i > 30 && ann.pruned && bob.pruned {
			break
		}
	}
	if !ann.pruned || !bob.pruned {
		t.Fatal("nothing was left out: the test does not show what it is to show")
	}
	before := o.decided("ann") + o.decided("bob")

	// The budget warns, then stops, on whichever replica, and nobody else notices.
	ann.tokens = 1_000_000 // six dollars
	ann.works(1, first)
	o.until("six dollars are counted", func() bool { return strings.Contains(o.runs("", "tenant", "show", "ann"), "$6.") })
	if h := ann.works(1, first); !strings.HasPrefix(h.header.Get("X-Winnow-Budget"), "day; spent=") {
		t.Errorf("the warning of the budget is %q", h.header.Get("X-Winnow-Budget"))
	}
	ann.tokens = 0
	for _, g := range []*serving{first, second} {
		o.until("the budget is spent", func() bool { return ann.asks(g).status != 200 })
		if h := ann.asks(g); h.status != 402 || !bytes.Contains(h.body, []byte(`"type":"billing_error"`)) ||
			!bytes.Contains(h.body, []byte("the tenant ann has reached its budget")) {
			t.Errorf("behind its budget: %d %s", h.status, h.body)
		}
	}
	bob.works(2, first, second)
	o.runs("of $10.00", "tenant", "show", "ann")
	o.runs("", "tenant", "set", "ann", "--budget-day", "1000")
	for _, g := range []*serving{first, second} {
		o.until("ann may ask again", func() bool { return ann.asks(g).status == 200 })
	}
	ann.works(2, first, second)

	// Upgraded: the new version migrates and starts beside the old ones, which end one after the
	// other. An answer that is on its way comes to its end.
	o.runs("are those of this version", "store", "migrate")
	stream := o.streams(bob, first)
	third := o.serve()
	ended := o.ends(first)
	o.until("the old one takes no more requests", func() bool {
		return errors.Is(bob.hear(bob.request(t.Context(), first.url(), 1)).err, syscall.ECONNREFUSED)
	})
	ann.works(2, second, third)
	bob.works(2, third, second)
	select {
	case err := <-ended:
		t.Errorf("the old one has ended under a stream: %v", err)
	default:
	}
	if rest := stream(); rest != answerStream {
		t.Errorf("the answer that was on its way is %q", rest)
	}
	if err := <-ended; err != nil {
		t.Errorf("the old one ends with %v\n%s", err, first.log)
	}
	if err := <-o.ends(second); err != nil {
		t.Errorf("the other old one ends with %v\n%s", err, second.log)
	}
	ann.works(2, third)
	bob.works(2, third)

	// Backed up beside a gateway at work. What comes afterwards is lost with the database.
	saved := o.decided("ann") + o.decided("bob")
	if saved < before || before == 0 {
		t.Errorf("there were %d decisions, there are %d", before, saved)
	}
	dump, err := o.cluster.Dump()
	if err != nil {
		t.Fatal(err)
	}
	ann.works(4, third)
	third.kill()
	if o.database, err = o.cluster.Restore(dump, "restored"); err != nil {
		t.Fatal(err)
	}

	// Restored: the tenants, their tokens and what they spent are there, and conversations go on.
	o.runs("are those of this version", "store", "migrate")
	if n := o.decided("ann") + o.decided("bob"); n != saved {
		t.Errorf("%d decisions were saved, %d are restored", saved, n)
	}
	o.runs("of $1,000.00", "tenant", "show", "ann")
	fourth := o.serve()
	ann.diverges = true // what was decided behind the backup is not known any more
	ann.works(1, fourth)
	ann.diverges = false
	ann.works(4, fourth)
	bob.works(4, fourth)
	o.runs("", "tenant", "set", "ann", "--budget-day", "1")
	o.until("what ann has spent counts", func() bool { return ann.asks(fourth).status == 402 })
	for _, c := range []*customer{ann, bob} {
		if problems := c.up.Problems(); len(problems) > 0 {
			t.Errorf("the provider of %s finds fault: %s", c.name, problems)
		}
	}
}

var shownToken = regexp.MustCompile(`wt_\S+`)

// answerStream is what the slow provider says, always.
const answerStream = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\"," +
	"\"role\":\"assistant\",\"model\":\"claude-sonnet-4-5\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":10," +
	"\"cache_read_input_tokens\":1000,\"cache_creation_input_tokens\":100,\"output_tokens\":1}}}\n\n" +
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
	"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"ok\"}}\n\n" +
	"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":5}}\n\n" +
	"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

// operator runs winnow on a database.
type operator struct {
	t        *testing.T
	program  string // its path, "" for the one of this tree
	cluster  *pgtest.Cluster
	database string // its URL
	opened   map[string]*postgres.Database
	home     string
	ups      []string // upstreams of the configuration
	release  chan struct{}
}

func operate(t *testing.T) *operator {
	o := &operator{t: t, cluster: pgtest.NewCluster(t, true), home: t.TempDir(), release: make(chan struct{}),
		opened: map[string]*postgres.Database{}}
	o.database = o.cluster.URL()
	// A provider whose answer stays on its way until it is released.
	head, tail, _ := strings.Cut(answerStream, "\n\n")
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if io.Copy(io.Discard, r.Body); r.Method != http.MethodPost { // is it a winnow?
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, head+"\n\n")
		w.(http.Flusher).Flush()
		select {
		case <-o.release:
		case <-r.Context().Done():
		}
		io.WriteString(w, tail)
	}))
	t.Cleanup(slow.Close)
	o.ups = []string{fmt.Sprintf("%q: %q", "slow", slow.URL)}
	return o
}

// runs runs a command, which must say something.
func (o *operator) runs(want string, args ...string) string {
	o.t.Helper()
	out, err := o.tries(args...)
	if err != nil || !strings.Contains(out, want) {
		o.t.Fatalf("winnow %s: %v; it does not say %q:\n%s", strings.Join(args, " "), err, want, out)
	}
	return out
}

// tries runs a command, which may fail.
func (o *operator) tries(args ...string) (said string, err error) {
	o.t.Helper()
	path := o.program
	if path == "" {
		path = ours(o.t)
	}
	cmd := exec.Command(path, append([]string{"--store", o.database}, args...)...)
	cmd.Env = []string{"HOME=" + o.home, "FIRST_TOKEN=" + firstToken}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// firstToken is in the variable FIRST_TOKEN of each command.
var firstToken = "wt_" + strings.Repeat("f", 64)

// by is the same operator with a program of another version, or if that is "" the one of this tree.
func (o *operator) by(program string) *operator {
	other := *o
	other.program = program
	return &other
}

// serve starts a replica.
func (o *operator) serve() *serving {
	o.t.Helper()
	return beginBy(o.t, o.program, o.database, `{"gateway": {"upstreams": {`+strings.Join(o.ups, ", ")+`}}}`)
}

// ends asks a replica to end, and tells how it did.
func (o *operator) ends(g *serving) <-chan error {
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		o.t.Error(err)
	}
	ended := make(chan error, 1)
	go func() { <-g.read; ended <- g.cmd.Wait() }()
	return ended
}

// until waits for something that another process does.
func (o *operator) until(what string, done func() bool) {
	o.t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			o.t.Fatalf("in vain: %s\n%s", what, o.runs("", "tenant", "list"))
		}
	}
}

// decided counts the decisions about a tenant's conversations.
func (o *operator) decided(tenant string) int {
	d := o.opened[o.database]
	if d == nil {
		d = must(postgres.Open(o.t.Context(), o.database, postgres.Options{ReadOnly: true}))
		o.t.Cleanup(func() { d.Close() })
		o.opened[o.database] = d
	}
	return decisions(o.t.Context(), d.Tenant(tenant))
}

// streams begins an answer that stays on its way; what it returns waits for the rest of it.
func (o *operator) streams(c *customer, g *serving) (rest func() string) {
	o.t.Helper()
	r := c.request(o.t.Context(), "http://"+g.address+"/slow", 1)
	r.Header.Set("X-Winnow-Token", c.token)
	r.Header.Set("X-Session-Id", "slow")
	answer := must(c.http.Do(r))
	begun := make([]byte, 20)
	if _, err := io.ReadFull(answer.Body, begun); err != nil {
		o.t.Fatal(err)
	}
	return func() string {
		close(o.release)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			o.t.Error(err)
		}
		return string(begun) + string(text)
	}
}

// customer is a client of a tenant that works through its day.
type customer struct {
	*visitor
	name, token string
	up          *provider
	left        []int // steps that it has not asked yet
	tokens      int   // that its provider bills for the prompt, 0 for what it finds
	pruned      bool  // something was left out of a request
	diverges    bool  // what was sent before need not be sent again
	o           *operator

	arrived []llmtest.Request
}

// visits lets a tenant's client begin its day.
func (o *operator) visits(name string, seed uint64) *customer {
	o.t.Helper()
	c := &customer{visitor: visit(o.t, llmtest.Anthropic, true, seed, 120), name: name, o: o}
	c.left = c.steps()
	c.token = shownToken.FindString(o.runs("wt_", "tenant", "token", "add", name))
	c.up = &provider{}
	c.up.Server = llmtest.Start(o.t, llmtest.Script{Answer: func(q llmtest.Request) llmtest.Reply {
		c.arrived = append(c.arrived, q)
		r := c.reply(must(strconv.Atoi(q.Header.Get(stepHeader))))
		if c.tokens > 0 {
			r.Usage = &session.Usage{Input: c.tokens, Output: 10}
		}
		return r
	}})
	o.ups = append(o.ups, fmt.Sprintf("%q: %q", name, c.up.URL))
	return c
}

// asks asks a replica for the step that comes next.
func (c *customer) asks(g *serving) heard {
	ctx, stop := context.WithTimeout(c.o.t.Context(), time.Minute)
	defer stop()
	r := c.request(ctx, "http://"+g.address+"/"+c.name, c.left[0])
	r.Header.Set("X-Winnow-Token", c.token)
	return c.hear(r)
}

// works lets the client do some steps, at one replica after the other, and holds what arrives
// against what arrived before it.
func (c *customer) works(steps int, at ...*serving) (h heard) {
	c.o.t.Helper()
	for i := range steps {
		before := c.o.decided(c.name)
		if h = c.asks(at[i%len(at)]); h.status != 200 || h.err != nil {
			c.o.t.Fatalf("%s: %d %s, %v", c.name, h.status, h.body, h.err)
		}
		now := c.arrived[len(c.arrived)-1]
		c.pruned = c.pruned || !bytes.Equal(now.Body, c.body(c.left[0]))
		if len(c.arrived) > 1 && c.o.decided(c.name) == before && !c.diverges {
			last := c.arrived[len(c.arrived)-2]
			for k := range min(len(last.Messages), len(now.Messages)) {
				if said(&last.Messages[k]) != said(&now.Messages[k]) {
					c.o.t.Fatalf("%s: message %d is another one, and nothing was decided", c.name, k)
				}
			}
		}
		c.left = c.left[1:]
	}
	return h
}
