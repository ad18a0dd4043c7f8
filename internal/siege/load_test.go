package siege

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/tworuns"
	"github.com/winnowhq/winnow/store/cache"
	"github.com/winnowhq/winnow/store/sqlite"
)

var (
	load = flag.Bool("load", false, "measure what a large request costs others, and the memory of a thousand sessions")
	soak = flag.Duration("soak", 0, "how long two hundred sessions are served")
)

// saying is a provider that says "ok" to everything, and counts and caches on its own terms.
func saying(t testing.TB) *llmtest.Server {
	t.Helper()
	var asked atomic.Int64
	var s *llmtest.Server
	script := tworuns.Terms()
	script.Answer = func(llmtest.Request) llmtest.Reply {
		if asked.Add(1)%64 == 0 {
			s.Forget() // what it was asked would be most of the memory
		}
		return llmtest.Reply{Text: "ok", Pieces: 1}
	}
	s = llmtest.Start(t, script)
	return s
}

// worker is an agent that reads file after file, so that its conversation grows by some 2 KB a step.
type worker struct {
	id       string
	messages bytes.Buffer
	last     string // the newest message
	steps    int
	dice     *rand.Rand
}

var words = strings.Fields("func return error string config handler store session request response import package type " +
	"struct if err nil for range append len map context test value index file path read write open close buffer token")

func work(id string, size int) *worker {
	w := &worker{id: id, dice: rand.New(rand.NewPCG(uint64(len(id)), uint64(id[len(id)-1])))}
	w.last = `{"role":"user","content":[{"type":"text","text":"Add request logging to the shop of ` + id + `."}]}`
	for w.messages.Len() < size {
		w.step()
	}
	return w
}

func (w *worker) step() {
	if w.messages.Len() > 0 {
		w.messages.WriteByte(',')
	}
	w.messages.WriteString(w.last)
	w.steps++
	fmt.Fprintf(&w.messages, `,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_%s_%d","name":"Read","input":{"file_path":"/repo/f%d.go"}}]}`,
		w.id, w.steps, w.steps%40)
	var text strings.Builder
	for text.Len() < 2000 {
		fmt.Fprintf(&text, "%s %d ", words[w.dice.IntN(len(words))], w.dice.IntN(1000))
	}
	w.last = fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%s_%d","content":%q}]}`, w.id, w.steps, text.String())
}

func (w *worker) body() []byte {
	marked := strings.Replace(w.last, `"type":"t`, `"cache_control":{"type":"ephemeral"},"type":"t`, 1)
	if w.messages.Len() > 0 {
		marked = "," + marked
	}
	return slices.Concat([]byte(`{"model":"claude-sonnet-4-5","max_tokens":1024,"stream":true,"system":"You are an agent.",`+
		`"tools":[{"name":"Read","input_schema":{"type":"object"}}],"messages":[`), w.messages.Bytes(), []byte(marked+"]}"))
}

// ask sends what the worker has, and returns the time to the first byte of the answer.
func (w *worker) ask(client *http.Client, base string) (time.Duration, error) {
	r := must(http.NewRequest("POST", base+"/v1/messages", bytes.NewReader(w.body())))
	r.Header.Set("X-Api-Key", canaryKey)
	r.Header.Set("X-Session-Id", w.id)
	r.Header.Set("Anthropic-Version", "2023-06-01")
	r.Header.Set("Content-Type", "application/json")
	begun := time.Now()
	answer, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	one := make([]byte, 1)
	if _, err := io.ReadFull(answer.Body, one); err != nil {
		return 0, err
	}
	took := time.Since(begun)
	rest, err := io.ReadAll(answer.Body)
	if err == nil && (answer.StatusCode != 200 || !bytes.HasSuffix(bytes.TrimSpace(rest), []byte(`{"type":"message_stop"}`))) {
		err = fmt.Errorf("%d %.200s", answer.StatusCode, rest)
	}
	return took, err
}

