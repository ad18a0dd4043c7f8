package transport

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// However a stream arrives, what leaves is what the provider would have sent unasked.
func TestUnasked_takesTheReportOutAndNothingElse(t *testing.T) {
	const with = ": hello\r\n\r\n" +
		"data: {\"id\":\"1\",\"choices\":[],\"prompt_filter_results\":[],\"usage\":null}\n\n" +
		"event: x\ndata:{\"choices\":[{\"delta\":{\"content\":\"\\\"usage\\\":null\"}}],\"usage\":null}\n\n" +
		"data: { \"usage\" : null, \"choices\" : [1] }\r\n\r\n" +
		"data: {\"choices\":[{\"delta\":{}}],\"usage\":{\"prompt_tokens\":1}}\n\n" +
		"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\n\n" +
		"data: not \"usage\" JSON\n\ndata: [DONE]\n\ndata: {\"usage\":null,\"choices\":["
	const without = ": hello\r\n\r\n" +
		"data: {\"id\":\"1\",\"choices\":[],\"prompt_filter_results\":[]}\n\n" +
		"event: x\ndata:{\"choices\":[{\"delta\":{\"content\":\"\\\"usage\\\":null\"}}]}\n\n" +
		"data: { \"choices\" : [1] }\r\n\r\n" +
		"data: {\"choices\":[{\"delta\":{}}],\"usage\":{\"prompt_tokens\":1}}\n\n" +
		"data: not \"usage\" JSON\n\ndata: [DONE]\n\ndata: {\"usage\":null,\"choices\":["
	rapid.Check(t, func(r *rapid.T) {
		var from io.Reader = strings.NewReader(with)
		if rapid.Bool().Draw(r, "bytes") {
			from = iotest.OneByteReader(from)
		}
		u := &unasked{ReadCloser: io.NopCloser(iotest.DataErrReader(from))}
		var got strings.Builder
		for size := rapid.IntRange(1, 200).Draw(r, "size"); ; {
			p := make([]byte, size)
			n, err := u.Read(p)
			got.Write(p[:n])
			if err != nil {
				break
			}
		}
		if got.String() != without {
			r.Fatalf("got\n%s\nwant\n%s", got.String(), without)
		}
	})
	long := "data: {\"choices\":[],\"usage\":null,\"x\":\"" + strings.Repeat("y", 2*mostEvent) + "\"}\n\n"
	got, err := io.ReadAll(&unasked{ReadCloser: io.NopCloser(strings.NewReader(long + "data: {\"choices\":[],\"usage\":{}}\n\nend"))})
	if err != nil || string(got) != long+"end" {
		t.Errorf("after a long event: %d bytes, %v, want %d", len(got), err, len(long)+3)
	}
}
