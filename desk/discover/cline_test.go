package discover

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// clineSession is a session of one turn.
func clineSession(id, text string) []byte {
	return []byte(`{"version":1,"updated_at":"2026-04-02T09:10:00.000Z","agent":"lead","sessionId":"` + id + `","messages":[` +
		`{"id":"u","role":"user","content":[{"type":"text","text":"<user_input mode=\"act\">` + text + `</user_input>"}],"ts":1775120400100},` +
		`{"id":"a","role":"assistant","content":[{"type":"text","text":"Not yet."}],"ts":1775120401000,"modelInfo":{"id":"m1","provider":"p"},` +
		`"metrics":{"inputTokens":100,"outputTokens":10,"cacheReadTokens":60,"cacheWriteTokens":0}}]}`)
}

func TestFind_sessionsOfCline(t *testing.T) {
	h := newHome(t)
	h.put(".cline/data/sessions/17_tide/17_tide.messages.json", clineSession("17_tide", "Is the tide in?"), 1)
	h.put(".cline/data/sessions/17_tide/17_tide.json", []byte(`{"version":1,"session_id":"17_tide","cwd":"/coast","metadata":{"title":"Tide"}}`), 1)
	h.put(".cline/data/sessions/17_tide/17_tide.compaction.json", []byte(`{"version":1,"updated_at":"2026-04-02T09:10:00.000Z","source_message_count":2,"messages":[{"role":"user","content":[{"type":"text","text":"So far."}]}]}`), 1)
	h.put(".cline/data/sessions/17_tide/agent_b.messages.json", clineSession("17_tide__agent_b", "Look at the gauge."), 2)
	h.put(".cline/data/sessions/18_pier/18_pier.messages.json", clineSession("18_pier", "Is the pier dry?"), 3)
	h.put("elsewhere/19_dune/19_dune.messages.json", clineSession("19_dune", "Is the dune high?"), 4)
	h.put(".cline/data/sessions/17_tide/agent_c.messages.json", []byte(`{"version":1,"updated_at":"2026-04-02T09:10:00.000Z","sessionId":"17_tide__agent_c","messages":[]}`), 2)
	type line struct{ Name, ID, Parent, Project, Title string }
	for _, c := range []struct {
		variables map[string]string
		want      []line
	}{
		{nil, []line{
			{"17_tide.messages.json", "17_tide", "", "/coast", "Tide"},
			{"agent_b.messages.json", "17_tide__agent_b", "17_tide", "/coast", "Look at the gauge."},
			{"18_pier.messages.json", "18_pier", "", "", "Is the pier dry?"},
		}},
		{map[string]string{"CLINE_SESSION_DATA_DIR": filepath.Join(h.path, "elsewhere")},
			[]line{{"19_dune.messages.json", "19_dune", "", "", "Is the dune high?"}}},
		{map[string]string{"CLINE_DATA_DIR": filepath.Join(h.path, "none")}, nil},
	} {
		s := h.search()
		s.Env.Getenv = func(name string) string { return c.variables[name] }
		found, problems, err := s.Find(t.Context())
		if err != nil || len(problems) > 0 {
			t.Fatalf("%v, problems %v", err, problems)
		}
		if problems, err := s.Measure(t.Context(), found); err != nil || len(problems) > 0 {
			t.Fatalf("%v, problems %v", err, problems)
		}
		var got []line
		for _, f := range found {
			got = append(got, line{filepath.Base(f.Source), f.ID, f.Parent, f.Project, f.Title})
			if f.Product != "cline" || f.Messages != 2 || f.Tokens != 110 {
				t.Errorf("%+v", f)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.variables, diff)
		}
	}
}
