package gateway

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/internal/outside"
)

// A Prometheus, where one is installed, reads what a gateway that works shows, answers every query
// of the dashboard, and takes the alerts.
func TestDeploy_prometheusAnswersTheDashboard(t *testing.T) {
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("prometheus is not installed")
	}
	answer := `{"id":"m","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"hi"}],` +
		`"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":2,"cache_read_input_tokens":5,"cache_creation_input_tokens":3}}`
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/missing") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, answer)
	}))
	defer up.Close()
	r := opened(t, config.Default(), transport.Full)
	if _, err := r.Jobs(t.Context(), func() string { return "" }); err != nil {
		t.Fatal(err)
	}
	if err := r.Start(t.Context(), map[string]string{"up": up.URL}, time.Minute); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
	}()
	at := "http://" + r.Address()
	ask := func(path string) {
		t.Helper()
		a, err := http.Post(at+path, "application/json", strings.NewReader(conversation))
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, a.Body)
		a.Body.Close()
	}
	ask("/up/v1/messages")
	ask("/up/v1/missing")

	dir := t.TempDir()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	web := free.Addr().String()
	free.Close()
	alerts := filepath.Join(outside.Root(t), "deploy", "prometheus", "alerts.yml")
	settings := fmt.Sprintf("global: {scrape_interval: 1s}\nrule_files: [%q]\nscrape_configs:\n"+
		"  - job_name: winnow\n    static_configs: [{targets: [%q]}]\n", alerts, r.Address())
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+web)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
		if said, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("it says\n%s", said)
		}
	}()
	// query returns how many series answer.
	query := func(expr string) (int, error) {
		a, err := http.Get("http://" + web + "/api/v1/query?query=" + url.QueryEscape(expr))
		if err != nil {
			return 0, err
		}
		defer a.Body.Close()
		text, err := io.ReadAll(a.Body)
		var got struct {
			Status string `json:"status"`
			Error  string `json:"error"`
			Data   struct {
				Result []any `json:"result"`
			} `json:"data"`
		}
		if err == nil {
			err = json.Unmarshal(text, &got)
		}
		if err == nil && got.Status != "success" {
			err = fmt.Errorf("%s", got.Error)
		}
		return len(got.Data.Result), err
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) { // until it has read twice, which a rate needs
		if n, err := query(`count_over_time(winnow_requests_total[1m]) > 2`); err == nil && n > 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it reads nothing")
		}
	}
	for _, expr := range queries(t) {
		n, err := query(expr)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
		}
		// Nothing was left out or refused here, and no job has run.
		quiet := strings.Contains(expr, "decisions_total") || strings.Contains(expr, "refusals_total") || strings.Contains(expr, "jobs_total")
		if n == 0 && !quiet {
			t.Errorf("nothing answers %s", expr)
		}
	}
	rules, err := http.Get("http://" + web + "/api/v1/rules")
	if err != nil {
		t.Fatal(err)
	}
	defer rules.Body.Close()
	text, err := io.ReadAll(rules.Body)
	if want := strings.Count(string(outsideFile(t, alerts)), "- alert:"); err != nil || strings.Count(string(text), `"type":"alerting"`) != want || want < 5 {
		t.Errorf("of %d alerts it has\n%s", want, text)
	}
}

func outsideFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
