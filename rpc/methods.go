package rpc

import (
	"context"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
)

// Methods are the requests that a client can make, in the order of the schema.
func Methods() []Method {
	create := on("create", (*Server).create)
	create.queue = "id"
	return []Method{
		on("initialize", (*Server).initialize).beside(),
		create, on("fork", (*Server).fork), on("list", (*Server).list).beside(),
		on("append", (*Server).append), on("update", (*Server).update),
		on("log", (*Server).log), on("read", (*Server).read),
		on("begin", (*Server).begin), on("view", (*Server).view),
		on("observe", (*Server).observe), on("endTurn", (*Server).endTurn),
		on("compact", (*Server).compact), on("prepare", (*Server).prepare).beside(),
		on("preview", (*Server).preview), on("prune", (*Server).prune),
		on("pruneMessages", (*Server).pruneMessages).beside(),
		on("discard", (*Server).discard), on("distill", (*Server).distill), on("restore", (*Server).restore),
		on("pin", (*Server).pin), on("unpin", (*Server).unpin),
		on("undo", (*Server).undo), on("redo", (*Server).redo),
		on("explain", (*Server).explain), on("inspect", (*Server).inspect),
		on("subscribe", (*Server).subscribe).beside(), on("unsubscribe", (*Server).unsubscribe).beside(),
		on("schema", (*Server).schema).beside(), on("shutdown", (*Server).shutdown).beside(),
	}
}

// Initialize is the first request of a client: which versions of the protocol it speaks, and what
// it can do for the engine.
type Initialize struct {
	// Protocols are the versions of the protocol that the client speaks. The server answers with
	// the newest that both speak, and with an error if there is none.
	Protocols []int `json:"protocols"`
	// Client is the name and version of the client, for people who read a log.
	Client string `json:"client,omitzero"`
	// Summarize says that the client writes summaries with a model of its own: the server sends it
	// requests "summarize", with messages in this format. "" leaves them to the configuration.
	Summarize string `json:"summarize,omitzero"`
}

// Initialized is what the server is and can do.
type Initialized struct {
	// Protocol is the version that is spoken from now on.
	Protocol int `json:"protocol"`
	// Server is the version of winnow.
	Server string `json:"server"`
	// Methods are the requests that the server takes.
	Methods []string `json:"methods"`
	// Formats are the formats in which messages are taken and given.
	Formats []string `json:"formats"`
	// Policy is the policy in force.
	Policy string `json:"policy"`
	// Store is the file in which the sessions are kept.
	Store string `json:"store,omitzero"`
	// MaxLine is how many bytes a line may have.
	MaxLine int `json:"maxLine"`
	// MaxWaiting is how many requests may be without an answer at a time.
	MaxWaiting int `json:"maxWaiting"`
}

// Nothing is the result of what has none.
type Nothing struct{}

// Of names a session.
type Of struct {
	// Session is the id of a session.
	Session string `json:"session"`
}

// Create begins an empty session.
type Create struct {
	// ID is the id of the session; one is made if it is "". An id that is taken is an error with
	// the code "already".
	ID string `json:"id,omitzero"`
	// Title is for people.
	Title string `json:"title,omitzero"`
	// Directory is the working folder, absolute: paths are shortened by it.
	Directory string `json:"directory,omitzero"`
	// Parent is the id of the session that this one works for.
	Parent string `json:"parent,omitzero"`
	// Model is the model that reads the session, "provider/id": its limits decide when the window
	// is full.
	Model string `json:"model,omitzero"`
}

// Created is a session that is in the store.
type Created struct {
	// Session is its id.
	Session string `json:"session"`
}

func (s *Server) create(c *call, p Create) (Created, error) {
	id, err := s.engine.Create(c.ctx, session.Info{ID: p.ID, Title: p.Title, Directory: p.Directory, ParentID: p.Parent,
		Model: reference(p.Model)})
	return Created{id}, err
}

// reference is a model by its name, "provider/id".
func reference(name string) *session.ModelRef {
	if name == "" {
		return nil
	}
	provider, id, ok := strings.Cut(name, "/")
	if !ok {
		provider, id = "", name
	}
	return &session.ModelRef{ProviderID: provider, ID: id}
}

// Fork begins a session with the log of another one.
type Fork struct {
	Of
	// Before is the id of the message before which it ends, "" for all of it.
	Before string `json:"before,omitzero"`
}

