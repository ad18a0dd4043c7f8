package deploy

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/winnowhq/winnow/internal/outside"
)

// manifest is what the tests read of an object of Kubernetes.
type manifest struct {
	Kind     string   `yaml:"kind"`
	Metadata metadata `yaml:"metadata"`
	Spec     struct {
		Template struct {
			Metadata metadata `yaml:"metadata"`
			Spec     pod      `yaml:"spec"`
		} `yaml:"template"`
		SessionAffinity string        `yaml:"sessionAffinity"`
		Type            string        `yaml:"type"`
		Ports           []servicePort `yaml:"ports"`
		Endpoints       []struct {
			Port          string         `yaml:"port"`
			Path          string         `yaml:"path"`
			Scheme        string         `yaml:"scheme"`
			Authorization map[string]any `yaml:"authorization"`
		} `yaml:"endpoints"`
		Ingress []struct {
			Ports []struct {
				Port int `yaml:"port"`
			} `yaml:"ports"`
		} `yaml:"ingress"`
		Rules []struct{ Host string } `yaml:"rules"`
	} `yaml:"spec"`
}

type servicePort struct {
	Name       string `yaml:"name"`
	TargetPort string `yaml:"targetPort"`
}

type metadata struct {
	Name        string            `yaml:"name"`
	Annotations map[string]string `yaml:"annotations"`
}

type pod struct {
	EnableServiceLinks *bool            `yaml:"enableServiceLinks"`
	InitContainers     []container      `yaml:"initContainers"`
	Containers         []container      `yaml:"containers"`
	Volumes            []map[string]any `yaml:"volumes"`
}

type container struct {
	Args []string `yaml:"args"`
	Env  []struct {
		Name      string `yaml:"name"`
		Value     string `yaml:"value"`
		ValueFrom struct {
			SecretKeyRef struct{ Name, Key string } `yaml:"secretKeyRef"`
		} `yaml:"valueFrom"`
	} `yaml:"env"`
	Ports []struct {
		Name          string `yaml:"name"`
		ContainerPort int    `yaml:"containerPort"`
	} `yaml:"ports"`
	StartupProbe   probe            `yaml:"startupProbe"`
	LivenessProbe  probe            `yaml:"livenessProbe"`
	ReadinessProbe probe            `yaml:"readinessProbe"`
	VolumeMounts   []map[string]any `yaml:"volumeMounts"`
	Resources      struct {
		Requests map[string]string `yaml:"requests"`
		Limits   map[string]string `yaml:"limits"`
	} `yaml:"resources"`
}

// probe is how kubelet asks a container.
type probe struct {
	HTTPGet struct {
		Path   string `yaml:"path"`
		Port   string `yaml:"port"`
		Scheme string `yaml:"scheme"`
	} `yaml:"httpGet"`
}

// port is the number of a port of the container, by its name.
func (c container) port(t *testing.T, name string) string {
	t.Helper()
	for _, p := range c.Ports {
		if p.Name == name {
			return strconv.Itoa(p.ContainerPort)
		}
	}
	t.Fatalf("the container has no port %q: %+v", name, c.Ports)
	return ""
}

// environment is what a container is started with; secrets are values by "NAME/KEY".
func (c container) environment(t *testing.T, secrets map[string]string) (all []string) {
	t.Helper()
	for _, v := range c.Env {
		value := v.Value
		if from := v.ValueFrom.SecretKeyRef; from.Name != "" {
			var known bool
			if value, known = secrets[from.Name+"/"+from.Key]; !known {
				t.Errorf("%s is taken from the key %s of the secret %s, which nobody made", v.Name, from.Key, from.Name)
			}
		}
		all = append(all, v.Name+"="+value)
	}
	return all
}

// rendered are the objects of the chart as a release called winnow, with values beside the chart's
// own. secrets are those that the cluster has.
func rendered(t *testing.T, values string, secrets map[string]any) []manifest {
	t.Helper()
	all, _ := render(t, values, secrets)
	return parsed[manifest](t, all)
}

