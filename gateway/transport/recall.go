package transport

import (
	"context"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/body"
	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/wire"
)

// recalls reports whether a request declares a tool that gets back what is left out: a shell, which
// runs "winnow recall", or the tool recall of "winnow mcp" or of the gateway itself.
func (t *Transport) recalls(doc *format.Document) bool {
	return t.getsBack(doc.Native.(*body.Native).Decoded.Tools)
}

func (t *Transport) getsBack(tools jsontext.Value) bool {
	if !t.options.Recall && !t.options.RecallTool {
		return false
	}
	return eachTool(wire.ValueOf(tools), "", func(name string, _ wire.Value) bool {
		name = strings.ToLower(name)
		return t.options.Recall && call.IsShell(name) || strings.Contains(name, "winnow") && strings.HasSuffix(name, "recall")
	})
}

// offer lets the placeholders of a conversation name the way back as soon as a request has one.
// What is in place stays as it is.
func (t *Transport) offer(ctx context.Context, l *conversation, doc *format.Document) error {
	if l.recall || !t.recalls(doc) {
		return nil
	}
	l.recall = true
	return t.engine.Amend(ctx, l.id, winnow.Amendment{Recall: true})
}