func (s *Server) fork(c *call, p Fork) (Created, error) {
	id, err := s.engine.Fork(c.ctx, p.Session, p.Before)
	return Created{id}, err
}

// List lists the sessions of the store.
type List struct{}

// Listed are the sessions, the one that was changed last first.
type Listed struct {
	Sessions []Listing `json:"sessions"`
}

// Listing is one session of the store.
type Listing struct {
	Session   string         `json:"session"`
	Title     string         `json:"title"`
	Directory string         `json:"directory,omitzero"`
	Parent    string         `json:"parent,omitzero"`
	Model     string         `json:"model,omitzero"`
	Created   session.Millis `json:"created"`
	Updated   session.Millis `json:"updated"`
	// Messages is how many messages the log has.
	Messages int `json:"messages"`
}

func (s *Server) list(c *call, _ List) (Listed, error) {
	all, err := s.engine.Store().List(c.ctx)
	listed := Listed{Sessions: make([]Listing, len(all))}
	for i, l := range all {
		listed.Sessions[i] = Listing{Session: l.Info.ID, Title: l.Info.Title, Directory: l.Info.Directory,
			Parent: l.Info.ParentID, Model: l.Info.Model.String(), Created: l.Info.Time.Created,
			Updated: l.Info.Time.Updated, Messages: l.Messages}
	}
	return listed, err
}

// Log reads the log as it was written: nothing is left out, and nothing is folded.
type Log struct {
	Of
	// From is the position of the first message that is wanted: 0 is the first of the log, -1 the
	// last.
	From int `json:"from,omitzero"`
}

// Logged is a stretch of a log.
type Logged struct {
	// Total is how many messages the log has.
	Total int `json:"total"`
	// Messages are those from the position asked for on, in the form in which winnow keeps them.
	Messages []session.Message `json:"messages"`
}

func (s *Server) log(c *call, p Log) (Logged, error) {
	log, _, err := s.engine.Session(c.ctx, p.Session)
	n := len(log.Messages)
	if p.From < 0 {
		p.From = max(0, n+p.From)
	}
	return Logged{n, log.Messages[min(p.From, n):]}, err
}

// Read returns a part as it was written, whatever the model is shown of it.
type Read struct {
	Of
	// Part is the id of the part, the id of its call, or its handle.
	Part string `json:"part"`
}

// Whole is a part as it was written.
type Whole struct {
	// Handle is its short name.
	Handle string `json:"handle,omitzero"`
	// Text is the result of a call, or the text of another part.
	Text string `json:"text"`
	// Part is all of it.
	Part session.Part `json:"part"`
}

func (s *Server) read(c *call, p Read) (Whole, error) {
	w, err := winnow.Look(c.ctx, s.engine, p.Session, report.Read(p.Part))
	return Whole{w.Handle, w.Text, w.Part}, err
}

// Outcome is what the engine did about a request, a step, a turn or a rejection.
type Outcome struct {
	// Verdict is how full the window is, after a step.
	Verdict *budget.Verdict `json:"verdict,omitzero"`
	// Pruned and Compacted are the receipts of what was done.
	Pruned    *pivot.Receipt `json:"pruned,omitzero"`
	Compacted *pivot.Receipt `json:"compacted,omitzero"`
	// Compact says that the window overflows and nothing was folded, because compaction.auto is
	// off: call compact before the next request.
	Compact bool `json:"compact,omitzero"`
	// Continues says that the past was folded and the engine appended a message that asks the model
	// to go on: make another request even if the last answer called no tool.
	Continues bool `json:"continues,omitzero"`
	// Prepare says that a fold is near: call prepare beside the work, and compact with prepared
	// between two steps, if no request is to wait for the summary.
	Prepare bool `json:"prepare,omitzero"`
	// Refusals say what was not done, and why.
	Refusals []rule.Refusal `json:"refusals"`
}

// outcome is an outcome for a client. That there is nothing to fold is no reason to stop: whether
// the next request fits is the provider's to say.
func (s *Server) outcome(ctx context.Context, id string, o winnow.Outcome, err error) (Outcome, error) {
	out := Outcome{Pruned: o.Pruned, Compacted: o.Compacted, Prepare: o.Prepare,
		Refusals: append([]rule.Refusal{}, o.Refusals...)}
	if o.Verdict.Code != "" {
		out.Verdict = &o.Verdict
	}
	if winnow.CodeOf(err) == winnow.NothingToFold {
		out.Refusals = append(out.Refusals, rule.Refusal{Code: winnow.NothingToFold, Reason: errorOf(err).Message})
		err = nil
	}
	out.Compact = err == nil && o.Verdict.Overflow && o.Compacted == nil && !s.config.Auto
	if o.Compacted != nil {
		out.Continues, _ = winnow.Look(ctx, s.engine, id, goesOn) // false is what a loop does without it
	}
	return out, err
}

