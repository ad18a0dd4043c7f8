package stories

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/tworuns"
)

// door is a client that calls Prune before each of its requests.
type door struct {
	t       testing.TB
	options winnow.Options
	list    string // member of a request that has its messages
	most    int    // tokens that were left out of a request
	folds   int    // requests with a summary
}

func (d *door) RoundTrip(r *http.Request) (*http.Response, error) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var body map[string]json.RawMessage
	var history []json.RawMessage
	if err := json.Unmarshal(text, &body); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(body[d.list], &history); err != nil {
		return nil, err
	}
	sent, report, err := winnow.Prune(r.Context(), history, d.options)
	if err != nil {
		d.t.Error(err)
	}
	d.most = max(d.most, report.Before-report.After)
	if report.Folded > 0 {
		d.folds++
	}
	if body[d.list], err = json.Marshal(sent); err != nil {
		return nil, err
	}
	if text, err = json.Marshal(body); err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return http.DefaultTransport.RoundTrip(r)
}

// The same work is done with Prune and without. The provider counts, caches and bills by terms of its
// own, and accepts all of it; the client gets the same answers.
func TestDoor_twoRuns(t *testing.T) {
	for _, c := range []struct {
		protocol    llmtest.Protocol
		model, list string
		steps, most int // most: tokens at which the client compacts, and Prune folds; 0 for never
	}{
		{llmtest.Anthropic, "anthropic/claude-sonnet-4-5", "messages", 100, 0},
		{llmtest.Anthropic, "anthropic/claude-sonnet-4-5", "messages", 100, 50_000},
		{llmtest.Chat, "openai/gpt-4.1", "messages", 60, 0},
		{llmtest.Gemini, "google/gemini-2.5-flash", "contents", 60, 0},
	} {
		scene := tworuns.Scene{Protocol: c.protocol, Steps: c.steps, Seed: 1, CompactAt: c.most}
		alone := scene.Play(t, nil)
		d := &door{t: t, options: winnow.Options{Model: c.model}, list: c.list}
		if c.most > 0 {
			d.options.Settings = upTo(c.most * 4 / 5) // the provider counts what is no message, too
		}
		with := scene.Play(t, func(tworuns.Place) http.RoundTripper { return d })
		t.Logf("%s, %d steps: $%.3f without, $%.3f with, largest prompts %d and %d, %d compactions and %d, %d requests with a summary",
			c.protocol, c.steps, alone.Billed, with.Billed, alone.Prompt(), with.Prompt(), len(alone.Compactions), len(with.Compactions), d.folds)
		if len(alone.Refused)+len(with.Refused) > 0 || alone.Ended != -1 || with.Ended != -1 {
			t.Errorf("refused: %.200q and %.200q", alone.Refused, with.Refused)
		}
		if len(alone.Answers) != len(with.Answers) {
			t.Errorf("%d answers without, %d with", len(alone.Answers), len(with.Answers))
		}
		if with.Billed >= alone.Billed || d.most == 0 {
			t.Errorf("%s, %d steps: the bill is $%.4f, and $%.4f without", c.protocol, c.steps, with.Billed, alone.Billed)
		}
		if c.most > 0 && (d.folds == 0 || len(alone.Compactions) == 0 || len(with.Compactions) > 0) {
			t.Errorf("the client compacts %d times without, %d times with", len(alone.Compactions), len(with.Compactions))
		}
	}
}
