package tools

import (
	"context"
	_ "embed"
	"errors"
	"net/http"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/agent"
	"github.com/winnowhq/winnow/agent/permission"
	"github.com/winnowhq/winnow/session"
)

// Options say what the standard tools work with. The zero value is ready, with a todo list that
// knows nothing of the log.
type Options struct {
	// Engine is that of the loop: it has what was left out of outputs, and the context that the
	// model may prune. Without one there is neither recall nor any of the self-pruning tools.
	Engine *winnow.Engine
	// Directory is the working folder, in which skills are looked for too. Default: that of the
	// process.
	Directory string
	// Skills are more folders of skills, the user's own for example; those of the working folder go
	// before them. Without any skill there is no tool for them.
	Skills []string
	// Policy keeps grep out of what a search of its folder must not show, and tells bash what
	// nobody is asked about. What the other tools may do is decided by whom they ask: see
	// permission.Policy.Asker.
	Policy permission.Policy
	// Keys are variables of the environment that commands do not get, beside those of the large
	// providers: see Bash.
	Keys []string
	// Lists are the todo lists. Default: lists of their own, which read the log of Engine.
	Lists *Lists
	// HTTP is what webfetch fetches with. Default: one of its own, which goes through the proxies
	// of the environment.
	HTTP http.RoundTripper
	// Without are names of tools that are left out.
	Without []string
}

//go:embed declared.json
var declaredJSON []byte

// declaration is what a model is told of a tool, from declared.json.
type declaration struct {
	Description string         `json:"description"`
	Schema      jsontext.Value `json:"schema"`
}

// declarations are those of all tools by name, their schemas without blanks.
var declarations = sync.OnceValue(func() (all map[string]declaration) {
	compact := jsontext.Value(declaredJSON)
	if err := errors.Join(compact.Compact(), json.Unmarshal(compact, &all)); err != nil {
		panic(err) // the file is part of the program
	}
	return all
})

func told(name string) declaration { return declarations()[name] }

// Standard are the tools of an agent in a fixed order, the same to the byte for the same options
// and skills: they stand at the head of every request. They are read, write, edit, bash, glob,
// grep, list, webfetch, todowrite, todoread, skill, task, recall, context_list, context_discard,
// context_distill and context_restore.
func Standard(o Options) []agent.Tool {
	lists := o.Lists
	if lists == nil {
		lists = &Lists{}
		if o.Engine != nil {
			lists.Log = func(ctx context.Context, id string) ([]session.Message, error) {
				s, _, err := o.Engine.Session(ctx, id)
				return s.Messages, err
			}
		}
	}
	all := []agent.Tool{Read{}, Write{}, Edit{}, Bash{o.Policy, o.Keys}, Glob{}, Grep{o.Policy}, List{},
		WebFetch{o.HTTP}, TodoWrite{lists}, TodoRead{lists}}
	if skills := FindSkills(o.Directory, o.Skills...); len(skills.found) > 0 {
		all = append(all, Skill{skills})
	}
	all = append(all, Task{})
	if o.Engine != nil {
		all = append(all, Recall{Parts{o.Engine}})
		all = append(all, SelfPruning(o.Engine)...)
	}
	return slices.DeleteFunc(all, func(t agent.Tool) bool { return slices.Contains(o.Without, t.Name()) })
}
