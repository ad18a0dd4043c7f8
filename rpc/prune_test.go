package rpc_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/rpc"
)

// A conversation without a session is pruned and folded: messages that stay come back as they were,
// and from names them.
func TestPruneMessages_namesWhatStays(t *testing.T) {
	c := dial(t, nil).initialize("")
	in := []jsontext.Value{jsontext.Value(`{"role":"user","content":"Never touch <main>. Read all files.","note":1}`)}
	for n := range 200 {
		in = append(in,
			fmt.Appendf(nil, `{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"read","arguments":"{\"path\":\"f%d.go\"}"}}]}`, n, n),
			fmt.Appendf(nil, `{"role":"tool","tool_call_id":"call_%d","content":%q}`, n, strings.Repeat(fmt.Sprintf("line of file %d <b>\n", n), 180)))
	}
	var out, again rpc.PrunedMessages
	c.ask("pruneMessages", rpc.PruneMessages{Messages: in}, &out)
	if len(out.Messages) != len(out.From) || out.Sent.Folded == 0 || len(out.Messages) >= len(in) || out.Sent.After >= out.Sent.Before/2 {
		t.Fatalf("%d messages, %d places, %d folded, %d tokens of %d", len(out.Messages), len(out.From), out.Sent.Folded, out.Sent.After, out.Sent.Before)
	}
	last, new := -1, 0
	for i, from := range out.From {
		switch {
		case from < 0:
			new++
		case from <= last || !bytes.Equal(in[from], out.Messages[i]):
			t.Errorf("message %d is from %d, behind %d: %.80s", i, from, last, out.Messages[i])
		default:
			last = from
		}
	}
	if new == 0 || last != len(in)-1 || !strings.Contains(string(bytes.Join(asBytes(out.Messages), nil)), "Never touch") {
		t.Errorf("%d new messages, the last is that from %d", new, last)
	}
	if c.ask("pruneMessages", rpc.PruneMessages{Messages: in}, &again); !reflect.DeepEqual(out, again) {
		t.Error("the same messages give something else")
	}
	var kept rpc.PrunedMessages
	if c.ask("pruneMessages", rpc.PruneMessages{Messages: in, Keep: true}, &kept); kept.Sent.Folded != 0 || len(kept.Messages) != len(in) {
		t.Errorf("folded %d although it is to keep all", kept.Sent.Folded)
	}
	c.ask("pruneMessages", rpc.PruneMessages{}, &kept)
	if len(kept.Messages) != 0 {
		t.Errorf("%d messages of none", len(kept.Messages))
	}
	if l := c.answer(c.send("pruneMessages", rpc.PruneMessages{Messages: []jsontext.Value{jsontext.Value(`{"who":1}`)}})); l.Error == nil || l.Error.Data.Code != "bad-input" {
		t.Errorf("what is no message: %+v", l)
	}
}

func asBytes(values []jsontext.Value) (all [][]byte) {
	for _, v := range values {
		all = append(all, v)
	}
	return all
}
