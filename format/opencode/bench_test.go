package opencode

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/text/span"
)

// long is an export of 2,000 messages with 1,771 tool calls, about 9 MB, indented as the product does.
func long(tb testing.TB) []byte {
	tb.Helper()
	var b bytes.Buffer
	b.WriteString(`{"info":{"id":"ses_0000000000long","slug":"long","projectID":"global","directory":"/repo","title":"long","version":"1.18.33","time":{"created":1700000000000,"updated":1700000100000}},"messages":[`)
	calls := 0
	output := strings.Repeat("func handle(w http.ResponseWriter, r *http.Request) {\n\tfmt.Fprintf(w, \"page %s\", r.URL.Path)\n}\n", 34)
	for i := range 2000 {
		if i > 0 {
			b.WriteByte(',')
		}
		id := fmt.Sprintf("msg_%012d", i)
		at := 1700000000000 + i
		if i%20 == 0 {
			fmt.Fprintf(&b, `{"info":{"role":"user","time":{"created":%d},"agent":"build","model":{"providerID":"p","modelID":"m"},"id":%q,"sessionID":"ses_0000000000long"},"parts":[{"type":"text","text":"go on with step %d","id":"prt_%d","sessionID":"ses_0000000000long","messageID":%q}]}`, at, id, i, i, id)
			continue
		}
		fmt.Fprintf(&b, `{"info":{"parentID":"msg_%012d","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/repo","root":"/repo"},"cost":0.01,"tokens":{"total":1200,"input":1000,"output":200,"reasoning":0,"cache":{"read":0,"write":0}},"modelID":"m","providerID":"p","time":{"created":%d,"completed":%d},"finish":"tool-calls","id":%q,"sessionID":"ses_0000000000long"},"parts":[`, i/20*20, at, at, id)
		common := fmt.Sprintf(`"sessionID":"ses_0000000000long","messageID":%q`, id)
		fmt.Fprintf(&b, `{"snapshot":"abc","type":"step-start","id":"prt_%d_0",%s},{"type":"text","text":"Next I read the file again.","time":{"start":%d,"end":%d},"id":"prt_%d_1",%s}`, i, common, at, at, i, common)
		if calls < 1771 {
			calls++
			fmt.Fprintf(&b, `,{"type":"tool","callID":"call_%d","tool":"read","state":{"status":"completed","input":{"filePath":"/repo/server.go"},"output":%s,"metadata":{"truncated":false},"title":"server.go","time":{"start":%d,"end":%d}},"id":"prt_%d_2",%s}`, i, encode(output), at, at, i, common)
		}
		fmt.Fprintf(&b, `,{"reason":"tool-calls","snapshot":"abc","type":"step-finish","tokens":{"total":1200,"input":1000,"output":200,"reasoning":0,"cache":{"read":0,"write":0}},"cost":0.01,"id":"prt_%d_3",%s}]}`, i, common)
	}
	b.WriteString(`]}`)
	return span.Indent(b.Bytes(), "\n")
}

func BenchmarkRead(b *testing.B) {
	src := long(b)
	doc, err := Format{}.Read(src)
	if err != nil || doc.Counts.Messages != 2000 || doc.Counts.ToolCalls != 1771 {
		b.Fatalf("the session is not as it should be: %+v, %v", doc.Counts, err)
	}
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Format{}).Read(src); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWrite_oneMark(b *testing.B) {
	src := long(b)
	doc, err := Format{}.Read(src)
	if err != nil {
		b.Fatal(err)
	}
	change := format.Change{Session: doc.Session, Ledger: mark(doc, doc.Session.Messages[5].Parts[2].ID)}
	var out bytes.Buffer
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		out.Reset()
		if err := (Format{}).Write(&out, doc, change); err != nil {
			b.Fatal(err)
		}
	}
}
