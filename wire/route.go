package wire

import (
	"net/url"
	"strings"
)

// Route is the path of a request in the one spelling that routes are compared in: servers, and what
// stands before them, take others for the same. It has lower case letters, one slash between
// segments and none at the end, no percent-encoding, and no parameters of segments (";v=1"). It is
// only for comparing: what is relayed keeps its spelling.
func Route(path string) string {
	for range 3 { // encoded twice, it may be decoded twice on the way
		decoded, err := url.PathUnescape(path)
		if err != nil || decoded == path {
			break
		}
		path = decoded
	}
	var b strings.Builder
	for segment := range strings.FieldsFuncSeq(strings.ToLower(path), func(r rune) bool { return r == '/' || r == '\\' }) {
		name, _, _ := strings.Cut(segment, ";")
		if name = strings.TrimSpace(name); name != "" {
			b.WriteByte('/')
			b.WriteString(name)
		}
	}
	return b.String()
}
