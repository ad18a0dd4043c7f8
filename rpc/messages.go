package rpc

import (
	"cmp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/wire"
)

// Append adds messages at the end of a log. Once it is answered they are in the store. What a
// provider's format has as messages of their own, the results of calls, becomes part of the calls.
type Append struct {
	Of
	// As is the format of Messages: "plain", or that of a provider.
	As string `json:"as,omitzero"`
	// Messages are those of a request body in that format, or objects Message with "plain".
	Messages []jsontext.Value `json:"messages"`
	// Model is who wrote the assistant's messages, "provider/id"; "" is the model that reads the
	// session.
	Model string `json:"model,omitzero"`
}

// Message is a message in the format "plain".
type Message struct {
	// ID is made if it is "". An id that the log has is an error with the code "already", and
	// nothing of the request is stored: with ids of its own a client can send a request again.
	ID   string       `json:"id,omitzero"`
	Role session.Role `json:"role"`
	// Text is short for one part of text, before Parts.
	Text  string         `json:"text,omitzero"`
	Parts []session.Part `json:"parts,omitzero"`
	// Model is who wrote it, "provider/id".
	Model string `json:"model,omitzero"`
	// Finish is why the model stopped.
	Finish string `json:"finish,omitzero"`
}

// Appended names what is in the store now.
type Appended struct {
	// Messages are those that were appended, in their order.
	Messages []Stored `json:"messages"`
	// Ended are the ids of the parts whose calls have ended by it.
	Ended []string `json:"ended"`
}

// Stored is a message with the ids of its parts.
type Stored struct {
	ID    string   `json:"id"`
	Parts []string `json:"parts"`
}

func stored(messages []session.Message) []Stored {
	all := make([]Stored, len(messages))
	for i := range messages {
		all[i] = Stored{messages[i].ID, make([]string, len(messages[i].Parts))}
		for j := range messages[i].Parts {
			all[i].Parts[j] = messages[i].Parts[j].ID
		}
	}
	return all
}

func (s *Server) append(c *call, p Append) (Appended, error) {
	f, err := formatOf(p.As)
	if err != nil {
		return Appended{}, err
	}
	messages, results, err := f.read(p.Messages)
	if err != nil {
		return Appended{}, err
	}
	if err := s.fresh(c, p.Session, messages); err != nil {
		return Appended{}, err
	}
	if err := s.sign(c, p, messages); err != nil {
		return Appended{}, err
	}
	done := Appended{Messages: []Stored{}, Ended: []string{}}
	if len(results) > 0 {
		if done.Ended, err = s.end(c, p.Session, results); err != nil {
			return Appended{}, err
		}
	}
	if len(messages) > 0 || len(results) == 0 {
		if err := s.engine.Append(c.ctx, p.Session, messages...); err != nil {
			return Appended{}, err
		}
		done.Messages = stored(messages)
	}
	return done, nil
}

// fresh refuses messages that are in the log already, so that a client which does not know whether
// its last request was done can send it again.
func (s *Server) fresh(c *call, id string, messages []session.Message) error {
	if !slices.ContainsFunc(messages, func(m session.Message) bool { return m.ID != "" }) {
		return nil
	}
	there, err := winnow.Look(c.ctx, s.engine, id, func(r *report.Session) (string, error) {
		for i := range messages {
			if own := messages[i].ID; own != "" && session.Index(r.Log, own) >= 0 {
				return own, nil
			}
		}
		return "", nil
	})
	if err == nil && there != "" {
		err = failed(Failed, winnow.Already, "nothing was stored; update changes a message",
			"message %s is in the log already", there)
	}
	return err
}

// sign says of the assistant's messages who wrote them: a provider takes reasoning back only from
// the model that wrote it. It is the model for which the newest view was made, if there was one.
func (s *Server) sign(c *call, p Append, messages []session.Message) error {
	by := reference(p.Model)
	for i := range messages {
		m := &messages[i]
		if m.Role != session.Assistant || m.ModelID != "" {
			continue
		}
		if by == nil {
			name, known := s.views.reader(p.Session)
			if !known {
				var err error
				if name, err = winnow.Look(c.ctx, s.engine, p.Session, reader); err != nil {
					return err
				}
			}
			by = reference(name)
		}
		if by != nil && by.ProviderID != "" { // else nobody named a model
			m.ProviderID, m.ModelID = by.ProviderID, by.ID
		}
	}
	return nil
}

// reader is the model that reads a session.
func reader(r *report.Session) (string, error) { return r.Model.String(), nil }

// Update says more completely what was said before: what calls gave back, or a message that was
// streamed. Once it is answered it is in the store.
type Update struct {
	Of
	// Results are what calls gave back.
	Results []Result `json:"results,omitzero"`
	// Messages take the place of those that have their ids, parts included.
	Messages []Message `json:"messages,omitzero"`
}

