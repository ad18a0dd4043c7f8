package rpc_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/rpc"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/memory"
)

// failing is a store of which every third write fails, as on a full disk.
type failing struct {
	store.Store
	writes int
}

func (f *failing) Apply(ctx context.Context, id string, c store.Change) (int64, error) {
	if f.writes++; f.writes%3 == 0 {
		return 0, &store.Error{Op: "apply", Session: id, Err: store.ErrFull, Hint: "make room on the disk"}
	}
	return f.Store.Apply(ctx, id, c)
}

// What the store could not write is an error that says so, and the session has what was
// acknowledged, no more and no less.
func TestErrors_ofAStoreThatFails(t *testing.T) {
	broken := &failing{Store: memory.New()}
	c := dial(t, func(c *winnow.Config) { c.Store = broken }).initialize("")
	id := c.create("ses_1")
	var acknowledged []string
	refused := 0
	for n := range 30 {
		text := fmt.Sprint("text ", n)
		l := c.answer(c.send("append", fmt.Sprintf(`{"session":"ses_1","messages":[{"role":"user","text":%q}]}`, text)))
		switch {
		case l.Error == nil:
			acknowledged = append(acknowledged, text)
		case l.Error.Code != rpc.Failed || l.Error.Data.Code != winnow.StoreFailed || l.Error.Data.Hint != "make room on the disk":
			t.Errorf("%+v", l.Error)
		default:
			refused++
		}
	}
	var log rpc.Logged
	c.ask("log", rpc.Log{Of: rpc.Of{Session: id}}, &log)
	var has []string
	for i := range log.Messages {
		has = append(has, log.Messages[i].Text())
	}
	if d := cmp.Diff(acknowledged, has); d != "" || refused != 10 {
		t.Errorf("%d were refused; %s", refused, d)
	}
	var v rpc.Viewed
	c.ask("view", rpc.View{Of: rpc.Of{Session: id}}, &v)
	if len(v.Messages) != len(acknowledged) {
		t.Errorf("the view has %d messages, %d were acknowledged", len(v.Messages), len(acknowledged))
	}
}
