package wordlist_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/text/wordlist"
)

func TestParse_namesBeginListsAndCommasSeparateEntries(t *testing.T) {
	lists := wordlist.Parse("# what follows\n[first]\none, two words,\nthree\n\n[second]\n*.md, \"a, b \", c\n")
	want := wordlist.Lists{"first": {"one", "two words", "three"}, "second": {"*.md", "a, b ", "c"}}
	if diff := cmp.Diff(want, lists); diff != "" {
		t.Error(diff)
	}
	if set := lists.Set("first"); !set["two words"] || set["two"] {
		t.Errorf("the set is %v", set)
	}
}

func TestOf_aListThatDoesNotExistIsAMistake(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	wordlist.Parse("[a]\nb").Of("c")
}