// Result is what a call gave back, or how far it has come.
type Result struct {
	// Call is the id of the call, or of its part; of several calls with one id the newest is meant.
	Call string `json:"call"`
	// Output is what it gave back; Error, if it is not "", is why it failed.
	Output string `json:"output,omitzero"`
	Error  string `json:"error,omitzero"`
	// Status is "completed" or "error" if it is "", or "running" for one that has not ended.
	Status session.Status `json:"status,omitzero"`
	// Title is for people.
	Title string `json:"title,omitzero"`
	// Metadata is an object of the host's own.
	Metadata jsontext.Value `json:"metadata,omitzero"`
	// Attachments are parts of the type "file" that the tool returned.
	Attachments []session.Part `json:"attachments,omitzero"`

	tool string         // name of the tool, of a result that does not say its call
	kept jsontext.Value // what the part of the call keeps of it
}

// state is the state of a call with a result.
func (r Result) state(before *session.ToolState, now session.Millis) *session.ToolState {
	state := *before
	state.Status = r.Status
	if state.Status == "" {
		if state.Status = session.Completed; r.Error != "" {
			state.Status = session.Failed
		}
	}
	state.Output, state.Error = r.Output, r.Error
	state.Title = cmp.Or(r.Title, state.Title)
	if r.Metadata != nil {
		state.Metadata = r.Metadata
	}
	if r.Attachments != nil {
		state.Attachments = r.Attachments
	}
	span := session.Span{Start: now}
	if state.Time != nil {
		span = *state.Time
	}
	if state.Final() {
		span.End = now
	}
	state.Time = &span
	return &state
}

func (s *Server) update(c *call, p Update) (Appended, error) {
	done := Appended{Messages: []Stored{}, Ended: []string{}}
	var err error
	if len(p.Results) > 0 {
		if done.Ended, err = s.end(c, p.Session, p.Results); err != nil {
			return Appended{}, err
		}
	}
	if len(p.Messages) == 0 {
		return done, nil
	}
	messages, err := winnow.Look(c.ctx, s.engine, p.Session, func(r *report.Session) ([]session.Message, error) {
		return replacing(r, p.Messages)
	})
	if err != nil {
		return Appended{}, err
	}
	err = s.engine.Update(c.ctx, p.Session, messages...)
	done.Messages = stored(messages)
	return done, err
}

// replacing are messages of the log with other parts.
func replacing(r *report.Session, with []Message) ([]session.Message, error) {
	messages := make([]session.Message, len(with))
	for i, m := range with {
		at := session.Index(r.Log, m.ID)
		if at < 0 || r.Log[at].Role != m.Role {
			return nil, badInput("append it first, or read the log", "there is no message %q of the role %q",
				m.ID, m.Role)
		}
		messages[i] = r.Log[at]
		messages[i].Parts = m.parts()
		messages[i].Finish = cmp.Or(m.Finish, messages[i].Finish)
	}
	return messages, nil
}

// end writes what calls gave back into the log, all of them or none, and returns the ids of their
// parts.
func (s *Server) end(c *call, id string, results []Result) ([]string, error) {
	now := session.Millis(s.config.Now().UnixMilli())
	var parts []string
	changed, err := winnow.Look(c.ctx, s.engine, id, func(r *report.Session) ([]session.Message, error) {
		var changed []session.Message
		for _, result := range results {
			m, at := find(r.Log, changed, result)
			if m == nil {
				return nil, failed(Failed, winnow.NotFound, "append the call first", "there is no call %q",
					cmp.Or(result.Call, result.tool))
			}
			i := slices.IndexFunc(changed, func(c session.Message) bool { return c.ID == m.ID })
			if i < 0 {
				i = len(changed)
				changed = append(changed, *m)
				changed[i].Parts = slices.Clone(m.Parts)
			}
			p := &changed[i].Parts[at]
			p.State, p.Metadata = result.state(p.State, now), wire.JoinResult(p.Metadata, result.kept)
			parts = append(parts, p.ID)
		}
		return changed, nil
	})
	if err != nil {
		return nil, err
	}
	return parts, s.engine.Update(c.ctx, id, changed...)
}

// find finds the newest call that a result belongs to: by the id of the call or its part, or the
// oldest open one of the newest message that calls the tool.
func find(log, changed []session.Message, result Result) (*session.Message, int) {
	for i := len(log) - 1; i >= 0; i-- {
		m := &log[i]
		if j := slices.IndexFunc(changed, func(c session.Message) bool { return c.ID == m.ID }); j >= 0 {
			m = &changed[j]
		}
		for at := range m.Parts {
			p := &m.Parts[at]
			if p.Type != session.ToolPart || p.State == nil {
				continue
			}
			if result.Call != "" && (p.CallID == result.Call || p.ID == result.Call) ||
				result.Call == "" && p.Tool == result.tool && !p.State.Final() {
				return m, at
			}
		}
	}
	return nil, 0
}
