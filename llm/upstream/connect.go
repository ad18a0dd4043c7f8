package upstream

import (
	"net/http"
	"sync"
	"time"
)

// A network that changes (a VPN, a NAT that forgets, a laptop that slept) drops connections without
// a word. Over HTTP/2 all requests to a provider share one connection, and a dead one would take
// each retry until the kernel gives it up, which takes a quarter of an hour.
const (
	// quiet is how long nothing may arrive before the provider is asked whether it is there. Its
	// server answers pings by itself, also while a model thinks.
	quiet = 15 * time.Second
	// unanswered is how long the answer to a ping may take, and how long not a byte may be sent,
	// before the connection is closed. The next request opens another one.
	unanswered = 15 * time.Second
)

// Connections makes the transport of requests to providers: that of [http.DefaultTransport], but a
// connection over HTTP/2 that is dead is given up after half a minute. The times are in its member
// HTTP2.
func Connections() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: quiet, PingTimeout: unanswered, WriteByteTimeout: unanswered}
	return t
}

// shared are the connections of all clients that bring no transport.
var shared = sync.OnceValue(Connections)
