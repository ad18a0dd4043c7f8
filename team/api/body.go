package api

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/gateway/admin"
	"github.com/winnowhq/winnow/gateway/tenant"
)

// merge puts into a tenant what the body says of it: members that it does not have stay as they are.
// A key of "" is taken away, as by --key UPSTREAM=.
func (r request) merge(t *tenant.Tenant) error {
	created, store := t.Created, t.Store
	if err := r.decode(t); err != nil {
		return err
	}
	if !t.Created.Equal(created) {
		return admin.Invalid{Err: errors.New("created: it is not for a request to say when a tenant was made")}
	}
	if t.Store != store {
		return admin.Invalid{Err: errors.New("store: it is not for a request to say where a tenant's data is kept")}
	}
	maps.DeleteFunc(t.Keys, func(_, name string) bool { return name == "" })
	return nil
}

// decode reads the body into a value; none says nothing. Members that the value does not have are
// refused, and so is null, which some clients send for what they leave out and others for nothing.
func (r request) decode(into any) error {
	if len(bytes.TrimSpace(r.body)) == 0 {
		return nil
	}
	if err := noNull(r.body); err != nil {
		return admin.Invalid{Err: err}
	}
	err := json.Unmarshal(r.body, into, json.RejectUnknownMembers(true))
	var what *json.SemanticError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &what):
		return admin.Invalid{Err: fmt.Errorf("the body is not JSON: %w", err)}
	case errors.Is(err, json.ErrUnknownName):
		return admin.Invalid{Err: fmt.Errorf("there is no member %s", member(what.JSONPointer))}
	}
	return admin.Invalid{Err: fmt.Errorf("%s cannot be %s", member(what.JSONPointer), kinds[what.JSONKind])}
}

var kinds = map[jsontext.Kind]string{'[': "a list", '{': "an object", '"': "this text", '0': "this number",
	't': "true", 'f': "false"}

// noNull is the error of a text that is no JSON, or has null somewhere.
func noNull(text []byte) error {
	for dec := jsontext.NewDecoder(bytes.NewReader(text)); ; {
		token, err := dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the body is not JSON: %w", err)
		}
		if token.Kind() == 'n' {
			return fmt.Errorf("%s cannot be null: leave it out if it should stay as it is", member(dec.StackPointer()))
		}
	}
}

// member names a place in a body for people: limits.perMinute.
func member(at jsontext.Pointer) string {
	if at == "" {
		return "the body"
	}
	return strings.ReplaceAll(strings.TrimPrefix(string(at), "/"), "/", ".")
}
