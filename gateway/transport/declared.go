package transport

import (
	"context"
	"hash/maphash"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/body"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/token"
	"github.com/winnowhq/winnow/wire"
)

// toolbox knows which tools a conversation's requests declare, and which were called: what
// [report.Declared] keeps with the session. It is written down with the next answer.
type toolbox struct {
	report.Declared
	seen    uint64 // hash of the newest declarations that were looked at
	changed bool   // since it was written down
}

// toolboxOf is what the info of a session knows.
func toolboxOf(info session.Info) toolbox { return toolbox{Declared: report.DeclaredIn(info)} }

func (d toolbox) clone() toolbox {
	d.Tools, d.Called = maps.Clone(d.Tools), slices.Clone(d.Called)
	return d
}

var toolsSeed = maphash.MakeSeed()

// look looks at the declarations of a request, unless they are those of the one before. Those that
// are not sent cost nothing: what the provider loads when it is searched for, and what is dropped.
func (d *toolbox) look(doc *format.Document, drop []string) {
	tools := doc.Native.(*body.Native).Decoded.Tools
	hash := maphash.Bytes(toolsSeed, tools)
	if hash == d.seen || len(tools) == 0 {
		return
	}
	d.seen = hash
	before := d.Tools
	d.Tools = map[string]int{}
	eachTool(wire.ValueOf(tools), "", func(name string, tool wire.Value) bool {
		goes := !d.HasCalled(name) &&
			slices.ContainsFunc(drop, func(pattern string) bool { ok, _ := path.Match(pattern, name); return ok })
		if !goes && string(tool.Get("defer_loading").Bytes()) != "true" {
			d.Tools[name] = token.Linear{}.Count(string(tool.Bytes()))
		}
		return false
	})
	d.changed = d.changed || !maps.Equal(before, d.Tools)
}

// calls notes which tools messages call.
func (d *toolbox) calls(messages ...session.Message) {
	for i := range messages {
		for j := range messages[i].Parts {
			if p := &messages[i].Parts[j]; p.Type == session.ToolPart && !slices.Contains(d.Called, p.Tool) {
				d.Called, d.changed = append(d.Called, p.Tool), true
			}
		}
	}
}

// noteTools writes down what changed of the tools. The lineage's lock is held.
func (t *Transport) noteTools(ctx context.Context, l *conversation) error {
	if !l.tools.changed {
		return nil
	}
	own := map[string]jsontext.Value{report.DeclaredMember: l.tools.Value()}
	err := t.engine.Amend(ctx, l.id, winnow.Amendment{Own: own})
	if err == nil {
		l.tools.changed = false
	}
	return err
}

// eachTool visits declarations of tools until one visit reports true, and reports whether one did.
// Some protocols group tools; group is what stands before the names.
func eachTool(tools wire.Value, group string, visit func(name string, tool wire.Value) bool) bool {
	for tool := range tools.Values() {
		name := nameOf(tool)
		if eachTool(functions(tool), group, visit) || eachTool(tool.Get("tools"), spaceOf(name), visit) {
			return true
		}
		if !functions(tool).Empty() || tool.Get("tools").Kind() == '[' {
			continue
		}
		if name == "" {
			name = tool.Get("type").String() // "local_shell"
		}
		if name != "" && visit(group+name, tool) {
			return true
		}
	}
	return false
}

// functions are the declarations in an entry of Gemini's list.
func functions(tool wire.Value) wire.Value {
	if inner := tool.Get("functionDeclarations"); !inner.Empty() {
		return inner
	}
	return tool.Get("function_declarations")
}

// nameOf is the name that an entry of a list of tools has.
func nameOf(tool wire.Value) string {
	name := tool.Get("name").String()
	for _, outer := range []string{"function", "custom"} {
		if name == "" {
			name = tool.Get(outer, "name").String()
		}
	}
	return name
}

// spaceOf is what stands before the names of the tools in a namespace.
func spaceOf(name string) string { return strings.TrimSuffix(name, "__") + "__" }
