package gateway

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/outside"
)

func TestAllTried_isWhatTheDocumentSays(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(outside.Root(t), "docs", "formats.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range AllTried() {
		if p.Program == "kilo" {
			if !strings.Contains(string(text), "("+p.Version+")") {
				t.Errorf("docs/formats.md does not say that Kilo %s was tried", p.Version)
			}
		} else if !strings.Contains(string(text), p.Name+" "+p.Version) {
			t.Errorf("docs/formats.md does not say that %s %s was tried", p.Name, p.Version)
		}
	}
}
