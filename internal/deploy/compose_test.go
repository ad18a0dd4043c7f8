package deploy

import (
	"bytes"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/internal/outside"
)

// service is what the tests read of a service of the compose file.
type service struct {
	Image       string            `yaml:"image"`
	Command     []string          `yaml:"command"`
	Environment map[string]string `yaml:"environment"`
	Limits      map[string]int    `yaml:"ulimits"`
}

// composed are the services of the compose file; variables are those of the shell in which it is used.
func composed(t *testing.T, variables map[string]string) map[string]service {
	t.Helper()
	text := string(read(t, filepath.Join(outside.Root(t), "deploy", "compose.yaml")))
	all := parsed[struct{ Services map[string]service }](t, os.Expand(text, func(name string) string {
		name, how, _ := strings.Cut(name, ":")
		if value := variables[name]; value != "" {
			return value
		}
		if otherwise, ok := strings.CutPrefix(how, "-"); ok {
			return otherwise
		}
		t.Errorf("the compose file wants the variable %s", name)
		return ""
	}))
	return all[0].Services
}

// shell is what deploy/compose.yaml says to export.
func shell() map[string]string {
	return map[string]string{"POSTGRES_PASSWORD": "secret", "GRAFANA_PASSWORD": "secret", "FIRST_TENANT": "web",
		"FIRST_TOKEN": "wt_" + strings.Repeat("f", 64)}
}

// scraped are the ports at which Prometheus asks hosts, without a token.
func scraped(t *testing.T) map[string]string {
	t.Helper()
	all := parsed[struct {
		Jobs []struct {
			Name          string         `yaml:"job_name"`
			Path          string         `yaml:"metrics_path"`
			Authorization map[string]any `yaml:"authorization"`
			Static        []struct {
				Targets []string `yaml:"targets"`
			} `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}](t, string(read(t, filepath.Join(outside.Root(t), "deploy", "prometheus", "prometheus.yml"))))
	job := all[0].Jobs[0]
	if len(all[0].Jobs) != 1 || job.Name != "winnow" || job.Path != "" || job.Authorization != nil {
		t.Errorf("Prometheus has the jobs %+v", all[0].Jobs)
	}
	ports := map[string]string{}
	for _, target := range job.Static[0].Targets {
		host, port, err := net.SplitHostPort(target)
		if err != nil {
			t.Fatal(err)
		}
		ports[host] = port
	}
	return ports
}

// environment is what a service is started with.
func (s service) environment() (all []string) {
	for name, value := range s.Environment {
		all = append(all, name+"="+value)
	}
	return all
}

var ofWinnow = regexp.MustCompile(`\bWINNOW_[A-Z0-9_]+`)

// The program takes every variable that the compose file and the chart set, with its value, and knows
// every one that a file of deploy/ names.
func TestDeploy_variablesAreThoseOfTheProgram(t *testing.T) {
	check := func(where string, environ []string) {
		t.Helper()
		if _, err := config.Load(config.Sources{Environ: environ}); err != nil {
			t.Errorf("%s: %v", where, err)
		}
	}
	for name, s := range composed(t, shell()) {
		if s.Image == "winnow" {
			check("the service "+name, s.environment())
		}
	}
	secrets := map[string]string{"winnow-store/url": "postgres://db/winnow", "winnow-first/token": "wt_"}
	for _, m := range rendered(t, everything, nil) {
		for _, c := range slices.Concat(m.Spec.Template.Spec.InitContainers, m.Spec.Template.Spec.Containers) {
			check("the "+m.Kind+" "+m.Metadata.Name, c.environment(t, secrets))
		}
	}
	known := []string{"WINNOW_STORE"}
	for _, key := range config.Keys() {
		known = append(known, config.Variable(key))
	}
	root := outside.Root(t)
	found := 0
	err := filepath.WalkDir(filepath.Join(root, "deploy"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		for _, name := range ofWinnow.FindAllString(string(read(t, path)), -1) {
			if found++; !slices.Contains(known, name) {
				t.Errorf("%s: there is no variable %s", strings.TrimPrefix(path, root), name)
			}
		}
		return nil
	})
	if err != nil || found < 8 {
		t.Errorf("%d variables were found, %v", found, err)
	}
}

// The compose file has the PostgreSQL that the documents say was tested.
func TestCompose_hasTheTestedPostgreSQL(t *testing.T) {
	said := regexp.MustCompile(`PostgreSQL \((\d+) was tested\)`).FindSubmatch(
		read(t, filepath.Join(outside.Root(t), "docs", "operations.md")))
	if said == nil {
		t.Fatal("docs/operations.md does not say which PostgreSQL was tested")
	}
	if image := composed(t, shell())["postgres"].Image; image != "postgres:"+string(said[1]) {
		t.Errorf("it has %s, and PostgreSQL %s was tested", image, said[1])
	}
}

// The balancer may open the files that its configuration takes: two for each connection, and some
// for listeners, checks and itself (40,031 with the TLS bind on a machine of two cores).
func TestCompose_balancerMayOpenItsFiles(t *testing.T) {
	maxconn := regexp.MustCompile(`(?m)^    maxconn (\d+)$`).FindStringSubmatch(cfg(t))
	if maxconn == nil {
		t.Fatal("haproxy.cfg has no maxconn")
	}
	connections, err := strconv.Atoi(maxconn[1])
	if files := composed(t, shell())["balancer"].Limits["nofile"]; err != nil || files < 2*connections+100 {
		t.Errorf("it may open %d files for %d connections, %v", files, connections, err)
	}
}

// The build of the image is sent neither the history nor tests, and all that it compiles.
func TestImage_getsWhatItIsBuiltOf(t *testing.T) {
	root := outside.Root(t)
	patterns := strings.Fields(regexp.MustCompile(`(?m)^#.*$`).ReplaceAllString(
		string(read(t, filepath.Join(root, ".dockerignore"))), ""))
	ignored := func(path string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			return doublestar.MatchUnvalidated(p, path) || doublestar.MatchUnvalidated(p+"/**", path)
		})
	}
	for _, path := range []string{".git/HEAD", "winnowd", "fuzz-logs/a.log", "gateway/serve/serve_test.go"} {
		if !ignored(path) {
			t.Errorf("%s is sent", path)
		}
	}
	list := exec.Command("go", "list", "-deps", "-json=Dir,Standard,GoFiles,EmbedFiles", "./cmd/winnowd")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	sent := []string{"go.mod", "go.sum"}
	for dec := jsontext.NewDecoder(bytes.NewReader(out)); dec.PeekKind() == '{'; {
		var p struct {
			Dir                 string
			GoFiles, EmbedFiles []string
		}
		if err := json.UnmarshalDecode(dec, &p); err != nil {
			t.Fatal(err)
		}
		rel, err := filepath.Rel(root, p.Dir)
		if err != nil || strings.HasPrefix(rel, "..") {
			continue // a library
		}
		for _, name := range slices.Concat(p.GoFiles, p.EmbedFiles) {
			sent = append(sent, filepath.Join(rel, name))
		}
	}
	if len(sent) < 500 {
		t.Errorf("it is built of %d files", len(sent))
	}
	for _, path := range sent {
		if ignored(path) {
			t.Errorf("%s is not sent, and needed", path)
		}
	}
}
