package page

import (
	"cmp"
	"strings"

	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/quantity"
)

// block is one text of a part.
type block struct {
	Title  string
	Text   string // all of it, or its beginning
	Ref    string // where the whole text is kept, "" when Text is all
	Weight string
	JSON   bool

	After *block // what the model is shown in its place, nil if that is the same
}

// blocks are the texts of a part, each beside what the model is shown of it if that differs.
func (d *document) blocks(out *part, p *session.Part, x *report.Part) {
	pieces := d.changed(p, x)
	switch p.Type {
	case session.TextPart, session.ReasoningPart:
		d.block(out, "", p.Text, false)
		d.beside(out, pieces, rule.Text)
	case session.SubtaskPart:
		d.block(out, "prompt", p.Prompt, false)
	case session.RetryPart:
		d.block(out, "error", string(p.Error), false)
	case session.FilePart:
		out.Blocks = append(out.Blocks, block{Text: attachment(p)})
		d.beside(out, pieces, rule.Attachments)
	case session.ToolPart:
		if p.State == nil {
			return
		}
		d.block(out, "input", string(p.State.Input), true)
		d.beside(out, pieces, rule.Input)
		d.block(out, "input, as far as it was received", p.State.Raw, false)
		title, field := "output", rule.Output
		if p.State.Status == session.Failed {
			title, field = "error", rule.Error
		}
		d.block(out, title, p.State.Result(), false)
		d.beside(out, pieces, field)
		var files []string
		for i := range p.State.Attachments {
			files = append(files, attachment(&p.State.Attachments[i]))
		}
		if len(files) > 0 {
			out.Blocks = append(out.Blocks, block{Title: "attached", Text: strings.Join(files, "\n")})
			d.beside(out, pieces, rule.Attachments)
		}
	}
}

// changed are the pieces of a part of which the model is shown less, or would be, by their field.
func (d *document) changed(p *session.Part, x *report.Part) map[rule.Field]report.Piece {
	if len(x.Elisions)+len(x.Candidates) == 0 {
		return nil
	}
	of := func(reasons []report.Reason) []rule.Elision {
		all := make([]rule.Elision, len(reasons))
		for i := range reasons {
			all[i] = reasons[i].Elision
		}
		return all
	}
	changed := map[rule.Field]report.Piece{}
	for _, piece := range report.Pieces(p, of(x.Elisions), of(x.Candidates)) {
		if piece.Log != piece.Shown || piece.Shown != piece.Would {
			changed[piece.Field] = piece
		}
	}
	return changed
}

// beside puts what the model is shown beside the newest block.
func (d *document) beside(out *part, pieces map[rule.Field]report.Piece, field rule.Field) {
	piece, ok := pieces[field]
	if !ok || len(out.Blocks) == 0 {
		return
	}
	b := &out.Blocks[len(out.Blocks)-1]
	title, text := "The model is shown", piece.Shown
	if piece.Shown == piece.Log {
		title, text = "The model would be shown", piece.Would
	}
	after := block{Title: title, Text: "nothing"}
	if text != "" {
		after = d.textBlock(title, text, b.JSON)
	}
	b.Title, b.After = strings.TrimSpace(b.Title+" in the log"), &after
}

func (d *document) block(out *part, title, text string, isJSON bool) {
	if text != "" {
		out.Blocks = append(out.Blocks, d.textBlock(title, text, isJSON))
	}
}

func (d *document) textBlock(title, text string, isJSON bool) block {
	b := block{Title: title, Weight: quantity.Bytes(len(text)), JSON: isJSON}
	if len(text) <= d.inline {
		b.Text = kept{text, isJSON}.shown()
	} else {
		beginning := excerpt(text, min(d.inline, 400))
		b.Text, b.Ref = visible(beginning), d.texts.add(text, isJSON)
	}
	return b
}

// attachment says what a file is. The page does not show it: it could be anything.
func attachment(p *session.Part) string {
	name := strings.TrimSpace(visible(p.Filename) + " " + visible(p.Mime))
	size, embedded := "", strings.HasPrefix(p.URL, "data:")
	if at := strings.IndexByte(p.URL, ','); embedded && at >= 0 {
		n := len(p.URL) - at - 1
		if strings.HasSuffix(p.URL[:at], ";base64") {
			n = len(strings.TrimRight(p.URL[at+1:], "=")) * 3 / 4
		}
		size = quantity.Bytes(n)
	}
	switch {
	case embedded:
		return name + ", " + cmp.Or(size, "empty") + "; it is in the session, and not shown on this page"
	case p.URL != "":
		return name + ", " + line(p.URL, 400)
	}
	return name
}
