package sdk_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// A library for OpenAPI takes the description of the admin API, and finds what is wrong with others.
func TestAdminAPI_isOpenAPI(t *testing.T) {
	document, err := os.ReadFile(filepath.Join("..", "..", "..", "team", "api", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	valid := func(text []byte) error {
		d, err := openapi3.NewLoader().LoadFromData(text)
		if err != nil {
			return err
		}
		return d.Validate(t.Context())
	}
	if err := valid(document); err != nil {
		t.Error(err)
	}
	for _, broken := range [][2]string{{"components/schemas/Shown", "components/schemas/None"}, {`"in": "path"`, `"in": "nowhere"`},
		{`"description": "Done",`, ``}, {`"name": "tenant",`, `"name": "other",`}} {
		if !bytes.Contains(document, []byte(broken[0])) {
			t.Errorf("the description does not have %s", broken[0])
		}
		if valid(bytes.ReplaceAll(document, []byte(broken[0]), []byte(broken[1]))) == nil {
			t.Errorf("with %s in the place of %s it is taken", broken[1], broken[0])
		}
	}
}
