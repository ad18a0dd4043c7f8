// Package page writes a session, or a replay, as one HTML page: the timeline as strata, what takes
// the tokens, the pivots beside what they replaced, and every message and part, folded.
//
// A page needs nothing but itself: no network, no fonts, no scripts from elsewhere. What comes from
// a session is hostile: it is escaped, or kept as compressed data that is only ever shown as text,
// and a content security policy names the two hashes of the page's own style and script, so that
// nothing else can run. The same session gives the same bytes.
package page

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/look/display"
	"github.com/winnowhq/winnow/plan/pivot"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/report"
	"github.com/winnowhq/winnow/text/secret"
)

// Content is what a page is made from: what the engine reports of one session.
type Content struct {
	// Name is what the user calls the session: a file name, or its id.
	Name string
	// Source names it on the command line, for the commands that the page shows, such as "winnow
	// restore SOURCE PART". "" shows none: what is told of was not written.
	Source string
	// Product says whose session it is, for people: "Claude Code session (JSONL)". "" when it is
	// winnow's own.
	Product string

	Report  report.Report
	Session session.Session
	State   store.State
	// Parts are those of the log, in its order, as report.Parts gives them.
	Parts   []report.Part
	Damaged []format.Damage

	// Compact is what a compaction would bring, nil for none.
	Compact *pivot.Money
	// Done is the receipt of what the command did just now; nil when it only looked. The rest is of
	// the session after it.
	Done *pivot.Receipt
	// Remark is a sentence about it: where the session was written, or that it was not.
	Remark string

	// KeepSecrets shows keys, tokens and passwords as they are. Otherwise those of a known shape
	// are masked everywhere.
	KeepSecrets bool
	masked      int
}

// withoutSecrets is the content with its secrets masked. What it was made from stays as it is.
func (c Content) withoutSecrets() Content {
	if c.KeepSecrets {
		return c
	}
	elisions, n := secret.Values(c.State.Ledger.All())
	masked, m := secret.Values(c)
	if n > 0 {
		masked.State.Ledger = rule.NewLedger(elisions...)
	}
	masked.masked = n + m
	return masked
}

var (
	//go:embed page.html
	markup string
	//go:embed pieces.html
	pieces string // of several pages
	//go:embed shared.js
	scriptOfAll string
	//go:embed page.css
	sheet string
	style = display.Toned(sheet)
	//go:embed page.js
	scriptOfPage string
	//go:embed kept.js
	scriptOfKept string

	script = scriptOfKept + scriptOfAll + scriptOfPage
)

// opening is how every page begins. It tells a page from other files, so that only pages are
// overwritten without being asked.
const opening = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"generator\" " +
	"content=\"winnow\">\n"

// Is reports whether a file that begins with head is a page that [Write] wrote.
func Is(head []byte) bool { return bytes.HasPrefix(head, []byte(opening)) }

// Write writes the page, piece by piece: what it holds in memory beside the content grows with the
// number of messages, not with their size.
func Write(w io.Writer, c Content) error {
	if err := c.check(); err != nil {
		return err
	}
	t, err := template.New("page").Parse(markup + pieces)
	if err != nil {
		return err
	}
	d := newDocument(c.withoutSecrets())
	return write(w, t, d, style, script, d.texts)
}

// write writes a page. The texts come last: the page is of use before they are there.
func write(w io.Writer, t *template.Template, document any, style, script string, kept *texts) error {
	out := bufio.NewWriterSize(w, 64<<10)
	if _, err := out.WriteString(opening + head(style, script)); err != nil {
		return err
	}
	if err := t.Execute(out, document); err != nil {
		return err
	}
	if _, err := out.WriteString("<script>" + script + "</script>\n"); err != nil {
		return err
	}
	if err := kept.write(out); err != nil {
		return err
	}
	if _, err := out.WriteString("</body>\n</html>\n"); err != nil {
		return err
	}
	return out.Flush()
}

// check refuses content of which the pieces are not of one moment.
func (c *Content) check() error {
	parts := 0
	for i := range c.Session.Messages {
		parts += len(c.Session.Messages[i].Parts)
	}
	if parts != len(c.Parts) || len(c.Session.Messages) != len(c.Report.Strata) {
		return fmt.Errorf("the log has %d messages with %d parts, but %d messages were looked at and %d parts were "+
			"explained: it was written to meanwhile",
			len(c.Session.Messages), parts, len(c.Report.Strata), len(c.Parts))
	}
	return nil
}

// head is the policy and the style. Nothing may be loaded, and only this style and this script
// count.
func head(style, script string) string {
	policy := "default-src 'none'; style-src " + hash(style) + "; script-src " + hash(script) +
		"; base-uri 'none'; form-action 'none'"
	return `<meta http-equiv="Content-Security-Policy" content="` + policy + "\">\n" +
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" " +
		"content=\"light dark\">\n" +
		"<meta name=\"referrer\" content=\"no-referrer\">\n<style>" + style + "</style>\n"
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
