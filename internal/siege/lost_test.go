package siege

import (
	"bytes"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/pgtest"
	"github.com/winnowhq/winnow/store/postgres"
)

// get asks a route of the gateway's own.
func (s *serving) get(t testing.TB, path string) (int, string) {
	t.Helper()
	answer, err := http.Get("http://" + s.address + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	return answer.StatusCode, string(must(io.ReadAll(answer.Body)))
}

// until waits until a route is answered with a status.
func (s *serving) until(t testing.TB, path string, status int) {
	t.Helper()
	for now := 0; now != status; now, _ = s.get(t, path) {
		if t.Context().Err() != nil {
			t.Fatalf("%s is answered with %d", path, now)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// TestServe_losesItsDatabase stops the database under a gateway at work: after one wait requests leave
// at once, with what was decided before, which is said once, and when it is back the next one is
// decided about.
func TestServe_losesItsDatabase(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program, and waits for a database in vain")
	}
	cluster := pgtest.NewCluster(t, false)
	v := visit(t, llmtest.Anthropic, true, 7, 120)
	up := provide(t, v)
	var sent [][]byte
	up.arrived = func(q llmtest.Request) { sent = append(sent, slices.Clone(q.Body)) }
	g := beginOn(t, cluster.URL(), up.URL, "")
	steps := v.steps()
	ask := func(at int) (same bool) {
		t.Helper()
		if h := v.hear(v.request(t.Context(), g.url(), at)); h.status != 200 || h.err != nil {
			t.Fatalf("step %d: %d %s, %v\n%s", at, h.status, h.body, h.err, g.log)
		}
		return bytes.Equal(sent[len(sent)-1], v.body(at))
	}
	metric := func(name string) string {
		_, text := g.get(t, "/metrics")
		found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("there is no metric %s", name)
		}
		return found[1]
	}
	for pruned := false; !pruned; steps = steps[1:] {
		if len(steps) < 10 {
			t.Fatal("nothing is left out: the test does not show what it is to show")
		}
		pruned = !ask(steps[0])
	}
	if lost := metric("winnow_store_lost"); lost != "0" {
		t.Errorf("with a database winnow_store_lost is %s", lost)
	}
	if err := cluster.Down("fast"); err != nil {
		t.Fatal(err)
	}
	for i, at := range steps[:4] {
		if ask(at) {
			t.Errorf("request %d without a database is sent whole", i)
		}
	}
	// The first one waited; the others were not even tried.
	if passed := metric("winnow_passed_requests_total"); passed != "3" {
		t.Errorf("%s requests were not tried", passed)
	}
	if lost := metric("winnow_store_lost"); lost != "1" {
		t.Errorf("without a database winnow_store_lost is %s", lost)
	}
	if status, text := g.get(t, "/readyz"); status != 503 || !strings.Contains(text, "the store is lost") {
		t.Errorf("/readyz: %d %s", status, text)
	}
	if status, text := g.get(t, "/healthz"); status != 200 {
		t.Errorf("/healthz: %d %s", status, text)
	}
	if err := cluster.Up(); err != nil {
		t.Fatal(err)
	}
	g.until(t, "/readyz", 200)
	if ask(steps[4]) {
		t.Error("with its database again it leaves nothing out")
	}
	if n := strings.Count(g.log.String(), "the store is lost: until"); n != 1 {
		t.Errorf("it is said %d times that the store is lost", n)
	}
	if n := strings.Count(g.log.String(), "the store is back"); n != 1 {
		t.Errorf("it is said %d times that the store is back", n)
	}
}

// TestServe_beginsWithoutItsDatabase starts a gateway with tenants while its database is away: it
// stays, lets nobody in, in words that clients understand, and serves when the database is there: its
// first request that is answered leaves out what was decided before.
func TestServe_beginsWithoutItsDatabase(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program, and waits for a database in vain")
	}
	cluster := pgtest.NewCluster(t, false)
	built = true
	path := must(program())
	home, token := t.TempDir(), ""
	for _, command := range [][]string{{"tenant", "add", "acme"}, {"tenant", "token", "add", "acme", "--json"}} {
		made := exec.Command(path, append([]string{"--store", cluster.URL()}, command...)...)
		made.Env = []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home}
		out, err := made.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", command, err, out)
		}
		if found := regexp.MustCompile(`"token": "(\S+)"`).FindSubmatch(out); found != nil {
			token = string(found[1])
		}
	}
	v := visit(t, llmtest.Anthropic, true, 7, 120)
	up := provide(t, v)
	var sent []byte
	up.arrived = func(q llmtest.Request) { sent = slices.Clone(q.Body) }
	g := beginOn(t, cluster.URL(), up.URL, "")
	steps := v.steps()
	ask := func() heard {
		r := v.request(t.Context(), g.url(), steps[0])
		r.Header.Set("X-Winnow-Token", token)
		return v.hear(r)
	}
	whole := func() bool { return bytes.Equal(sent, v.body(steps[0])) }
	for ask(); whole(); ask() {
		if steps = steps[1:]; len(steps) < 10 {
			t.Fatal("nothing is left out: the test does not show what it is to show")
		}
	}
	g.kill()
	if err := cluster.Down("fast"); err != nil {
		t.Fatal(err)
	}
	g.start(t)
	if h := ask(); h.status != 503 || !bytes.Contains(h.body, []byte(`"api_error"`)) {
		t.Errorf("without the book of tenants: %d %s", h.status, h.body)
	}
	if status, text := g.get(t, "/readyz"); status != 503 || !strings.Contains(text, "who may ask") {
		t.Errorf("/readyz: %d %s", status, text)
	}
	if status, _ := g.get(t, "/healthz"); status != 200 {
		t.Errorf("/healthz: %d", status)
	}
	if err := cluster.Up(); err != nil {
		t.Fatal(err)
	}
	sent = nil
	for h := ask(); h.status != 200; h = ask() {
		if h.status != 503 || t.Context().Err() != nil {
			t.Fatalf("with its database: %d %s\n%s", h.status, h.body, g.log)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if whole() {
		t.Errorf("with its database again it leaves nothing out\n%s", g.log)
	}
	g.until(t, "/readyz", 200)
	if h := v.hear(v.request(t.Context(), g.url(), steps[0])); h.status != 401 {
		t.Errorf("without a token: %d %s", h.status, h.body)
	}
	if n := strings.Count(g.log.String(), "nobody is served until"); n != 1 {
		t.Errorf("it is said %d times that nobody is served", n)
	}
}

// TestServe_losesWhatItsStandbyDidNotHave fails over to a standby that is behind: decisions that were
// sent are not in the store any more. A gateway that is started again goes on with what is there:
// requests are answered, and from then on what was sent is sent again.
func TestServe_losesWhatItsStandbyDidNotHave(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program and starts two databases")
	}
	pair := pgtest.NewPair(t)
	v := visit(t, llmtest.Anthropic, true, 7, 120)
	up := provide(t, v)
	var arrived []arrival
	d, err := postgres.Open(t.Context(), pair.URL(), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	decided := func() int { return decisions(t.Context(), d.Tenant("")) }
	up.arrived = func(q llmtest.Request) { arrived = append(arrived, arrival{q, decided()}) }
	g := beginOn(t, pair.URL(), up.URL, "")
	steps := v.steps()
	ask := func() (now arrival) {
		t.Helper()
		if h := v.hear(v.request(t.Context(), g.url(), steps[0])); h.status != 200 || h.err != nil {
			t.Fatalf("step %d: %d %s, %v\n%s", steps[0], h.status, h.body, h.err, g.log)
		}
		steps = steps[1:]
		return arrived[len(arrived)-1]
	}
	for range 5 {
		ask()
	}
	if err := pair.Lag(t.Context()); err != nil {
		t.Fatal(err)
	}
	for n := 0; n == 0 && len(steps) > 10; {
		n = ask().decided
	}
	if n := decided(); n == 0 {
		t.Fatal("nothing was decided: the test does not show what it is to show")
	}
	if err := pair.FailOver(); err != nil {
		t.Fatal(err)
	}
	g.kill()
	g.start(t)
	if n := decided(); n != 0 {
		t.Fatalf("the standby has %d decisions", n)
	}
	last := ask()
	for range 8 {
		now := ask()
		for k := range last.request.Messages {
			if now.decided == last.decided && said(&last.request.Messages[k]) != said(&now.request.Messages[k]) {
				t.Fatalf("message %d is another one, and nothing was decided", k)
			}
		}
		last = now
	}
	if problems := up.Problems(); len(problems) > 0 {
		t.Errorf("the provider finds fault: %s", problems)
	}
	t.Logf("%d requests, then %d decisions", len(arrived), last.decided)
}
