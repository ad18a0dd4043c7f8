package gateway

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/gateway/transport"
)

// heap is how many bytes are in use.
func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// history is a request of a conversation of so many bytes about a word.
func history(word string, bytes int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"model":"claude-sonnet-4-5","max_tokens":100,"tools":[{"name":"read"}],"messages":[`+
		`{"role":"user","content":"Count the lamps of the %s."}`, word)
	for i := 0; b.Len() < bytes; i++ {
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"read","input":{"path":"/%s%d.go"}}]}`+
			`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":%q}]}`, i, word, i, i,
			strings.Repeat(fmt.Sprintf("line %d of %s\n", i, word), 2000))
	}
	return b.String() + "]}"
}

// What all tenants have at hand is bounded by gateway.memory, however many they are.
func TestMemory_boundsTheSumOverTenants(t *testing.T) {
	const count, memory = 20, 16 << 20
	var names []string
	for i := range count {
		names = append(names, fmt.Sprintf("tenant%d", i))
	}
	r, _ := replica(t, filepath.Join(t.TempDir(), "store.db"), &scribe{}, names...)
	p := newProvider(t)
	settings := r.settings
	settings.Gateway.Memory, settings.Compaction.Auto = memory, false
	if err := r.Change(t.Context(), settings, transport.Full, map[string]string{"up": p.URL}); err != nil {
		t.Fatal(err)
	}
	before := heap()
	for _, name := range names {
		x, ok := r.tenants.known.Load().Tenant(name)
		if !ok {
			t.Fatalf("there is no tenant %s", name)
		}
		m, f, err := r.tenants.open(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		ask(t, f.carrier, p, history(name, 2<<20))
		m.leave(f)
	}
	p.mu.Lock()
	p.sent = nil // not of the gateway
	p.mu.Unlock()
	kept := heap() - before
	t.Logf("%d tenants with 2 MiB each keep %d bytes of %d", count, kept, memory)
	if kept > wholeMemory*memory {
		t.Errorf("%d tenants keep %d bytes, %.1f times gateway.memory", count, kept, float64(kept)/memory)
	}
	_, told, _ := strings.Cut(metricsOf(t, r), "\nwinnow_memory_bytes ")
	told, _, _ = strings.Cut(told, "\n")
	if own, err := strconv.ParseFloat(told, 64); err != nil || own < memory/2 || own > memory {
		t.Errorf("by its own account it keeps %q bytes, of %d", told, memory)
	}
	if n := len(r.tenants.states); n != count {
		t.Errorf("%d tenants are at hand: the test does not show what it is to show", n)
	}
	runtime.KeepAlive(r)
}
