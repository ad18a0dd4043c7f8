package transport

import (
	"context"
	"strings"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/call"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/body"
	"github.com/winnowhq/winnow/wire"
)

// recalls reports whether a request declares a tool that gets back what is left out: a shell, which
// runs "winnow recall", or the tool recall of "winnow mcp".
func (t *Transport) recalls(doc *format.Document) bool {
	tools := doc.Native.(*body.Native).Decoded.Tools
	return t.recall && anyTool(wire.ValueOf(tools), "", func(name string) bool {
		name = strings.ToLower(name)
		return call.IsShell(name) || strings.Contains(name, "winnow") && strings.HasSuffix(name, "recall")
	})
}

// anyTool reports whether one of some tools has a name that is looked for. Some protocols group
// tools; group is what stands before the names.
func anyTool(tools wire.Value, group string, wanted func(name string) bool) bool {
	for tool := range tools.Values() {
		name := tool.Get("name").String()
		switch {
		case anyTool(tool.Get("functionDeclarations"), group, wanted),
			anyTool(tool.Get("tools"), name+"__", wanted):
			return true
		case name == "":
			name = tool.Get("function", "name").String()
		}
		if name == "" {
			name = tool.Get("type").String() // "local_shell"
		}
		if wanted(group + name) {
			return true
		}
	}
	return false
}

// offer lets the placeholders of a conversation name the way back as soon as a request has one.
// What is in place stays as it is.
func (t *Transport) offer(ctx context.Context, l *line, doc *format.Document) error {
	if l.recall || !t.recalls(doc) {
		return nil
	}
	l.recall = true
	return t.engine.Amend(ctx, l.id, winnow.Amendment{Recall: true})
}
