package format

import (
	"cmp"
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/plan/budget"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// Codes of ailments.
const (
	TooLong  = "too-long"   // the prompt is too long for the model
	Unfolded = "compaction" // the product's own compaction failed
	Loop     = "loop"       // the product compacts again and again
	Image    = "image"      // the provider does not take an image
	Thinking = "thinking"   // the provider does not take reasoning back
	Unpaired = "unpaired"   // a call has no result, or a result no call
	Torn     = "torn"       // the last line is incomplete
)

//go:embed ailments.txt
var ailmentsText string

// sentence is a row of ailments.txt.
type sentence struct {
	code    string
	matches *regexp.Regexp
}

var sentences = sync.OnceValue(func() (rows []sentence) {
	for line := range strings.Lines(ailmentsText) {
		code, expression, found := strings.Cut(strings.TrimSpace(line), " ")
		if found && !strings.HasPrefix(code, "#") {
			rows = append(rows, sentence{code, regexp.MustCompile(`(?is)` + strings.TrimSpace(expression))})
		}
	}
	return rows
})

// longestSentence is how many bytes of an error are looked at: a provider may quote the request.
const longestSentence = 16 << 10

// AilmentOf is the code of the ailment that an error of a product tells of, "" if it is of another
// kind, such as a network that failed.
func AilmentOf(text string) string {
	text = text[:min(len(text), longestSentence)]
	bare := strings.NewReplacer("`", "", `\"`, "", `"`, "", "'", "", "’", "").Replace(text)
	for _, row := range sentences() {
		if row.matches.MatchString(bare) {
			return row.code
		}
	}
	if budget.Rejected(budget.Rejection{Message: text, Body: text}) {
		return TooLong
	}
	return ""
}

// Failure is the error with which the newest turn of a session ended.
type Failure struct {
	Text string // the words of the product, or of the provider
	// From is the position of the newest message that the model answered with before; 0 without
	// one. It was sent with the request that failed, and so were the results of its calls.
	From int
}

// Failure is how the newest turn ended, if it failed: no answer of a model and no summary comes
// after the error.
func (d *Document) Failure() (Failure, bool) {
	f := Failure{Text: d.Failed}
	messages := d.Session.Messages
	for i := len(messages) - 1; i >= 0; i-- {
		m := &messages[i]
		switch text := errorText(m.Error); {
		case m.Role != session.Assistant:
		case m.Failed() && AilmentOf(f.Text) != "":
		case m.Failed():
			f.Text = cmp.Or(text, f.Text)
		case m.IsSummary() && !m.Completes() || len(m.Parts) == 0 || strings.HasPrefix(m.ModelID, "<"):
		default:
			f.From = i
			return f, f.Text != ""
		}
	}
	return f, f.Text != ""
}

// errorText is the message of an error, with the provider's answer if the error quotes it.
func errorText(err jsontext.Value) string {
	if len(err) == 0 {
		return ""
	}
	text := span.String(span.Get(err, "data", "message"))
	if body := span.String(span.Get(err, "data", "responseBody")); body != "" {
		text += "\n" + body
	}
	if text == "" {
		text = string(err)
	}
	return text
}

// TornLine is the fault of a file whose last line was not written to its end: the next
// line that the product appends continues it, and is lost with it.
func TornLine(d *Document) (Fault, bool) {
	n := len(d.Damaged)
	if n == 0 {
		return Fault{}, false
	}
	last := d.Damaged[n-1]
	end := int(last.Offset) + last.Bytes
	if last.Line == 0 || end != len(d.Source) || strings.HasSuffix(string(d.Source[last.Offset:]), "\n") {
		return Fault{}, false
	}
	return Fault{
		Code: Torn, Line: last.Line,
		What: fmt.Sprintf("the last line is incomplete (%d bytes): what the product appends is lost with it",
			last.Bytes),
		Edits: []span.Edit{{Span: span.Span{Start: int(last.Offset), End: end}}},
	}, true
}
