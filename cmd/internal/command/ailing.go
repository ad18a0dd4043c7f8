package command

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/winnowhq/winnow/cmd/internal/output"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/plan/view"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/quantity"
	"github.com/winnowhq/winnow/text/span"
)

// ailment is a reason why a product cannot go on with a session, with the least that cures it.
type ailment struct {
	// "too-long", "compaction", "loop", "image", "thinking", "unpaired" or a code of "doctor".
	Code     string `json:"code"`
	What     string `json:"what"`              // the fault, a sentence
	Sentence string `json:"sentence,omitzero"` // the words of the product or of the provider
	Line     int    `json:"line,omitzero"`     // the line of the file that is mended
	Cure     string `json:"cure"`              // the cure, a sentence

	edits    []span.Edit    // of the file
	elisions []rule.Elision // of the view
	folds    bool           // the past is folded into a summary
}

// whatAils are the plain words for the ailments that a product tells of.
var whatAils = map[string]string{
	format.TooLong:  "the session is longer than the model's window, so every turn is refused",
	format.Unfolded: "the agent's own compaction failed, so the session stays too long",
	format.Loop:     "the agent compacts again and again, because what it keeps is too long",
	format.Image:    "the provider refuses an image of the session, so every turn is refused",
	format.Thinking: "the provider does not take the model's earlier reasoning back, so every turn is refused",
	format.Unpaired: "a call has no result or a result has no call, so every turn is refused",
}

// ailmentsOf finds the reasons why a product cannot go on with a session: the faults of its file, and
// the error with which its newest turn ended. An error whose cause is left out already is none.
func ailmentsOf(doc *format.Document) (found []ailment) {
	for _, f := range output.Faults(doc) {
		found = append(found, ailment{Code: f.Code, What: f.What, Line: f.Line, Cure: "line " +
			quantity.Number(f.Line) + " is mended", edits: f.Edits})
	}
	if f, torn := format.TornLine(doc); torn {
		found = append(found, ailment{Code: f.Code, What: f.What, Line: f.Line,
			Cure: "the incomplete line is taken out; the original has it", edits: f.Edits})
	}
	failure, failed := doc.Failure()
	if !failed || curedSince(doc) {
		return found
	}
	one := ailment{Code: format.AilmentOf(failure.Text), Sentence: failure.Text}
	one.What = whatAils[one.Code]
	switch one.Code {
	case format.TooLong, format.Unfolded, format.Loop:
		one.folds = true
	case format.Image:
		one.elisions = refusedImages(doc, failure.From)
		one.Cure = quantity.Plural(len(one.elisions), "image is", "images are") + " left out"
	case format.Thinking:
		one.elisions = allReasoning(doc)
		one.Cure = quantity.Plural(len(one.elisions), "part of reasoning is", "parts of reasoning are") + " left out"
	case format.Unpaired:
		one.folds = len(found) == 0
	}
	if one.folds {
		one.Cure = "the past is folded into a summary"
	}
	if one.folds || len(one.elisions) > 0 {
		found = append(found, one)
	}
	return found
}

// rescuing is the rule of elisions that rescue commits.
const rescuing = "rescue"

// curedSince reports whether rescue left something out after the newest entry of the session.
func curedSince(doc *format.Document) bool {
	for _, el := range doc.Ledger.All() {
		if el.Rule == rescuing && el.Time >= doc.Session.Info.Time.Updated {
			return true
		}
	}
	return false
}

// Limits of images at the strictest provider, Anthropic.
const (
	mostImageBytes  = 5 << 20 // of its base64
	mostImagePixels = 2000    // on a side, in a request with many images
)

// refusedImages leaves out the images that came with the request that failed, or else all images;
// of these those above the limits of providers, if there are any.
func refusedImages(doc *format.Document, from int) []rule.Elision {
	window := view.Window(doc.Session.Messages, nil)
	first := 0
	if from > 0 && from < len(doc.Session.Messages) {
		first = max(0, session.Index(window, doc.Session.Messages[from].ID))
	}
	newest := imagesOf(window[first:], doc.Ledger)
	all := imagesOf(window, doc.Ledger)
	for _, pick := range [][]shownImage{large(newest), newest, large(all), all} {
		if len(pick) == 0 {
			continue
		}
		var out []rule.Elision
		for _, i := range pick {
			out = append(out, i.elision())
		}
		return out
	}
	return nil
}

// shownImage is a part that shows images.
type shownImage struct {
	message *session.Message
	part    *session.Part
	large   bool
}

func imagesOf(messages []session.Message, ledger rule.Ledger) (found []shownImage) {
	for i := range messages {
		m := &messages[i]
		for j := range m.Parts {
			p := &m.Parts[j]
			shows := p.IsMedia()
			over := shows && isLarge(p.URL)
			if p.State != nil {
				for k := range p.State.Attachments {
					file := &p.State.Attachments[k]
					shows, over = shows || file.IsMedia(), over || isLarge(file.URL)
				}
			}
			if shows && !ledger.Touches(p.ID) {
				found = append(found, shownImage{m, p, over})
			}
		}
	}
	return found
}

func large(images []shownImage) (found []shownImage) {
	for _, i := range images {
		if i.large {
			found = append(found, i)
		}
	}
	return found
}

// isLarge reports whether an image is above a limit of a provider.
func isLarge(url string) bool {
	width, height, _ := rule.Dimensions(url)
	return len(url) > mostImageBytes || max(width, height) > mostImagePixels
}

func (i shownImage) elision() rule.Elision {
	return rule.Elision{Part: i.part.ID, Message: i.message.ID, Field: rule.Attachments, Rule: rescuing,
		Because: "the provider refused a request with it", Shown: "[image left out: the provider refused it]"}
}

// allReasoning leaves out the reasoning in the window.
func allReasoning(doc *format.Document) (out []rule.Elision) {
	window := view.Window(doc.Session.Messages, nil)
	for i := range window {
		for _, p := range window[i].Parts {
			if p.Type == session.ReasoningPart && !doc.Ledger.Touches(p.ID) {
				out = append(out, rule.Elision{Part: p.ID, Message: window[i].ID, Field: rule.Whole, Rule: rescuing,
					Because: "the provider did not take it back"})
			}
		}
	}
	return out
}

var limits = regexp.MustCompile(`(?i)> ?([\d,]+)(?: maximum)?|maximum context length is ([\d,]+)|` +
	`maximum (?:number of tokens )?allowed \(([\d,]+)\)`)

// limitIn is the most tokens that a sentence says a model takes, 0 if it does not say.
func limitIn(text string) int {
	m := limits.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.ReplaceAll(cmp.Or(m[1], m[2], m[3]), ",", ""))
	return n
}

// sayAilment is one line about an ailment.
func sayAilment(x ailment) string { return fmt.Sprintf("%s (%s)", x.What, x.Code) }
