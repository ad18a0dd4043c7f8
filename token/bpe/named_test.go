package bpe_test

import (
	"strings"
	"testing"

	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/token/bpe"
)

func TestNamed_knowsEveryName(t *testing.T) {
	for _, name := range bpe.Names() {
		c, err := bpe.Named(name)
		if err != nil {
			t.Fatalf("New(%q): %v", name, err)
		}
		if c.Name() != name {
			t.Errorf("New(%q).Name() = %q", name, c.Name())
		}
		if c.Count("") != 0 || c.Count("two words, and more of them") < 4 {
			t.Errorf("%s counts %d and %d, want 0 and a handful", name, c.Count(""),
				c.Count("two words, and more of them"))
		}
	}
}

func TestNamed_autoLearns(t *testing.T) {
	c, err := bpe.Named("")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := c.(*token.Calibrated); !ok {
		t.Errorf("the default is a %T, want a counter that learns", c)
	}
}

func TestNamed_namesWhatThereIs(t *testing.T) {
	for _, name := range []string{"bpe:p50k_base", "tiktoken", "bpe:"} {
		_, err := bpe.Named(name)
		if err == nil || !strings.Contains(err.Error(), "bpe:o200k_base") || !strings.Contains(err.Error(), name) {
			t.Errorf("New(%q): %v, want an error that names it and what there is", name, err)
		}
	}
}
