package words

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
)

// endless is a store of sessions that all say the same in so many messages.
type endless struct {
	store.Keeper
	sessions, messages int
	text               string
	read               int
}

func (e *endless) List(context.Context) (all []store.Listing, err error) {
	for i := range e.sessions {
		all = append(all, store.Listing{Info: session.Info{ID: fmt.Sprint(i)}, Messages: e.messages})
	}
	return all, nil
}

func (e *endless) KeptParts(context.Context, string) ([]string, error) { return nil, nil }

func (e *endless) Messages(context.Context, string) iter.Seq2[session.Message, error] {
	return func(yield func(session.Message, error) bool) {
		for range e.messages {
			e.read++
			if !yield(session.Message{Parts: []session.Part{{Text: e.text}}}, nil) {
				return
			}
		}
	}
}

// A search without an index reads no more than it may, and says so.
func TestScan_isBounded(t *testing.T) {
	for name, c := range map[string]struct {
		endless
		want store.Scan
	}{
		"all of it":      {endless{sessions: 3, messages: 2, text: "heron"}, store.Scan{Messages: 6, All: true}},
		"many messages":  {endless{sessions: 3, messages: 4_000, text: "heron"}, store.Scan{Messages: MostMessages}},
		"many sessions":  {endless{sessions: 900, messages: 1, text: "heron"}, store.Scan{Messages: MostSessions}},
		"as many as may": {endless{sessions: 1, messages: MostMessages, text: "heron"}, store.Scan{Messages: MostMessages, All: true}},
		"long messages": {endless{sessions: 2, messages: 100, text: "heron" + string(make([]byte, MostBytes/10))},
			store.Scan{Messages: 10}},
	} {
		found, err := Scan(t.Context(), &c.endless, store.Search{Words: "heron", Limit: 3})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&c.want, found.Scan); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if found.Total != c.want.Messages || len(found.Hits) != 3 || c.read > c.want.Messages+1 {
			t.Errorf("%s: %d of %d hits, %d messages were read", name, len(found.Hits), found.Total, c.read)
		}
	}
}
