package discover

import (
	"bytes"
	"path/filepath"
	"testing"
)

func TestNewest_isThatOfTheFolder(t *testing.T) {
	h := everything(t)
	elsewhere := bytes.ReplaceAll(sample(t, "claude.jsonl"), []byte("/coast"), []byte("/coastal"))
	h.put(".claude/projects/-coastal/newer.jsonl", elsewhere, 0)
	for _, c := range []struct{ product, folder, want string }{
		{"", "/coast", "0f1e2d3c-4b5a-4678-9abc-def012345678.jsonl"},
		{"", "/pier", "opencode.db#ses_summed"}, // the other one is a sub-agent's
		{"", "/nowhere", ""},
		{"pi", "/coast", "1.jsonl"},
		{"codex", "", "rollout-2026-03-01T10-00-00-1.jsonl"},
		{"kilo", "", ""},
	} {
		s := h.search()
		s.Product, s.Folder = c.product, c.folder
		found, problems, err := s.Newest(t.Context())
		if err != nil || len(problems) > 0 {
			t.Fatalf("%+v: %v, problems %v", c, err, problems)
		}
		got := ""
		if found != nil {
			got = filepath.Base(found.Source)
		}
		if got != c.want {
			t.Errorf("%s in %q: got %q, want %q", c.product, c.folder, got, c.want)
		}
	}
}

func TestFind_ofAFolderLeavesOutTheOthers(t *testing.T) {
	h := everything(t)
	s := h.search()
	all, _, err := s.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for _, f := range all {
		if f.Project == "/coast" {
			want++
		}
	}
	s.Folder = "/coast/"
	found, problems, err := s.Find(t.Context())
	if err != nil || len(problems) > 0 || len(found) != want || want == 0 || want == len(all) {
		t.Fatalf("%d of %d sessions, want %d; %v %v", len(found), len(all), want, err, problems)
	}
	for _, f := range found {
		if f.Project != "/coast" {
			t.Errorf("%s is of %q", f.Source, f.Project)
		}
	}
}
