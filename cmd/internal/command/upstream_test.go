package command

import (
	"strings"
	"testing"

	"github.com/winnowhq/winnow/cmd/internal/cli"
)

// --upstream names a provider for one run, also in place of one of the configuration.
func TestServe_anUpstreamForOneRun(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	url, got := providing(t)
	d.configure(`{"gateway": {"listen": "127.0.0.1:0", "upstreams": {"house": "http://127.0.0.1:1"}}}`)
	for given, want := range map[string]string{"https://house.example": "give NAME=URL, for example house=",
		"house=house.example": "such as https://host/v1, or NAME=URL", "healthz=https://house.example": "cannot name an upstream",
		"house=https://ann:x@house.example": "a user or password"} {
		d.run("serve", "--upstream", given).wants(t, cli.ExitUsage, "--upstream", want)
	}
	sound := d.run("serve", "--check", "--json", "--upstream", "house="+url, "--upstream", "other="+url).document(t)
	named, _ := sound["upstreams"].(map[string]any)
	if named["house"] != url || named["other"] != url || named["anthropic"] == nil {
		t.Errorf("the upstreams are %v", named)
	}
	g := d.gate("--upstream", "house="+url)
	if status, answer := ask(t, g.url+"/house/v1/messages", strings.ReplaceAll(asking, "%d", "1")); status != 200 {
		t.Errorf("%d: %s", status, answer)
	}
	if len(got()) != 1 {
		t.Errorf("%d requests arrived, want 1", len(got()))
	}
	g.ends()
}
