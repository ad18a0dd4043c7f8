package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// left writes what run.sh leaves of one set of products.
func left(t *testing.T, name, versions string, events ...string) (folder string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), name)
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{"versions": versions, "tests.json": strings.Join(events, "\n") + "\n"} {
		if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func attr(test, key, value string) string {
	return `{"Action":"attr","Test":"` + test + `","Key":"` + key + `","Value":"` + value + `"}`
}

func TestTable(t *testing.T) {
	newest := left(t, "newest", "claude 2.1\npi 0.87\nqwen\n",
		attr("TestA", "operation", "compact"), attr("TestA", "operation", "prune"), attr("TestA/one", "product", "claude"),
		attr("TestA/two", "product", "pi"), `{"Action":"pass","Test":"TestA/one"}`, `{"Action":"pass","Test":"TestA"}`,
		attr("TestB", "product", "pi"), attr("TestB", "operation", "prune"),
		`{"Action":"output","Test":"TestB","Output":"it lacks \"walrus\"\n"}`, `{"Action":"fail","Test":"TestB"}`,
		attr("TestC", "product", "claude"), attr("TestC", "operation", "undo"), `{"Action":"skip","Test":"TestC"}`,
		attr("TestE/prune", "operation", "prune"), attr("TestE/fold", "operation", "compact"), attr("TestE", "product", "claude"),
		`{"Action":"fail","Test":"TestE/prune"}`, `{"Action":"pass","Test":"TestE/fold"}`, `{"Action":"fail","Test":"TestE"}`,
		`{"Action":"fail"}`)
	pinned := left(t, "pinned", "claude 2.0\n", attr("TestA", "product", "claude"), attr("TestA", "operation", "compact"),
		`{"Action":"pass","Test":"TestA"}`, attr("TestD", "product", "claude"), attr("TestD", "operation", "undo"))
	var out strings.Builder
	ok, err := run([]string{newest, pinned}, &out)
	if ok || err != nil {
		t.Errorf("ok is %t, %v; a test failed", ok, err)
	}
	want := `
| product | version | compact | prune | undo |
|---|---|---|---|---|
| claude | 2.1 | ok | FAILED | - |
| pi | 0.87 | ok | FAILED | - |
| qwen | not installed | - | - | - |
| claude | 2.0 | ok | - | FAILED |

newest: TestB
it lacks "walrus"

newest: TestE

pinned: TestD
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTable_ofNothing(t *testing.T) {
	broken := left(t, "newest", "pi 0.87\n", `{"Action":"build-output","Output":"undefined: x\n"}`,
		`{"Action":"build-fail"}`)
	for folder, want := range map[string]string{"/nowhere": "no such file", broken: "undefined: x"} {
		if ok, err := run([]string{folder}, &strings.Builder{}); ok || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: ok is %t, %v, want an error about %q", folder, ok, err, want)
		}
	}
	if ok, err := run(nil, &strings.Builder{}); ok || err == nil {
		t.Errorf("without a folder: ok is %t, %v, want an error", ok, err)
	}
	tried := left(t, "newest", "pi 0.87\n", attr("TestA", "operation", "compact"), `{"Action":"pass","Test":"TestA"}`,
		`{"Action":"pass"}`)
	never := left(t, "pinned", "pi 0.73\n")
	if ok, err := run([]string{tried, never}, &strings.Builder{}); ok || err != nil {
		t.Errorf("one set was never tried: ok is %t, %v", ok, err)
	}
	if ok, err := run([]string{tried}, &strings.Builder{}); !ok || err != nil {
		t.Errorf("all passed: ok is %t, %v", ok, err)
	}
}
