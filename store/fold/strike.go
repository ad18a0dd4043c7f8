package fold

import (
	"context"
	"fmt"
	"slices"

	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/pivot/fact"
	"github.com/winnowhq/winnow/text/quantity"
)

// Strike lists what a model made up in its answer to a request, and strikes it in the text. The
// letter leaves the text as it was answered.
//
// It reads what a model may have written in any way, after the model was paid: whatever goes wrong
// in here must not cost the summary. It ends soon after ctx does.
func (p *Plan) Strike(ctx context.Context, r pivot.Request, answer string) (text string, struck []pivot.Struck,
	notes []string) {
	text = answer
	defer func() {
		if r := recover(); r != nil {
			notes = append(notes,
				fmt.Sprintf("what the summary says was not compared with the session: the check failed (%v)", r))
		}
	}()
	source := p.source(ctx, r)
	if ctx.Err() != nil {
		return text, nil, nil
	}
	if !p.Settings.SummaryAlone {
		lines := 0
		if text, lines = pivot.MarkOutdated(text, p.Log); lines > 0 {
			notes = append(notes, quantity.Count(lines, "line")+" of the summary told what no longer holds, and now say so")
		}
	}
	invented := fact.CheckWhile(text, source, func() bool { return ctx.Err() == nil })
	if len(invented) == 0 || ctx.Err() != nil {
		return text, nil, notes
	}
	for _, c := range invented {
		claim := pivot.Struck{Kind: string(c.Kind), Text: c.Text}
		if !slices.Contains(struck, claim) {
			struck = append(struck, claim)
		}
	}
	how := "found nowhere in the session"
	if !p.Settings.SummaryAlone {
		text, how = fact.Mark(text, invented), how+", and struck"
	}
	return text, struck, append(notes, fmt.Sprintf("%s: %s of the summary", how, quantity.Count(len(struck), "claim")))
}

// source is all that an answer may be made from.
func (p *Plan) source(ctx context.Context, r pivot.Request) *fact.Source {
	source := fact.NewSource()
	if p.Info.Directory != "" {
		source.AddFolder(p.Info.Directory)
	}
	folded := p.Window[:p.Cut.End]
	inWindow := map[string]bool{}
	for i := range folded {
		inWindow[folded[i].ID] = true
	}
	for i := range r.Past.Log { // it has what the model was told about earlier notes
		if m := &r.Past.Log[i]; ctx.Err() == nil && !inWindow[m.ID] {
			source.AddMessage(m)
		}
	}
	for i := range folded {
		if ctx.Err() == nil {
			source.AddMessage(&folded[i])
		}
	}
	for _, text := range []string{r.Previous, r.Instruction, r.Focus} {
		source.AddText(text)
	}
	if r.Prefix != nil {
		source.AddText(r.Prefix.System)
		source.AddText(string(r.Prefix.Tools))
	}
	return source
}
