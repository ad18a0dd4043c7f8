package command

import (
	"bufio"
	"github.com/go-json-experiment/json"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/tworuns"
	"github.com/winnowhq/winnow/text/quantity"
)

// wrapped is a way to a provider through a `winnow wrap` of the built program.
type wrapped struct {
	base *url.URL
	end  func() (stderr string)
}

// wrap starts one around a program that does nothing: the test is the client.
func (d *desk) wrap(provider string) *wrapped {
	d.t.Helper()
	cmd := d.command("wrap", "--mode", "full", "--upstream", "anthropic="+provider, "--", "sh", "-c",
		"echo $ANTHROPIC_BASE_URL; read line")
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	base, err := url.Parse(strings.TrimSpace(line))
	if err != nil {
		d.t.Fatal(err)
	}
	return &wrapped{base: base, end: func() string {
		in.Close()
		wantExit(d.t, cmd, 1) // of read at the end of its input
		return said.String()
	}}
}

// RoundTrip implements http.RoundTripper.
func (w *wrapped) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host, r.URL.Path = w.base.Scheme, w.base.Host, w.base.Path+r.URL.Path
	return http.DefaultTransport.RoundTrip(r)
}

// sees reads what the page of a listener shows at once.
func sees(t *testing.T, base string) string {
	t.Helper()
	r, _ := http.NewRequest(http.MethodGet, base+"/~/events", nil)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	for in := bufio.NewScanner(answer.Body); in.Scan(); {
		if text, found := strings.CutPrefix(in.Text(), "data: "); found {
			return text
		}
	}
	rest, _ := io.ReadAll(answer.Body)
	t.Fatalf("the page says nothing: %d %s", answer.StatusCode, rest)
	return ""
}

// A person runs the same script twice in `winnow wrap`, and twice without: the page, the last words of
// wrap and `winnow status` say the provider's bill, and the saving is the difference of the runs.
func TestWrap_isBilledToTheCent(t *testing.T) {
	needsShell(t)
	sequential(t)
	scene := tworuns.Scene{Steps: 60, Pause: func(int) time.Duration { return 0 }}
	d := newDesk(t)
	d.env = append(d.env, "PATH="+os.Getenv("PATH"), "TMPDIR="+filepath.Join(d.dir, ".."))
	type sums struct {
		Requests             int
		Billed, Without, Net float64
	}
	read := func(text string, to any) {
		if err := json.Unmarshal([]byte(text), to, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	near := func(what string, got, want, within float64) {
		if math.Abs(got-want) > within {
			t.Errorf("%s: %.6f, want %.6f", what, got, want)
		}
	}
	var billed, alone float64
	for range 2 {
		alone += scene.Play(t, nil).Billed
		var w *wrapped
		run := scene.Play(t, func(p tworuns.Place) http.RoundTripper { w = d.wrap(p.URL); return w })
		billed += run.Billed
		var page struct{ Groups []sums }
		for range 500 { // an answer is kept after its client has it
			if read(sees(t, w.base.Scheme+"://"+w.base.Host), &page); len(page.Groups) > 0 && page.Groups[0].Requests == len(run.Requests) {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		near("page", page.Groups[0].Billed, run.Billed, 1e-9)
		if said, want := w.end(), "billed "+quantity.Dollars(run.Billed)+";"; !strings.Contains(said, want) {
			t.Errorf("wrap does not end with %q: %s", want, said)
		}
	}
	var status struct{ Total sums }
	read(d.run("status", "--json").stdout, &status)
	near("status", status.Total.Billed, billed, 1e-9)
	saved := alone - billed
	near("the saving", status.Total.Without-status.Total.Billed, saved, saved/10)
	near("net", status.Total.Net, saved, saved/10)
	text := d.run("status").stdout
	if want := quantity.Dollars(billed); !strings.Contains(text, want) {
		t.Errorf("status does not say %s:\n%s", want, text)
	}
	t.Logf("the provider billed $%.4f, and $%.4f without winnow: $%.4f saved; status says\n%s", billed, alone, saved, text)
}
