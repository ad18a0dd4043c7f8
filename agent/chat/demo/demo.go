// Package demo holds a small made-up project, and models that are a script: they need neither a key
// nor the network, and are spoken to over the loopback as a real provider is. Everything but the
// thinking is real: requests, streams, tool calls that change files, the provider's cache, what is
// pruned and folded, and what it would cost.
package demo

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/schedule"
	"github.com/winnowhq/winnow/wire"
)

// Provider is the name of the made-up provider; Small and Large are the names of its models.
const (
	Provider = "demo"
	Small    = Provider + "/script-16k"
	Large    = Provider + "/script-200k"
)

// Notice says what this is, for people.
const Notice = "This is a demo: the answers are scripted, no model is asked, and the prices are made up. Tools, " +
	"files, requests, cache, pruning and compaction are real, " +
	"in a folder that is thrown away at the end. The window is small, 16,000 tokens, so that it fills soon. Say: " +
	"tour · fix the test · read the logs · write the report"

// Topics are what the script understands, as somebody would type it.
var Topics = []string{"tour", "fix the test", "read the logs", "write the report"}

// Demo is a running one.
type Demo struct {
	upstream *upstream
	script   script
}

// Start writes the project into an empty folder and starts the upstream, which runs until Close.
func Start(folder string) (*Demo, error) {
	if err := write(folder); err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	d := &Demo{script: script{pause: 25 * time.Millisecond}}
	upstream, err := startUpstream(&d.script)
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	d.upstream = upstream
	return d, nil
}

// Hurry leaves out the pauses in which somebody would read; it is for tests, and comes before the
// first request.
func (d *Demo) Hurry() { d.script.pause = 0 }

// Close ends the upstream.
func (d *Demo) Close() error { return d.upstream.close() }

// Protocol is what the upstream is spoken to in, BaseURL where.
func (d *Demo) Protocol() wire.Protocol { return wire.Anthropic }
func (d *Demo) BaseURL() string         { return d.upstream.url }

// Models is the catalogue of the demo alone. The prices are made up, in the proportions that are
// usual.
func (d *Demo) Models() *model.Catalogue {
	cache := model.Cache{Lifetime: 5 * time.Minute, MinPrefix: 1024, Explicit: true}
	return &model.Catalogue{Source: "made up", Date: "2026-01-01", Models: []model.Model{
		{Provider: Provider, ID: Small[len(Provider)+1:], Name: "A script, 16k",
			Limits: model.Limits{Context: 16_000, Output: 2_000}, Cache: cache,
			Price: model.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}},
		{Provider: Provider, ID: Large[len(Provider)+1:], Name: "A script, 200k",
			Limits: model.Limits{Context: 200_000, Output: 8_000}, Cache: cache,
			Price: model.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}},
	}}
}

// Tighten makes settings for large windows ones for that of the demo: less is protected, what lies
// idle goes sooner and at the end of a turn, and the past is folded when the window is full and not
// beside the work before that, so that prunings are seen too. The project's own script may run
// unasked; its test is asked about.
func (d *Demo) Tighten(s *config.Settings) {
	s.Permissions = append(s.Permissions, config.Permission{Action: "run", Target: "sh lamp.sh", Verdict: "allow"})
	background := false
	s.Compaction.Background = &background
	s.Compaction.Protect, s.Compaction.Minimum, s.Compaction.ProtectTurns = 3000, 500, 1
	s.Schedule = schedule.Eager{}.Name()
	s.Strategies.BalancedPruning.IdleSteps, s.Strategies.BalancedPruning.IdleInputSteps,
		s.Strategies.BalancedPruning.QuietSteps = 3, 6, 1
}

// write puts the project into a folder.
func write(folder string) error {
	for name, text := range project() {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
