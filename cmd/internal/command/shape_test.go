package command

import (
	"bytes"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/cmd/internal/cli"
)

const handedByPi = `{"event":"request","entries":[
{"type":"session","version":3,"id":"5d1c2b3a-1111-4222-8333-444455556666","timestamp":"2026-01-02T10:00:00.000Z","cwd":"/pier"},
{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-02T10:00:01.000Z","message":{"role":"user","content":[{"type":"text","text":"Where is the lamp?"}],"timestamp":1767348001000}}]}`

// What an agent hands over is in the store, and every other command finds it there. What is no such
// thing is an error, except to Codex, which would act on an exit code.
func TestShape_keepsWhatItIsHanded(t *testing.T) {
	d := newDesk(t)
	for range 2 {
		var out bytes.Buffer
		o := d.runWith(t.Context(), strings.NewReader(handedByPi), &out, "shape", "--product", "pi")
		if o.code != cli.ExitDone || !strings.Contains(out.String(), `"session":"5d1c2b3a-1111-4222-8333-444455556666"`) {
			t.Fatalf("exit code %d: %s%s", o.code, &out, o.stderr)
		}
	}
	if o := d.run("list"); strings.Count(o.stdout, "5d1c2b3a") != 1 || !strings.Contains(o.stdout, "1 message") {
		t.Errorf("list: %s", o.stdout)
	}
	for product, code := range map[string]int{"pi": cli.ExitFailed, "codex": cli.ExitDone, "none": cli.ExitUsage} {
		var out bytes.Buffer
		o := d.runWith(t.Context(), strings.NewReader("no JSON"), &out, "shape", "--product", product)
		if o.code != code || out.Len() > 0 || o.stderr == "" {
			t.Errorf("%s: exit code %d, want %d: %s%s", product, o.code, code, &out, o.stderr)
		}
	}
}
