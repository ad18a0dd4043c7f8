package counters_test

import (
	"strings"
	"testing"

	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/token/counters"
)

func TestNew_knowsEveryName(t *testing.T) {
	for _, name := range counters.Names() {
		c, err := counters.New(name)
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

func TestNew_autoLearns(t *testing.T) {
	c, err := counters.New("")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := c.(*token.Calibrated); !ok {
		t.Errorf("the default is a %T, want a counter that learns", c)
	}
}

func TestNew_namesWhatThereIs(t *testing.T) {
	for _, name := range []string{"bpe:p50k_base", "tiktoken", "bpe:"} {
		_, err := counters.New(name)
		if err == nil || !strings.Contains(err.Error(), "bpe:o200k_base") || !strings.Contains(err.Error(), name) {
			t.Errorf("New(%q): %v, want an error that names it and what there is", name, err)
		}
	}
}
