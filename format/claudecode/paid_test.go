package claudecode_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/claudecode"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/model/bill"
)

// The outline bills what the whole file does, to the last token: also where the entries of a
// request are far from one another, where the largest report comes first, and where numbers are
// larger than any that is true.
func TestOutline_billsWhatTheWholeDoes(t *testing.T) {
	var src []byte
	parent := ""
	add := func(id, side, usage string) {
		uuid := fmt.Sprint("n", len(src))
		src = fmt.Appendf(src, `{"type":"assistant","uuid":%q,"parentUuid":%q,"isSidechain":%s,"sessionId":"s","message":{"id":%q,"role":"assistant","model":"claude-opus-4-5","content":[{"type":"text","text":"a"}],"usage":%s}}`+"\n", uuid, parent, side, id, usage)
		if side == "false" {
			parent = uuid
		}
	}
	src = append(src, `{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"Light the lamp."}}`+"\n"...)
	parent = "u"
	add("grows", "false", `{"input_tokens":10,"output_tokens":1}`)
	add("shrinks", "false", `{"input_tokens":20,"output_tokens":900}`)
	add("agent", "true", `{"input_tokens":30,"output_tokens":3}`)
	add("vast", "false", `{"input_tokens":5000000000,"output_tokens":1}`)
	add("less than vast", "false", `{"input_tokens":6000000000,"output_tokens":1}`)
	add("negative", "false", `{"input_tokens":-4,"output_tokens":2}`)
	add("none", "false", `"?"`)
	add("fast", "false", `{"input_tokens":40,"output_tokens":4,"speed":"fast","server_tool_use":{"web_search_requests":2},"cache_creation_input_tokens":70,"cache_creation":{"ephemeral_1h_input_tokens":60}}`)
	add("compacts", "false", `{"input_tokens":50,"output_tokens":5,"iterations":[{"type":"compaction","input_tokens":700,"output_tokens":7}]}`)
	add("shrinks", "false", `{"input_tokens":21,"output_tokens":2}`)
	add("grows", "false", `{"input_tokens":11,"output_tokens":800}`)
	add("less than vast", "false", `{"input_tokens":60,"output_tokens":6}`)

	for range 2 { // answers without ids are two
		src = append(src, `{"type":"assistant","message":{"role":"assistant","model":"claude-opus-4-5","content":[{"type":"text","text":"a"}],"usage":{"input_tokens":1,"output_tokens":1}}}`+"\n"...)
	}

	doc, err := claudecode.Format{}.Read(src)
	if err != nil {
		t.Fatal(err)
	}
	prices := bill.NewPrices(model.Default().Lookup)
	want := bill.Of(doc.Session.Messages, doc.Beside, prices)
	p, err := format.Cut(bytes.NewReader(src), int64(len(src)), claudecode.Format{}.Outline(), 300)
	if err != nil || !p.Billed {
		t.Fatal(err, p)
	}
	for range 2 { // they can be asked for again
		var got bill.Sums
		for r := range p.Requests {
			got.Add(r.Kind, prices.Of(r))
		}
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
	if all := want.Total(); all.Requests != 12 || all.Usage.Output < 800+900+6+7 || want.Agents.Requests != 1 || want.Summaries.Requests != 1 {
		t.Errorf("the whole is billed as %+v", want)
	}
}
