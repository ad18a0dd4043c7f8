package gateway

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/desk/config"
	"github.com/winnowhq/winnow/gateway/transport"
	"github.com/winnowhq/winnow/store/cache"
	"github.com/winnowhq/winnow/team"
)

// opened is a relay with a store of its own, which is not started.
func opened(t *testing.T, settings config.Settings, mode transport.Mode) *Relay {
	t.Helper()
	dir := t.TempDir()
	a := cli.New(cli.Env{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Dir: dir, Now: time.Now,
		Getenv: func(name string) string { return map[string]string{"HOME": dir}[name] }}, "test")
	a.Shared = team.Parts()
	r, err := Open(t.Context(), a, settings, "127.0.0.1:0", mode, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const conversation = `{"model":"claude-sonnet-4-5","max_tokens":10,"tools":[{"name":"a"}],"messages":[{"role":"user","content":"hello"}]}`

// A relay that changed many times holds no more than one that did not: engines end with the last
// request that they carry, and nothing runs when it has stopped.
func TestRelay_changesAndLeavesNothing(t *testing.T) {
	release := make(chan struct{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			io.WriteString(w, "begun ")
			w.(http.Flusher).Flush()
			<-release
		}
	}))
	defer up.Close()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	before := runtime.NumGoroutine()
	settings := config.Default()
	r := opened(t, settings, transport.Full)
	upstreams := map[string]string{"up": up.URL}
	if err := r.Start(t.Context(), upstreams, time.Minute); err != nil {
		t.Fatal(err)
	}
	answers := make(chan string)
	for range 4 {
		a, err := client.Post("http://"+r.Address()+"/up/v1/messages", "application/json", strings.NewReader(conversation))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			text, _ := io.ReadAll(a.Body)
			a.Body.Close()
			answers <- string(text)
		}()
		for _, mode := range []transport.Mode{transport.Off, transport.Observe, transport.Safe, transport.Full} {
			if err := r.Change(t.Context(), settings, mode, upstreams); err != nil {
				t.Fatal(err)
			}
		}
	}
	broken := settings
	broken.Counter = "bpe:nosuch"
	if err := r.Change(t.Context(), broken, transport.Full, upstreams); err == nil {
		t.Error("a counter that there is not is accepted")
	}
	if err := r.Change(t.Context(), settings, transport.Full, map[string]string{"self": "http://" + r.Address()}); err == nil {
		t.Error("an upstream that is the listener itself is accepted")
	}
	health, err := client.Get("http://" + r.Address() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	health.Body.Close()
	if mode := health.Header.Get("X-Winnow-Mode"); mode != "full" {
		t.Errorf("after a change that failed it is in mode %q", mode)
	}
	close(release)
	for range 4 {
		if answer := <-answers; answer != "begun " {
			t.Errorf("an answer is %q", answer)
		}
	}
	if err := r.Stop(); err != nil {
		t.Error(err)
	}
	client.CloseIdleConnections()
	for range 300 { // connections end on their own
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	var stacks [64 << 10]byte
	t.Errorf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks[:], true)])
}

// A relay that is about to end says that it is not ready, and so does one whose store has gone.
func TestRelay_readiness(t *testing.T) {
	r := opened(t, config.Default(), transport.Full)
	defer r.Close()
	if err := r.ready(t.Context()); err != nil {
		t.Error(err)
	}
	r.stopping.Store(true)
	if err := r.ready(t.Context()); err == nil || err.Error() != "winnow is about to end" {
		t.Errorf("it says %v", err)
	}
	r.stopping.Store(false)
	r.store.Close()
	if err := r.ready(t.Context()); err == nil || err.Error() != "the store cannot be written" {
		t.Errorf("it says %v", err)
	}
	off := opened(t, config.Default(), transport.Off)
	defer off.Close()
	if err := off.ready(t.Context()); err != nil || off.store != nil {
		t.Errorf("in mode off: %v, and a store: %v", err, off.store)
	}
}

// While it runs the process collects garbage in time, as the configuration says now; afterwards, and
// where GOMEMLIMIT is set, as before.
func TestRelay_boundsMemory(t *testing.T) {
	limit := func() int64 { return debug.SetMemoryLimit(-1) }
	before := limit()
	percent := func() int {
		now := debug.SetGCPercent(100)
		debug.SetGCPercent(now)
		return now
	}
	collected := percent()
	settings := config.Default()
	r := opened(t, settings, transport.Full)
	for range 2 {
		if want := wholeMemory * int64(settings.Gateway.Memory); limit() != want {
			t.Errorf("the limit is %d, want %d", limit(), want)
		}
		if percent() != garbage {
			t.Errorf("garbage is collected at %d %%", percent())
		}
		settings.Gateway.Memory /= 2
		r.bound(settings.Gateway.Memory)
	}
	r.Close()
	if limit() != before || percent() != collected {
		t.Errorf("the limits are %d and %d %% afterwards, %d and %d %% before", limit(), percent(), before, collected)
	}
	said := &Relay{configured: configured{memory: cache.NewPool(1)}, app: cli.New(cli.Env{Getenv: func(string) string { return "1GiB" }}, "test")}
	if said.bound(1); limit() != before || percent() != collected {
		t.Errorf("the limits are %d and %d %% though the environment has them, %d and %d %% before", limit(), percent(), before, collected)
	}
}

// The configuration is read again when its files change or somebody asks, and not otherwise.
func TestUpkeep(t *testing.T) {
	r := opened(t, config.Default(), transport.Off)
	defer r.Close()
	var reloads atomic.Int64
	file := filepath.Join(t.TempDir(), "winnow.jsonc")
	look := func() []string { return Signatures(file) }
	ticks, asked := make(chan time.Time), make(chan os.Signal)
	hungUp, ended := false, false
	u := Upkeep{Ticks: ticks, Asked: asked, Look: look, Seen: look(), Reload: func(context.Context) error { reloads.Add(1); return nil },
		HungUp: func() bool { return hungUp }, End: func() { ended = true }}
	done := make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	go func() { u.Run(ctx, r); close(done) }()
	step := func(want int64, what string) { // the second one waits for the first to be done
		t.Helper()
		ticks <- time.Time{}
		ticks <- time.Time{}
		if n := reloads.Load(); n != want {
			t.Errorf("%s: it was read %d times, want %d", what, n, want)
		}
	}
	step(0, "nothing changed")
	if err := errors.Join(os.WriteFile(file+".new", []byte("{}"), 0o600), os.Rename(file+".new", file)); err != nil {
		t.Fatal(err) // in one go: half of it may be seen
	}
	step(1, "a file appeared")
	step(1, "nothing changed since")
	asked <- os.Interrupt
	step(2, "somebody asked")
	os.Remove(file)
	step(3, "the file went")
	hungUp = true
	asked <- os.Interrupt
	<-done
	if stop(); !ended {
		t.Error("the terminal has gone, and it goes on")
	}
}
