package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/session"
)

func lay(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFiles_areThoseThatToolsFind(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir, map[string]string{".gitignore": "*.log\nbuild/\n", "a.go": "", "b/c.go": "", "b/d.log": "", "build/e": "",
		".git/config": ""})
	got, more, err := Files(t.Context(), dir, 10)
	if err != nil || more {
		t.Fatal(more, err)
	}
	if diff := cmp.Diff([]string{".gitignore", "a.go", "b/", "b/c.go"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, more, err := Files(t.Context(), dir, 2); len(got) != 2 || !more || err != nil {
		t.Errorf("of two: %v, %v, %v", got, more, err)
	}
	if _, _, err := Files(t.Context(), filepath.Join(dir, "nowhere"), 2); err == nil {
		t.Error("a folder that is not there has files")
	}
}

func TestMedia_readsImagesAndDocuments(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir, map[string]string{"a.png": "\x89PNG\r\n\x1a\nx", "b.pdf": "%PDF-1.7", "c.png": "text",
		"d.png": "\x89PNG\r\n\x1a\n" + strings.Repeat("x", mediaBytes)})
	p, ok, err := Media(filepath.Join(dir, "a.png"))
	want := session.Part{Type: session.FilePart, Mime: "image/png", Filename: "a.png", URL: "data:image/png;base64,iVBORw0KGgp4"}
	if diff := cmp.Diff(want, p); !ok || err != nil || diff != "" {
		t.Errorf("%v, %v (-want +got):\n%s", ok, err, diff)
	}
	if p, ok, err := Media(filepath.Join(dir, "b.pdf")); !ok || err != nil || p.Mime != "application/pdf" {
		t.Errorf("a PDF: %v, %v, %v", p.Mime, ok, err)
	}
	if _, ok, err := Media(filepath.Join(dir, "c.png")); ok || err != nil {
		t.Errorf("a text: %v, %v", ok, err)
	}
	if _, ok, err := Media(filepath.Join(dir, "d.png")); ok || err == nil {
		t.Errorf("one that is too large: %v, %v", ok, err)
	}
	if _, ok, err := Media(dir); ok || err == nil {
		t.Errorf("a folder: %v, %v", ok, err)
	}
}
