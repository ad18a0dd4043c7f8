package opencode

import (
	"testing"
)

func FuzzRead(f *testing.F) {
	f.Add(testdata(f, "session.json"))
	for _, src := range []string{
		"", head + one + `]}`, "Exporting session: x\n" + head + one + `]}` + "\nDone", head + answer("msg_2", part("prt_2", `"text":5`)) + `]}`,
		`{"info":{"id":"ses_1"},"messages":[{"id":"msg_1","type":"user","text":"x"},{"type":"compaction","status":"completed","summary":"s"}]}`,
		`[{"type":"session","data":{"id":"ses_1"}},{"type":"message","data":{"id":"msg_1","role":"user"}},{"type":"part","data":{"messageID":"msg_1","type":"text"}}]`,
		`{"messages":[{"parts":[{"type":"tool","state":{"status":"completed","time":{"compacted":1},"metadata":{"winnow":{"elisions":[{"field":"output"}],"id":"x"}}}}],"info":{"role":"assistant"}}]}`,
		`{"info":{"id":"ses_1","revert":{"messageID":"msg_2","partID":"prt_3"}},"messages":[` + one + `,` + answer("msg_2", part("prt_2", `"text":"a"`)+`,`+part("prt_3", `"text":"b"`)) + `]}`,
	} {
		f.Add([]byte(src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		Format{}.Detect(src)
		if _, err := (Format{}).Read(src); err != nil {
			return
		}
		doc := read(t, src)
		for _, d := range doc.Damaged {
			if d.Offset < 0 || d.Bytes < 0 || d.Offset+int64(d.Bytes) > int64(len(src)) || d.Line < 1 || d.Reason == "" {
				t.Errorf("damage that is nowhere: %+v", d)
			}
		}
		if got := write(t, doc, unchanged(doc)); string(got) != string(src) {
			t.Error("written without change, the file differs")
		}
		text := write(t, doc, oneMore(doc))
		if !sound(text) {
			t.Fatalf("with a message more the file is no JSON:\n%s", text)
		}
		if again := read(t, text); len(again.Session.Messages) != len(doc.Session.Messages)+1 {
			t.Errorf("with a message more there are %d, %d before:\n%s", len(again.Session.Messages), len(doc.Session.Messages), text)
		}
	})
}