// goesOn reports whether the log ends with a message of the engine's that asks the model to go on.
func goesOn(r *report.Session) (bool, error) {
	for i := len(r.Log) - 1; i >= 0; i-- {
		if m := &r.Log[i]; !kept(m) {
			return m.Role == session.User && m.Companion() != "", nil
		}
	}
	return false, nil
}

func kept(m *session.Message) bool {
	_, is := m.Kept()
	return is
}

// Begin says that a request is about to be sent, before its view is taken: what pays is left out
// now.
type Begin struct{ Of }

func (s *Server) begin(c *call, p Begin) (Outcome, error) {
	o, err := s.engine.Begin(c.ctx, p.Session)
	return s.outcome(c.ctx, p.Session, o, err)
}

// Observe tells what the provider reported for the newest step, once the results of its calls are
// in the log; or, with rejection, how it refused the request. The engine prunes and folds if it
// must.
type Observe struct {
	Of
	// Usage is what the provider reported, in the form of As.
	Usage jsontext.Value `json:"usage,omitzero"`
	// As is the format of Usage: the provider's own object "usage" (Gemini: "usageMetadata"), or
	// with "plain" that of winnow: {input, output, reasoning, cache: {read, write}}.
	As string `json:"as,omitzero"`
	// Rejection is how the provider refused the request. If it was not because of its length, the
	// error has the code "bad-input" and nothing is done.
	Rejection *Rejection `json:"rejection,omitzero"`
}

// Rejection is how a provider refused a request, as far as it is known.
type Rejection struct {
	// Status is that of HTTP.
	Status int `json:"status,omitzero"`
	// Code is the code or type of the error.
	Code string `json:"code,omitzero"`
	// Message is the message of the error.
	Message string `json:"message,omitzero"`
	// Body is the response as it came.
	Body string `json:"body,omitzero"`
}

func (s *Server) observe(c *call, p Observe) (Outcome, error) {
	if p.Rejection != nil {
		o, ok, err := s.engine.Rejected(c.ctx, p.Session, budget.Rejection(*p.Rejection))
		if err == nil && !ok {
			return Outcome{}, badInput("handle the provider's error yourself",
				"the provider did not reject the request as too long")
		}
		return s.outcome(c.ctx, p.Session, o, err)
	}
	usage, err := usageOf(p.As, p.Usage)
	if err != nil {
		return Outcome{}, err
	}
	o, err := s.engine.Observe(c.ctx, p.Session, usage)
	return s.outcome(c.ctx, p.Session, o, err)
}

// EndTurn says that the model called no more tools.
type EndTurn struct{ Of }

func (s *Server) endTurn(c *call, p EndTurn) (Outcome, error) {
	o, err := s.engine.EndTurn(c.ctx, p.Session)
	return s.outcome(c.ctx, p.Session, o, err)
}

// Explain says why a part is shown, left out, protected or about to go.
type Explain struct {
	Of
	// Part names it, "" for all parts.
	Part string `json:"part,omitzero"`
}

// Explained are parts, in the order of the log.
type Explained struct {
	Parts []report.Explanation `json:"parts"`
}

func (s *Server) explain(c *call, p Explain) (Explained, error) {
	if p.Part != "" {
		x, err := winnow.Look(c.ctx, s.engine, p.Session, report.Explain(p.Part))
		return Explained{[]report.Explanation{x}}, err
	}
	all, err := winnow.Look(c.ctx, s.engine, p.Session, report.Parts)
	explained := Explained{Parts: make([]report.Explanation, len(all))}
	for i := range all {
		explained.Parts[i] = all[i].Explanation
	}
	return explained, err
}

// Inspect reports where the tokens are, what can go, how full the window is, and what it cost.
type Inspect struct{ Of }

func (s *Server) inspect(c *call, p Inspect) (report.Report, error) {
	return winnow.Look(c.ctx, s.engine, p.Session, report.Inspect)
}

// Schema is this protocol as a JSON Schema.
type Schema struct{}

func (s *Server) schema(*call, Schema) (jsontext.Value, error) { return SchemaText(), nil }