// TestLoad_headOfLine has sixteen small streams beside a large request after another, through
// winnow and through a plain proxy in the same run.
func TestLoad_headOfLine(t *testing.T) {
	if !*load {
		t.Skip("-load measures")
	}
	up := saying(t)
	plain := httputil.NewSingleHostReverseProxy(must(url.Parse(up.URL)))
	plain.FlushInterval, plain.Transport = -1, &http.Transport{MaxIdleConnsPerHost: 64}
	beside := httptest.NewServer(plain)
	defer beside.Close()
	s := begin(t, up.URL, "")
	for _, large := range []int{0, 400_000, 1_000_000, 5_000_000} {
		for _, target := range []struct{ name, base string }{{"plain proxy", beside.URL}, {"winnow", s.url()}} {
			before := worked(s)
			times, larges := streams(t, target.base, fmt.Sprintf("%s-%d-", target.name[:5], large), large)
			took := worked(s) - before
			at := func(share float64) time.Duration {
				return times[int(share*float64(len(times)-1))].Round(10 * time.Microsecond)
			}
			t.Logf("beside a request of %7d bytes, %-11s: first byte of %d small streams p50 %8s  p90 %8s  p99 %8s; %d large ones; winnow worked for %s", large, target.name,
				len(times), at(.5), at(.9), at(.99), larges, took)
		}
	}
}

// worked is the time of processors that a process has used.
func worked(s *serving) time.Duration {
	text := string(must(os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))))
	fields := strings.Fields(text[strings.LastIndex(text, ")")+1:])
	var user, system int64
	fmt.Sscan(fields[11], &user)
	fmt.Sscan(fields[12], &system)
	return time.Duration(user+system) * 10 * time.Millisecond // Linux counts hundredths of seconds
}

// streams is the times to the first byte of sixteen small streams beside large requests, sorted, and
// how many of these there were.
func streams(t *testing.T, base, id string, large int) (times []time.Duration, larges int) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	ctx, stop := context.WithTimeout(t.Context(), 8*time.Second)
	defer stop()
	var mu sync.Mutex
	var all sync.WaitGroup
	if large > 0 {
		all.Go(func() {
			for w := work("large"+id, large); ctx.Err() == nil; w.step() {
				if _, err := w.ask(client, base); err != nil {
					t.Error(err)
				}
				larges++
			}
		})
	}
	for n := range 16 {
		all.Go(func() {
			w := work(fmt.Sprintf("%s%d", id, n), 10_000)
			for i := 0; ctx.Err() == nil; i++ {
				took, err := w.ask(client, base)
				if err != nil {
					t.Error(err)
					return
				}
				if i > 0 {
					mu.Lock()
					times = append(times, took)
					mu.Unlock()
				}
				w.step()
				time.Sleep(50 * time.Millisecond) // as agents do, they work in between
			}
		})
	}
	all.Wait()
	slices.Sort(times)
	return times, larges
}

