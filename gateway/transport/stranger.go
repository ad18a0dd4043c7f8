package transport

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/session"
)

// Something else may rewrite the requests of a conversation, before winnow gets them or behind it.
// What one leaves out, the other's prompt cache keeps for nothing, and neither knows what the
// model saw. Nothing is changed for that reason; it is said once.

// strangers are programs that rewrite requests, by what the names of their headers begin with.
var strangers = []struct{ prefix, name string }{
	{"X-Headroom-", "headroom"}, {"X-Distil-", "distil"}, {"X-Context-Guru-", "context-guru"},
	{"X-Litellm-", "LiteLLM"}, {"X-Bifrost-", "Bifrost"}, {"X-Portkey-", "Portkey"},
}

// Strangers says what else seems to rewrite requests, a sentence for each.
func (t *Transport) Strangers() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.strangers)
}

// strange notes what seems to rewrite requests, once.
func (t *Transport) strange(what string) {
	t.mu.Lock()
	known := slices.Contains(t.strangers, what)
	if !known {
		t.strangers = append(t.strangers, what)
	}
	t.mu.Unlock()
	if !known {
		t.options.Log.Info("something else rewrites requests: " + what)
	}
}

// lookAt looks for such programs in the headers of a request and of its answer.
func (t *Transport) lookAt(request, answer http.Header) {
	for _, s := range []struct {
		heads http.Header
		where string
	}{{request, "before"}, {answer, "behind"}} {
		for name := range s.heads {
			for _, known := range strangers {
				if strings.HasPrefix(name, known.prefix) {
					t.strange(fmt.Sprintf("%s is %s winnow and may change what is sent: let only one of the two prune",
						known.name, s.where))
				}
			}
		}
	}
}

// rewritten looks whether a conversation left another one by a change in its middle, with the same
// words behind it: nobody rewinds so.
func (t *Transport) rewritten(ctx context.Context, l *conversation, messages []session.Message) {
	left, _, err := t.engine.Session(ctx, l.id)
	if err != nil || left.Info.ParentID == "" {
		return
	}
	was, _, err := t.engine.Session(ctx, left.Info.ParentID)
	if err != nil {
		return
	}
	said, changed, same := clients(was.Messages), false, 0
	for i := range min(len(said), len(messages)) {
		switch equal := content(&said[i]) == content(&messages[i]); {
		case !equal:
			changed = true
		case changed:
			same++
		}
	}
	if same >= unchanged {
		t.strange("the history of a conversation was changed in its middle before winnow got it: its client, or a " +
			"proxy before winnow, prunes it too")
	}
}

// unchanged is how many messages behind a change say that nobody wrote the conversation anew.
const unchanged = 2
