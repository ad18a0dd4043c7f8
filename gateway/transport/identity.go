package transport

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
)

// sessionHeaders name the conversation that a request belongs to, the surest first. Codex gives a
// sub-agent the session id of its parent, so that the thread counts before it.
var sessionHeaders = []string{
	"X-Winnow-Session", "X-Claude-Code-Session-Id", "Thread-Id", "Session-Id", "Session_id", "X-Session-Id",
	"X-Session-Affinity", "X-Opencode-Session",
}

// identity tells whose request it is: two requests of one conversation have the same.
//
// The scope is the tenant or client of the listener, the provider's address, and the protocol. The
// credential does not count: it is refreshed in the middle of conversations, and a provider that
// binds reasoning refuses a folded conversation that is taken for a new one. Within the scope count
// the client's own word for the session and for a sub-agent, whether there are tools (requests for a
// title and the like name none, and may begin like the conversation that they are for), and the
// first message. Tools and system prompt themselves do not count: clients load tools as they go, and
// their prompts tell the time.
func identity(r *http.Request, kind wire.Protocol, d *wire.Decoded, first digest) string {
	return identified(client(r, kind), r, d, first)
}

// oldIdentity is the identity that stores have from before the credential was left out of it.
func oldIdentity(r *http.Request, kind wire.Protocol, d *wire.Decoded, first digest) string {
	return identified(string(hashed(providerOf(r), string(kind), credential(r),
		headerSignal(r.Header), r.Header.Get(agentHeader))), r, d, first)
}

func identified(client string, r *http.Request, d *wire.Decoded, first digest) string {
	return "live_" + hex.EncodeToString(hashed(client, sessionSignal(r.Header, d),
		strconv.FormatBool(len(d.Tools) > 0), string(first[:]))[:10])
}

// beginning is what an identity is made of without the client's word for the session and tools.
func beginning(r *http.Request, kind wire.Protocol, first digest) string {
	return string(hashed(r.Header.Get(clientHeader), providerOf(r), string(kind), string(first[:])))
}

// agentHeader names a sub-agent of Claude Code's, and codexAgentHeader the kind of one of Codex's.
const (
	agentHeader      = "X-Claude-Code-Agent-Id"
	codexAgentHeader = "X-Openai-Subagent"
)

// providerOf is the address of the provider, without a path.
func providerOf(r *http.Request) string { return r.URL.Scheme + "://" + r.URL.Host }

// hasTools reports whether a request declares tools; some declare a list of none.
func hasTools(d *wire.Decoded) bool {
	for range wire.ValueOf(d.Tools).Values() {
		return true
	}
	return false
}

// client is what of an identity is known without a request's body.
func client(r *http.Request, kind wire.Protocol) string {
	return string(hashed(r.Header.Get(clientHeader), providerOf(r), string(kind), headerSignal(r.Header),
		r.Header.Get(agentHeader)))
}

func hashed(texts ...string) []byte {
	hash := sha256.New()
	for _, s := range texts {
		hash.Write([]byte(strconv.Itoa(len(s)) + ":" + s))
	}
	return hash.Sum(nil)
}

// clientHeader names the tenant or client of a listener that asks; package serve sets it, and takes
// off what a client itself says.
const clientHeader = "X-Winnow-Client"

// personHeader names the person within a tenant who asks, as clientHeader does the tenant.
const personHeader = "X-Winnow-Person"

// credential is a hash of what the client shows to its provider, and of who it is, as it is in the
// identities of old stores.
func credential(r *http.Request) string {
	hash := sha256.New()
	if name := r.Header.Get(clientHeader); name != "" {
		hash.Write([]byte(name + "\x00\x00"))
	}
	for _, name := range []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"} {
		hash.Write([]byte(r.Header.Get(name) + "\x00"))
	}
	hash.Write([]byte(r.URL.Query().Get("key")))
	return string(hash.Sum(nil))
}

