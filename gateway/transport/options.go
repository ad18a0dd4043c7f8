package transport

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/store/cache"
)

// Mode is what a transport may do.
type Mode string

const (
	// Off relays, and records nothing.
	Off Mode = "off"
	// Observe relays and decides: sessions say what would be left out.
	Observe Mode = "observe"
	// Safe leaves something out only before a request, and by an engine with the schedule cold only
	// when the provider's cache has forgotten the conversation.
	Safe Mode = "safe"
	// Full leaves out what the engine decides to, and folds when it does, by the engine's settings.
	Full Mode = "full"
)

// Header is the header with which a client asks for another mode for one request. It is not sent
// on.
const Header = "X-Winnow"

// Options say how a transport works. The zero value works.
type Options struct {
	// Base sends the requests. Default: [upstream.Connections] with compression left to the client.
	Base http.RoundTripper
	Mode Mode // default: Full
	// Delegate is ClearToolUses to let the provider clear old results of tools where winnow may
	// not; "" for nothing.
	Delegate string
	// Models is the catalogue that says which models bind their reasoning. Default: the embedded
	// one.
	Models *model.Catalogue
	// Cache keeps requests, so that the next ones need not be read as a whole: a byte of a body
	// takes three. Engines and other transports may share it. A transport made by Changed keeps
	// that of the one before. Default: one of its own, of DefaultMemory bytes.
	Cache *cache.Pool
	// Recall: agents have the command winnow, or its server of the Model Context Protocol, so that
	// placeholders may name it: see recalls. Default: placeholders name the call.
	Recall bool
	// RecallTool: the same for that server alone, as the agents' shells do not reach the store.
	RecallTool bool
	// Drop are names of tools, or patterns with *, whose declarations are left out of a
	// conversation from its first request on, if it begins under this option. A tool that the
	// conversation calls, or that a request insists on, stays.
	Drop []string
	// KeepWarm is how many requests at most keep the provider's cache of a conversation while its
	// client is silent; 0, the default, sends none. One repeats the newest request for one token of
	// an answer, shortly before the cache forgets it, where that pays ([schedule.CacheKeepAlive]): only to
	// Anthropic's API, with a key and not with what may be a subscription, and never in Observe.
	// The key stays in memory until the client is back, or Close.
	KeepWarm int
	// Later lets an answer end for its client before it is recorded. The next request of its
	// conversation waits for that, and so do Wait and Totals; anyone who looks into the store at
	// once may find the answer missing. If the process is killed in between, the client brings the
	// answer with its next request, and only what it took is not written down.
	Later bool
	// Behind, with Later, lets the messages and the usage of a request wait for up to 50 ms, to be
	// written with those of the next ones. A decision waits for nothing, and is written with them
	// before it is sent. After a kill the client sends the messages again; the usage of those 50 ms is
	// not written down. No other process may take a request of a conversation while this one has one
	// under way, unless Shared is set.
	Behind bool
	// Shared, with Behind: other processes may take requests of the same conversation. Nothing of it
	// waits before its newest requests all came to this process: see inARow.
	Shared bool
	// Patience is how long a request waits for a store that does not answer; then it leaves with
	// what was decided before about its conversation, and so do the next ones at once, until the
	// store answers again. Default: DefaultPatience.
	Patience time.Duration
	// Log is told what was decided about each request, and what fails, without content. Default:
	// nothing is logged.
	Log *slog.Logger
	// Watch is told of each request when it was decided about, was answered, or failed. It is
	// called while the request waits, by several goroutines at a time, and returns at once.
	// Default: nobody is told.
	Watch func(Notice)
	// Reserve makes the transport meter its requests, for a budget: it is asked before each one that
	// the provider bills, and what it returns is called once when the answer has ended, with what the
	// request cost. An error is RoundTrip's, and nothing is sent. Streams of Chat Completions are
	// asked for a report of what they took, which is taken out of the answer again where the client
	// did not ask for it; what is not reported is estimated. Default: nobody keeps a budget.
	Reserve func(ctx context.Context, q Quote) (settle func(Charge), err error)
	// Permit says why a request for a model may not be sent, nil if it may; RoundTrip returns its
	// error. It is asked about each model that a request names, as the client wrote it, and with ""
	// about a request whose model cannot be told. Default: every model may be asked.
	Permit func(model string) error
	// Refer says why a request may not refer to what its provider keeps for whoever has the key,
	// such as an earlier answer, nil if it may; RoundTrip returns its error. It is asked about the
	// member by which a request refers, and with "" about a request that cannot be read. Default:
	// every request may.
	Refer func(ctx context.Context, member string) error
	// Stage is called when a step of a request begins, and what it returns when the step has ended,
	// sometimes twice: identify (read it and find its conversation), adopt (join the log), decide
	// (ask the engine), splice (leave out). Default: nobody is told.
	Stage func(ctx context.Context, name string) (ended func())
	// Prepare has the summary of a fold that is near written beside the client's work, by calling
	// Engine.Prepare here or elsewhere; the pivot is winnow.Outcome.Pivot. It returns at once.
	// Default: a goroutine, which ends with the process.
	Prepare func(ctx context.Context, session, pivot string)
	Now     func() time.Time // default: time.Now
	// After calls a function after a while, unless stop is called before. Default: time.AfterFunc.
	After func(wait time.Duration, call func()) (stop func() bool)

	anthropic string // the host at which server-side edits are had; tests have another one
}

// DefaultMemory is how much a transport keeps without Options.Cache: requests of 64 MiB.
const DefaultMemory = bytesOfBody * 64 << 20
