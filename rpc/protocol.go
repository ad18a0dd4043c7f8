package rpc

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// Protocol is the version of the protocol. It changes only if a client that was written for the
// version before would misunderstand something; methods and members that are added do not change
// it.
const Protocol = 1

// Limits of one connection.
const (
	// MaxLine is how many bytes a line may have. A longer one is answered with an error and
	// skipped.
	MaxLine = 64 << 20
	// MaxWaiting and MaxWaitingBytes are how many requests, and how many bytes of them, may be
	// without an answer at a time. A request beyond that is answered with the code "busy".
	MaxWaiting      = 1000
	MaxWaitingBytes = 256 << 20
	// EventBuffer is how many events wait for a client that does not read them. Further ones are
	// dropped and counted.
	EventBuffer = 1024
)

// Numbers of errors. The first five are JSON-RPC's own, the others are in its range for servers.
const (
	ParseError     = -32700 // the line is not JSON
	InvalidRequest = -32600 // the line is JSON, but not a request
	UnknownMethod  = -32601 // there is no such method
	InvalidParams  = -32602 // the parameters cannot be right
	InternalError  = -32603 // the answer could not be written as JSON
	Failed         = -32000 // the engine refused or failed; data.code says how
	Overloaded     = -32001 // too many requests wait
	NotInitialized = -32002 // the first request must be initialize
	ShuttingDown   = -32003 // no request is accepted any more
	Cancelled      = -32800 // the client cancelled the request
)

// Failure is why a request was not done.
type Failure struct {
	// Code is a number of JSON-RPC: see the table of numbers in docs/bindings.md. -32000 is what
	// the engine refused or could not do; data.code then says which.
	Code int `json:"code"`
	// Message says what failed and why, for people.
	Message string      `json:"message"`
	Data    FailureData `json:"data"`
}

// FailureData is what a program branches on, and what a person can do.
type FailureData struct {
	// Code is the reason as a word: "not-found", "nothing-to-fold", "no-progress", "bad-input",
	// "busy", "cancelled", "store-failed" and others.
	Code rule.Code `json:"code"`
	// Hint is what to do about it, a sentence.
	Hint string `json:"hint,omitzero"`
	// Op is what the engine was doing: "compact".
	Op string `json:"op,omitzero"`
	// Session is the id of the session concerned.
	Session string `json:"session,omitzero"`
}

func (e *Failure) Error() string { return e.Message }

func failed(code int, word rule.Code, hint, format string, args ...any) *Failure {
	return &Failure{Code: code, Message: fmt.Sprintf(format, args...), Data: FailureData{Code: word, Hint: hint}}
}

// badInput is the error of parameters that cannot be right.
func badInput(hint, format string, args ...any) *Failure {
	return failed(InvalidParams, rule.BadInput, hint, format, args...)
}

// errorOf is an error as the client is told it.
func errorOf(err error) *Failure {
	var own *Failure
	if errors.As(err, &own) {
		return own
	}
	e := &Failure{Code: Failed, Message: err.Error(), Data: FailureData{Code: rule.StoreFailed}}
	var known *winnow.Error
	if errors.As(err, &known) {
		e.Data = FailureData{Code: known.Code, Hint: known.Hint, Op: known.Op, Session: known.Session}
		if error(known) == err {
			e.Message = known.Err.Error()
		}
	}
	var kept *store.Error
	if errors.As(err, &kept) && e.Data.Hint == "" {
		e.Data.Hint = kept.Hint
	}
	return e
}

// message is one line, in either direction: a request, a notification, or a response.
type message struct {
	Version string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id,omitzero"`
	Method  string         `json:"method,omitzero"`
	Params  jsontext.Value `json:"params,omitzero"`
	Result  jsontext.Value `json:"result,omitzero"`
	Error   jsontext.Value `json:"error,omitzero"`
}

// line is a message as it is sent. Its values are JSON already and are written as they are.
func (m message) line() []byte {
	line := make([]byte, 0, 64+len(m.ID)+len(m.Method)+len(m.Params)+len(m.Result)+len(m.Error))
	line = append(line, `{"jsonrpc":"2.0"`...)
	add := func(name string, value []byte) {
		if len(value) > 0 {
			line = append(append(append(append(line, `,"`...), name...), `":`...), value...)
		}
	}
	add("id", m.ID)
	if m.Method != "" {
		add("method", []byte(`"`+m.Method+`"`))
	}
	add("params", m.Params)
	add("result", m.Result)
	add("error", m.Error)
	return append(line, '}', '\n')
}

// Method is one request that a client can make.
type Method struct {
	Name           string
	Params, Result reflect.Type
	// queue is the member of the parameters that names the session in whose order the request is
	// done, "" if it is done beside all others.
	queue string
	do    func(s *Server, call *call) (any, error)
}

// on is a method that is done in the order of its session.
func on[P, R any](name string, do func(s *Server, c *call, p P) (R, error)) Method {
	return Method{Name: name, Params: reflect.TypeFor[P](), Result: reflect.TypeFor[R](), queue: "session",
		do: func(s *Server, c *call) (any, error) {
			p, err := read[P](c.params)
			if err != nil {
				return nil, err
			}
			return do(s, c, p)
		}}
}

// beside is a method that is done beside all others.
func (m Method) beside() Method {
	m.queue = ""
	return m
}

// read reads parameters, or the result that a client sent. A member that the type does not have is
// an error: a client that is newer than the server, or a mistake.
func read[T any](text jsontext.Value) (v T, err error) {
	if len(text) == 0 {
		text = jsontext.Value("{}")
	}
	if err := json.Unmarshal(text, &v, session.ReadOptions(), json.RejectUnknownMembers(true)); err != nil {
		return v, badInput("see the schema: winnow engine --schema", "%s", misfit(err))
	}
	return v, nil
}

// misfit says in the words of JSON what does not fit a type.
func misfit(err error) string {
	var e *json.SemanticError
	if !errors.As(err, &e) {
		return err.Error()
	}
	where := "the parameters"
	if e.JSONPointer != "" {
		where = string(e.JSONPointer)
	}
	switch {
	case errors.Is(err, json.ErrUnknownName):
		return fmt.Sprintf("%s is unknown", where)
	case e.Err != nil:
		return fmt.Sprintf("%s does not fit: %v", where, e.Err)
	}
	return fmt.Sprintf("%s does not fit: it is a JSON %v", where, e.JSONKind)
}

func write(v any) (jsontext.Value, error) {
	if v, ok := v.(Viewed); ok {
		return v.text()
	}
	return json.Marshal(v, session.ReadOptions(), json.Deterministic(true))
}
