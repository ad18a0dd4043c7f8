// Package mcp gives an agent what was left out of its context, as a server of the Model Context
// Protocol: tools that recall, search, describe and pin, and the sessions as resources.
package mcp

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/look/retrieve"
	"github.com/winnowhq/winnow/session"
)

// Config says what a server gives access to.
type Config struct {
	Engine *winnow.Engine
	// Session is the id of the only session that the tools work on. Default: the one that an agent
	// worked on last through the gateway; recall and pin look for their handle in all sessions.
	Session string
	Version string // of the program
	// Refuse says why the caller may not use a tool, or with "" the resources; nil if it may.
	// Default: everybody may use all of them.
	Refuse func(tool string) error
	// Compact reports whether a client, by its name, may ask for a compaction. Default: no client
	// may, and the tool is not offered.
	Compact func(client string) bool
	// Alone: the server is no part of a gateway, so that somebody else must end the turn of a
	// session that did not come through one.
	Alone bool
	// Audit is told of each reading, pin and wish before it is done; what it refuses is not done.
	// Default: nobody is told.
	Audit func(ctx context.Context, deed Deed) error
}

// Deed is what somebody does with a session.
type Deed struct {
	Did     string // "read", "pin" or "compact"
	Session string // its id
	Part    string // the id of the part that it is about, "" for the whole session
}

// New makes a server. It can be run on several transports.
func New(c Config) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "winnow", Version: c.Version}, &sdk.ServerOptions{
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}},
	})
	for _, t := range tools {
		if t.name == compactTool && c.Compact == nil {
			continue
		}
		s.AddTool(&sdk.Tool{Name: t.name, Description: t.description, InputSchema: t.schema,
			Annotations: &sdk.ToolAnnotations{ReadOnlyHint: t.name != "pin" && t.name != compactTool, IdempotentHint: true}},
			func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				if err := c.refused(t.name); err != nil {
					return result("", err)
				}
				if t.name == compactTool && !c.Compact(clientOf(r)) {
					return result("", errors.New(clientOf(r)+" compacts its sessions by itself"))
				}
				return result(t.call(ctx, c, read(r.Params.Arguments)))
			})
	}
	s.AddReceivingMiddleware(c.offering)
	c.addResources(s)
	return s
}

// offering leaves the tool compact out of the list for a client that may not use it.
func (c Config) offering(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		answer, err := next(ctx, method, r)
		if list, is := answer.(*sdk.ListToolsResult); is && err == nil && c.Compact != nil && !c.Compact(clientOf(r)) {
			list.Tools = slices.DeleteFunc(slices.Clone(list.Tools), func(t *sdk.Tool) bool { return t.Name == compactTool })
		}
		return answer, err
	}
}

// clientOf is the name with which the client of a request introduces itself, "" without one.
func clientOf(r sdk.Request) string {
	if params := r.GetParams(); params != nil {
		about, _ := params.GetMeta()["io.modelcontextprotocol/clientInfo"].(map[string]any)
		if name, _ := about["name"].(string); name != "" {
			return name
		}
	}
	if s, ok := r.GetSession().(*sdk.ServerSession); ok && s.InitializeParams() != nil {
		if info := s.InitializeParams().ClientInfo; info != nil {
			return info.Name
		}
	}
	return ""
}

// Handler serves a server over HTTP, at any path. It looks neither at Host nor at Origin.
func Handler(s *sdk.Server) http.Handler {
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s },
		&sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
}

// HandlerFor serves each request with what is given access to by it, at any path. It looks neither
// at Host nor at Origin, nor at who asks: that is for the caller.
func HandlerFor(of func(*http.Request) Config) http.Handler {
	return sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server { return New(of(r)) },
		&sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true, DisableLocalhostProtection: true})
}

func (c Config) refused(tool string) error {
	if c.Refuse == nil {
		return nil
	}
	return c.Refuse(tool)
}

// note tells of what is about to be done.
func (c Config) note(ctx context.Context, did, session, part string) error {
	if c.Audit == nil {
		return nil
	}
	return c.Audit(ctx, Deed{did, session, part})
}

// result is what a model reads. What went wrong it reads, too, so that it can do better.
func result(text string, err error) (*sdk.CallToolResult, error) {
	if errors.Is(err, context.Canceled) {
		return nil, err
	}
	r := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.ToValidUTF8(text, "\uFFFD")}}}
	if err != nil {
		r.Content, r.IsError = []sdk.Content{&sdk.TextContent{Text: told(err)}}, true
	}
	return r, nil
}

// told is what an error says, without its hints for people at a command line.
func told(err error) string {
	var e *winnow.Error
	if errors.As(err, &e) && e.Err != nil {
		return e.Err.Error()
	}
	return err.Error()
}

// arguments are those of a call, as texts: models write numbers and lists where a text is asked
// for, and other names.
type arguments map[string]string

func read(raw []byte) arguments {
	var members map[string]jsontext.Value
	_ = json.Unmarshal(raw, &members, session.ReadOptions()) // nothing is known of what cannot be read
	a := arguments{}
	for name, value := range members {
		var text string
		var list []string
		switch {
		case value.Kind() == 'n':
		case json.Unmarshal(value, &text, session.ReadOptions()) == nil:
			a[name] = text
		case json.Unmarshal(value, &list, session.ReadOptions()) == nil:
			a[name] = strings.Join(list, " ")
		default:
			a[name] = string(value)
		}
	}
	return a
}

// current is the id of the session that a call is about.
func (c Config) current(ctx context.Context) (string, error) {
	if c.Session != "" {
		return c.Session, nil
	}
	info, err := retrieve.Newest(ctx, c.Engine)
	return info.ID, err
}

// find finds what a handle names.
func (c Config) find(ctx context.Context, handle string) (retrieve.Found, error) {
	if c.Session != "" {
		return retrieve.In(ctx, c.Engine, c.Session, handle)
	}
	return retrieve.Find(ctx, c.Engine, handle)
}