// TestLoad_memory serves a thousand sessions of a megabyte, two requests each, and says what the
// process takes.
func TestLoad_memory(t *testing.T) {
	if !*load {
		t.Skip("-load measures")
	}
	up := saying(t)
	s := begin(t, up.URL, "")
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	defer client.CloseIdleConnections()
	t.Logf("at the start: %s", resident(t, s))
	for round := range 2 {
		var all sync.WaitGroup
		next := atomic.Int64{}
		for range 8 {
			all.Go(func() {
				for n := next.Add(1); n <= 1000; n = next.Add(1) {
					w := work(fmt.Sprintf("m%04d", n), 1_000_000)
					for range round {
						w.step()
					}
					if _, err := w.ask(client, s.url()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		t.Logf("after %d requests of each: %s", round+1, resident(t, s))
	}
}

// resident is what /proc says of the memory of a process, and how much is on disk.
func resident(t *testing.T, s *serving) string {
	text := string(must(os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))))
	var said []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "VmRSS") || strings.HasPrefix(line, "VmHWM") {
			said = append(said, strings.Join(strings.Fields(line), " "))
		}
	}
	return strings.Join(said, ", ") + fmt.Sprintf(", store %d MB", sizeOf(s.store)>>20)
}

// sizeOf is the size of a store with its log.
func sizeOf(path string) (n int64) {
	for _, name := range must(filepath.Glob(path + "*")) {
		if info, err := os.Stat(name); err == nil {
			n += info.Size()
		}
	}
	return n
}

// sample is what is in use at a moment at which nobody asks.
type sample struct {
	requests   int64
	goroutines int
	handles    int
	heap       uint64
	store      int64
}

func (s sample) String() string {
	return fmt.Sprintf("%7d requests, %d goroutines, %d files and sockets, heap %d MB, store %d MB", s.requests, s.goroutines, s.handles,
		s.heap>>20, s.store>>20)
}

// TestSoak serves two hundred sessions, which end and begin anew after some sixty steps, and looks
// ten times at what is in use while nobody asks: after the first three looks nothing grows but the
// store, and that no faster than before.
func TestSoak(t *testing.T) {
	if *soak == 0 {
		t.Skip("-soak 1h takes an hour")
	}
	const sessions, looks = 200, 10
	path := filepath.Join(t.TempDir(), "winnow.db")
	kept := must(sqlite.Open(t.Context(), sqlite.Config{Path: path}))
	t.Cleanup(func() { kept.Close() })
	up := saying(t)
	g := &gate{store: kept, log: slog.New(slog.DiscardHandler), direct: true,
		memory: cache.NewPool(64 << 20)} // it is full before the first look
	g.open(t, up.URL)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: sessions}}
	workers := make([]*worker, sessions)
	begun := 0
	for i := range workers {
		workers[i] = work(fmt.Sprintf("s%d-%06d", i, begun), rand.IntN(60)*2000)
		begun++
	}
	var requests, pruned atomic.Int64
	var taken []sample
	for look := range looks {
		ctx, stop := context.WithTimeout(t.Context(), *soak/looks)
		var all sync.WaitGroup
		for i := range workers {
			all.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					w := workers[i]
					if _, err := w.ask(client, g.url); err != nil {
						t.Error(err)
						return
					}
					requests.Add(1)
					if w.step(); w.steps > 60 {
						workers[i] = work(fmt.Sprintf("s%d-%d-%06d", i, look, n), 0)
					}
					select {
					case <-time.After(time.Duration(500+rand.IntN(3000)) * time.Millisecond):
					case <-ctx.Done():
					}
				}
			})
		}
		all.Wait()
		stop()
		client.CloseIdleConnections()
		taken = append(taken, quiet(g, path, requests.Load()))
		t.Logf("%s: %s", time.Duration(look+1)*(*soak/looks), taken[look])
	}
	pruned.Store(int64(g.way.Load().Totals().Edited))
	warm, end := taken[2], taken[looks-1]
	if end.goroutines > warm.goroutines+5 || end.handles > warm.handles+5 {
		t.Errorf("after the warm-up: %s; at the end: %s", warm, end)
	}
	if end.heap > warm.heap*5/4+(16<<20) {
		t.Errorf("the heap grows from %d to %d MB", warm.heap>>20, end.heap>>20)
	}
	half := taken[looks/2]
	const journal = 16 << 20 // the store's log may be full at one moment and empty at the other
	early := float64(half.store-taken[0].store) / float64(half.requests-taken[0].requests)
	late := float64(end.store-half.store) / float64(end.requests-half.requests)
	if late > early*1.5+journal/float64(end.requests-half.requests) {
		t.Errorf("the store grows by %.0f bytes a request, before by %.0f", late, early)
	}
	t.Logf("%d requests, %d of them pruned; the store grows by %.0f bytes a request, before by %.0f", end.requests, pruned.Load(), late, early)
}

// quiet takes a sample once nothing is under way.
func quiet(g *gate, path string, requests int64) sample {
	g.tap.base.(interface{ CloseIdleConnections() }).CloseIdleConnections()
	least := 1 << 30
	// Connections end when their goroutines notice that they are closed, which takes a busy machine a
	// while: until it was no fewer for a second.
	for same := 0; same < 50; same++ {
		if now := runtime.NumGoroutine(); now < least {
			least, same = now, 0
		}
		time.Sleep(20 * time.Millisecond)
	}
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	handles, _ := os.ReadDir("/proc/self/fd")
	return sample{requests, least, len(handles), m.HeapAlloc, sizeOf(path)}
}
