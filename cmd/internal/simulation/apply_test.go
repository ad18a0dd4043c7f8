package simulation

import (
	"os"
	"path/filepath"
	"testing"
)

// What --apply keeps aside is written to no place that a planted link leads to.
func TestKeepAside_followsNoLink(t *testing.T) {
	dir := t.TempDir()
	file, victim := filepath.Join(dir, "winnow.jsonc"), filepath.Join(dir, "victim")
	if err := os.Symlink(victim, file+".orig"); err != nil {
		t.Skip(err)
	}
	kept, made, err := keepAside(file, []byte("{}"))
	if err != nil || !made || kept != file+".orig.2" {
		t.Errorf("it was kept as %s, %v, %v", kept, made, err)
	}
	if _, err := os.Stat(victim); err == nil {
		t.Error("what the link leads to was made")
	}
}
