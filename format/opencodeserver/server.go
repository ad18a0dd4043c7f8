// Package opencodeserver reads sessions from a running OpenCode server, marks parts of them there,
// and removes messages. It speaks the interface of the first generation (1.x).
package opencodeserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/opencode"
	"github.com/winnowhq/winnow/text/span"
)

// Default is where `opencode serve` listens if the port is free and no other is asked for. The
// product writes its port to no file, and its terminal listens only when it is given --port.
const Default = "http://127.0.0.1:4096"

var (
	// ErrNoServer says that nothing answers at an address.
	ErrNoServer = errors.New("no OpenCode server answers there")
	// ErrLogin says that a server wants a password, or another one.
	ErrLogin = errors.New("the server asks for another password than it was given, if any")
	// ErrAddress says that an address is not one of a server.
	ErrAddress = errors.New("the address of a server is like " + Default)
	// ErrNoSession says that a server does not have a session.
	ErrNoSession = errors.New("the server does not have this session")
)

const (
	// longest is how long one request may take: the session is read from a database and sent at
	// once.
	longest = time.Minute
	// greeting is how long it may take to say that it is there: whatever listens may never answer.
	greeting = 10 * time.Second
	// most is how many bytes of one answer are read: as many as of other sessions that are
	// streamed.
	most = 1 << 30
)

// Server is a running OpenCode.
type Server struct {
	URL     string // without a slash at the end
	Version string // that it says it is
	Session string // the one that was read last

	login     Login
	logged    bool   // it asked for the password
	directory string // of the session: what watches that project is told of changes
	http      *http.Client
}

// Login is the user and the password of a server, from the variables OPENCODE_SERVER_USERNAME and
// OPENCODE_SERVER_PASSWORD. They are sent once the server asks for them.
type Login struct{ Username, Password string }

// Dial finds out whether an OpenCode server answers at an address. The error is ErrNoServer if
// nothing does, and ErrLogin if it does not accept the login.
func Dial(ctx context.Context, address string, login Login) (*Server, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, ErrAddress // which is not repeated: it may hold a password
	case u.User != nil:
		return nil, fmt.Errorf("%w, without a password: set OPENCODE_SERVER_PASSWORD", ErrAddress)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%w, and ends with its port or its path", ErrAddress)
	}
	s := &Server{URL: strings.TrimRight(u.String(), "/"), login: login, http: &http.Client{
		// A password is for this server alone.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	ctx, cancel := context.WithTimeout(ctx, greeting)
	defer cancel()
	body, err := s.call(ctx, http.MethodGet, "/global/health", nil)
	if _, refused := errors.AsType[*answer](err); refused && !errors.Is(err, ErrLogin) {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.URL, err)
	}
	if s.Version = span.String(span.Get(body, "version")); s.Version == "" {
		return nil, fmt.Errorf("%s: %w: something else does", s.URL, ErrNoServer)
	}
	return s, nil
}

// Read reads a session, as `opencode export` would print it. The error is ErrNoSession if the
// server does not have it.
func (s *Server) Read(ctx context.Context, id string) (*format.Document, error) {
	info, err := s.call(ctx, http.MethodGet, path("session", id), nil)
	if err != nil {
		return nil, s.missing(err)
	}
	if span.String(span.Get(info, "id")) != id {
		return nil, fmt.Errorf("%s: %w: it answers with another", s.URL, ErrNoSession)
	}
	s.Session, s.directory = id, span.String(span.Get(info, "directory"))
	messages, err := s.call(ctx, http.MethodGet, path("session", id, "message"), nil)
	if err != nil {
		return nil, s.missing(err)
	}
	return opencode.Format{}.Read(span.Make("info", info, "messages", messages))
}

func (s *Server) missing(err error) error {
	if a, ok := errors.AsType[*answer](err); ok && a.status == http.StatusNotFound {
		err = ErrNoSession
	}
	return fmt.Errorf("%s: %w", s.URL, err)
}

// answer is a refusal of the server's.
type answer struct {
	status  int
	message string
}

func (a *answer) Error() string {
	return strings.TrimRight(fmt.Sprintf("the server answered %d: %s", a.status, a.message), ": ")
}

// fatal reports whether an error is not about the one thing that was asked for, so that the next
// would end the same way.
func fatal(err error) bool {
	if _, ok := errors.AsType[one](err); ok {
		return false
	}
	a, ok := errors.AsType[*answer](err)
	return !ok || a.status >= 500 || a.status == http.StatusUnauthorized
}

// call asks the server and returns the JSON that it answers with.
func (s *Server) call(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	for {
		response, text, err := s.once(ctx, method, path, body)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrNoServer, err)
		case response.StatusCode == http.StatusUnauthorized && !s.logged && s.login.Password != "":
			s.logged = true
			continue
		case response.StatusCode == http.StatusUnauthorized:
			return nil, fmt.Errorf("%w: %w", ErrLogin, &answer{status: response.StatusCode})
		case response.StatusCode != http.StatusOK:
			message := span.String(span.Get(text, "data", "message"))
			return nil, &answer{status: response.StatusCode, message: message}
		case span.Check(text) != nil: // what it does not know it answers with a page
			return nil, fmt.Errorf("%w: what answers is not JSON", ErrNoServer)
		}
		return text, nil
	}
}

// once sends one request.
func (s *Server) once(ctx context.Context, method, path string, body []byte) (*http.Response, []byte, error) {
	address := s.URL + path
	if s.directory != "" {
		address += "?" + url.Values{"directory": {s.directory}}.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if s.logged {
		request.SetBasicAuth(s.login.Username, s.login.Password)
	}
	response, err := s.http.Do(request)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // the rest is the address
		}
		return nil, nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	if err == nil && len(text) > most {
		err = errors.New("the answer has more than a gigabyte")
	}
	return response, text, err
}

func path(elements ...string) string {
	var b strings.Builder
	for _, e := range elements {
		b.WriteString("/" + url.PathEscape(e))
	}
	return b.String()
}