// parsed are the documents of a YAML text.
func parsed[T any](t *testing.T, text string) (all []T) {
	t.Helper()
	for dec := yaml.NewDecoder(strings.NewReader(text)); ; {
		var one *T
		err := dec.Decode(&one)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if one != nil { // an empty document
			all = append(all, *one)
		}
	}
}

// the is the only object of a kind.
func the(t *testing.T, kind string, all []manifest) manifest {
	t.Helper()
	found := slices.DeleteFunc(slices.Clone(all), func(m manifest) bool { return m.Kind != kind })
	if len(found) != 1 {
		t.Fatalf("there are %d objects of the kind %s", len(found), kind)
	}
	return found[0]
}

func chartFolder(t *testing.T) string {
	return filepath.Join(outside.Root(t), "deploy", "helm", "winnow")
}

// render is what `helm template` prints, for the functions that the chart uses. A value that does
// not exist is an error here.
func render(t *testing.T, values string, secrets map[string]any) (objects, notes string) {
	t.Helper()
	text := func(name string) string { return string(read(t, filepath.Join(chartFolder(t), name))) }
	merged := parsed[map[string]any](t, text("values.yaml"))[0]
	for _, more := range parsed[map[string]any](t, values) {
		merge(merged, more)
	}
	about := parsed[map[string]string](t, text("Chart.yaml"))[0]
	data := map[string]any{"Values": merged,
		"Chart":   map[string]any{"Name": about["name"], "Version": about["version"], "AppVersion": about["appVersion"]},
		"Release": map[string]any{"Name": "winnow", "Namespace": "agents", "Service": "Helm"}}
	set := template.New("chart").Option("missingkey=error")
	set.Funcs(functions(set, secrets))
	if _, err := set.ParseGlob(filepath.Join(chartFolder(t), "templates", "*")); err != nil {
		t.Fatal(err)
	}
	written := map[bool]*bytes.Buffer{true: {}, false: {}}
	for _, one := range set.Templates() {
		yes := strings.HasSuffix(one.Name(), ".yaml")
		if !yes && one.Name() != "NOTES.txt" {
			continue
		}
		written[yes].WriteString("---\n")
		if err := one.Execute(written[yes], data); err != nil {
			t.Fatal(err)
		}
		written[yes].WriteString("\n")
	}
	return written[true].String(), written[false].String()
}

// functions are those of Helm that the chart uses.
func functions(set *template.Template, secrets map[string]any) template.FuncMap {
	return template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var b strings.Builder
			err := set.ExecuteTemplate(&b, name, data)
			return b.String(), err
		},
		"toYaml": func(v any) (string, error) {
			text, err := yaml.Marshal(v)
			return strings.TrimSuffix(string(text), "\n"), err
		},
		"toJson": func(v any) (string, error) {
			text, err := json.Marshal(v, json.Deterministic(true))
			return string(text), err
		},
		"nindent": func(n int, text string) string {
			margin := "\n" + strings.Repeat(" ", n)
			return margin + strings.ReplaceAll(text, "\n", margin)
		},
		"quote": func(v any) string { return strconv.Quote(fmt.Sprint(v)) },
		"default": func(otherwise, v string) string {
			if v == "" {
				return otherwise
			}
			return v
		},
		"lookup": func(_, _, _, name string) map[string]any {
			return map[string]any{"data": secrets[name]}
		},
		"sha256sum":  func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) },
		"int":        func(n int) int { return n },
		"int64":      func(n int) int64 { return int64(n) },
		"add":        func(a, b int) int { return a + b },
		"contains":   func(part, text string) bool { return strings.Contains(text, part) },
		"trunc":      func(n int, text string) string { return text[:min(n, len(text))] },
		"trimSuffix": func(suffix, text string) string { return strings.TrimSuffix(text, suffix) },
	}
}

