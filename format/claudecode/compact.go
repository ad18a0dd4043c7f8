package claudecode

import (
	"strings"

	"github.com/winnowhq/winnow/session"
)

// pivot composes a compaction: the boundary, at which the chain of parents ends, and the summary in the user's name. tail
// holds the uuids that stay verbatim; the product hangs them behind the summary when it reads the file, and what has
// the summary as its parent behind them.
func (c *composer) pivot(marker, summary *session.Message, tail []string, tokens int) error {
	part := marker.Marker()
	boundary, anchor := uuid(marker.ID), uuid(summary.ID)

	metadata := &object{}
	metadata.add("trigger", map[bool]string{true: "auto", false: "manual"}[part.Auto])
	metadata.add("preTokens", tokens)
	if len(tail) > 0 {
		segment := &object{}
		segment.add("headUuid", tail[0])
		segment.add("anchorUuid", anchor)
		segment.add("tailUuid", tail[len(tail)-1])
		metadata.raw("preservedSegment", segment.close())
		messages := &object{}
		messages.add("anchorUuid", anchor)
		messages.add("uuids", tail)
		messages.add("allUuids", tail)
		metadata.raw("preservedMessages", messages.close())
	}

	o := &object{}
	o.raw("parentUuid", []byte("null"))
	if c.parent != "" {
		o.add("logicalParentUuid", c.parent)
	}
	o.add("isSidechain", false)
	o.add("type", "system")
	o.add("subtype", "compact_boundary")
	o.add("content", "Conversation compacted")
	o.add("isMeta", false)
	o.add("timestamp", c.moment(marker.Time.Created))
	o.add("uuid", boundary)
	o.add("level", "info")
	o.raw("compactMetadata", metadata.close())
	if err := c.end(o, boundary, marker.ID, marker); err != nil {
		return err
	}

	var texts []string
	for i := range summary.Parts {
		if p := &summary.Parts[i]; p.Type == session.TextPart && p.Text != "" && !p.Ignored {
			texts = append(texts, p.Text)
		}
	}
	body := &object{}
	body.add("role", "user")
	body.raw("content", quoted(strings.Join(texts, "\n\n")))
	o = c.begin()
	o.add("isSidechain", false)
	o.add("type", "user")
	o.raw("message", body.close())
	o.add("isVisibleInTranscriptOnly", true)
	o.add("isCompactSummary", true)
	o.add("uuid", anchor)
	o.add("timestamp", c.moment(max(summary.Time.Created, summary.Time.Completed)))
	return c.end(o, anchor, summary.ID, summary)
}
