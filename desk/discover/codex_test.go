package discover

import (
	"path/filepath"
	"testing"
)

// A thread that the user took back to an older turn is in two rollouts. The one that Codex resumes
// comes first, although the other one was written later.
func TestFind_theRolloutThatCodexResumes(t *testing.T) {
	h := newHome(t)
	text := sample(t, "codex.jsonl")
	const codexID = "01998877-6655-7443-8221-100000000000"
	const day = ".codex/sessions/2026/03/01/"
	h.put(day+"rollout-2026-03-01T10-00-00-"+codexID+".jsonl", text, 1)
	h.put(day+"rollout-2026-03-01T12-00-00-"+codexID+"_2.jsonl", text, 3)
	resumed := h.put(day+"rollout-2026-03-01T12-00-05-"+codexID+"_3.jsonl", text, 2)
	found, _, err := h.search().Find(t.Context())
	if err != nil || len(found) != 3 || found[0].ID != codexID || found[0].Source != resumed {
		t.Errorf("%s, %v", short(h, found), err)
	}
	newest, _, err := h.search().Newest(t.Context())
	if err != nil || newest == nil || newest.Source != resumed {
		t.Errorf("the newest is %+v, %v, want %s", newest, err, filepath.Base(resumed))
	}
}
