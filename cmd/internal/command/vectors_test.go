package command

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/plan/rule/ruletest"
)

// TestVectors_classicMarksWhatTheSpecifiedProgramMarks runs sessions that were pruned by the real
// program.
func TestVectors_classicMarksWhatTheSpecifiedProgramMarks(t *testing.T) {
	sequential(t)
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "shared", "vectors", "prune", "*.json.gz"))
	if err != nil || len(files) == 0 {
		t.Skip("the vectors are not there: they are kept beside the repository, not in it")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			var vector struct {
				Session jsontext.Value `json:"session"`
				Marked  []string       `json:"marked"`
			}
			if err := json.Unmarshal(plain(t, file), &vector, jsontext.AllowInvalidUTF8(true)); err != nil {
				t.Fatal(err)
			}
			marks(t, vector.Session, vector.Marked)
		})
	}
}

// TestVectors_classicMarksWhatTheSpecificationMarks runs the sessions of rule/ruletest, which stand
// in for those when nothing is beside the repository.
func TestVectors_classicMarksWhatTheSpecificationMarks(t *testing.T) {
	sequential(t)
	for _, s := range ruletest.Scans() {
		t.Run(s.Name, func(t *testing.T) {
			text, err := json.Marshal(s.Session)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(s.Marked)
			marks(t, text, s.Marked)
		})
	}
}

// marks prunes an export of OpenCode, and looks what was marked.
func marks(t *testing.T, session []byte, marked []string) {
	t.Helper()
	d := newDesk(t)
	d.env = d.env[:1] // the settings that are specified
	o := d.run("prune", d.put("session.json", session), "--policy", "classic", "--json", "-o", "pruned.json")
	want := cli.ExitDone
	if len(marked) == 0 {
		want = cli.ExitNothing
	}
	o.wants(t, want)
	var doc struct {
		Marked []string `json:"marked"`
	}
	if err := json.Unmarshal([]byte(o.stdout), &doc); err != nil {
		t.Fatal(err)
	}
	slices.Sort(doc.Marked)
	if diff := cmp.Diff(append([]string{}, marked...), append([]string{}, doc.Marked...)); diff != "" {
		t.Errorf("marked (-want +got):\n%s", diff)
	}
	if want == cli.ExitDone { // the marks are in the file, as the product writes them
		pruned := d.read("pruned.json")
		before := bytes.Count(session, []byte(`"compacted"`))
		if got := bytes.Count(pruned, []byte(`"compacted"`)) - before; got != len(marked) {
			t.Errorf("%d marks were written, want %d", got, len(marked))
		}
	}
}

func plain(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
