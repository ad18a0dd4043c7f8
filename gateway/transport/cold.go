package transport

import (
	"time"

	"github.com/winnowhq/winnow/format/body"
	"github.com/winnowhq/winnow/wire"
)

// Margin is how much longer than a cache's lifetime a conversation must have rested to be cold, by
// our own clock: a warm prefix that is taken for a cold one is written again at full price, a cold
// one that is taken for a warm one costs a chance.
const Margin = time.Minute

// isCold reports whether the provider's cache has forgotten a conversation: by our own clock, and
// by the longest lifetime that its requests have asked for. Between the lifetime that the model's
// caches have by themselves and that moment it is not sure, and nothing that was sent is left out.
//
// That lifetime is one that providers promise, and most keep a prompt for longer when they can. In
// Safe, which never rewrites what may be cached, the longest time counts that it may be kept, and
// where nobody knows that, no conversation is ever cold.
func (x *exchange) isCold(read *reading, mode Mode) bool {
	asked, most := read.lifetime(x.protocol.kind)
	x.conversation.keeps = max(x.conversation.keeps, asked)
	known := true
	if mode == Safe && most == 0 {
		most, known = x.model.MostCached()
	}
	lifetime := x.lifetime()
	if mode == Safe {
		lifetime = max(lifetime, most)
	}
	return known && x.idle() > lifetime+Margin
}

// inMemory is how long OpenAI keeps at most what a request asks it to keep in memory.
const inMemory = time.Hour

// lifetime is for how long a request asks the provider to keep its prompt, 0 if it does not say,
// and how long that may be at most, 0 if the request does not tell.
func (n *reading) lifetime(kind wire.Protocol) (asked, most time.Duration) {
	if n.hour >= 0 && kind != wire.Gemini { // there it is an argument of a tool
		asked = time.Hour
	}
	if kind != wire.Chat && kind != wire.Responses {
		return asked, 0
	}
	var retention string
	var options wire.Value
	around(n.doc.Native.(*body.Native).Decoded).Read("prompt_cache_retention", &retention, "prompt_cache_options",
		&options)
	if retention == "in_memory" || retention == "in-memory" {
		return asked, inMemory
	}
	if d, err := time.ParseDuration(retention); err == nil {
		asked, most = max(asked, d), d
	}
	if d, err := time.ParseDuration(options.Get("ttl").String()); err == nil { // at least, and no end is told
		asked, most = max(asked, d), 0
	}
	return asked, most
}

// idle is how long the provider has not been at work on a conversation, 0 if that is not known.
func (x *exchange) idle() time.Duration {
	if x.conversation.last.IsZero() {
		return 0
	}
	return x.began.Sub(x.conversation.last)
}
