package stories

import (
	"context"
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/memory"
)

// contended is a store that another process changes a number of times, each just before a change of
// ours.
type contended struct {
	*memory.Store
	times int
}

func (c *contended) Apply(ctx context.Context, id string, change store.Change) (int64, error) {
	if c.times > 0 {
		c.times--
		if _, err := c.Store.Apply(ctx, id, store.Change{}); err != nil {
			return 0, err
		}
	}
	return c.Store.Apply(ctx, id, change)
}

func TestChange_isMadeAnewAsLongAsOthersAreQuicker(t *testing.T) {
	ctx := context.Background()
	kept := &contended{Store: memory.New()}
	e := open(t, winnow.Config{Store: kept})
	id, err := e.Create(ctx, session.Info{})
	if err != nil {
		t.Fatal(err)
	}
	said := func(text string) session.Message {
		return session.Message{MessageInfo: session.MessageInfo{ID: "m", Role: session.User},
			Parts: []session.Part{{ID: "p", Type: session.TextPart, Text: text}}}
	}
	kept.times = 40
	if err := e.Append(ctx, id, said("first")); err != nil {
		t.Fatal(err)
	}
	kept.times = 40
	if err := e.Update(ctx, id, said("second")); err != nil {
		t.Fatal(err)
	}
	kept.times = 1000
	if err := e.Update(ctx, id, said("third")); winnow.CodeOf(err) != winnow.Busy {
		t.Errorf("the error is %v, want that the session is busy", err)
	}
	kept.times = 0
	log, _, err := e.Session(ctx, id)
	if err != nil || len(log.Messages) != 1 || log.Messages[0].Text() != "second" {
		t.Errorf("the log is %+v, %v", log.Messages, err)
	}
}
