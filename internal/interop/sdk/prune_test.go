package sdk_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/store/report"
)

// The messages of each library are pruned and folded as they are, and the provider takes what is
// left.
func TestPrune_theTypesOfTheLibraries(t *testing.T) {
	for protocol, start := range programs {
		for _, keep := range []bool{true, false} {
			provider, _ := llmtest.New(llmtest.Script{Answer: chore})
			defer provider.Close()
			p := start(t, provider.BaseURL(protocol), http.DefaultClient)
			for goesOn := true; goesOn; {
				var err error
				if _, goesOn, err = p.ask(t, false); err != nil {
					t.Fatal(err)
				}
			}
			set := settings.Default()
			set.Compaction.Threshold = budget.Thresholds{"*": 20_000}
			o := winnow.Options{Model: "anthropic/claude-sonnet-4-5", Keep: keep, Settings: &set}
			var r report.Sent
			switch p := p.(type) {
			case *messages:
				p.params.Messages, r = shorter(t, p.params.Messages, o)
			case *chat:
				p.params.Messages, r = shorter(t, p.params.Messages, o)
			case *items:
				p.input, r = shorter(t, p.input, o)
			case *contents:
				p.contents, r = shorter(t, p.contents, o)
			}
			if r.After > r.Before/2 || keep != (r.Summary == "") || keep && len(r.LeftOut) < 10 {
				t.Errorf("%s, keep %t: %d tokens of %d, %d parts left out, a summary of %d characters", protocol, keep,
					r.After, r.Before, len(r.LeftOut), len(r.Summary))
			}
			if _, _, err := p.ask(t, false); err != nil {
				t.Errorf("%s, keep %t: what is left is refused: %v", protocol, keep, err)
			}
		}
	}
}

// shorter prunes messages. None of them may change.
func shorter[M any](t *testing.T, all []M, o winnow.Options) ([]M, report.Sent) {
	before, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	sent, r, err := winnow.Prune(t.Context(), all, o)
	if err != nil {
		t.Fatal(err)
	}
	if after, err := json.Marshal(all); err != nil || string(before) != string(after) {
		t.Errorf("the program's messages were changed: %v", err)
	}
	if newest := len(all) - 1; !reflect.DeepEqual(all[newest], sent[len(sent)-1]) {
		t.Errorf("the newest message is another one: %+v", sent[len(sent)-1])
	}
	return sent, r
}
