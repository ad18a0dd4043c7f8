package deploy

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/internal/pgtest"
)

// unit is the unit of systemd that deploy/README.md shows.
func unit(t *testing.T) string {
	t.Helper()
	text := string(read(t, filepath.Join(outside.Root(t), "deploy", "README.md")))
	found := regexp.MustCompile("(?s)```ini\n(.*?)```").FindAllStringSubmatch(text, -1)
	if len(found) != 1 {
		t.Fatalf("README.md has %d units", len(found))
	}
	return found[0][1]
}

// The unit is one that systemd takes, and the command in it starts with the environment in it, answers
// probes and Prometheus, and ends when it is asked to.
func TestUnit_starts(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program and starts a database")
	}
	text := unit(t)
	values := func(key string) (all []string) {
		for _, found := range regexp.MustCompile(`(?m)^`+key+`=(.*)$`).FindAllStringSubmatch(text, -1) {
			all = append(all, strings.Fields(found[1])...)
		}
		return all
	}
	command := values("ExecStart")
	database, up, address := pgtest.Start(t), newProvider(t), free(t)
	environ := moved(t, append(values("Environment"), "HOME="), database, address, up.URL)
	launch(t, environ, "store", "migrate").finish(t)
	launch(t, environ, "tenant", "add", "web").finish(t)
	p := launch(t, environ, command[1:]...)
	p.within(t, "answer to a probe", func() bool { return asHAProxy(t, []string{"GET", "/healthz"}, address) == 200 })
	p.scrape(t, values("Environment"), "9141", "/metrics", "winnow")
	p.stop(t)

	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	dir := t.TempDir()
	env := filepath.Join(dir, "winnow.env")
	if err := os.WriteFile(env, []byte("PGPASSWORD=secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	here := strings.NewReplacer(command[0], path, "/etc/winnow.env", env, "User=winnow\n", "").Replace(text)
	file := filepath.Join(dir, "winnowd.service")
	if err := os.WriteFile(file, []byte(here), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(analyze, "verify", "--man=no", file).CombinedOutput(); err != nil || strings.Contains(string(out), file) {
		t.Errorf("systemd says: %v\n%s", err, out)
	}
}

// The program takes the variables with objects that deploy/README.md gives to the unit.
func TestUnit_takesVariablesWithObjects(t *testing.T) {
	text := string(read(t, filepath.Join(outside.Root(t), "deploy", "README.md")))
	lines := regexp.MustCompile(`(?m)^WINNOW_\w+=\{.*\}$`).FindAllString(text, -1)
	if len(lines) < 2 {
		t.Fatalf("it gives %q", lines)
	}
	loaded, err := config.Load(config.Sources{Environ: lines})
	if err != nil {
		t.Fatal(err)
	}
	if loaded.Settings.Gateway.Keys["team"].Env != "TEAM_KEY" || loaded.Settings.Gateway.Upstreams["house"] == "" {
		t.Errorf("they set %+v", loaded.Settings.Gateway)
	}
}

// The balancer's configuration, changed as deploy/README.md says for replicas without containers,
// encrypts, and lets nobody from elsewhere manage tenants.
func TestBalancer_encrypts(t *testing.T) {
	haproxy := haproxy(t)
	// A certificate for 127.0.0.1, and its key, in one file as HAProxy reads them.
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	pair := secure.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	both := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})
	both = append(both, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})...)
	file := filepath.Join(t.TempDir(), "winnow.pem")
	if err := os.WriteFile(file, both, 0o600); err != nil {
		t.Fatal(err)
	}
	one, two, address := newReplica(t, free(t), false), newReplica(t, free(t), false), free(t)
	text := cfg(t)
	for from, to := range map[string]string{
		"# bind :443 ssl crt /etc/haproxy/winnow.pem": "bind " + address + " ssl crt " + file, "# acl inside": "acl inside",
		"# http-request deny if { path_beg /~admin/ }": "http-request deny if { path_beg /~admin/ }", "    bind :4141\n": "",
		" resolvers containers": "", "winnow-1:4141": one.Addr().String(), "winnow-2:4141": two.Addr().String(),
	} {
		if strings.Count(text, from) != 1 {
			t.Fatalf("haproxy.cfg does not have %q once", from)
		}
		text = strings.Replace(text, from, to, 1)
	}
	text = regexp.MustCompile(`(?m)^resolvers containers\n(?:    .*\n)+`).ReplaceAllString(text, "")
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, NextProtos: []string{"h2", "http/1.1"}}}}
	balance(t, haproxy, text, client, "https://"+address)
	for path, want := range map[string]int{"/healthz": 200, "/~admin/tenants": 403} {
		a, err := client.Get("https://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if a.StatusCode != want || a.TLS.NegotiatedProtocol != "http/1.1" {
			t.Errorf("%s: %d by %q, want %d", path, a.StatusCode, a.TLS.NegotiatedProtocol, want)
		}
	}
}
