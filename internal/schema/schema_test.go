package schema

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/winnowhq/winnow/internal/outside"
)

var update = flag.Bool("update", false, "write rpc/schema.json, what follows from it in the clients, and team/api/openapi.json")

// The schema in the repository is made from the types of the engine.
func TestSchema_isThatOfTheTypes(t *testing.T) {
	d, err := Make(outside.Root(t))
	if err != nil {
		t.Fatal(err)
	}
	want, err := d.JSON()
	if err != nil {
		t.Fatal(err)
	}
	holds(t, filepath.Join(outside.Root(t), "rpc", "schema.json"), want)
}

// The description of the admin API is made from its routes and their types.
func TestOpenAPI_isThatOfTheRoutes(t *testing.T) {
	d, err := MakeOpenAPI(outside.Root(t))
	if err != nil {
		t.Fatal(err)
	}
	want, err := d.JSON()
	if err != nil {
		t.Fatal(err)
	}
	holds(t, filepath.Join(outside.Root(t), "team", "api", "openapi.json"), want)
}

// holds compares a file with what it should hold, or writes it.
func holds(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the types say: go test ./internal/schema -update", path)
	}
}

// The clients have what the schema has: every method with every parameter, and no other.
func TestClients_areMadeFromTheSchema(t *testing.T) {
	d, err := Make(outside.Root(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, follows := range map[string]string{"typescript/winnow.ts": d.TypeScript(), "python/winnow.py": d.Python()} {
		path := filepath.Join(outside.Root(t), "rpc", "bindings", filepath.FromSlash(name))
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want, err := with(string(text), follows)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		holds(t, path, []byte(want))
	}
}