// merge lays values over others, as Helm does: objects member by member, anything else whole.
func merge(under, over map[string]any) {
	for key, value := range over {
		below, isBelow := under[key].(map[string]any)
		above, isAbove := value.(map[string]any)
		if isBelow && isAbove {
			merge(below, above)
			continue
		}
		under[key] = value
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// everything sets each value that an operator may need.
const everything = `
configSecret: winnow-config
firstTenant: {name: web, args: [--budget-day=20]}
extraVolumes: [{name: keys, secret: {secretName: provider-keys}}]
extraVolumeMounts: [{name: keys, mountPath: /keys, readOnly: true}]
ingress: {enabled: true, className: nginx, host: winnow.example.com, tlsSecret: winnow-tls, annotations: {a: b}}
serviceMonitor: {enabled: true}
autoscaling: {enabled: true}
imagePullSecrets: [{name: registry}]
nodeSelector: {disk: fast}
tolerations: [{key: a, operator: Exists}]
affinity: {nodeAffinity: {}}
service: {annotations: {a: b}}
serviceAccount: {annotations: {a: b}}
podAnnotations: {a: b}
`

// Helm renders the chart as these tests do.
func TestChart_isRenderedAsHelmDoes(t *testing.T) {
	helm, err := exec.LookPath("helm")
	if err != nil {
		t.Skip("helm is not installed")
	}
	for _, values := range []string{"{}", everything} {
		file := filepath.Join(t.TempDir(), "values.yaml")
		if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
			t.Fatal(err)
		}
		text, err := exec.Command(helm, "template", "winnow", chartFolder(t), "--namespace", "agents",
			"--kube-version", "1.31", "--values", file).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		byName := func(text string) map[string]any {
			all := map[string]any{}
			for _, one := range parsed[map[string]any](t, text) {
				all[fmt.Sprint(one["kind"], " ", one["metadata"].(map[string]any)["name"])] = one
			}
			return all
		}
		ours, _ := render(t, values, nil)
		if diff := cmp.Diff(byName(string(text)), byName(ours)); diff != "" {
			t.Errorf("with %s it is otherwise than with Helm (-helm +here):\n%s", values, diff)
		}
	}
}

// Kubernetes sets variables for each service of a namespace, whose names may be those of winnow's own.
func TestChart_getsNoServiceLinks(t *testing.T) {
	for _, m := range rendered(t, everything, nil) {
		if spec := m.Spec.Template.Spec; len(spec.Containers) > 0 && (spec.EnableServiceLinks == nil || *spec.EnableServiceLinks) {
			t.Errorf("the %s %s gets service links", m.Kind, m.Metadata.Name)
		}
	}
}

// The values that an operator sets arrive.
func TestChart_hasWhatOperatorsNeed(t *testing.T) {
	all := rendered(t, everything, nil)
	deployed := the(t, "Deployment", all).Spec.Template.Spec
	if mounts := deployed.Containers[0].VolumeMounts; len(mounts) != 2 || mounts[1]["mountPath"] != "/keys" {
		t.Errorf("the mounts are %v", mounts)
	}
	if volumes := deployed.Volumes; len(volumes) != 2 || volumes[1]["name"] != "keys" {
		t.Errorf("the volumes are %v", volumes)
	}
	for name, want := range map[string]string{"winnow": "ClientIP", "winnow-metrics": ""} {
		i := slices.IndexFunc(all, func(m manifest) bool { return m.Kind == "Service" && m.Metadata.Name == name })
		if i < 0 || all[i].Spec.SessionAffinity != want || len(all[i].Spec.Ports) != 1 {
			t.Errorf("the service %s is not there, or not as it should be (%d)", name, i)
		}
	}
	if rules := the(t, "Ingress", all).Spec.Rules; len(rules) != 1 || rules[0].Host != "winnow.example.com" {
		t.Errorf("the rules of the ingress are %v", rules)
	}
	monitored := the(t, "ServiceMonitor", all).Spec.Endpoints
	if len(monitored) != 1 || monitored[0].Path != "/metrics" || monitored[0].Authorization != nil {
		t.Errorf("Prometheus asks %+v", monitored)
	}
	if let := the(t, "NetworkPolicy", all).Spec.Ingress; len(let) != 2 || let[1].Ports[0].Port != 9141 {
		t.Errorf("the network lets in %+v", let)
	}
	// Figures need no token at their port, so that a service for everybody must not have it.
	open := rendered(t, "service: {type: LoadBalancer}", nil)
	for _, m := range open {
		if m.Kind == "Service" && m.Spec.Type == "LoadBalancer" && (len(m.Spec.Ports) != 1 || m.Spec.Ports[0].TargetPort != "http") {
			t.Errorf("everybody reaches %+v", m.Spec.Ports)
		}
	}
	the(t, "PodDisruptionBudget", all)
	job := the(t, "Job", all).Spec.Template.Spec
	if len(job.InitContainers) != 1 || !slices.Equal(job.InitContainers[0].Args, []string{"store", "migrate"}) ||
		!slices.Contains(job.Containers[0].Args, "--budget-day=20") {
		t.Errorf("the job runs %+v, then %+v", job.InitContainers, job.Containers)
	}
	for _, m := range rendered(t, "{}", nil) {
		if slices.Contains([]string{"Ingress", "ServiceMonitor", "HorizontalPodAutoscaler"}, m.Kind) {
			t.Errorf("there is a %s that nobody asked for", m.Kind)
		}
	}
	_, notes := render(t, "{}", nil)
	if !strings.Contains(notes, "winnowd tenant add") {
		t.Errorf("the notes do not say how to make a tenant: %s", notes)
	}
}

// Replicas are replaced when a secret that they read has changed at an upgrade.
func TestChart_replacesReplicasWhenASecretChanges(t *testing.T) {
	annotations := func(secrets map[string]any) map[string]string {
		return the(t, "Deployment", rendered(t, everything, secrets)).Spec.Template.Metadata.Annotations
	}
	before := annotations(map[string]any{"winnow-store": "a", "winnow-config": "b"})
	for _, changed := range []map[string]any{{"winnow-store": "c", "winnow-config": "b"}, {"winnow-store": "a", "winnow-config": "c"}} {
		if cmp.Equal(before, annotations(changed)) {
			t.Errorf("with the secrets %v the replicas stay as they are", changed)
		}
	}
	if !cmp.Equal(before, annotations(map[string]any{"winnow-store": "a", "winnow-config": "b"})) {
		t.Error("with the same secrets the replicas are replaced")
	}
}

// What a replica asks for and may take fits docs/operations.md: three times gateway.memory.
func TestChart_resourcesFitWhatWasMeasured(t *testing.T) {
	c := the(t, "Deployment", rendered(t, "{}", nil)).Spec.Template.Spec.Containers[0]
	memory := 0
	for _, v := range c.Env {
		if v.Name == "WINNOW_GATEWAY_MEMORY" {
			memory, _ = strconv.Atoi(v.Value)
		}
	}
	asked, most := bytesOf(t, c.Resources.Requests["memory"]), bytesOf(t, c.Resources.Limits["memory"])
	if memory == 0 || asked < 3*memory || most <= asked {
		t.Errorf("with %d bytes at hand it asks for %d and may take %d", memory, asked, most)
	}
}

func bytesOf(t *testing.T, quantity string) int {
	t.Helper()
	for unit, factor := range map[string]int{"Mi": 1 << 20, "Gi": 1 << 30} {
		if digits, ok := strings.CutSuffix(quantity, unit); ok {
			n, err := strconv.Atoi(digits)
			if err != nil {
				t.Fatal(err)
			}
			return n * factor
		}
	}
	t.Fatalf("%q is no quantity in Mi or Gi", quantity)
	return 0
}
