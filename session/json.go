package session

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ReadOptions are the options with which foreign JSON is read: duplicate names and invalid UTF-8
// are tolerated, because other programs write both, and refusing a session for them would lose it.
func ReadOptions() json.Options {
	return json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// Clone returns a deep copy by way of JSON: nothing is shared with the original.
func (s *Session) Clone() (*Session, error) {
	text, err := json.Marshal(s, ReadOptions())
	if err != nil {
		return nil, err
	}
	var c Session
	return &c, json.Unmarshal(text, &c, ReadOptions())
}

// flatPart has the fields of Part and none of its methods.
type flatPart Part

// MarshalJSONTo writes members that a kind of part must have even when they are empty, and omits
// the rest: readers of this format check for them.
func (p Part) MarshalJSONTo(enc *jsontext.Encoder) error {
	switch p.Type {
	case TextPart, ReasoningPart:
		return json.MarshalEncode(enc, struct {
			*flatPart
			Text string `json:"text"`
		}{(*flatPart)(&p), p.Text})
	case FilePart:
		return json.MarshalEncode(enc, struct {
			*flatPart
			Mime string `json:"mime"`
			URL  string `json:"url"`
		}{(*flatPart)(&p), p.Mime, p.URL})
	case StepFinishPart:
		return json.MarshalEncode(enc, struct {
			*flatPart
			Reason string   `json:"reason"`
			Cost   *float64 `json:"cost"`
			Tokens *Usage   `json:"tokens"`
		}{(*flatPart)(&p), p.Reason, orZero(p.Cost), orZero(p.Tokens)})
	case CompactionPart:
		return json.MarshalEncode(enc, struct {
			*flatPart
			Auto bool `json:"auto"`
		}{(*flatPart)(&p), p.Auto})
	}
	return json.MarshalEncode(enc, (*flatPart)(&p))
}

// flatState has the fields of ToolState and none of its methods.
type flatState ToolState

// MarshalJSONTo writes what each status must have, as Part's does.
func (s ToolState) MarshalJSONTo(enc *jsontext.Encoder) error {
	if len(s.Input) == 0 {
		s.Input = jsontext.Value(`{}`)
	}
	switch s.Status {
	case Pending:
		return json.MarshalEncode(enc, struct {
			*flatState
			Raw string `json:"raw"`
		}{(*flatState)(&s), s.Raw})
	case Completed:
		metadata := s.Metadata
		if len(metadata) == 0 {
			metadata = jsontext.Value(`{}`)
		}
		return json.MarshalEncode(enc, struct {
			*flatState
			Title    string         `json:"title"`
			Output   string         `json:"output"`
			Metadata jsontext.Value `json:"metadata"`
		}{(*flatState)(&s), s.Title, s.Output, metadata})
	case Failed:
		return json.MarshalEncode(enc, struct {
			*flatState
			Error string `json:"error"`
		}{(*flatState)(&s), s.Error})
	}
	return json.MarshalEncode(enc, (*flatState)(&s))
}

func orZero[T any](p *T) *T {
	if p == nil {
		return new(T)
	}
	return p
}
