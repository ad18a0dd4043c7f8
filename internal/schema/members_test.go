package schema

import (
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/outside"
)

func TestMeaning(t *testing.T) {
	for comment, want := range map[string]string{
		`The reason: "fits" or "auto-off".`: "the reason: `fits` or `auto-off`",
		`US dollars, a|b`:                   `US dollars, a\|b`,
		`OpenCode's id`:                     `OpenCode's id`,
		`"running", "completed"`:            "`running`, `completed`",
		"":                                  "",
	} {
		if got := meaning(comment); got != want {
			t.Errorf("meaning(%q) = %q, want %q", comment, got, want)
		}
	}
}

func TestMembers_refuseADocumentWithoutAPlace(t *testing.T) {
	type unplaced struct {
		Name string `json:"name"`
	}
	_, err := Members(outside.Root(t), unplaced{})
	if err == nil || !strings.Contains(err.Error(), "the template has no place for schema.unplaced") {
		t.Errorf("got %v", err)
	}
}
