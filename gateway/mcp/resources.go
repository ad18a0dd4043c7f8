package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/look/retrieve"
)

// Resources: the list of sessions, what fills the context of one, and the whole text of a part.
const (
	sessions   = "winnow://sessions"
	oneSession = sessions + "/{session}"
	onePart    = oneSession + "/{handle}"
)

func (c Config) addResources(s *sdk.Server) {
	s.AddResource(&sdk.Resource{URI: sessions, Name: "sessions", MIMEType: "text/plain",
		Description: "The sessions in the store, by when they were used last"}, c.resource)
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: oneSession, Name: "session", MIMEType: "text/plain",
		Description: "What fills the context of a session, and what was left out"}, c.resource)
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: onePart, Name: "part", MIMEType: "text/plain",
		Description: "The whole text of a part of a session"}, c.resource)
}

// resource reads a resource.
func (c Config) resource(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	if err := c.refused(""); err != nil {
		return nil, err
	}
	var names []string
	for name := range strings.SplitSeq(strings.TrimPrefix(strings.TrimPrefix(r.Params.URI, sessions), "/"), "/") {
		plain, err := url.PathUnescape(name)
		if err != nil {
			return nil, sdk.ResourceNotFoundError(r.Params.URI)
		}
		names = append(names, plain)
	}
	text, err := c.read(ctx, names)
	var missing *winnow.Error
	if errors.As(err, &missing) && missing.Code == winnow.NotFound {
		return nil, sdk.ResourceNotFoundError(r.Params.URI)
	}
	if err != nil {
		return nil, err
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: "text/plain",
		Text: strings.ToValidUTF8(text, "\uFFFD")}}}, nil
}

func (c Config) read(ctx context.Context, names []string) (string, error) {
	if len(names) == 1 && names[0] == "" {
		return c.list(ctx)
	}
	id := names[0]
	if c.Session != "" && id != c.Session {
		return "", &winnow.Error{Code: winnow.NotFound, Op: "read", Err: fmt.Errorf("session %s is not served", id)}
	}
	if err := c.note(ctx, "read", id, ""); err != nil {
		return "", err
	}
	if len(names) == 1 {
		return about(ctx, c.Engine, id)
	}
	f, err := retrieve.In(ctx, c.Engine, id, names[1])
	return f.Everything(), err
}

func (c Config) list(ctx context.Context) (string, error) {
	all, err := retrieve.Sessions(ctx, c.Engine)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, s := range all {
		if c.Session == "" || c.Session == s.Info.ID {
			fmt.Fprintf(&b, "%s/%s  %s  %s\n", sessions, url.PathEscape(s.Info.ID),
				time.UnixMilli(int64(s.Used)).UTC().Format("2006-01-02 15:04"),
				strings.Join(strings.Fields(s.Info.Title), " "))
		}
	}
	return b.String(), nil
}
