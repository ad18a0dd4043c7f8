package command

import (
	"strings"
	"testing"

	"github.com/winnowhq/winnow/cmd/internal/cli"
)

// lamp is a made-up key of no provider's account, and door a password.
var (
	lamp = "sk-ant-api03-" + strings.Repeat("Tide7lamp", 10)
	door = "postgres://keeper:l1ghthouse9@db.example/coast"
)

// secretive is a session in whose texts, calls and results secrets stand.
func secretive() []byte {
	long := strings.Repeat("the lamp turns and the tide comes in, ", 60)
	contents := []string{quoted("My key is " + lamp + ", always use it. Deploy the lamp."),
		`[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"curl -H 'x-api-key: ` + lamp + `' https://tide.example"}}]`,
		`[{"type":"tool_result","tool_use_id":"toolu_1","content":"error: connect ` + door + ` refused\n` + long + `"}]`,
		`[{"type":"tool_use","id":"toolu_2","name":"Bash","input":{"command":"go test ./tide"}}]`,
		`[{"type":"tool_result","tool_use_id":"toolu_2","is_error":true,"content":"FAIL: no access to ` + door + `"}]`,
		quoted("I could not reach " + door + " with " + lamp + ". " + long)}
	for range 4 {
		contents = append(contents, quoted("Go on. "+long), quoted("Done. "+long))
	}
	return claudeLines(contents...)
}

func leaks(text string) bool {
	return strings.Contains(text, "Tide7lamp") || strings.Contains(text, "l1ghthouse9")
}

func TestSecrets_areMaskedInAnExport(t *testing.T) {
	sequential(t)
	d := newDesk(t)
	file := d.put("tide.jsonl", secretive())
	d.run("import", file).wants(t, cli.ExitDone)
	for _, format := range []string{"claude-code", "codex", "opencode", "pi"} {
		for _, src := range []string{file, "eeee"} {
			o := d.run("export", src, "--format", format)
			o.wants(t, cli.ExitDone, "secrets were masked; --secrets keep writes them")
			if leaks(o.stdout) || !strings.Contains(o.stdout, "sk-ant-[masked]") || !strings.Contains(o.stdout, "postgres://keeper:[masked]@") {
				t.Errorf("%s as %s has a secret in it", src, format)
			}
			masked := d.put("masked", []byte(o.stdout))
			if again := d.run("inspect", masked, "--json"); again.code != cli.ExitDone {
				t.Errorf("what was written as %s is no session any more: %s", format, again.stderr)
			}
			kept := d.run("export", src, "--format", format, "--secrets", "keep")
			kept.wants(t, cli.ExitDone)
			if !leaks(kept.stdout) || kept.stderr != "" {
				t.Errorf("%s as %s is masked with --secrets keep: %s", src, format, kept.stderr)
			}
			o = d.run("export", src, "--format", format, "-o", "out", "--force", "--json")
			if n := o.document(t)["masked"].(float64); n < 5 || leaks(string(d.read("out"))) {
				t.Errorf("%v were masked in the file", n)
			}
		}
	}
	d.run("export", file, "--secrets", "show").wants(t, cli.ExitUsage, "mask or keep")
}

func TestSecrets_areMaskedInAPage(t *testing.T) {
	sequential(t)
	d := newDesk(t)
	file := d.put("tide.jsonl", secretive())
	o := d.run("show", file, "--html", "-")
	o.wants(t, cli.ExitDone)
	if leaks(o.stdout) || !strings.Contains(o.stdout, "[masked]") || !strings.Contains(o.stdout, "masked on this page") {
		t.Error("the page shows a secret, or does not say that it was masked")
	}
	if o := d.run("show", file, "--html", "-", "--secrets", "keep"); !leaks(o.stdout) {
		t.Error("the page is masked with --secrets keep")
	}
}

func TestSecrets_areMaskedInWhatIsWrittenUnderThePivot(t *testing.T) {
	sequential(t)
	d := newDesk(t)
	data := secretive()
	file := d.put("tide.jsonl", data)
	o := d.run("compact", file, "-o", "small.jsonl", "--json", "--summarizer", "offline")
	o.wants(t, cli.ExitDone)
	doc := o.document(t)
	summary, carried := doc["summary"].(string), doc["carried"].(map[string]any)["text"].(string)
	if leaks(summary) || leaks(carried) {
		t.Errorf("a secret stands in the summary or what is carried over:\n%s\n%s", summary, carried)
	}
	if !strings.Contains(summary+carried, "[masked]") || !strings.Contains(o.stdout, "masked in what was written under the pivot") {
		t.Errorf("nothing of it says so: %s", o.stdout)
	}
	for _, of := range []string{lamp, door} {
		if got, want := strings.Count(string(d.read("small.jsonl")), of), strings.Count(string(data), of); got != want {
			t.Errorf("the log has %q %d times, and had it %d times", of, got, want)
		}
	}
	if again := d.run("compact", file, "-o", "again.jsonl", "--json", "--summarizer", "offline"); again.document(t)["summary"] != summary {
		t.Error("the second time the summary is another one")
	}
	kept := d.run("compact", file, "-o", "kept.jsonl", "--json", "--summarizer", "offline", "--secrets", "keep")
	if !leaks(kept.stdout) {
		t.Error("--secrets keep masks")
	}
	pinned := d.run("compact", file, "-o", "pinned.jsonl", "--json", "--summarizer", "offline", "--pin", "the key of the lamp is "+lamp)
	if text := pinned.document(t)["carried"].(map[string]any)["text"].(string); !strings.Contains(text, "the key of the lamp is "+lamp) {
		t.Errorf("what somebody pinned to the letter is masked: %s", text)
	}
}
