package transport

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/pivot"
)

// refused reports whether a status may be due to what was left out of a request.
func refused(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusUnprocessableEntity
}

// refusedToo reports whether a status says that a provider refuses what it refused in another form:
// the fault is the client's.
func refusedToo(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false // it says nothing about the request
	}
	return 400 <= status && status < 500
}

// resend sends a request as it came, after it was refused with an edit. If that is refused, too, the
// client gets the first refusal: it is about what is wrong with the request, while the second may be
// about reasoning that is bound to what was sent before. Where what was delegated to the provider is
// the reason, only that is taken back: what was left out before was accepted, and reasoning may be
// bound to it.
func (t *Transport) resend(in incoming, x *exchange, first *http.Response, m *meter) (*http.Response, error) {
	var reason []byte
	if x.delegated != nil {
		reason, _ = io.ReadAll(io.LimitReader(first.Body, 64<<10))
		first.Body = rest{io.MultiReader(bytes.NewReader(reason), first.Body), first.Body}
	}
	t.count(func(all *Totals) { all.Resent++ })
	x.resent = true
	delegated, about := x.delegated != nil, x.delegated != nil && aboutEdits(reason)
	x.delegated = nil
	freezes := x.edited && !about
	if freezes {
		x.whole(in.original)
	}
	m.of(x)
	answer, err := t.send(x.outgoing(in.Request), m, x.body)
	if !about && err == nil && refusedToo(answer.StatusCode) {
		answer.Body.Close()
		return first, nil
	}
	first.Body.Close() // what it says may never come
	accepted := err == nil && answer.StatusCode == http.StatusOK
	if (about || delegated && accepted) && !x.replayed {
		t.guarded("edit without the provider", func() { t.undelegate(x) })
	}
	if !accepted || !freezes || x.replayed {
		return answer, err
	}
	t.options.Log.Warn("the provider refused a request of which something was left out, and took the original",
		"session", x.conversation.id, "status", first.StatusCode)
	t.guarded("freeze a conversation", func() { t.freeze(x, cmp.Or(first.Status, strconv.Itoa(first.StatusCode))) })
	return answer, nil
}

// frozenMember is the member of a session's info that says why nothing is left out of it any more.
const frozenMember = "winnowShownWhole"

// freeze shows a conversation whole from now on: what was pruned and folded of it is undone, which
// is in the store, too.
func (t *Transport) freeze(x *exchange, why string) {
	x.lineage.mu.Lock()
	defer x.lineage.mu.Unlock()
	ctx, stop := t.expected(x.conversation)
	defer stop()
	defer func() {
		x.conversation.noted(ctx)
		x.lineage.seen(x.conversation)
	}()
	x.conversation.frozen = why
	quoted, _ := jsontext.AppendQuote(nil, why) // with what is not UTF-8 replaced
	own := map[string]jsontext.Value{frozenMember: quoted}
	if err := t.engine.Amend(ctx, x.conversation.id, winnow.Amendment{Own: own}); err != nil {
		t.failed(x.lineage, "note that nothing may be left out", err)
		return
	}
	_, state, err := t.engine.Session(ctx, x.conversation.id)
	if err != nil {
		t.failed(x.lineage, "undo what was left out", err)
		return
	}
	for _, r := range slices.Backward(state.Receipts) {
		if r.Kind != pivot.Pruning && r.Kind != pivot.Compaction {
			continue
		}
		if _, err := t.engine.Undo(ctx, x.conversation.id, r.ID); err != nil && winnow.CodeOf(err) != winnow.Already {
			t.options.Log.Error("could not undo what was left out", "session", x.conversation.id, "receipt", r.ID, "error", err)
		}
	}
}