// sessionSignal is the client's own word for the session, "" if it has none.
func sessionSignal(h http.Header, d *wire.Decoded) string {
	if id := headerSignal(h); id != "" {
		return id
	}
	var metadata wire.Value
	var key string
	around(d).Read("metadata", &metadata, "prompt_cache_key", &key)
	user := metadata.Get("user_id").String()
	if inner := []byte(user); strings.HasPrefix(user, "{") {
		text, _ := wire.Complete(inner)
		user = wire.ValueOf(text).Get("session_id").String()
	} else if _, id, found := strings.Cut(user, "_session_"); found {
		user = id
	}
	for _, id := range []string{user, key} {
		if isID(id) {
			return id
		}
	}
	return ""
}

// around is a body without its messages, which are long.
func around(d *wire.Decoded) wire.Value {
	return wire.ValueOf(slices.Concat(d.Text[:d.List.Start+1], d.Text[d.List.End-1:]))
}

func headerSignal(h http.Header) string {
	for _, name := range sessionHeaders {
		if id := h.Get(name); isID(id) {
			return id
		}
	}
	return ""
}

// isID reports whether a text can be an id: 1 to 128 letters, digits and ._:-
func isID(s string) bool {
	return s != "" && len(s) <= 128 && !strings.ContainsFunc(s, func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("._:-",
			c))
	})
}

// digest stands for a conversation up to a message: two conversations that agree in it say the same
// up to there.
type digest [sha256.Size]byte

// chained are the digests of a conversation, one a message. What says nothing does not count: cache
// marks, the order of members, whether a text is written as a list of one. Calls and results count
// as they are written. known are digests of the first messages, if there are any already; they are
// used up.
func chained(messages []session.Message, known ...digest) []digest {
	chain := slices.Grow(known, len(messages)-len(known))
	var before digest
	if len(known) > 0 {
		before = known[len(known)-1]
	}
	for i := len(known); i < len(messages); i++ {
		sum := content(&messages[i])
		before = sha256.Sum256(append(before[:], sum[:]...))
		chain = append(chain, before)
	}
	return chain
}

// content stands for what a message says.
func content(m *session.Message) (sum digest) {
	if n, err := hex.Decode(sum[:], []byte(m.Withheld())); err == nil && n == len(sum) {
		return sum
	}
	return sha256.Sum256(canonical(nil, m))
}

// String is the digest in hexadecimal digits.
func (d digest) String() string { return hex.EncodeToString(d[:]) }

// canonical appends what a message says.
func canonical(text []byte, m *session.Message) []byte {
	put := func(s string) {
		text = append(strconv.AppendInt(text, int64(len(s)), 10), ':')
		text = append(text, s...)
	}
	put(m.ID)
	put(string(m.Role))
	for i := range m.Parts {
		p := &m.Parts[i]
		put(p.ID)
		put(string(p.Type))
		put(p.Text)
		put(string(unmarked(wire.WithoutOriginals(p.Metadata))))
		put(p.Mime)
		put(p.URL)
		put(p.Tool)
		if s := p.State; s != nil {
			put(string(s.Input))
			put(s.Output)
			put(s.Error)
			for j := range s.Attachments {
				put(s.Attachments[j].URL)
			}
		}
	}
	return text
}

// unmarked is a block without a cache mark.
func unmarked(block []byte) []byte {
	if bytes.Contains(block, []byte(`"cache_control"`)) {
		return span.Remove(block, false, "cache_control")
	}
	return block
}

// origin is what the info of a session tells of the client whose conversation it is, as the member
// "client": the name and version with which it introduces itself, its own word for the session, and
// the person who began it, and whether a sub-agent of the client's asks.
func origin(r *http.Request, d *wire.Decoded) jsontext.Value {
	name, _, _ := strings.Cut(r.UserAgent(), " ")
	sub := r.Header.Get(agentHeader) != "" || r.Header.Get(codexAgentHeader) != ""
	return clientMember(name[:min(len(name), 100)], sessionSignal(r.Header, d), r.Header.Get(personHeader), sub)
}

// clientMember is the member "client" of a session's info.
func clientMember(name, session, person string, sub bool) jsontext.Value {
	text, err := json.Marshal(map[string]any{"client": struct {
		Name    string `json:"name,omitzero"`
		Session string `json:"session,omitzero"`
		Person  string `json:"person,omitzero"`
		Sub     bool   `json:"sub,omitzero"`
	}{name, session, person, sub}}, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil
	}
	return text
}
