package session

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// What is read is written so that it is read as the same: JSON, with every member that nobody knows.
func FuzzRead(f *testing.F) {
	text, err := os.ReadFile(filepath.Join("testdata", "every-part.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	for _, seed := range []string{
		`{"info":{"id":"s","x":1},"messages":[{"info":{"id":"m","role":"user","time":{"created":1.5}},"parts":[{"type":"tool","state":{"status":"pending"}}]}]}`,
		`{"messages":[{"info":{"role":"assistant","error":{"name":1},"tokens":{"input":1e30}},"parts":[{"type":"file","source":{}},{"type":"compaction"},{"type":"unheard-of","z":[]}]}]}`,
		"{\"info\":{\"id\":\"\xff\",\"id\":\"b\"},\"messages\":null}", `{"messages":[{"parts":[{"type":"text","metadata":{"winnow":{"companion":"x"}}}]}]}`, `{"info":{"summary":{"diffs":[]}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var s Session
		if json.Unmarshal(text, &s, ReadOptions()) != nil {
			return
		}
		once, err := json.Marshal(&s, ReadOptions(), json.Deterministic(true))
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if !jsontext.Value(once).IsValid(ReadOptions()) {
			t.Fatalf("no JSON was written: %q", once)
		}
		c, err := s.Clone()
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, once)
		}
		if twice, err := json.Marshal(c, ReadOptions(), json.Deterministic(true)); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("written again (%v) it is\n%s\nand was\n%s", err, twice, once)
		}
		if len(c.Messages) != len(s.Messages) {
			t.Errorf("%d messages of %d", len(c.Messages), len(s.Messages))
		}
		// Whatever is in it, nothing that is asked about a message fails.
		for i := range s.Messages {
			m := &s.Messages[i]
			m.Text()
			m.Outline()
			m.Written()
			m.Marker()
			if len(m.Parts) != len(c.Messages[i].Parts) {
				t.Errorf("message %d has %d parts of %d", i, len(c.Messages[i].Parts), len(m.Parts))
			}
		}
		Snapshots(s.Messages)
	})
}
