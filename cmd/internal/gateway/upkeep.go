package gateway

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"
)

// Upkeep is what is done beside relaying: the configuration is read again when it has changed, and
// a store that could not be opened or written is tried again.
type Upkeep struct {
	// Ticks is when the files are looked at.
	Ticks <-chan time.Time
	// Asked is when the configuration is read again whatever its files look like.
	Asked <-chan os.Signal
	// HungUp reports whether it was asked because the terminal has gone. Then it is time to End.
	HungUp func() bool
	End    func()
	// Look is what the files of the configuration look like now: see Signatures. Seen is what they
	// looked like before they were read.
	Look func() []string
	Seen []string
	// Reload reads the configuration and puts it in force. What it returns is logged.
	Reload func(ctx context.Context) error
}

// Run does the upkeep until the context ends.
func (u Upkeep) Run(ctx context.Context, r *Relay) {
	seen := u.Seen
	for {
		select {
		case <-ctx.Done():
			return
		case <-u.Asked:
			if u.HungUp() {
				u.End()
				return
			}
		case <-u.Ticks:
			if r.retryDue(r.app.Env.Now()) {
				r.retry(ctx)
			}
			r.tryWriting(ctx)
			r.endRemovedClients() // who was let in while that changed
			if slices.Equal(seen, u.Look()) {
				continue
			}
		}
		seen = u.Look()
		if err := u.Reload(ctx); err != nil {
			r.log.Error("the configuration cannot be used; the one before stays in force", "why", err)
		}
	}
}

// Signatures tell whether files are as they were, or still missing.
func Signatures(files ...string) (all []string) {
	for _, file := range files {
		signature := "missing"
		if info, err := os.Stat(file); err == nil {
			signature = fmt.Sprint(info.ModTime().UnixNano(), info.Size(), info.Mode())
		}
		all = append(all, signature)
	}
	return all
}
