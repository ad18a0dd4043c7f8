package torture

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/store/sqlite"
)

// TestFullDisk_ofTheOperatingSystem fills a real disk of a few megabytes with a store.
func TestFullDisk_ofTheOperatingSystem(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it happens at the same time: -short is for the race detector")
	}
	dir := t.TempDir()
	mount := `mount -t tmpfs -o size=3m none "$1"`
	if out, err := exec.Command("unshare", "-rm", "sh", "-c", mount, "sh", dir).CombinedOutput(); err != nil {
		t.Skipf("this needs a mount namespace, which is not to be had here: %v %s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(orders{Full: true, Path: filepath.Join(dir, "winnow.db")})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "-rm", "sh", "-c", mount+` && exec "$0"`, self, dir)
	cmd.Env = append(slices.Clone(os.Environ()), ordersVariable+"="+string(text))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("%s", out)
}

// fillUp appends until the disk is full, checks that everything but the last append is there, makes
// room, and goes on. This happens several times, each time with less room left.
func fillUp(ctx context.Context, path string) error {
	kept, err := sqlite.Open(ctx, sqlite.Config{Path: path})
	if err != nil {
		return err
	}
	defer kept.Close()
	w, err := newWorker(faultySeed, kept)
	if err != nil {
		return err
	}
	model, err := newReplica(faultySeed)
	if err != nil {
		return err
	}
	n := 0
	do := func(kind string) error {
		n++
		if _, err := w.do(ctx, op{n, kind}); err != nil {
			return err
		}
		_, err := model.do(ctx, op{n, kind})
		return err
	}
	if err := do("create"); err != nil {
		return err
	}
	ballast := path + ".ballast"
	for room := range 4 {
		if err := os.WriteFile(ballast, make([]byte, 200<<10), 0o600); err != nil {
			break // the disk is full for good
		}
		kinds := []string{"append", "big", "prune", "compact", "big", "import", "pin", "undo"}
		appended := 0
		for ; ; appended++ {
			if err := do(kinds[appended%len(kinds)]); err != nil {
				if err := clear(err, path, failFull); err != nil {
					return err
				}
				break
			}
		}
		got, err := dump(ctx, kept)
		if err != nil {
			return fmt.Errorf("on the full disk it cannot be read: %w", err)
		}
		want, err := dump(ctx, model.kept.Store)
		if err != nil {
			return err
		}
		if !want.equal(got) {
			return fmt.Errorf("on the full disk: %s", difference(want, got))
		}
		if err := os.Remove(ballast); err != nil {
			return err
		}
		if err := do("pin"); err != nil {
			return fmt.Errorf("with room again: %w", err)
		}
		fmt.Printf("filled %d times, after %d operations; ", room+1, appended)
	}
	return sound(ctx, path)
}
