package gateway

import (
	"maps"
	"testing"
	"time"

	"github.com/winnowhq/winnow/gateway/tenant"
	"github.com/winnowhq/winnow/internal/llmtest"
)

// A client that is taken out of the configuration, or given another token, has nothing under way
// within two seconds; those of others go on.
func TestChange_endsTheStreamsOfRemovedClients(t *testing.T) {
	l := newTill(t, "", plenty, says)
	r := l.relays[0]
	shown, clients := map[string]string{}, map[string]string{}
	for _, name := range []string{"carl", "dora", "fred"} {
		shown[name], clients[name] = tenant.NewSecret()
	}
	change := func(clients map[string]string) {
		t.Helper()
		s := r.settings
		s.Gateway.Clients = clients
		if err := r.Change(t.Context(), s, r.named, r.upstreams); err != nil {
			t.Fatal(err)
		}
	}
	change(clients)
	q := asks(llmtest.Anthropic, true, "")
	streams := map[string]chan time.Time{}
	for name, token := range shown {
		l.provider.Inject(llmtest.HangMidStream)
		streams[name] = l.stream(token, "/up"+q.path, q.body, 0)
	}
	left := maps.Clone(clients)
	delete(left, "carl")
	_, left["dora"] = tenant.NewSecret()
	from := time.Now()
	change(left)
	for _, name := range []string{"carl", "dora"} {
		select {
		case at := <-streams[name]:
			if at.Before(from) {
				t.Errorf("the stream of %s ended %v before", name, from.Sub(at))
			}
		case <-time.After(time.Until(from.Add(endsWithin))):
			t.Errorf("the stream of %s is open %v after", name, endsWithin)
		}
	}
	select {
	case <-streams["fred"]:
		t.Error("the stream of fred ended")
	default:
	}
}
