package cache

import "github.com/winnowhq/winnow/session"

// Messages is about how many bytes of memory messages take in an engine: their texts, and what it
// knows of each of their parts.
func Messages(messages ...session.Message) (bytes int) {
	const perMessage, perPart = 1 << 10, 2 << 10
	for i := range messages {
		bytes += perMessage
		for j := range messages[i].Parts {
			p := &messages[i].Parts[j]
			bytes += perPart + len(p.Text) + len(p.Metadata) + len(p.URL) + len(p.Source)
			if s := p.State; s != nil {
				bytes += len(s.Input) + len(s.Output) + len(s.Error) + len(s.Metadata)
				for k := range s.Attachments {
					bytes += perPart + len(s.Attachments[k].URL)
				}
			}
		}
	}
	return bytes
}
