package claudecode

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// pictures finds the base64 of pictures that the product does not send: in messages that are folded,
// and in lines that show less than they had. A picture of one pixel takes the place of each, so that
// a reader who does not know of it finds a valid one.
func (d *shrinking) pictures(doc *format.Document) (found map[int][]span.Edit) {
	found = map[int][]span.Edit{}
	if _, bypassed := (Format{}).Bypassed(doc); bypassed || !bytes.Contains(d.source, []byte("base64")) {
		return found
	}
	window := view.Window(doc.Session.Messages, nil)
	counts := make(map[string]bool, len(window)) // ids of messages in the window
	for i := range window {
		counts[window[i].ID] = true
	}
	sent := base64Of(view.Render(window, doc.Ledger))
	for i := range d.entries {
		e := &d.entries[i]
		if !d.inBranch[i] || d.owner[i] < 0 {
			continue
		}
		folded := !counts[d.messages[d.owner[i]].ID]
		if !folded && (e.marks == nil || e.marks.Content == nil) {
			continue
		}
		line := d.line(i)
		if len(line) > leastPicture {
			d.picturesIn(span.All(line).Shift(e.at.Start), sent, func(edit span.Edit) { found[i] = append(found[i], edit) })
		}
	}
	return found
}

// leastPicture is how long the base64 of a picture is at least that is taken out.
const leastPicture = 1 << 10

// base64Of are the data of the pictures in messages.
func base64Of(messages []session.Message) map[string]bool {
	data := map[string]bool{}
	add := func(p *session.Part) {
		if _, text, inline := strings.Cut(p.URL, ";base64,"); inline {
			data[text] = true
		}
	}
	for i := range messages {
		for j := range messages[i].Parts {
			p := &messages[i].Parts[j]
			add(p)
			if p.State != nil {
				for k := range p.State.Attachments {
					add(&p.State.Attachments[k])
				}
			}
		}
	}
	return data
}

// picturesIn yields edits for the pictures in a value that are not sent: members "data" beside a
// "media_type", and "base64" beside a "type".
func (d *shrinking) picturesIn(value span.Span, sent map[string]bool, yield func(span.Edit)) {
	switch span.Kind(value.Of(d.source)) {
	case '[':
		for at := range span.Values(d.source, value) {
			d.picturesIn(at, sent, yield)
		}
	case '{':
		var data, mime, kind span.Span
		for m := range span.Members(d.source, value) {
			switch string(m.Name) {
			case "data", "base64":
				if span.Kind(m.Value.Of(d.source)) == '"' {
					data = m.Value
				}
			case "media_type":
				mime = m.Value
			case "type":
				kind = m.Value
			}
			if m.Value.Len() > leastPicture {
				d.picturesIn(m.Value, sent, yield)
			}
		}
		pixel := onePixel(cmp.Or(span.String(mime.Of(d.source)), span.String(kind.Of(d.source))))
		if data.Len() > leastPicture && pixel != "" && !sent[span.String(data.Of(d.source))] {
			yield(span.Edit{Span: data, With: span.Quote(pixel)})
		}
	}
}

// onePixel is the base64 of a picture of one pixel, "" for media types that have none.
func onePixel(mime string) string {
	var out bytes.Buffer
	pixel, err := image.NewGray(image.Rect(0, 0, 1, 1)), error(nil)
	switch mime {
	case "image/png":
		err = png.Encode(&out, pixel)
	case "image/jpeg":
		err = jpeg.Encode(&out, pixel, nil)
	case "image/gif":
		err = gif.Encode(&out, pixel, nil)
	}
	if err != nil {
		return ""
	}
	return base64.StdEncoding.EncodeToString(out.Bytes())
}
